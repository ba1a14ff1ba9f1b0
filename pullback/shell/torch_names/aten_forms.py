"""How torch's operators take their arguments, where that is not simply tensors in order and parameters by name.

A form lists the arguments in torch's order: a number is an input of the operation, a name one of its parameters, and what
follows `=` is the default, which is left out at the end as torch leaves it out. After `;` come those given by name.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

_FORMS = {
    "index_select": "0 axis 1", "gather": "0 axis 1", "scatter": "0 axis 1 2", "scatter_add": "0 axis 1 2",
    "index_add": "0 axis 1 2 ; alpha=1", "index_copy": "0 axis 1 2", "index_fill": "0 axis 1 2",
    "sort": "0 axis descending=False", "topk": "0 k axis=last largest=True", "kthvalue": "0 k axis=last keepdims=False",
    "mode": "0 axis=last keepdims=False", "flip": "0 axes", "roll": "0 shifts axes", "rot90": "0 k=1 axes=first_two",
    "logcumsumexp": "0 axis", "cummax": "0 axis", "cummin": "0 axis", "triu": "0 diagonal=0", "tril": "0 diagonal=0",
    "diagonal": "0 offset=0 axis1=0 axis2=1", "repeat": "0 repeats", "unfold": "0 axis size step", "unbind": "0 axis=0",
    "lerp": "0 1 weight", "addcdiv": "0 1 2 ; value=1", "addcmul": "0 1 2 ; value=1", "argmax": "0 axis keepdims=False",
    "argmin": "0 axis keepdims=False", "put": "0 1 2 accumulate=False", "polygamma": "n 0", "glu": "0 axis=last",
    "softplus": "0 beta=1 threshold=20", "elu": "0 alpha scale=1 input_scale=1", "celu": "0 alpha=1",
    "nan_to_num": "0 nan=None posinf=None neginf=None", "linalg_qr": "0 mode='reduced'", "_linalg_svd": "0 full",
    "max_pool2d_with_indices": "0 kernel stride=kernel padding=zeros dilation=ones ceil_mode=False",
    "max_pool3d_with_indices": "0 kernel stride=kernel padding=zeros dilation=ones ceil_mode=False",
    "avg_pool2d": "0 kernel stride=kernel padding=zeros ceil_mode=False include=True divisor=None",
    "avg_pool3d": "0 kernel stride=kernel padding=zeros ceil_mode=False include=True divisor=None",
    "im2col": "0 kernel dilation padding stride", "mse_loss": "0 1 reduction='mean'",
    "smooth_l1_loss": "0 1 reduction='mean' beta=1", "huber_loss": "0 1 reduction='mean' delta=1",
    "binary_cross_entropy": "0 1 2=None reduction='mean'", "nll_loss_forward": "0 1 2 reduction ignore_index",
    "diagonal_scatter": "0 1 offset=0 axis1=0 axis2=1", "cholesky_solve": "0 1 upper=False",
    "soft_margin_loss": "0 1 reduction='mean'",
    "native_layer_norm": "0 sizes 1 2 eps", "linalg_vector_norm": "0 order=2 axis=all keepdims=False",
}  # fmt: skip
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


@cache
def _read(name: str) -> tuple[tuple[tuple[str, str | None], ...], frozenset[str], int]:
    """The arguments of a form with their defaults, those given by name, and how many inputs it has."""
    positional, _, by_name = _FORMS[name].partition(";")
    pairs = tuple(
        (key, default or None)
        for key, _, default in (each.partition("=") for each in _FORMS[name].split() if each != ";")
    )
    named = frozenset(each.partition("=")[0] for each in by_name.split())
    return pairs, named, sum(key.isdigit() for key, _ in pairs)


def _default(text: str, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    if text == "last":
        return max(inputs[0].ndim - 1, 0)
    if text == "all":
        return tuple(range(inputs[0].ndim))
    if text == "kernel":
        return params["kernel"]
    if text in ("zeros", "ones"):
        return (int(text == "ones"),) * len(params["kernel"])
    return {
        "first_two": (0, 1),
        "None": None,
        "True": True,
        "False": False,
        "'mean'": "mean",
        "'reduced'": "reduced",
    }.get(text, float(text) if text.isdigit() else None)


def in_order(name: str, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments as torch's operator of this name takes them; None if it has no form here, or another one."""
    if name not in _FORMS:
        return None
    pairs, named, count = _read(name)
    if name == "native_layer_norm" and "axes" in params:
        params = {**params, "sizes": tuple(inputs[0].shape[-params["axes"] :])}
    needed = {key for key, default in pairs if not key.isdigit() and default is None}
    if len(inputs) not in (count, count - sum(key.isdigit() and default is not None for key, default in pairs)):
        return None
    if not needed <= params.keys():
        return None
    args: list[Any] = []
    shown, kwargs = 0, {}
    for key, default in pairs:
        if key.isdigit():
            value = inputs[int(key)] if int(key) < len(inputs) else None
        else:
            value = params.get(key, None if default is None else _default(default, inputs, params))
        is_default = default is not None and not hasattr(value, "dtype") and value == _default(default, inputs, params)
        if key in named:
            kwargs.update({} if is_default else {key: value})
            continue
        args.append(_as_shown(value))
        shown = shown if is_default else len(args)
    return args[:shown], kwargs


def _as_shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, np.generic):
        return value.item()
    return _REDUCTIONS.get(value, value) if isinstance(value, str) else value

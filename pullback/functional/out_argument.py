"""`out=`: results written into the tensors that a program gives for them, with torch's checks.

A function says of which kind its `out=` is: "cast" (any dtype that the result can be cast to), "same" (the result's own
dtype), "bool" (bool or uint8), "joined" (as "cast", with the words of `torch.cat`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import seams
from ..core.basics.dtypes import can_cast
from ..core.basics.notices import warn_user
from ..core.basics.storage import storage_of
from ..core.grad_mode import no_grad
from ..core.mode import current_mode
from ..core.tensor import Tensor
from ..core.writes import bump, check_no_overlap, check_writable

KINDS: frozenset[str] = frozenset({"cast", "same", "bool", "joined"})


def store(
    name: str, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any], out: Any, kind: str = "cast"
) -> Any:
    """Compute without recording and write the result(s) into `out`."""
    targets = out if isinstance(out, (tuple, list)) else (out,)
    refuse_gradients(name, *_flat(args), *kwargs.values(), *targets)
    if (
        kwargs.get("dtype") is not None and isinstance(out, Tensor) and out.dtype is not kwargs["dtype"]
        and not ("norm" in name and kwargs["dtype"].is_complex)  # which is real all the same
    ):  # fmt: skip
        raise _other_dtype(kwargs["dtype"], out.dtype)
    with no_grad():
        result = f(*args, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(targets, results, strict=True):
        write_out(name, target, value, kind)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*targets)
    return out


def refuse_gradients(name: str, *values: Any) -> None:
    """Refuse `out=` where a derivative is wanted of one of the arguments, or of what is written to."""
    mode = current_mode()
    involved = [value for value in values if isinstance(value, Tensor)]
    if mode.dual_level and any(value._tangent is not None for value in involved):
        raise RuntimeError(
            f"Trying to use forward AD with {name.rstrip('_')}_out that does not support it because it is an out= "
            "function"
        )
    if mode.grad and any(value.requires_grad for value in involved):
        raise RuntimeError(
            f"{name.rstrip('_')}(): functions with out=... arguments don't support automatic differentiation, but one "
            "of the arguments requires grad."
        )


def _flat(args: tuple) -> list:
    values: list[Any] = []
    for value in args:
        values.extend(value) if isinstance(value, (tuple, list)) else values.append(value)
    return values


def _other_dtype(wanted: Any, given: Any) -> RuntimeError:
    names = {"Long": "long int", "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>"}
    expected, found = (names.get(dtype.type_name, dtype.type_name.lower()) for dtype in (wanted, given))
    return RuntimeError(f"Expected out tensor to have dtype {expected}, but got {found} instead")


def write_out(name: str, target: Any, value: Tensor, kind: str = "cast") -> None:
    """Write a result into the tensor passed as `out=`, with torch's checks."""
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    _check_dtype(name, target, value, kind)
    if target.is_sparse or value.is_sparse:
        return seams.write_sparse(name, target, value, kind)
    if target._array.shape != value._array.shape:
        if target._array.size != 0:
            _warn_of_resize(target, value)
        target._array = np.empty(value._array.shape, target._array.dtype)
    else:
        check_no_overlap(target._array)
    mode = current_mode()
    if mode.saved_hooks:
        from ..transforms.mutation import keep_saved

        keep_saved(target)
    if target._inference and not mode.inference:
        check_writable(target, mode, False)
    bump(storage_of(target))
    np.copyto(target.memory(), value._array, casting="unsafe")


def _check_dtype(name: str, target: Tensor, value: Tensor, kind: str) -> None:
    if kind == "same" and value.dtype is not target.dtype:
        if name.startswith("is"):
            raise RuntimeError(f"{name} does not support non-boolean outputs.")
        if not (name == "abs" and target.dtype.is_complex):
            raise _other_dtype(value.dtype, target.dtype)
    if kind == "bool" and target.dtype._name not in ("bool", "uint8"):
        raise RuntimeError(f"{name} only supports bool tensor for result, got: {target.dtype.type_name}")
    if not can_cast(value.dtype, target.dtype):
        if kind == "joined":
            raise TypeError(
                f"torch.cat(): input types can't be cast to the desired output type {target.dtype.type_name}"
            )
        raise RuntimeError(
            f"result type {value.dtype.type_name} can't be cast to the desired output type {target.dtype.type_name}"
        )


def _warn_of_resize(target: Tensor, value: Tensor) -> None:
    warn_user(
        f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does not match "
        f"the required output shape {list(value.shape)}. This behavior is deprecated, and in a future PyTorch release "
        "outputs will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by "
        "resizing it, inplace, to zero elements with t.resize_(0).",
    )

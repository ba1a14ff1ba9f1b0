"""What autocast casts on the CPU: products to the short dtype; losses, factorizations and a few others to float32.

While `torch.autocast("cpu")` is on, the general path of the tape casts the inputs of operations as their field `autocast`
says (`cast_inputs`), and functions that torch runs as a whole in float32 cast their arguments (`in_float32`). The casts
are recorded like any others, so gradients come back in the dtype of the original tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..dtypes import dtype, float32
from ..tensor import Tensor
from .mode import current_mode, set_mode
from .op import Op

# Functions of the package, and methods, that run in float32; those of nn.functional, linalg and fft say so themselves.
_FULL_FUNCTIONS = frozenset(
    """cdist cholesky cholesky_inverse cholesky_solve geqrf inverse lu_solve nanquantile orgqr ormqr pinverse polar qr
    quantile stft svd triangular_solve view_as_complex""".split()
)
_UNTOUCHED = frozenset({"mv", "addmv"})  # products that torch does not cast


def cast_inputs(op: Op, inputs: tuple[Any, ...], target: dtype) -> tuple[Any, ...]:
    """The inputs in the dtype this operation takes under autocast."""
    if op.autocast == "as given":
        return inputs
    wanted = target if op.autocast == "short" else float32
    mode = current_mode()
    set_mode(mode.replace(autocast=None))
    try:
        return tuple(_cast(value, wanted) for value in inputs)
    finally:
        set_mode(mode)


def _cast(value: Any, wanted: dtype) -> Any:
    # Only float32 and the short dtypes take part: float64 stays what it is, as in torch.
    if isinstance(value, Tensor) and value._array.dtype.kind in "fV" and value._array.dtype.itemsize <= 4:
        return value.to(wanted)
    return value


def in_float32(function: Callable[..., Any], cast: bool = True) -> Callable[..., Any]:
    """A function that under autocast runs in float32 (or as it is given), and everything inside it without autocast."""

    @functools.wraps(function)
    def wide(*args: Any, **kwargs: Any) -> Any:
        mode = current_mode()
        if mode.autocast is None:
            try:
                return function(*args, **kwargs)
            except AttributeError as error:
                from ..functional.refusals import blame_argument

                blame_argument(error, function)
                raise
        set_mode(mode.replace(autocast=None))
        try:
            if cast:
                args, kwargs = _cast_all(args), {name: _cast_all(value) for name, value in kwargs.items()}
            return function(*args, **kwargs)
        finally:
            set_mode(mode)

    return wide


def around_autocast(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the package as it is announced: most leave autocast to their operations."""
    if name in _FULL_FUNCTIONS:
        return in_float32(function)
    return in_float32(function, cast=False) if name in _UNTOUCHED else function


def run_in_float32(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Let these functions of a module run in float32 under autocast."""
    for name in names:
        namespace[name] = in_float32(namespace[name])
        namespace[name].__module__ = namespace["__name__"]  # where it is found by its name: pickles ask


def _cast_all(value: Any) -> Any:
    if type(value) in (tuple, list):
        return type(value)(map(_cast_all, value))
    return _cast(value, float32)


def is_active() -> bool:
    """Whether products will be cast to one dtype, so that mixed operands are no mistake."""
    return current_mode().autocast is not None

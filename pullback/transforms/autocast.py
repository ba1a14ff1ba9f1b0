"""Autocast on the CPU: products are cast to the short dtype; losses, factorizations and a few others to float32.

While `torch.autocast("cpu")` is on, the general path of the tape casts the inputs of operations as their field `autocast`
says (`cast_inputs`), and the gates of functions that torch runs as a whole in float32 cast their arguments
(`without_autocast`). The casts are recorded like any others, so gradients come back in the dtype of the original tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.basics.dtypes import dtype, float32
from ..core.mode import current_mode, set_mode
from ..core.op import Op
from ..core.tensor import Tensor

if TYPE_CHECKING:
    from ..core.basics.types import Arguments, Function, Keywords, Operand, Operands


def cast_inputs(op: Op, inputs: Operands, target: dtype) -> Operands:
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


def _cast(value: Operand, wanted: dtype) -> Operand:
    # Only float32 and the short dtypes take part: float64 stays what it is, as in torch.
    if isinstance(value, Tensor) and value._array.dtype.kind in "fV" and value._array.dtype.itemsize <= 4:
        return value.to(wanted)
    return value


def without_autocast(function: Function, args: Arguments, kwargs: Keywords, cast: bool = False) -> Any:
    """Call a function with autocast off inside it; with `cast`, its arguments are cast to float32 first."""
    mode = current_mode()
    set_mode(mode.replace(autocast=None))
    try:
        if cast:
            args = _cast_all(args)
            kwargs = {name: value if name == "out" else _cast_all(value) for name, value in kwargs.items()}
        return function(*args, **kwargs)
    finally:
        set_mode(mode)


def _cast_all(value: Any) -> Any:
    if type(value) in (tuple, list):
        return type(value)(map(_cast_all, value))
    return _cast(value, float32)


def is_active() -> bool:
    """True if products will be cast to one dtype, so that operands of several dtypes are no mistake."""
    return current_mode().autocast is not None

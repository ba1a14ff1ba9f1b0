"""Integer-like division: floor division, remainders, rounding modes.

Torch rounds floor division down and gives remainders the sign of the divisor; `fmod` keeps the dividend's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import views
from ..autograd.op import op
from ..autograd.tape import apply
from ..tensor import Tensor
from .operands import as_operand, as_tensor, broadcast_error, promote
from .registry import public


def _zero_pullback(g: Any) -> Any:
    return g * 0


div_floor = op("DivBackward1", np.floor_divide, kind="elementwise_pull", a=_zero_pullback, b=_zero_pullback)


def _truncated(a: Any, b: Any) -> Any:
    if np.asarray(a).dtype.kind in "iu":
        quotient = np.floor_divide(a, b)
        return quotient + ((quotient < 0) & (quotient * b != a))
    return np.trunc(a / b)


div_trunc = op("DivBackward1", _truncated, kind="elementwise_pull", a=_zero_pullback, b=_zero_pullback)
floor_divide_op = op(
    "NotImplemented", np.floor_divide, kind="elementwise_pull", a=_zero_pullback, b=_zero_pullback
)


def _remainder(a: Any, b: Any) -> Any:
    return np.remainder(a, b)


remainder_op = op(
    "RemainderBackward0",
    _remainder,
    kind="elementwise_pull",
    a=lambda g: g,
    b=lambda g, a, b: -g * np.floor(a / b),
)
fmod_op = op("FmodBackward0", np.fmod, kind="elementwise_pull", a=lambda g: g, b=lambda g, a, b: -g * np.trunc(a / b))


def _divided(operation: Any, a: Any, b: Any) -> Any:
    first, second = as_operand(a), as_operand(b)
    if first is None or second is None:
        return NotImplemented
    first, second = promote(first, second)
    _check_zero(first, second)
    try:
        return apply(operation, (first, second))
    except ValueError:
        raise broadcast_error(np.shape(getattr(first, "_array", first)), np.shape(getattr(second, "_array", second))) from None


def _check_zero(a: Any, b: Any) -> None:
    array = b._array if isinstance(b, Tensor) else b
    tensor = a if isinstance(a, Tensor) else b
    if tensor._array.dtype.kind in "iu" and np.any(np.equal(array, 0)):
        raise RuntimeError("ZeroDivisionError: integer division or remainder by zero. Mask the zeros first, or use floats.")


@public(in_place=True, out=True)
def floor_divide(input: Any, other: Any) -> Tensor:
    """Division rounded down."""
    return _divided(floor_divide_op, as_tensor(input), other)


@public(in_place=True, out=True)
def remainder(input: Any, other: Any) -> Tensor:
    """The remainder of floor division: it has the sign of the divisor."""
    return _divided(remainder_op, input, other)


@public(in_place=True, out=True)
def fmod(input: Any, other: Any) -> Tensor:
    """The remainder of truncated division: it has the sign of the dividend."""
    return _divided(fmod_op, as_tensor(input), other)


def rounded_division(a: Any, b: Any, rounding_mode: str) -> Tensor:
    if rounding_mode == "floor":
        return _divided(div_floor, as_tensor(a), b)
    if rounding_mode == "trunc":
        return _divided(div_trunc, as_tensor(a), b)
    raise RuntimeError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
    )


OPERATORS = {
    "__floordiv__": lambda a, b: _divided(floor_divide_op, a, b),
    "__rfloordiv__": lambda a, b: _divided(floor_divide_op, as_tensor(b), a),
    "__mod__": lambda a, b: _divided(remainder_op, a, b),
    "__rmod__": lambda a, b: _divided(remainder_op, as_tensor(b), a),
    "__ifloordiv__": lambda a, b: views.in_place(a, floor_divide, b),
    "__imod__": lambda a, b: views.in_place(a, remainder, b),
}

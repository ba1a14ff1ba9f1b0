"""Integer-like division: floor division, remainders, rounding modes.

Torch rounds floor division down and gives remainders the sign of the divisor; `fmod` keeps the dividend's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.op import Op
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..ops import pairs as ops
from .checks import (
    apply_broadcast,
    check_answered,
    is_known_true,
    need_first_tensor,
    need_one_tensor,
    not_implemented_for,
)
from .numpy_operands import result_of_numpy
from .operands import NUMBERS, as_operand, as_tensor, promote
from .refusals import must_be_tensor
from .registry import public


def _divided(operation: Op, a: Any, b: Any, of_arrays: Any = None) -> Any:
    """The result of an operation. For an operator, NumPy's function computes with a tensor and an array."""
    if of_arrays is None:
        if isinstance(b, np.ndarray):
            raise must_be_tensor(b)
    elif (answer := result_of_numpy(of_arrays, a, b)) is not None:
        return answer
    first, second = as_operand(a), as_operand(b)
    if first is None or second is None:
        return NotImplemented
    first, second = promote(first, second)
    if isinstance(first, Tensor) and first._array.dtype.kind in "cb":
        kernel = "div_floor" if operation is ops.floor_divide else operation.name.lower()
        raise not_implemented_for(f"{kernel}_cpu", first)
    _check_zero(first, second)
    kind = (first if isinstance(first, Tensor) else second)._array.dtype
    if not isinstance(first, Tensor):
        first = wrap(np.asarray(first, kind))
    if not isinstance(second, Tensor):
        second = np.asarray(second, kind)[()]
    return apply_broadcast(operation, (first, second))


def _check_zero(a: Any, b: Any) -> None:
    array = b._array if isinstance(b, Tensor) else b
    tensor = a if isinstance(a, Tensor) else b
    if tensor._array.dtype.kind in "iu" and is_known_true(np.any(np.equal(array, 0))):
        raise RuntimeError(
            "ZeroDivisionError: integer division or remainder by zero. Mask the zeros first, or use floats."
        )


@public(in_place=True, out="cast")
def floor_divide(input: Any, other: Any) -> Tensor:
    """Division rounded down."""
    return check_answered(_divided(ops.floor_divide, as_tensor(input), other), "floor_divide", input, other)


@public(in_place=True, out="cast")
def remainder(input: Any, other: Any) -> Tensor:
    """The remainder of floor division: it has the sign of the divisor."""
    need_one_tensor("remainder", input, other)
    if not isinstance(input, NUMBERS):
        input = as_tensor(input)
    op = ops.remainder if isinstance(other, Tensor) else ops.remainder_scalar
    return check_answered(_divided(op, input, other), "remainder", input, other)


@public(in_place=True, out="cast")
def fmod(input: Any, other: Any) -> Tensor:
    """The remainder of truncated division: it has the sign of the dividend."""
    need_first_tensor("fmod", input, other)
    op = ops.fmod if isinstance(other, Tensor) else ops.fmod_scalar
    return check_answered(_divided(op, as_tensor(input), other), "fmod", input, other)


def rounded_division(a: Any, b: Any, rounding_mode: str) -> Tensor:
    """Division rounded down ("floor") or towards zero ("trunc")."""
    op = {"floor": ops.divide_floor, "trunc": ops.divide_trunc}.get(rounding_mode)
    if op is not None:
        return check_answered(_divided(op, as_tensor(a), b), "div", a, b)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


def _floor_divided(a: Any, b: Any) -> Any:
    return _divided(ops.floor_divide, a, b, np.floor_divide)


def _operator_remainder(a: Tensor, b: Any) -> Any:
    return _divided(ops.remainder if isinstance(b, Tensor) else ops.remainder_scalar, a, b, np.remainder)


OPERATORS: dict[Any, Any] = {
    "__floordiv__": _floor_divided,
    "__rfloordiv__": lambda a, b: _floor_divided(b, a),
    "__mod__": _operator_remainder,
    "__rmod__": lambda a, b: _divided(ops.remainder, b, a, np.remainder),
}

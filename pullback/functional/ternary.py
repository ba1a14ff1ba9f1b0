"""Functions of three operands: `clamp` and its one-sided forms, `lerp`, `addcmul`, `addcdiv`, `where`.

Those of two are in `pairwise.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.basics.constants import FLOAT32, FLOAT64, number
from ..core.basics.dtypes import number_in
from ..core.tape import apply, apply_unary, wrap
from ..core.tensor import Tensor
from ..ops import pairs, piecewise
from .checks import (
    apply_broadcast,
    apply_to_both,
    have_one_float_dtype,
    need_first_tensor,
    need_tensor,
    not_implemented_for,
    warn_of_older_form,
)
from .operands import as_tensor, need_room, need_room_inside, operand, promote, result_type
from .refusals import must_be_tensor
from .registry import public
from .writing import in_place_method, multiplied

_BOUNDS = (float, int, type(None))
_PLAIN = (float, int)
_REAL = (FLOAT32, FLOAT64)
BOOL = np.dtype(bool)


@public("clip", in_place=True, out="same")
def clamp(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """Limit elements to [min, max]; either bound may be a number, a tensor or None."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    x = as_tensor(input)
    if x._array.dtype.kind == "f" and type(min) in _BOUNDS and type(max) in _BOUNDS:
        need_room(min, x._array.dtype)
        need_room(max, x._array.dtype)
        return apply_unary(piecewise.clamp_scalar, x, {"minimum": min, "maximum": max})
    if x._array.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types: complex numbers have no order")
    bounds = [operand(bound) for bound in (min, max) if bound is not None]
    x, *bounds = _with_bounds(x, *bounds)
    if not any(isinstance(bound, Tensor) for bound in bounds):
        low, high = bounds if len(bounds) == 2 else (bounds[0], None) if max is None else (None, bounds[0])
        return apply(piecewise.clamp_scalar, (x,), {"minimum": low, "maximum": high})
    bounds = [bound if isinstance(bound, Tensor) else wrap(np.asarray(bound, x._array.dtype)) for bound in bounds]
    if len(bounds) == 2:
        return apply_broadcast(piecewise.clamp_between, (x, *bounds))
    return apply_broadcast(piecewise.clamp_below if max is None else piecewise.clamp_above, (x, bounds[0]))


@public(in_place=True, out="same")
def clamp_min(input: Any, min: Any) -> Tensor:
    """Elements not below `min`."""
    if type(min) in _PLAIN and isinstance(input, Tensor) and input._array.dtype.kind == "f":
        need_room(min, input._array.dtype)
        return apply_unary(piecewise.clamp_min_scalar, input, {"minimum": min, "maximum": None})
    x, bound = _clamp_operands("clamp_min", input, min)
    if isinstance(bound, Tensor):
        return apply_to_both(piecewise.clamp_min, x, bound)
    return apply(piecewise.clamp_min_scalar, (x,), {"minimum": bound, "maximum": None})


@public(in_place=True, out="same")
def clamp_max(input: Any, max: Any) -> Tensor:
    """Elements not above `max`."""
    if type(max) in _PLAIN and isinstance(input, Tensor) and input._array.dtype.kind == "f":
        need_room(max, input._array.dtype)
        return apply_unary(piecewise.clamp_max_scalar, input, {"minimum": None, "maximum": max})
    x, bound = _clamp_operands("clamp_max", input, max)
    if isinstance(bound, Tensor):
        return apply_to_both(piecewise.clamp_max, x, bound)
    return apply(piecewise.clamp_max_scalar, (x,), {"minimum": None, "maximum": bound})


def _clamp_operands(name: str, input: Any, bound: Any) -> tuple[Any, Any]:
    """A tensor and its bound, checked; promoted where the bound is a number."""
    need_first_tensor(name, input, bound)
    if as_tensor(input)._array.dtype.kind == "c":
        raise not_implemented_for(name, input)
    return (input, bound) if isinstance(bound, Tensor) else _with_bounds(as_tensor(input), operand(bound))


def _with_bounds(x: Tensor, *bounds: Any) -> tuple[Any, ...]:
    """A tensor and its bounds in their common dtype. A number that has no room there would wrap, or be infinite."""
    kind = result_type(x, *bounds)._numpy
    for bound in bounds:
        if isinstance(bound, (int, float)):
            number_in(bound, kind)
    return promote(x, *bounds)


@public(in_place=True, out="cast")
def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """`input + weight * (end - input)`."""
    if have_one_float_dtype(input, end) and type(weight) is float:
        need_room_inside(weight, input._array.dtype)
        return apply_broadcast(pairs.lerp_scalar, (input, end), {"weight": weight})
    start, end = need_tensor(input, "lerp"), need_tensor(end, "lerp", "end", 2)
    if start._array.dtype.kind in "biu":
        raise not_implemented_for("lerp_kernel_scalar", start)
    if start._array.dtype != end._array.dtype:
        raise RuntimeError(f"expected dtype {start.dtype!r} for `end` but got dtype {end.dtype!r}")
    if not isinstance(weight, Tensor):
        if isinstance(weight, np.ndarray):
            raise must_be_tensor(weight, "lerp", "weight", 3)
        return apply_broadcast(pairs.lerp_scalar, (start, end), {"weight": weight})
    if start._array.dtype != weight._array.dtype:
        if not weight._array.ndim and not weight.requires_grad:  # as a number, which has no precision of its own
            return apply_broadcast(pairs.lerp_scalar, (start, end), {"weight": weight.item()})
        raise RuntimeError(f"expected dtype {start.dtype!r} for `weight` but got dtype {weight.dtype!r}")
    return apply_broadcast(pairs.lerp, (start, end, weight))


@public(in_place=True, out="cast")
def addcmul(input: Any, tensor1: Any, tensor2: Any, *legacy: Any, value: Any = 1) -> Tensor:
    """`input + value * tensor1 * tensor2`."""
    if legacy:
        warn_of_older_form("addcmul", ("value",), ("tensor1", "tensor2"))
        value, tensor1, tensor2 = tensor1, tensor2, legacy[0]
    x, a, b = promote(*(as_tensor(each) for each in (input, tensor1, tensor2)))
    if isinstance(value, Tensor):
        value = value.item()
    if x._array.dtype.kind in "iu":
        value = number_in(int(value), x._array.dtype)
    elif type(value) is float:
        need_room_inside(value, x._array.dtype)
    return apply_broadcast(pairs.addcmul, (x, a, b), {"value": value})


@public(in_place=True, out="cast")
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *legacy: Any, value: Any = 1) -> Tensor:
    """`input + value * tensor1 / tensor2`."""
    if legacy:
        warn_of_older_form("addcdiv", ("value",), ("tensor1", "tensor2"))
        value, tensor1, tensor2 = tensor1, tensor2, legacy[0]
    x, a, b = promote(*(as_tensor(each) for each in (input, tensor1, tensor2)))
    if a._array.dtype.kind in "biu":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a true "
            "division of tensor1 and tensor2. Write input + value * torch.trunc(tensor1 / tensor2), or convert to "
            "floats."
        )
    if type(value) is float:
        need_room_inside(value, x._array.dtype)
    return apply_broadcast(pairs.addcdiv, (x, a, b), {"value": value})


def _add_product(x: np.ndarray, a: Any, b: Any, /, value: Any = 1) -> None:
    np.add(x, multiplied(a * b, value), x)


def _add_quotient(x: np.ndarray, a: Any, b: Any, /, value: Any = 1) -> None:
    np.add(x, multiplied(a / b, value), x)


def _clamp(x: np.ndarray, /, min: Any = None, max: Any = None) -> None:
    numbers = (*_BOUNDS, np.ndarray)
    if type(min) not in numbers or type(max) not in numbers or min is max:
        raise TypeError("not plain numbers")
    if min is not None:
        np.maximum(x, min, out=x)
    if max is not None:
        np.minimum(x, max, out=x)


def _interpolate(x: np.ndarray, end: Any, weight: Any, /) -> None:
    if type(end) is not np.ndarray or end.ndim != x.ndim:
        raise TypeError("not plain tensors")
    x[...] = pairs.lerp.forward(x, end, weight if weight.ndim else weight.item())


in_place_method("addcmul_", addcmul, _add_product)
in_place_method("addcdiv_", addcdiv, _add_quotient)
in_place_method("clamp_", clamp, _clamp)
in_place_method("lerp_", lerp, _interpolate)


@public(method=False, out="same")
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, `other` elsewhere; with only a condition, the indices where it holds."""
    if input is None and other is None:
        from .searching import nonzero

        return nonzero(condition, as_tuple=True)
    if isinstance(condition, Tensor) and condition._array.dtype is BOOL:
        if have_one_float_dtype(input, other):
            return apply_broadcast(piecewise.where, (condition, input, other))
        if isinstance(input, Tensor) and type(other) in _PLAIN and input._array.dtype in _REAL:
            return apply_broadcast(piecewise.where, (condition, input, _number(other, input._array.dtype)))
        if isinstance(other, Tensor) and type(input) in _PLAIN and other._array.dtype in _REAL:
            return apply_broadcast(piecewise.where, (condition, _number(input, other._array.dtype), other))
    a, b = promote(operand(input), operand(other))
    condition = as_tensor(condition)
    kind = condition._array.dtype
    if kind.kind != "b" and kind != np.uint8:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.type_name}"
        )
    mask = condition if kind.kind == "b" else wrap(condition._array != 0)
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        common = result_type(operand(input), operand(other))._numpy
        for value in (input, other):
            if type(value) is int and common.kind in "iu":
                number_in(value, common)  # promotion would let it wrap
        a, b = (value if isinstance(value, Tensor) else wrap(np.asarray(value, common)) for value in (a, b))
    return apply_broadcast(piecewise.where, (mask, a, b))


def _number(value: float, kind: np.dtype) -> Tensor:
    return wrap(number(value, kind) if value else np.array(value, kind))


@public(name="where", function=False, direct=True)
def where_method(input: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where the condition holds, `other` elsewhere."""
    return where(condition, input, other)

"""Functions of two or three operands: extrema, clamping, angles, interpolation, where, integer number theory.

Arithmetic operators are in `arithmetic.py`, rounding division in `division.py`, comparisons in `comparison.py`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.op import Op
from ..autograd.tape import apply, apply_unary, binary, wrap
from ..autograd.views import in_place
from ..constants import FLOAT32, FLOAT64, number
from ..dtypes import complex128, float64, number_in
from ..dtypes import dtype as dtype_type
from ..ops import pairs, pointwise
from ..ops.casting import cast
from ..tensor import Tensor
from .checks import (
    apply_to_both,
    broadcasting,
    need_first_tensor,
    need_one_tensor,
    need_tensor,
    not_implemented_for,
    of_one_float,
    pair_by_pair,
    warn_of_older_form,
)
from .operands import NUMBERS, as_tensor, operand, promote, result_type
from .registry import FUNCTIONS, METHODS, public, store
from .writing import direct, times


def _of_tensors(
    name: str, op: Op, *aliases: str, floating: bool = False, in_place: bool = True, refused: str = "", doc: str
) -> Callable:
    """A function that takes tensors only; `refused` are the kinds of dtype it is not defined for."""

    def carefully(input: Any, other: Any) -> Tensor:
        a, b = need_tensor(input, name), need_tensor(other, name, "other", 2)
        if refused:
            _refuse(name, refused, a, b)
        return apply_to_both(op, a, b, floating=floating)

    quickly = binary(op, carefully)

    def function(input: Any, other: Any) -> Tensor:
        if isinstance(input, Tensor) and isinstance(other, Tensor):
            return quickly(input, other)
        return carefully(input, other)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return public(*aliases, in_place=in_place, out=True)(function)


def _refuse(name: str, kinds: str, a: Tensor, b: Tensor) -> None:
    common = result_type(a, b)
    if common.kind in kinds:
        if common.is_complex:
            raise RuntimeError(f"{name} not implemented for complex tensors: complex numbers have no order")
        raise not_implemented_for(f"{name}_cpu", a)


atan2: Callable[..., Any] = _of_tensors(
    "atan2", pairs.atan2, "arctan2", floating=True, doc="The angle of the point (other, input), from -pi to pi."
)
hypot: Callable[..., Any] = _of_tensors(
    "hypot", pairs.hypot, refused="biu", doc="The length of the hypotenuse: `sqrt(input**2 + other**2)`."
)
nextafter: Callable[..., Any] = _of_tensors(
    "nextafter", pairs.nextafter, refused="biuc", doc="The next float after each element on the way to `other`."
)
logaddexp: Callable[..., Any] = _of_tensors(
    "logaddexp", pairs.logaddexp, in_place=False, refused="biu", doc="`log(exp(input) + exp(other))`, without overflow."
)
logaddexp2: Callable[..., Any] = _of_tensors(
    "logaddexp2", pairs.logaddexp2, in_place=False, refused="biu", doc="`log2(2**input + 2**other)`, without overflow."
)
maximum: Callable[..., Any] = _of_tensors(
    "maximum", pointwise.maximum, in_place=False, refused="c", doc="The larger of two elements; NaN if either is NaN."
)
minimum: Callable[..., Any] = _of_tensors(
    "minimum", pointwise.minimum, in_place=False, refused="c", doc="The smaller of two elements; NaN if either is NaN."
)
fmax: Callable[..., Any] = _of_tensors(
    "fmax", pointwise.fmax, in_place=False, refused="c", doc="The larger of two elements; if one is NaN, the other."
)
fmin: Callable[..., Any] = _of_tensors(
    "fmin", pointwise.fmin, in_place=False, refused="c", doc="The smaller of two elements; if one is NaN, the other."
)
ldexp: Callable[..., Any] = _of_tensors("ldexp", pairs.ldexp, floating=True, doc="`input * 2**other`.")


@public(in_place=True, out=True)
def copysign(input: Any, other: Any) -> Tensor:
    """The size of `input` with the sign of `other`."""
    need_first_tensor("copysign", input, other)
    if isinstance(other, Tensor):
        return apply_to_both(pairs.copysign, input, other, floating=True)
    return apply_to_both(pairs.copysign_scalar, input, other, floating=True)


@public(in_place=True, out=True)
def heaviside(input: Any, values: Any) -> Tensor:
    """0 below zero, 1 above, `values` at zero. Both tensors have one dtype."""
    x, at_zero = need_tensor(input, "heaviside"), need_tensor(values, "heaviside", "values", 2)
    if x._array.dtype != at_zero._array.dtype:
        raise RuntimeError(
            "heaviside is not yet implemented for tensors with different dtypes. Cast one of them first."
        )
    if x._array.dtype.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if x._array.dtype.kind in "biu":
        array = x._array
        return wrap(pair_by_pair(np.where, array == 0, at_zero._array, array > 0).astype(array.dtype))
    return broadcasting(pairs.heaviside, (x, at_zero))


def _precise(input: Any, exponent: Any) -> dtype_type:
    return complex128 if result_type(operand(input), operand(exponent)).is_complex else float64


def _check_precise(given: Tensor, what: str, input: Any, exponent: Any) -> None:
    wanted = _precise(input, exponent)
    if given.dtype is not wanted:
        raise RuntimeError(
            f"the {what} has dtype {given.dtype.type_name} but the operation's result requires dtype {wanted.type_name}"
        )


def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """`float_power`, written over this tensor, which has to be of double precision."""
    _check_precise(self, "base given to float_power_", self, exponent)
    return in_place(self, float_power, exponent)


METHODS["float_power_"] = float_power_


@public()
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent` in double precision."""
    if out is not None:
        _check_precise(out, "output given to float_power", input, exponent)
        return store("float_power", float_power, (input, exponent), {}, out)
    from .arithmetic import pow

    need_one_tensor("float_power", input, exponent)
    wanted = _precise(input, exponent)
    return pow(*(_in(wanted.numpy, value) for value in (input, exponent)))


def _in(kind: np.dtype, value: Any) -> Any:
    if isinstance(value, NUMBERS):
        return builtins.complex(value) if kind.kind == "c" else float(value.real)
    tensor = as_tensor(value)
    return tensor if tensor._array.dtype == kind else cast(tensor, dtype=kind)


# --- integers ---


def _of_integers(name: str, ufunc: np.ufunc, doc: str) -> Callable:
    def function(input: Any, other: Any) -> Tensor:
        a, b = promote(need_tensor(input, name), need_tensor(other, name, "other", 2))
        if a._array.dtype.kind not in "iu":
            raise not_implemented_for(f"{name}_cpu", a)
        return wrap(pair_by_pair(ufunc, a._array, b._array))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return public(in_place=True, out=True)(function)


gcd: Callable[..., Any] = _of_integers("gcd", np.gcd, doc="The greatest common divisor of two integers.")
lcm: Callable[..., Any] = _of_integers("lcm", np.lcm, doc="The least common multiple of two integers.")

# --- clamping ---

_BOUNDS = (float, int, type(None))
_PLAIN = (float, int)
_REAL = (FLOAT32, FLOAT64)
BOOL = np.dtype(bool)


@public("clip", in_place=True, out=True)
def clamp(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """Limit elements to [min, max]; either bound may be a number, a tensor or None."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    x = as_tensor(input)
    if x._array.dtype.kind == "f" and type(min) in _BOUNDS and type(max) in _BOUNDS:
        return apply_unary(pointwise.clamp_scalar, x, {"minimum": min, "maximum": max})
    if x._array.dtype.kind == "c":
        raise RuntimeError("clamp is not supported for complex types: complex numbers have no order")
    bounds = [operand(bound) for bound in (min, max) if bound is not None]
    if x._array.dtype.kind in "iu":
        for bound in bounds:
            if isinstance(bound, int):
                number_in(bound, x._array.dtype)  # promotion would let it wrap
    x, *bounds = promote(x, *bounds)
    if not any(isinstance(bound, Tensor) for bound in bounds):
        low, high = bounds if len(bounds) == 2 else (bounds[0], None) if max is None else (None, bounds[0])
        return apply(pointwise.clamp_scalar, (x,), {"minimum": low, "maximum": high})
    bounds = [bound if isinstance(bound, Tensor) else wrap(np.asarray(bound, x._array.dtype)) for bound in bounds]
    if len(bounds) == 2:
        return broadcasting(pointwise.clamp_between, (x, *bounds))
    return broadcasting(pointwise.clamp_below if max is None else pointwise.clamp_above, (x, bounds[0]))


@public(in_place=True, out=True)
def clamp_min(input: Any, min: Any) -> Tensor:
    """Elements not below `min`."""
    if type(min) in _PLAIN and isinstance(input, Tensor) and input._array.dtype.kind == "f":
        return apply_unary(pointwise.clamp_min_scalar, input, {"minimum": min, "maximum": None})
    x, bound = _clamp_operands("clamp_min", input, min)
    if isinstance(bound, Tensor):
        return apply_to_both(pointwise.clamp_min, x, bound)
    return apply(pointwise.clamp_min_scalar, (x,), {"minimum": bound, "maximum": None})


@public(in_place=True, out=True)
def clamp_max(input: Any, max: Any) -> Tensor:
    """Elements not above `max`."""
    if type(max) in _PLAIN and isinstance(input, Tensor) and input._array.dtype.kind == "f":
        return apply_unary(pointwise.clamp_max_scalar, input, {"minimum": None, "maximum": max})
    x, bound = _clamp_operands("clamp_max", input, max)
    if isinstance(bound, Tensor):
        return apply_to_both(pointwise.clamp_max, x, bound)
    return apply(pointwise.clamp_max_scalar, (x,), {"minimum": None, "maximum": bound})


def _clamp_operands(name: str, input: Any, bound: Any) -> tuple[Any, Any]:
    """A tensor and its bound, checked; promoted where the bound is a number."""
    need_first_tensor(name, input, bound)
    if as_tensor(input)._array.dtype.kind == "c":
        raise not_implemented_for(name, input)
    return (input, bound) if isinstance(bound, Tensor) else promote(as_tensor(input), operand(bound))


# --- three operands ---


@public(in_place=True, out=True)
def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """`input + weight * (end - input)`."""
    if of_one_float(input, end) and type(weight) is float:
        return broadcasting(pairs.lerp_scalar, (input, end), {"weight": weight})
    start, end = need_tensor(input, "lerp"), need_tensor(end, "lerp", "end", 2)
    if start._array.dtype.kind in "biu":
        raise not_implemented_for("lerp_kernel_scalar", start)
    if start._array.dtype != end._array.dtype:
        raise RuntimeError(f"expected dtype {start.dtype!r} for `end` but got dtype {end.dtype!r}")
    if not isinstance(weight, Tensor):
        return broadcasting(pairs.lerp_scalar, (start, end), {"weight": weight})
    if start._array.dtype != weight._array.dtype:
        if not weight._array.ndim and not weight.requires_grad:  # as a number, which has no precision of its own
            return broadcasting(pairs.lerp_scalar, (start, end), {"weight": weight.item()})
        raise RuntimeError(f"expected dtype {start.dtype!r} for `weight` but got dtype {weight.dtype!r}")
    return broadcasting(pairs.lerp, (start, end, weight))


@public(in_place=True, out=True)
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
    return broadcasting(pairs.addcmul, (x, a, b), {"value": value})


@public(in_place=True, out=True)
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
    return broadcasting(pairs.addcdiv, (x, a, b), {"value": value})


def _add_product(x: np.ndarray, a: Any, b: Any, /, value: Any = 1) -> None:
    np.add(x, times(a * b, value), x)


def _add_quotient(x: np.ndarray, a: Any, b: Any, /, value: Any = 1) -> None:
    np.add(x, times(a / b, value), x)


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


direct("addcmul_", addcmul, _add_product)
direct("addcdiv_", addcdiv, _add_quotient)
direct("clamp_", clamp, _clamp)
direct("lerp_", lerp, _interpolate)


@public(method=False, out=True)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, `other` elsewhere; with only a condition, the indices where it holds."""
    if input is None and other is None:
        from .searching import nonzero

        return nonzero(condition, as_tuple=True)
    if isinstance(condition, Tensor) and condition._array.dtype is BOOL:
        if of_one_float(input, other):
            return broadcasting(pointwise.where, (condition, input, other))
        if isinstance(input, Tensor) and type(other) in _PLAIN and input._array.dtype in _REAL:
            return broadcasting(pointwise.where, (condition, input, _number(other, input._array.dtype)))
        if isinstance(other, Tensor) and type(input) in _PLAIN and other._array.dtype in _REAL:
            return broadcasting(pointwise.where, (condition, _number(input, other._array.dtype), other))
    a, b = promote(operand(input), operand(other))
    condition = as_tensor(condition)
    kind = condition._array.dtype
    if kind.kind != "b" and kind != np.uint8:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.type_name}"
        )
    mask = condition if kind.kind == "b" else wrap(condition._array != 0)
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        common = result_type(operand(input), operand(other)).numpy
        a, b = (value if isinstance(value, Tensor) else wrap(np.asarray(value, common)) for value in (a, b))
    return broadcasting(pointwise.where, (mask, a, b))


def _number(value: float, kind: np.dtype) -> Tensor:
    return wrap(number(value, kind) if value else np.array(value, kind))


METHODS["where"] = lambda input, condition, other: where(condition, input, other)

# --- complex numbers from parts ---


def _parts(function: str, first: Any, second: Any, names: tuple[str, str]) -> tuple[Tensor, Tensor]:
    a, b = need_tensor(first, function, names[0]), need_tensor(second, function, names[1], 2)
    for one in (a, b):
        if one._array.dtype.kind != "f":
            raise RuntimeError(
                "Expected both inputs to be Half, Float or Double tensors but got "
                f"{a.dtype.type_name} and {b.dtype.type_name}"
            )
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {a.dtype.type_name} but got scalar type {b.dtype.type_name} for second "
            "argument"
        )
    return a, b


def complex(real: Any, imag: Any, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from real and imaginary parts."""
    return _into(broadcasting(pointwise.make_complex, _parts("complex", real, imag, ("real", "imag"))), out, "complex")


def polar(abs: Any, angle: Any, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their size and angle."""
    return _into(broadcasting(pointwise.polar, _parts("polar", abs, angle, ("abs", "angle"))), out, "polar")


def _into(result: Tensor, out: Tensor | None, function: str) -> Tensor:
    if out is None:
        return result
    if out.dtype is not result.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {result.dtype.type_name} but got scalar type {out.dtype.type_name} for "
            "argument 'out'"
        )
    from .registry import write_out

    write_out(function, out, result.detach())
    return out


FUNCTIONS["complex"], FUNCTIONS["polar"] = complex, polar


def result_type_of(tensor1: Any, tensor2: Any) -> dtype_type:
    """The dtype that arithmetic on two tensors or numbers gives."""
    return result_type(operand(tensor1), operand(tensor2))


FUNCTIONS["result_type"] = result_type_of

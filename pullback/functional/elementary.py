"""Functions of one element: exp, log, trigonometric, rounding, activations. Mostly one table.

Integers are promoted to the default float dtype where the result is not an integer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..autograd.op import Op
from ..autograd.tape import apply, apply_unary, wrap
from ..ops import casting
from ..ops import pointwise as ops
from ..tensor import Tensor
from .checks import not_implemented_for
from .operands import as_tensor, float_operand
from .registry import FUNCTIONS, IN_PLACE, METHODS, public, store


def unary(name: str, op: Op, *aliases: str, floating: bool = True, in_place: bool = True, doc: str = "") -> Callable:
    """A torch function of one tensor. `floating`: integers become floats first."""
    def function(input: Any, *, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return store(name, function, (input,), {}, out)
        if not isinstance(input, Tensor) or floating and input._array.dtype.kind in "biu":
            input = float_operand(input, "input", name) if floating else as_tensor(input, "input", name)
        return apply_unary(op, input)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or f"Elementwise {name}."
    for each in (name, *aliases):
        FUNCTIONS[each] = METHODS[each] = function
        if in_place:
            IN_PLACE[each + "_"] = function
    return function


exp = unary("exp", ops.exp)
exp2 = unary("exp2", ops.exp2)
expm1 = unary("expm1", ops.expm1)
log = unary("log", ops.log)
log2 = unary("log2", ops.log2)
log10 = unary("log10", ops.log10)
log1p = unary("log1p", ops.log1p)
sin = unary("sin", ops.sin)
cos = unary("cos", ops.cos)
tan = unary("tan", ops.tan)
asin = unary("asin", ops.asin, "arcsin")
acos = unary("acos", ops.acos, "arccos")
atan = unary("atan", ops.atan, "arctan")
sinh = unary("sinh", ops.sinh)
cosh = unary("cosh", ops.cosh)
tanh = unary("tanh", ops.tanh)
asinh = unary("asinh", ops.asinh, "arcsinh")
acosh = unary("acosh", ops.acosh, "arccosh")
atanh = unary("atanh", ops.atanh, "arctanh")
sqrt = unary("sqrt", ops.sqrt)
rsqrt = unary("rsqrt", ops.rsqrt)
reciprocal = unary("reciprocal", ops.reciprocal)
sigmoid = unary("sigmoid", ops.sigmoid)
sgn = unary("sgn", ops.sgn, floating=False)
sign = unary("sign", ops.sign, floating=False)
relu = unary("relu", ops.relu, floating=False)
@public(in_place=True, out=True)
def square(input: Any) -> Tensor:
    """`input * input`; booleans become integers."""
    x = as_tensor(input)
    if x._array.dtype.kind == "b":
        x = casting.cast(x, dtype=np.dtype(np.int64))
    return apply_unary(ops.square, x)




def _not_complex(name: str, x: Tensor) -> None:
    if x._array.dtype.kind == "c":
        raise RuntimeError(f"{name} is not implemented for complex tensors: take .real, .imag or .abs() first")


def _not_boolean(kernel: str, x: Tensor) -> None:
    if x._array.dtype.kind == "b":
        raise not_implemented_for(kernel, x)


@public("absolute", in_place=True, out=True)
def abs(input: Any) -> Tensor:
    """Absolute value (modulus of complex numbers)."""
    x = as_tensor(input)
    _not_boolean("abs_cpu", x)
    return apply(ops.absolute, (x,))


def _rounding(name: str, op: Op, *aliases: str) -> Callable:
    """Integers are returned as they are."""

    def function(input: Any) -> Tensor:
        x = as_tensor(input)
        _not_complex(name, x)
        _not_boolean(f"{name}_vml_cpu", x)
        return apply(op, (x,)) if x._array.dtype.kind not in "iu" else clone_of(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Elementwise {name}."
    return public(*aliases, in_place=True, out=True)(function)


def clone_of(x: Tensor) -> Tensor:
    from ..ops.casting import clone

    return apply(clone, (x,))


@public(in_place=True, out=True)
def frac(input: Any) -> Tensor:
    """The fractional part, with the sign of the number."""
    x = as_tensor(input)
    if x._array.dtype.kind not in "fV":
        raise not_implemented_for("frac_cpu", x)
    return apply_unary(ops.frac, x)


floor = _rounding("floor", ops.floor)
ceil = _rounding("ceil", ops.ceil)
trunc = _rounding("trunc", ops.trunc, "fix")


@public(in_place=True, out=True)
def round(input: Any, *, decimals: int = 0) -> Tensor:
    """Round to the nearest integer (ties to even), or to `decimals` places."""
    x = as_tensor(input)
    _not_complex("round", x)
    _not_boolean("round_vml_cpu", x)
    if x._array.dtype.kind in "iu":
        return clone_of(x)
    if decimals == 0:
        return apply(ops.round_, (x,))
    return apply(ops.round_to, (x,), {"decimals": decimals})


# --- angles and parts of complex numbers ---

deg2rad = unary("deg2rad", ops.deg2rad)
rad2deg = unary("rad2deg", ops.rad2deg)
angle = unary("angle", ops.angle, in_place=False)


@public(in_place=False)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; real tensors are returned as they are."""
    return apply(casting.conj, (input,)) if input._array.dtype.kind == "c" else input


@public(in_place=True, out=True)
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; real tensors are returned as they are."""
    return apply(ops.conj_physical, (input,)) if input._array.dtype.kind == "c" else input


@public(method=False)
def real(input: Tensor) -> Tensor:
    """The real part: a view of complex tensors, real ones as they are."""
    return input.real


@public(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, as a view."""
    return input.imag


# --- taking floating point numbers apart ---


class FrexpResult(NamedTuple):
    """What `frexp` returns."""

    mantissa: Tensor
    exponent: Tensor


@public()
def frexp(input: Tensor) -> FrexpResult:
    """Mantissas in [0.5, 1) and integer exponents with `input = mantissa * 2**exponent`."""
    if input._array.dtype.kind not in "fV":
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes. This tensor has dtype {input.dtype!r}.")
    return FrexpResult(*apply(ops.frexp, (input,)))


@public(in_place=True, out=True)
def nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN and infinities replaced: by 0 and the largest finite numbers unless given."""
    x = as_tensor(input)
    if x._array.dtype.kind in "biu":
        return clone_of(x)
    return apply(ops.nan_to_num, (x,), {"nan": nan, "posinf": posinf, "neginf": neginf})


# --- tests of elements that need no gradient ---


@public(out=True)
def signbit(input: Any) -> Tensor:
    """Whether the sign bit is set (True for -0.0)."""
    x = as_tensor(input)
    _not_complex("signbit", x)
    array = x._array
    return wrap(np.signbit(array) if array.dtype.kind in "fV" else array < 0)

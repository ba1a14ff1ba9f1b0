"""Functions of one element: exp, log, trigonometric, rounding, activations. Mostly one table.

Integers are promoted to the default float dtype where the result is not an integer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core import seams
from ..core.op import Op
from ..core.tape import apply, apply_unary, wrap
from ..core.tensor import Tensor
from ..ops import casting, complex_parts, piecewise
from ..ops import pointwise as ops
from ..return_types import returned_by
from .checks import need_tensor, not_implemented_for
from .operands import as_tensor, float_operand, need_int
from .out_argument import store
from .registry import public


def unary(
    name: str, op: Op, *aliases: str, floating: bool = True, in_place: bool = True, out_kind: str = "cast", doc: str
) -> Callable[..., Any]:
    """A torch function of one tensor. `floating`: integers become floats first."""

    def function(input: Any, *, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return store(name, function, (input,), {}, out, out_kind)
        if not isinstance(input, Tensor) or floating and input._array.dtype.kind in "biu":
            if not isinstance(input, Tensor) and seams.notice_foreign_objects(
                (input,), {}
            ):  # an object with a `__torch_function__`
                return function(input, out=out)
            input = float_operand(input, "input", name) if floating else as_tensor(input, "input", name)
        return apply_unary(op, input)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return public(*aliases, in_place=in_place, direct=True)(function)


exp: Callable[..., Any] = unary("exp", ops.exp, doc="e to the power of each element.")
exp2: Callable[..., Any] = unary("exp2", ops.exp2, doc="2 to the power of each element.")
expm1: Callable[..., Any] = unary("expm1", ops.expm1, doc="`exp(x) - 1` of each element, exact near 0.")
log: Callable[..., Any] = unary("log", ops.log, doc="The natural logarithm of each element.")
log2: Callable[..., Any] = unary("log2", ops.log2, doc="The logarithm to base 2 of each element.")
log10: Callable[..., Any] = unary("log10", ops.log10, doc="The logarithm to base 10 of each element.")
log1p: Callable[..., Any] = unary("log1p", ops.log1p, doc="`log(1 + x)` of each element, exact near 0.")
sin: Callable[..., Any] = unary("sin", ops.sin, doc="The sine of each element, in radians.")
cos: Callable[..., Any] = unary("cos", ops.cos, doc="The cosine of each element, in radians.")
tan: Callable[..., Any] = unary("tan", ops.tan, doc="The tangent of each element, in radians.")
asin: Callable[..., Any] = unary("asin", ops.asin, "arcsin", doc="The angle, in radians, whose sine each element is.")
acos: Callable[..., Any] = unary("acos", ops.acos, "arccos", doc="The angle, in radians, whose cosine each element is.")
atan: Callable[..., Any] = unary(
    "atan", ops.atan, "arctan", doc="The angle, in radians, whose tangent each element is."
)
sinh: Callable[..., Any] = unary("sinh", ops.sinh, doc="The hyperbolic sine of each element.")
cosh: Callable[..., Any] = unary("cosh", ops.cosh, doc="The hyperbolic cosine of each element.")
tanh: Callable[..., Any] = unary("tanh", ops.tanh, doc="The hyperbolic tangent of each element.")
asinh: Callable[..., Any] = unary("asinh", ops.asinh, "arcsinh", doc="The inverse hyperbolic sine of each element.")
acosh: Callable[..., Any] = unary("acosh", ops.acosh, "arccosh", doc="The inverse hyperbolic cosine of each element.")
atanh: Callable[..., Any] = unary("atanh", ops.atanh, "arctanh", doc="The inverse hyperbolic tangent of each element.")
sqrt: Callable[..., Any] = unary("sqrt", ops.sqrt, doc="The square root of each element.")
rsqrt: Callable[..., Any] = unary("rsqrt", ops.rsqrt, doc="One over the square root of each element.")
reciprocal: Callable[..., Any] = unary("reciprocal", ops.reciprocal, doc="One over each element.")
sigmoid: Callable[..., Any] = unary("sigmoid", ops.sigmoid, doc="`1 / (1 + exp(-x))` of each element.")
sgn: Callable[..., Any] = unary(
    "sgn", piecewise.sgn, floating=False, out_kind="same", doc="The sign of each element; of complex z, `z / |z|`."
)
sign: Callable[..., Any] = unary(
    "sign", piecewise.sign, floating=False, out_kind="same", doc="-1, 0 or 1: the sign of each element."
)
relu: Callable[..., Any] = unary("relu", piecewise.relu, floating=False, doc="Each element, or 0 where that is larger.")


@public(in_place=True, out="cast")
def square(input: Any) -> Tensor:
    """`input * input`; booleans become integers."""
    x = as_tensor(input)
    if x._array.dtype.kind == "b":
        x = casting.cast(x, dtype=np.dtype(np.int64))
    return apply_unary(ops.square, x)


_ROUNDING = ("ceil", "floor", "trunc", "round", "frac")


def _not_complex(name: str, x: Tensor) -> None:
    if x._array.dtype.kind == "c":
        words = "not supported for complex inputs" if name in _ROUNDING else "not implemented for complex tensors"
        raise NotImplementedError(f"{name} is {words}: take .real, .imag or .abs() first")


def _not_boolean(kernel: str, x: Tensor) -> None:
    if x._array.dtype.kind == "b":
        raise not_implemented_for(kernel, x)


@public("absolute", in_place=True, out="same")
def abs(input: Any) -> Tensor:
    """Absolute value (modulus of complex numbers)."""
    x = as_tensor(input)
    _not_boolean("abs_cpu", x)
    return apply_unary(piecewise.absolute, x)


def _rounding(name: str, op: Op, *aliases: str, doc: str) -> Callable:
    """Integers are returned as they are."""

    def function(input: Any) -> Tensor:
        x = as_tensor(input)
        _not_complex(name, x)
        _not_boolean(f"{name}_vml_cpu", x)
        return apply(op, (x,)) if x._array.dtype.kind not in "iu" else clone_of(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + " Integers stay as they are."
    return public(*aliases, in_place=True, out="same")(function)


def clone_of(x: Tensor) -> Tensor:
    """A copy that gradients flow through."""
    from ..ops.casting import clone

    return apply(clone, (x,))


@public(in_place=True, out="same")
def frac(input: Any) -> Tensor:
    """The fractional part, with the sign of the number."""
    x = as_tensor(input)
    if x._array.dtype.kind not in "fV":
        raise not_implemented_for("frac_cpu", x)
    return apply_unary(piecewise.frac, x)


floor: Callable[..., Any] = _rounding(
    "floor", piecewise.floor, doc="The largest integer that is not above each element."
)
ceil: Callable[..., Any] = _rounding("ceil", piecewise.ceil, doc="The smallest integer that is not below each element.")
trunc: Callable[..., Any] = _rounding("trunc", piecewise.trunc, "fix", doc="Each element without its fractional part.")


@public(in_place=True, out="same")
def round(input: Any, *, decimals: int = 0) -> Tensor:
    """Round to the nearest integer (ties to even), or to `decimals` places."""
    x = as_tensor(input)
    _not_complex("round", x)
    _not_boolean("round_vml_cpu", x)
    if x._array.dtype.kind in "iu":
        return clone_of(x)
    if decimals == 0:
        return apply(piecewise.round_, (x,))
    return apply(piecewise.round_to, (x,), {"decimals": need_int(decimals, "round", "decimals", 2)})


# --- angles and parts of complex numbers ---

deg2rad: Callable[..., Any] = unary("deg2rad", ops.deg2rad, doc="Angles in degrees, as radians.")
rad2deg: Callable[..., Any] = unary("rad2deg", ops.rad2deg, doc="Angles in radians, as degrees.")
angle: Callable[..., Any] = unary(
    "angle", complex_parts.angle, in_place=False, doc="The angle of each number, in radians; pi for negative reals."
)


@public(in_place=False)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; real tensors are returned as they are."""
    return apply(casting.conj, (input,)) if input._array.dtype.kind == "c" else input


@public(in_place=True, out="same")
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; real tensors are returned as they are."""
    return apply(complex_parts.conj_physical, (input,)) if input._array.dtype.kind == "c" else input


@public(method=False)
def real(input: Tensor) -> Tensor:
    """The real part: a view of complex tensors, real ones as they are."""
    return need_tensor(input, "real").real


@public(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, as a view."""
    return need_tensor(input, "imag").imag


# --- taking floating point numbers apart ---


@returned_by("frexp")
class FrexpResult(NamedTuple):
    """The result of `frexp`."""

    mantissa: Tensor
    exponent: Tensor


@public(out="same")
def frexp(input: Tensor) -> FrexpResult:
    """Mantissas in [0.5, 1) and integer exponents with `input = mantissa * 2**exponent`."""
    if input._array.dtype.kind not in "fV":
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes. This tensor has dtype {input.dtype!r}.")
    return FrexpResult(*apply(ops.frexp, (input,)))


@public(in_place=True, out="same")
def nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN and infinities replaced: by 0 and the largest finite numbers unless given."""
    x = as_tensor(input)
    if x._array.dtype.kind in "biu":
        return clone_of(x)
    return apply(piecewise.nan_to_num, (x,), {"nan": nan, "posinf": posinf, "neginf": neginf})


# --- tests of elements that need no gradient ---


@public(out="same")
def signbit(input: Any) -> Tensor:
    """True where the sign bit is set (also for -0.0)."""
    x = as_tensor(input)
    _not_complex("signbit", x)
    array = x._array
    return wrap(np.signbit(array) if array.dtype.kind in "fV" else array < 0)


OPERATORS: dict[str, Callable[..., Any]] = {"__abs__": abs}

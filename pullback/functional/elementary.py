"""Functions of one element: exp, log, trigonometric, rounding, activations. Mostly one table.

Integers are promoted to the default float dtype where the result is not an integer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.op import Op
from ..autograd.tape import apply, apply_unary, wrap
from ..ops import pointwise as ops
from ..tensor import Tensor
from .operands import as_operand, as_tensor, float_operand, promote
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
relu = unary("relu", ops.relu, floating=False)
square = unary("square", ops.square, floating=False)
frac = unary("frac", ops.frac)


def _not_complex(name: str, x: Tensor) -> None:
    if x._array.dtype.kind == "c":
        raise RuntimeError(f"{name} is not implemented for complex tensors: take .real, .imag or .abs() first")


@public("absolute", in_place=True, out=True)
def abs(input: Any) -> Tensor:
    """Absolute value (modulus of complex numbers)."""
    return apply(ops.absolute, (as_tensor(input),))


def _rounding(name: str, op: Op, *aliases: str) -> Callable:
    """Integers are returned as they are."""

    def function(input: Any) -> Tensor:
        x = as_tensor(input)
        _not_complex(name, x)
        return apply(op, (x,)) if x._array.dtype.kind not in "iu" else clone_of(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Elementwise {name}."
    return public(*aliases, in_place=True, out=True)(function)


def clone_of(x: Tensor) -> Tensor:
    from ..ops.casting import clone

    return apply(clone, (x,))


floor = _rounding("floor", ops.floor)
ceil = _rounding("ceil", ops.ceil)
trunc = _rounding("trunc", ops.trunc, "fix")
sign = _rounding("sign", ops.sign)


@public(in_place=True, out=True)
def round(input: Any, *, decimals: int = 0) -> Tensor:
    """Round to the nearest integer (ties to even), or to `decimals` places."""
    x = as_tensor(input)
    _not_complex("round", x)
    if x._array.dtype.kind in "iu":
        return clone_of(x)
    if decimals == 0:
        return apply(ops.round_, (x,))
    scale = 10.0 ** builtin_abs(decimals)
    return round(x * scale) / scale if decimals > 0 else round(x / scale) * scale


builtin_abs = __builtins__["abs"] if isinstance(__builtins__, dict) else __builtins__.abs


# --- several operands ---


@public(in_place=True, out=True)
def clamp(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """Limit elements to [min, max]; either bound may be a number, a tensor or None."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    x = as_tensor(input)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if min is not None:
            x = maximum(x, min if isinstance(min, Tensor) else wrap(np.asarray(min)))
        return x if max is None else minimum(x, max if isinstance(max, Tensor) else wrap(np.asarray(max)))
    numbers = [bound for bound in (min, max) if bound is not None]
    x = promote(x, *numbers)[0]
    return apply(ops.clamp_scalar, (x,), {"minimum": min, "maximum": max})


METHODS["clip"] = METHODS["clamp"]
FUNCTIONS["clip"] = FUNCTIONS["clamp"]
IN_PLACE["clip_"] = IN_PLACE["clamp_"]


@public(in_place=True, out=True)
def clamp_min(input: Any, min: Any) -> Tensor:
    """Elements not below `min`."""
    return clamp(input, min=min)


@public(in_place=True, out=True)
def clamp_max(input: Any, max: Any) -> Tensor:
    """Elements not above `max`."""
    return clamp(input, max=max)


def _both(op: Op, input: Any, other: Any) -> Tensor:
    a, b = promote(as_tensor(input), as_operand(other))
    return apply(op, (a, b if isinstance(b, Tensor) else wrap(np.asarray(b, a._array.dtype))))


@public(out=True)
def maximum(input: Any, other: Any) -> Tensor:
    """The larger of two, element by element; NaN wins."""
    return _both(ops.maximum, input, other)


@public(out=True)
def minimum(input: Any, other: Any) -> Tensor:
    """The smaller of two, element by element; NaN wins."""
    return _both(ops.minimum, input, other)


@public(method=False)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, `other` elsewhere; with only a condition, the indices where it holds."""
    if input is None and other is None:
        from .searching import nonzero

        return nonzero(condition, as_tuple=True)
    a, b = as_operand(input), as_operand(other)
    a, b = promote(a, b)
    mask = condition if condition._array.dtype.kind == "b" else condition != 0
    return apply(ops.where, (mask, a, b))


METHODS["where"] = lambda input, condition, other: where(condition, input, other)

"""The standard's element-wise functions: NumPy's, with the promotion of the standard also where gradients are kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..shell.interop.numpy_functions import is_tracked
from . import _special_cases
from ._array import Array, computed, dispatched, plain, run, run_discrete, same_dtype

Unary = Callable[[Tensor], Array]
Binary = Callable[[Any, Any], Array]


def unary(name: str, function: Any) -> Unary:
    """A function of one array."""

    def call(x: Tensor, /) -> Array:
        return run(function, x)

    return _named(call, name)


def binary(name: str, function: Any) -> Binary:
    """A function of two arrays, or of an array and a number."""

    def call(x1: Any, x2: Any, /) -> Array:
        if is_tracked(x1) or is_tracked(x2):
            return dispatched(function, *same_dtype(x1, x2))
        return computed(function, x1, x2)

    return _named(call, name)


def predicate(name: str, function: Any) -> Unary:
    """A question asked of every element."""

    def call(x: Tensor, /) -> Array:
        return run_discrete(function, x)

    return _named(call, name)


def comparison(name: str, function: Any) -> Binary:
    """A question asked of two arrays, or of an array and a number."""

    def call(x1: Any, x2: Any, /) -> Array:
        return run_discrete(function, x1, x2)

    return _named(call, name)


def _named(call: Any, name: str) -> Any:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The standard's `{name}`, element by element."
    return call


abs: Unary = unary("abs", np.abs)
acos: Unary = unary("acos", np.acos)
acosh: Unary = unary("acosh", np.acosh)
asin: Unary = unary("asin", np.asin)
asinh: Unary = unary("asinh", np.asinh)
atan: Unary = unary("atan", np.atan)
atanh: Unary = unary("atanh", np.atanh)
ceil: Unary = unary("ceil", np.ceil)
conj: Unary = unary("conj", np.conj)
cos: Unary = unary("cos", np.cos)
cosh: Unary = unary("cosh", np.cosh)
exp: Unary = unary("exp", np.exp)
expm1: Unary = unary("expm1", _special_cases.expm1)
floor: Unary = unary("floor", np.floor)
log: Unary = unary("log", np.log)
log10: Unary = unary("log10", np.log10)
log1p: Unary = unary("log1p", np.log1p)
log2: Unary = unary("log2", np.log2)
negative: Unary = unary("negative", np.negative)
positive: Unary = unary("positive", np.positive)
reciprocal: Unary = unary("reciprocal", np.reciprocal)
round: Unary = unary("round", np.round)
sign: Unary = unary("sign", _special_cases.sign)
sin: Unary = unary("sin", np.sin)
sinh: Unary = unary("sinh", np.sinh)
sqrt: Unary = unary("sqrt", np.sqrt)
square: Unary = unary("square", np.square)
tan: Unary = unary("tan", np.tan)
tanh: Unary = unary("tanh", _special_cases.tanh)
trunc: Unary = unary("trunc", np.trunc)

add: Binary = binary("add", np.add)
atan2: Binary = binary("atan2", np.atan2)
copysign: Binary = binary("copysign", np.copysign)
divide: Binary = binary("divide", np.divide)
floor_divide: Binary = binary("floor_divide", _special_cases.floor_divide)
hypot: Binary = binary("hypot", np.hypot)
logaddexp: Binary = binary("logaddexp", np.logaddexp)
maximum: Binary = binary("maximum", np.maximum)
minimum: Binary = binary("minimum", np.minimum)
multiply: Binary = binary("multiply", np.multiply)
nextafter: Binary = binary("nextafter", np.nextafter)
pow: Binary = binary("pow", _special_cases.power)
remainder: Binary = binary("remainder", np.remainder)
subtract: Binary = binary("subtract", np.subtract)
bitwise_and: Binary = binary("bitwise_and", np.bitwise_and)
bitwise_left_shift: Binary = binary("bitwise_left_shift", np.bitwise_left_shift)
bitwise_or: Binary = binary("bitwise_or", np.bitwise_or)
bitwise_right_shift: Binary = binary("bitwise_right_shift", np.bitwise_right_shift)
bitwise_xor: Binary = binary("bitwise_xor", np.bitwise_xor)
bitwise_invert: Unary = unary("bitwise_invert", np.bitwise_invert)

equal: Binary = comparison("equal", np.equal)
greater: Binary = comparison("greater", np.greater)
greater_equal: Binary = comparison("greater_equal", np.greater_equal)
less: Binary = comparison("less", np.less)
less_equal: Binary = comparison("less_equal", np.less_equal)
logical_and: Binary = comparison("logical_and", np.logical_and)
logical_or: Binary = comparison("logical_or", np.logical_or)
logical_xor: Binary = comparison("logical_xor", np.logical_xor)
not_equal: Binary = comparison("not_equal", np.not_equal)
isfinite: Unary = predicate("isfinite", np.isfinite)
isinf: Unary = predicate("isinf", np.isinf)
isnan: Unary = predicate("isnan", np.isnan)
logical_not: Unary = predicate("logical_not", np.logical_not)
signbit: Unary = predicate("signbit", np.signbit)


def real(x: Tensor, /) -> Array:
    """The real part of each element."""
    return dispatched(np.real, x) if x.dtype.is_complex else positive(x)


def imag(x: Tensor, /) -> Array:
    """The imaginary part of each element."""
    return dispatched(np.imag, x) if x.dtype.is_complex else run(np.zeros_like, x)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Array:
    """Each element, or the nearer limit if it lies outside. The limits become numbers of x's dtype."""
    if min is None and max is None:
        return positive(x) if x.dtype.kind != "b" else run(np.copy, x)
    return run(np.clip, x, _limit(min, x), _limit(max, x))


def _limit(value: Any, x: Tensor) -> Any:
    """A limit in the dtype of x; beyond the range of its integers, the end of the range."""
    kind = x._array.dtype
    if isinstance(value, Tensor):
        return value.to(x.dtype) if value._array.dtype != kind else value
    if value is None or kind.kind not in "iu" or isinstance(value, float) and not math.isinf(value):
        return value
    ends = np.iinfo(kind)
    return plain(value) if ends.min <= value <= ends.max else ends.max if value > 0 else ends.min

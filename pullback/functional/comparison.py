"""Comparisons, logic and tests on elements: results are boolean and carry no gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics.constants import FLOAT32, FLOAT64, number
from ..core.basics.dtypes import from_numpy_dtype, result_dtype
from ..core.basics.quiet import quiet
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..kernels.order import converted, ordered
from ..ops.fusing import zero_of
from .checks import call_elementwise, check_answered, need_first_tensor, need_one_tensor, need_tensor
from .operands import _strength, as_operand, as_tensor, broadcast_error
from .refusals import must_be_tensor
from .registry import IN_PLACE, public


def _values(a: Any, b: Any) -> tuple | None:
    """The arrays of two operands in a common dtype."""
    first, second = as_operand(a), as_operand(b)
    if first is None or second is None:
        return None
    x = first._array if isinstance(first, Tensor) else first
    y = second._array if isinstance(second, Tensor) else second
    if getattr(x, "dtype", None) is not getattr(y, "dtype", None):
        common = result_dtype(_strength(first), _strength(second))._numpy
        if isinstance(first, Tensor) and x.dtype != common:
            x = converted(x, common)
        if isinstance(second, Tensor) and y.dtype != common:
            y = converted(y, common)
        if common.kind == "V":  # a number is not rounded to bfloat16 by NumPy, as torch does
            x, y = (value if hasattr(value, "dtype") else np.asarray(value).astype(common) for value in (x, y))
    return x, y


def comparison(name: str, words: str, ufunc: np.ufunc, *aliases: str) -> Callable[..., Any]:
    """A comparison as function, method, operator and in-place method."""
    has_order, turned = name not in ("eq", "ne"), ordered(ufunc)

    def operator(input: Any, other: Any) -> Any:
        x = input._array
        kind = x.dtype
        if (kind is FLOAT32 or kind is FLOAT64) and type(x) is np.ndarray:
            y: Any = None
            if isinstance(other, Tensor):
                y = other._array
            elif type(other) is float or type(other) is int:
                y = number(other, kind) if other else zero_of(x)
            if y is not None and y.dtype is kind:
                try:
                    return wrap(ufunc(x, y) if x.flags.c_contiguous or x.ndim < 2 else turned(x, y))
                except ValueError:
                    raise broadcast_error(x.shape, y.shape) from None
        return carefully(input, other)

    def carefully(input: Any, other: Any) -> Any:
        if not has_order and (type(other) in (list, tuple) or type(other) is np.ndarray and other.dtype.kind in "OSU"):
            return NotImplemented  # `x == []` asks whether it is one, and is False
        values = _values(input, other)
        if values is None:
            return NotImplemented
        if has_order and np.result_type(*values).kind == "c":
            raise NotImplementedError(f'"{name}_cpu" not implemented for complex tensors: they have no order')
        return wrap(call_elementwise(ufunc, *values))

    def function(input: Any, other: Any) -> Tensor:
        need_first_tensor(name, input, other)
        if type(other) is np.ndarray:
            raise must_be_tensor(other, name, "other", 2)
        result = operator(as_tensor(input, "input", name), as_tensor(other) if type(other) in (list, tuple) else other)
        if result is NotImplemented:
            raise TypeError(f"{name}(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"True where the element is {words} that of `other`."
    public(*aliases, out="cast")(function)
    for each in (name, *aliases):
        IN_PLACE[each + "_"] = in_dtype_of_input(function)
    return operator


def in_dtype_of_input(function: Callable[..., Any]) -> Callable[..., Any]:
    """In-place comparisons keep the tensor's dtype: True becomes 1."""

    def compare(input: Tensor, other: Any) -> Tensor:
        return wrap(function(input, other)._array.astype(input._array.dtype))

    return compare


OPERATORS: dict[Any, Any] = {
    "__eq__": comparison("eq", "equal to", np.equal),
    "__ne__": comparison("ne", "not equal to", np.not_equal, "not_equal"),
    "__lt__": comparison("lt", "less than", np.less, "less"),
    "__le__": comparison("le", "less than or equal to", np.less_equal, "less_equal"),
    "__gt__": comparison("gt", "greater than", np.greater, "greater"),
    "__ge__": comparison("ge", "greater than or equal to", np.greater_equal, "greater_equal"),
}


@public()
def equal(input: Tensor, other: Tensor) -> bool:
    """True if two tensors have the same shape and elements."""
    a, b = input._array, other._array
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        return a.shape == b.shape and bool(np.array_equal(a, b))
    return a.shape == b.shape and bool(np.count_nonzero(a == b) == a.size)


def _logical(name: str, ufunc: np.ufunc) -> Callable:
    def function(input: Any, other: Any) -> Tensor:
        values = _values(need_tensor(input, name), need_tensor(other, name, "other", 2))
        assert values is not None
        return wrap(call_elementwise(ufunc, *values))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Logical {name.removeprefix('logical_')} of each pair of elements, as a boolean; 0 is False."
    IN_PLACE[name + "_"] = in_dtype_of_input(function)
    return public(out="cast")(function)


logical_and: Callable[..., Any] = _logical("logical_and", np.logical_and)
logical_or: Callable[..., Any] = _logical("logical_or", np.logical_or)
logical_xor: Callable[..., Any] = _logical("logical_xor", np.logical_xor)


@public(out="cast")
def logical_not(input: Any) -> Tensor:
    """True where the element is 0 or False."""
    return wrap(np.logical_not(as_tensor(input)._array))


IN_PLACE["logical_not_"] = lambda input: wrap(np.logical_not(input._array).astype(input._array.dtype))


def _test(
    name: str, words: str, check: Callable, *, integers: bool, complex_ok: bool = True, out: str | None = None
) -> Callable:
    """A test of each element; `integers` is the answer for integer tensors."""

    def function(input: Any) -> Tensor:
        array = as_tensor(input)._array
        if array.dtype.kind == "c" and not complex_ok:
            raise RuntimeError(f"{name} does not support complex inputs: they have no sign")
        if array.dtype.kind in "biu":
            return wrap(array == array if integers else array != array)
        return wrap(check(array))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"True where the element is {words}."
    return public(out=out)(function)


isnan: Callable[..., Any] = _test("isnan", "NaN", np.isnan, integers=False)
isinf: Callable[..., Any] = _test("isinf", "infinite", np.isinf, integers=False)
isfinite: Callable[..., Any] = _test("isfinite", "neither infinite nor NaN", np.isfinite, integers=True)
isreal: Callable[..., Any] = _test("isreal", "a real number (has no imaginary part)", np.isreal, integers=True)
isposinf: Callable[..., Any] = _test(
    "isposinf", "plus infinity", np.isposinf, integers=False, complex_ok=False, out="same"
)
isneginf: Callable[..., Any] = _test(
    "isneginf", "minus infinity", np.isneginf, integers=False, complex_ok=False, out="same"
)


@quiet
def _close(input: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    a, b = need_tensor(input, "isclose"), need_tensor(other, "isclose", "other", 2)
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(f"{a.dtype.type_name} did not match {b.dtype.type_name}. Cast one of the tensors first.")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    x, y = a._array, b._array
    if x.dtype.kind == "V":
        x, y = x.astype(np.float32), y.astype(np.float32)
    return call_elementwise(functools.partial(_near, rtol=rtol, atol=atol, equal_nan=equal_nan), x, y)


def _near(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = np.equal(x, y)
    if equal_nan and x.dtype.kind in "fc":
        close = close | (np.isnan(x) & np.isnan(y))
    if rtol == 0 and atol == 0:
        return close
    if x.dtype.kind in "biu":
        x, y = x.astype(np.float64), y.astype(np.float64)
    error = np.abs(x - y)
    return close | (np.isfinite(error) & (error <= atol + np.abs(rtol * y)))


@public()
def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where two tensors agree to within atol + rtol * |other|."""
    return wrap(_close(input, other, rtol, atol, equal_nan))


@public()
def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """True if two tensors agree everywhere to within atol + rtol * |other|."""
    return bool(np.all(_close(input, other, rtol, atol, equal_nan)))


BOOL = np.dtype(bool)
_KERNELS = {"bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift"}


def _bitwise(name: str, ufunc: np.ufunc) -> Callable:
    def operator(input: Any, other: Any) -> Any:
        if isinstance(other, Tensor) and isinstance(input, Tensor) and input._array.dtype is other._array.dtype is BOOL:
            return wrap(call_elementwise(ufunc, input._array, other._array))
        values = _values(input, other)
        if values is None:
            return NotImplemented
        kind = np.result_type(*values)
        if kind.kind not in "biu":
            raise NotImplementedError(
                f"\"{_KERNELS.get(name, name)}_cpu\" not implemented for '{from_numpy_dtype(kind).type_name}': "
                f"{name} takes integers and booleans"
            )
        try:
            return wrap(call_elementwise(ufunc, *values))
        except OverflowError:  # a number that the dtype cannot hold wraps
            return wrap(ufunc(*[np.asarray(value).astype(kind) for value in values]))

    def function(input: Any, other: Any) -> Tensor:
        need_one_tensor(name, input, other)
        if type(input) is np.ndarray or type(other) is np.ndarray:
            input, other = need_tensor(input, name), need_tensor(other, name, "other", 2)
        result = operator(as_tensor(input, "input", name) if not isinstance(other, Tensor) else input, other)
        return check_answered(result, name, input, other)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name.replace('_', ' ').capitalize()} of each pair of integers or booleans."
    public(in_place=True, out="cast")(function)
    return operator


bitwise_and: Callable[..., Any] = _bitwise("bitwise_and", np.bitwise_and)
bitwise_or: Callable[..., Any] = _bitwise("bitwise_or", np.bitwise_or)
bitwise_xor: Callable[..., Any] = _bitwise("bitwise_xor", np.bitwise_xor)
bitwise_left_shift: Callable[..., Any] = _bitwise("bitwise_left_shift", np.left_shift)
bitwise_right_shift: Callable[..., Any] = _bitwise("bitwise_right_shift", np.right_shift)


@public(in_place=True, out="cast")
def bitwise_not(input: Any) -> Tensor:
    """Every bit turned over: the complement of integers, the negation of booleans."""
    array = as_tensor(input)._array
    if array.dtype.kind not in "biu":
        raise NotImplementedError(
            f"\"bitwise_not_cpu\" not implemented for '{from_numpy_dtype(array.dtype).type_name}'"
        )
    return wrap(np.invert(array))


def _reverse_shift(operator: Callable[..., Any], x: Tensor, shifted: Any) -> Any:
    shifted = as_operand(shifted)
    return NotImplemented if shifted is None else operator(shifted, x)


def _inverted(input: Tensor) -> Tensor:
    if input._array.dtype.kind not in "biu":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(input)


for _name, _operator in {
    "and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor, "lshift": bitwise_left_shift,
    "rshift": bitwise_right_shift,
}.items():  # fmt: skip
    OPERATORS[f"__{_name}__"] = OPERATORS[f"__r{_name}__"] = _operator
OPERATORS["__rlshift__"] = lambda a, b: _reverse_shift(bitwise_left_shift, a, b)
OPERATORS["__rrshift__"] = lambda a, b: _reverse_shift(bitwise_right_shift, a, b)
OPERATORS["__invert__"] = _inverted

"""The operators: + - * / ** and their function, method, reflected and in-place forms.

`binary_operator` builds the fast path that Tensor's operators use: operands of one floating dtype, or a Python
number, go straight to the tape; anything else is promoted first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics.dtypes import number_in
from ..core.mode import current_mode
from ..core.op import Op
from ..core.tape import apply, apply_unary, binary, wrap
from ..core.tensor import Tensor
from ..ops import pointwise as ops
from .checks import apply_broadcast, need_first_tensor, need_one_tensor, not_implemented_for, warn_of_older_form
from .numpy_operands import result_of_numpy
from .operands import NUMBERS, SMALLEST_TOO_LARGE, as_operand, as_tensor, broadcast_error, need_room, operand, promote
from .refusals import must_be_tensor
from .registry import public


def binary_operator(
    op: Op,
    floating: bool = False,
    check: Callable[..., Any] | None = None,
    itself: Op | None = None,
    half: Op | None = None,
    leaves: Callable[[Any, Any], bool] | None = None,
    of_arrays: np.ufunc | None = None,
) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """Two functions of a tensor and anything: the form behind `Tensor.__mul__` and friends, and one that refuses arrays.

    `check` sees the operands that are not of one floating dtype, `half` is for half precision with a number, and what
    `leaves` approves of is left to Python. `of_arrays` is NumPy's function, which computes with a tensor and an array.
    """

    def promoted(a: Any, b: Any) -> Any:
        first, second = a, b
        kind = a._array.dtype if isinstance(a, Tensor) else None
        if half is not None and kind is not None and kind.itemsize == 2 and kind.kind in "fV":
            number = _exact_number(a, b)
            if number is not None:
                return apply(half, (a, number))
        if isinstance(b, Tensor):
            alike = kind is not None and b._array.dtype is kind and kind.kind in "fc"
        else:
            alike = kind is not None and kind.kind == "f" and (type(b) is float or type(b) is int)
        if not alike:
            if of_arrays is not None and (answer := result_of_numpy(of_arrays, a, b)) is not None:
                return answer
            first, second = as_operand(a), as_operand(b)
            if first is None or second is None or leaves is not None and leaves(a, b):
                return NotImplemented
            if check is not None:
                check(first, second)
            first, second = promote(first, second, floating=floating)
        try:
            return apply(op, (first, second))
        except ValueError as error:
            if "broadcast" in str(error):
                raise broadcast_error(_shape(first), _shape(second)) from None
            raise

    def without_arrays(a: Any, b: Any) -> Any:
        if isinstance(b, np.ndarray):
            raise must_be_tensor(b)
        return promoted(a, b)

    return binary(op, promoted, itself), binary(op, without_arrays, itself)


def _exact_number(x: Tensor, value: Any) -> Any:
    """A number beside half precision that keeps its own: a Python number, or a wider one that is a tensor of no dims.

    A tensor that a graph or a mode may have to know of stays what it is, and is rounded.
    """
    if type(value) is float or type(value) is int:
        return value
    array = value._array if type(value) is Tensor else None
    if type(array) is not np.ndarray or array.ndim or array.dtype.kind != "f" or array.itemsize == 2:
        return None
    if not x._array.ndim or value.requires_grad or current_mode().special:
        return None
    return array.item()


def _extends_a_list(a: Any, b: Any) -> bool:
    """True if this may be `outputs += rows`: a list takes the rows of a tensor, once the tensor has refused."""
    return type(a) in (list, tuple) or type(b) in (list, tuple)


def _repeats_a_list(a: Any, b: Any) -> bool:
    """True if this is `[0] * length`, which Python does by itself once the tensor has refused."""
    values, length = (a, b) if type(a) in (list, tuple) else (b, a)
    if type(values) not in (list, tuple) or not isinstance(length, Tensor):
        return False
    return length._array.size == 1 and length._array.dtype.kind in "iu"


def _shape(value: Any) -> tuple:
    return value._array.shape if isinstance(value, Tensor) else ()


def _boolean_subtraction(a: Any, b: Any) -> None:
    booleans = [isinstance(v, bool) or isinstance(v, Tensor) and v._array.dtype.kind == "b" for v in (a, b)]
    if all(booleans):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if any(booleans):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


_add, _sum_of = binary_operator(ops.add, leaves=_extends_a_list, of_arrays=np.add)
_subtract, _difference_of = binary_operator(ops.subtract, check=_boolean_subtraction, of_arrays=np.subtract)
_reverse_subtract, _reverse_difference_of = binary_operator(ops.reverse_subtract, check=_boolean_subtraction)
_reverse_subtract_tensors, _ = binary_operator(ops.reverse_subtract_tensors, check=_boolean_subtraction)
_multiply, _product_of = binary_operator(
    ops.multiply, itself=ops.multiply_itself, half=ops.multiply_by, leaves=_repeats_a_list, of_arrays=np.multiply
)
_divide, _quotient_of = binary_operator(ops.divide, floating=True, half=ops.divide_by, of_arrays=np.divide)


def _needed(result: Any, function: str, value: Any) -> Tensor:
    if result is NotImplemented:
        raise TypeError(f"{function}(): argument 'other' (position 2) must be Tensor, not {type(value).__name__}")
    return result


def _scaled(op: Op, a: Any, b: Any, alpha: Any) -> Tensor:
    first, second = promote(as_tensor(a), operand(b))
    if isinstance(alpha, np.generic) or isinstance(alpha, Tensor) and not alpha._array.ndim:
        alpha = alpha.item()
    if not isinstance(alpha, NUMBERS):
        raise TypeError(f"{op.name.lower()}(): argument 'alpha' must be Number, not {type(alpha).__name__}")
    if not isinstance(second, Tensor):
        second = wrap(np.asarray(second, first._array.dtype))
    if isinstance(alpha, float) and first._array.dtype.kind in "iub":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if type(alpha) is float:
        need_room(alpha, first._array.dtype)
    if isinstance(alpha, bool) and first._array.dtype.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    try:
        return apply(op, (first, second), {"alpha": bool(alpha) if first._array.dtype.kind == "b" else alpha})
    except ValueError:
        raise broadcast_error(_shape(first), _shape(second)) from None


def _first(input: Any, other: Any) -> Tensor:
    """The first operand as a tensor. A number takes the dtype of the second: it must not be rounded to the default first."""
    if isinstance(input, Tensor):
        return input
    if type(input) in (int, float) and isinstance(other, Tensor) and other._array.dtype.kind in "fc":
        return wrap(np.asarray(input, other._array.dtype))
    if type(input) is int and type(other) is int and max(input, other) >= SMALLEST_TOO_LARGE:
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote Long and UInt64: of "
            f"{input} and {other}, one does not fit int64. Make tensors of another dtype of them first."
        )
    return as_tensor(input)


def _older_form(function: str, alpha: Any, other: Any, *more: Any) -> tuple[Any, Any]:
    """`other` and `alpha` of `add(input, alpha, other)`."""
    if more or isinstance(alpha, Tensor) and alpha._array.ndim:
        raise TypeError(
            f"{function}() takes 2 positional arguments but {3 + len(more)} were given. A factor of the second is given by "
            f"name, alpha=2; for more terms call {function} again."
        )
    warn_of_older_form(function, ("alpha",), ("other",))
    return other, alpha


@public(in_place=True, out="cast")
def add(input: Any, other: Any, *legacy: Any, alpha: Any = 1) -> Tensor:
    """`input + alpha * other`."""
    if legacy:
        other, alpha = _older_form("add", other, *legacy)
    if type(alpha) is int and alpha == 1:
        return _needed(_sum_of(_first(input, other), other), "add", other)
    return _scaled(ops.add_scaled, input, other, alpha)


@public("subtract", in_place=True, out="cast")
def sub(input: Any, other: Any, *legacy: Any, alpha: Any = 1) -> Tensor:
    """`input - alpha * other`."""
    if legacy:
        other, alpha = _older_form("sub", other, *legacy)
    if type(alpha) is int and alpha == 1:
        return _needed(_difference_of(_first(input, other), other), "sub", other)
    return _scaled(ops.subtract_scaled, input, other, alpha)


@public()
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """`other - alpha * input`."""
    need_first_tensor("rsub", input, other)
    if alpha == 1:
        subtract = _reverse_subtract_tensors if isinstance(other, Tensor) else _reverse_difference_of
        return _needed(subtract(as_tensor(input), other), "rsub", other)
    return _scaled(ops.reverse_subtract_scaled, input, other, alpha)


@public("multiply", in_place=True, out="cast")
def mul(input: Any, other: Any) -> Tensor:
    """`input * other`."""
    if isinstance(other, Tensor) and not isinstance(input, Tensor):
        input, other = other, input
    return _needed(_product_of(_first(input, other), other), "mul", other)


@public("divide", in_place=True, out="cast")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`input / other`, optionally rounded towards zero ("trunc") or down ("floor")."""
    if rounding_mode is None:
        return _needed(_quotient_of(_first(input, other), other), "div", other)
    from .division import rounded_division

    return rounded_division(input, other, rounding_mode)


@public(in_place=True, out="cast")
def true_divide(input: Any, other: Any) -> Tensor:
    """`input / other`."""
    return div(input, other)


@public(in_place=True, out="cast")
def pow(input: Any, exponent: Any) -> Tensor:
    """`input ** exponent`; either may be a number."""
    if type(exponent) in (int, float) and isinstance(input, Tensor) and input._array.dtype.kind == "f":
        if input._array.dtype.itemsize == 2:
            need_room(exponent, input._array.dtype)
        return (
            apply_unary(ops.square, input)
            if exponent == 2
            else apply_unary(ops.power_scalar, input, {"exponent": exponent})
        )
    if isinstance(exponent, np.generic):
        exponent = exponent.item()
    if isinstance(exponent, NUMBERS) and isinstance(input, Tensor):
        return _power_of_tensor(input, exponent)
    if isinstance(input, NUMBERS):
        need_one_tensor("pow", input, exponent)
        base, x = promote(input, as_tensor(exponent))
        if x._array.dtype.kind == "b":
            raise not_implemented_for("pow", x)
        if base == 1 and not isinstance(base, complex):
            base = 1.0 if x._array.dtype.kind == "f" else base
        return apply(ops.power_of_scalar, (x,), {"base": base})
    base, exponent = promote(as_tensor(input), operand(exponent))
    if base._array.dtype.kind == "b":
        raise not_implemented_for("pow", base)
    return apply_broadcast(ops.power, (base, exponent))


def _power_of_tensor(x: Tensor, exponent: Any) -> Tensor:
    kind = x._array.dtype.kind
    if kind in "biu":
        if isinstance(exponent, int) and exponent < 0:
            raise RuntimeError(
                "Integers to negative integer powers are not allowed. Convert the tensor first: x.float() ** -1."
            )
        (x,) = promote(x, exponent)[:1]
        if isinstance(exponent, int) and x._array.dtype.kind in "iu":
            number_in(exponent, x._array.dtype)
        if x._array.dtype.kind == "b":  # by True or False
            return wrap(np.logical_or(x._array, not exponent))
    elif kind == "V":
        number_in(exponent, x._array.dtype)
    elif isinstance(exponent, complex) and kind != "c":
        (x,) = promote(x, exponent)[:1]
    return apply_unary(ops.power_scalar, x, {"exponent": exponent})


@public("negative", in_place=True, out="same")
def neg(input: Any) -> Tensor:
    """`-input`."""
    x = as_tensor(input)
    if x._array.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return apply(ops.negative, (x,))


@public(method=True)
def positive(input: Tensor) -> Tensor:
    """The tensor itself; bool tensors have no sign."""
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# --- operators of Tensor ---


def reverse_divide(x: Tensor, number: Any) -> Tensor:
    """`number / x` (torch records it as reciprocal, then product)."""
    other = as_operand(number)
    if other is None:
        return NotImplemented
    if isinstance(other, Tensor):
        return _divide(other, x)
    from .operands import float_operand

    return _multiply(apply(ops.reciprocal, (float_operand(x),)), other)


def power_of(x: Tensor, exponent: Any) -> Tensor:
    """`x ** exponent`. What is neither tensor nor number is asked whether it knows how to be an exponent."""
    answer = result_of_numpy(np.power, x, exponent)
    if answer is not None:
        return answer
    try:
        return pow(x, exponent)
    except TypeError:
        if as_operand(exponent) is None:
            return NotImplemented
        raise


def reverse_power(x: Tensor, base: Any) -> Tensor:
    """`base ** x` for a base that is no tensor."""
    base = as_operand(base)
    return NotImplemented if base is None else pow(base, x)


OPERATORS: dict[str, Callable[..., Any]] = {
    "__add__": _add,
    "__radd__": _add,
    "__sub__": _subtract,
    "__rsub__": _reverse_subtract,
    "__mul__": _multiply,
    "__rmul__": _multiply,
    "__truediv__": _divide,
    "__rtruediv__": reverse_divide,
    "__pow__": power_of,
    "__rpow__": reverse_power,
    "__neg__": neg,
    "__pos__": positive,
}

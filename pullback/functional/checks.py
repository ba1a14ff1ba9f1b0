"""Argument checks that several families share: numbers where torch insists on tensors, dtypes a kernel lacks.

Lists are converted; NumPy arrays, and bare numbers in the places where torch refuses them, are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics.notices import warn_user
from ..core.op import Op
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..kernels.order import ordered
from .operands import NUMBERS, as_tensor, broadcast_error, operand, promote
from .refusals import must_be_tensor

ONE_VALUE = "the value must be a number or a Tensor without dims"


def need_tensor(value: Any, function: str, name: str = "input", position: int = 1) -> Tensor:
    """The value as a tensor; a number is an error in torch's words."""
    if isinstance(value, Tensor):
        return value
    if value is None or isinstance(value, (*NUMBERS, str)):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}. "
            f"Make it one with torch.tensor({value!r})."
        )
    if isinstance(value, np.ndarray):
        raise must_be_tensor(value, function, name, position)
    return as_tensor(value, name, function)


def invalid_combination(
    function: str,
    *values: Any,
    wanted: str = "a Tensor is needed first. Make one of a number with torch.tensor(number)",
) -> TypeError:
    """Torch's complaint when no overload takes these arguments."""
    kinds = ", ".join("Tensor" if isinstance(value, Tensor) else type(value).__name__ for value in values)
    return TypeError(f"{function}() received an invalid combination of arguments - got ({kinds}), but {wanted}.")


def need_one_tensor(function: str, *values: Any) -> None:
    """At least one of the operands must be more than a number."""
    if all(isinstance(value, NUMBERS) for value in values):
        raise invalid_combination(function, *values)


def check_answered(result: Any, function: str, *operands: Any) -> Any:
    """Return the result of an operator; complain if it is NotImplemented, which only an operator may return."""
    if result is NotImplemented:
        raise invalid_combination(function, *operands, wanted="expected one of: two tensors; a tensor and a number")
    return result


def need_first_tensor(function: str, *values: Any) -> None:
    """Refuse a number as the first argument, as torch does."""
    if isinstance(values[0], NUMBERS):
        raise invalid_combination(function, *values)


def warn_of_older_form(function: str, numbers: tuple[str, ...], tensors: tuple[str, ...]) -> None:
    """Numbers before the tensors, as in torch's first versions, still work, with a warning."""
    first, last = (", ".join(f"Number {name}{end}" for name in numbers) for end in ("", " = 1"))
    rest = ", ".join(f"Tensor {name}" for name in tensors)
    warn_user(
        f"This overload of {function} is deprecated:\n\t{function}({first}, {rest})\nConsider using one of the following "
        f"signatures instead:\n\t{function}({rest}, *, {last})"
    )


def not_implemented_for(kernel: str, x: Tensor) -> NotImplementedError:
    """Torch's complaint about a dtype that a kernel was not written for."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{x.dtype.type_name}'. Convert it first: x.float().")


def is_known_true(condition: Any) -> bool:
    """True if a condition on elements is known to hold. Of a batch nothing is known, so checks let it pass."""
    return isinstance(condition, (bool, np.bool_)) and bool(condition)


def array_of(value: Any) -> Any:
    """The array inside a tensor; numbers and arrays as they are."""
    return value._array if isinstance(value, Tensor) else value


def shape_of(value: Any) -> tuple[Any, ...]:
    """The shape of a tensor, an array or a number."""
    return tuple(np.shape(array_of(value)))


def have_one_float_dtype(a: Any, b: Any) -> bool:
    """True if two operands are tensors of the same real floating dtype: nothing to promote, nothing to check."""
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return False
    kind = a._array.dtype
    return kind is b._array.dtype and kind.kind == "f"


def apply_to_both(op: Op, a: Any, b: Any, *, floating: bool = False) -> Tensor:
    """Promote two operands, make 0-d tensors of numbers, and apply an operation that broadcasts them."""
    if have_one_float_dtype(a, b):
        return apply_broadcast(op, (a, b))
    first, second = promote(operand(a), operand(b), floating=floating)
    kind = (first if isinstance(first, Tensor) else second)._array.dtype
    first = first if isinstance(first, Tensor) else wrap(np.asarray(first, kind))
    second = second if isinstance(second, Tensor) else wrap(np.asarray(second, kind))
    return apply_broadcast(op, (first, second))


def apply_broadcast(op: Op, operands: tuple[Any, ...], params: dict[str, Any] | None = None) -> Tensor:
    """Apply an elementwise operation; shapes that do not broadcast are an error in torch's words."""
    try:
        return apply(op, operands, params)
    except ValueError as error:
        raise _about_shapes(error, operands) from None


def call_elementwise(function: Callable[..., Any], *arrays: Any) -> Any:
    """Apply a NumPy function of single elements; shapes that do not broadcast are an error in torch's words."""
    try:
        return ordered(function)(*arrays)
    except ValueError as error:
        raise _about_shapes(error, arrays) from None


def _about_shapes(error: ValueError, operands: tuple[Any, ...]) -> Exception:
    if "broadcast" not in str(error):
        return error
    shapes = [shape_of(value) for value in operands]
    for one in shapes[1:]:
        try:
            np.broadcast_shapes(shapes[0], one)
        except ValueError:
            return broadcast_error(shapes[0], one)
    return broadcast_error(shapes[-2], shapes[-1])

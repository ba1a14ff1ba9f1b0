"""Writes in place without detours: `add_`, `mul_`, `copy_` and their like on plain real tensors, as optimizers do all day.

Plain means: of one real dtype, no views, nothing to record. Then a write is one or two calls into NumPy and a count.
Anything else, errors included, goes through `writes.in_place`, which knows about history.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from ..core import writes
from ..core.basics.constants import FLOAT32, FLOAT64, number
from ..core.basics.storage import clock, next_order, storage_of
from ..core.mode import NO_GRAD, RECORD, current_mode
from ..core.tensor import Tensor
from . import arithmetic, comparison, division, elementary
from .numpy_operands import is_left_to_numpy
from .operands import as_operand
from .registry import public


def plain_operands(tensor: Tensor, others: tuple[Any, ...]) -> list[Any] | None:
    """The arrays of a tensor to be written and of what it is written with; None if one of them is not plain."""
    mode = current_mode()
    array = tensor._array
    kind = array.dtype
    recording = mode is RECORD
    if (
        not recording and mode is not NO_GRAD or recording and tensor._requires_grad or tensor._view is not None
        or tensor._inference or type(array) is not ndarray or kind is not FLOAT32 and kind is not FLOAT64
        or array.base is not None and 0 in array.strides
    ):  # fmt: skip
        return None
    arrays: list[Any] = [array]
    for other in others:
        if isinstance(other, Tensor):
            if other._array.dtype is not kind or recording and other.requires_grad:
                return None
            arrays.append(other._array)
        elif type(other) is float or type(other) is int:
            arrays.append(number(other, kind))
        else:
            return None
    return arrays


def in_place_method(
    name: str, function: Callable[..., Any], write: Callable[..., Any], *aliases: str
) -> Callable[..., Any]:
    """The method `name`, which puts `function` of a tensor in its place: by `write(array, ...)` if all is plain."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        arrays = plain_operands(self, args)
        if arrays is not None:
            storage = self._storage or storage_of(self)
            writes.bump(storage)
            try:
                write(*arrays, **kwargs)
            except (RuntimeWarning, FloatingPointError):
                pass  # the write is done; warnings are errors here (as pytest can make them), and torch would not have warned
            except (TypeError, ValueError):
                # nothing is written yet; the general form says in torch's words what is wrong
                storage.take_back()
                return writes.in_place(self, function, *args, **kwargs)
            return self
        return writes.in_place(self, function, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__module__ = function.__module__  # its family, which may be loaded late
    method.__doc__ = f"`{name[:-1]}`, written over this tensor."
    return public(*aliases, function=False, direct=True)(method)


def multiplied(array: Any, factor: Any) -> Any:
    """An array times a Python number, which is 1 most of the time."""
    if type(factor) is not float and type(factor) is not int:
        raise TypeError("not a plain number")
    return array if factor == 1 else array * number(factor, array.dtype)


def _add(x: ndarray, y: Any, /, alpha: Any = 1) -> None:
    np.add(x, multiplied(y, alpha), x)


def _subtract(x: ndarray, y: Any, /, alpha: Any = 1) -> None:
    np.subtract(x, multiplied(y, alpha), x)


def _multiply(x: ndarray, y: Any, /) -> None:
    np.multiply(x, y, x)


def _divide(x: ndarray, y: Any, /) -> None:
    np.true_divide(x, y, x)


# By name: these modules import each other, so a type checker reads this before their functions have types.
_arithmetic, _division = vars(arithmetic), vars(division)
add_: Callable[..., Any] = in_place_method("add_", _arithmetic["add"], _add)
sub_: Callable[..., Any] = in_place_method("sub_", _arithmetic["sub"], _subtract, "subtract_")
mul_: Callable[..., Any] = in_place_method("mul_", _arithmetic["mul"], _multiply, "multiply_")
div_: Callable[..., Any] = in_place_method("div_", _arithmetic["div"], _divide, "divide_")


def operator(ufunc: Any, method: Callable[..., Any]) -> Callable[[Tensor, Any], Tensor]:
    """A method as an operator. `weight -= step` under `no_grad` is the update of every hand-written loop: a straight line.

    What is neither tensor nor number is asked whether it knows how to be added.
    """

    def write(self: Tensor, other: Any) -> Tensor:
        if type(other) is Tensor and current_mode() is NO_GRAD and self._view is None and not self._inference:
            x, y = self._array, other._array
            kind = x.dtype
            if y.dtype is kind and (kind is FLOAT32 or kind is FLOAT64) and type(x) is ndarray and x.base is None:
                storage = self._storage or storage_of(self)
                if storage.recent is None:
                    storage.bump()
                else:
                    storage.version += 1  # as `bump` does, without the call
                    storage.written = clock.last_write = order = next_order()
                    storage.recent.append(order)
                try:
                    ufunc(x, y, x)
                except (RuntimeWarning, FloatingPointError):
                    pass  # all is written, as above
                except ValueError:
                    storage.take_back()
                    return method(self, other)  # says in torch's words why the operands do not go together
                return self
        if type(other) is ndarray:
            if is_left_to_numpy(self):
                return NotImplemented  # a new tensor: `x += array` is `x = x + array`
            other = as_operand(other)
        try:
            return method(self, other)
        except TypeError:
            if as_operand(other) is None:
                return NotImplemented
            raise

    return write


def in_place_operator(function: Callable[..., Any]) -> Callable[[Tensor, Any], Tensor]:
    """`a &= b` and its like: the result of `a & b` goes where `a` is."""

    def write(self: Tensor, other: Any) -> Tensor:
        if type(other) is ndarray and is_left_to_numpy(self) or as_operand(other) is None:
            return NotImplemented
        return writes.in_place(self, function, as_operand(other) if type(other) is ndarray else other)

    return write


OPERATORS: dict[str, Callable[..., Any]] = {
    "__iadd__": operator(np.add, add_), "__isub__": operator(np.subtract, sub_),
    "__imul__": operator(np.multiply, mul_), "__itruediv__": operator(np.true_divide, div_),
    "__ipow__": in_place_operator(_arithmetic["pow"]), "__ifloordiv__": in_place_operator(_division["floor_divide"]),
    "__imod__": in_place_operator(_division["remainder"]), "__iand__": in_place_operator(comparison.bitwise_and),
    "__ior__": in_place_operator(comparison.bitwise_or), "__ixor__": in_place_operator(comparison.bitwise_xor),
    "__ilshift__": in_place_operator(comparison.bitwise_left_shift),
    "__irshift__": in_place_operator(comparison.bitwise_right_shift),
}  # fmt: skip


def _over(ufunc: Any, x: ndarray, /) -> None:
    ufunc(x, x)


for _name, _ufunc in {
    "exp": np.exp, "sqrt": np.sqrt, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "abs": np.absolute,
}.items():  # fmt: skip
    in_place_method(f"{_name}_", getattr(elementary, _name), partial(_over, _ufunc))

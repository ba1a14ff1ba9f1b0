"""The operators of arrays: the standard's element-wise functions, forwards, reflected and in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import writes
from ..core.tensor import Tensor
from . import _elementwise as elementwise
from ._array import Array
from .linalg import matmul

_OPERANDS = (Tensor, bool, int, float, complex, np.ndarray, np.generic)

_ARITHMETIC = {
    "add": elementwise.add, "sub": elementwise.subtract, "mul": elementwise.multiply, "truediv": elementwise.divide,
    "floordiv": elementwise.floor_divide, "mod": elementwise.remainder, "pow": elementwise.pow, "matmul": matmul,
    "and": elementwise.bitwise_and, "or": elementwise.bitwise_or, "xor": elementwise.bitwise_xor,
    "lshift": elementwise.bitwise_left_shift, "rshift": elementwise.bitwise_right_shift,
}  # fmt: skip
_COMPARISONS = {
    "eq": elementwise.equal, "ne": elementwise.not_equal, "lt": elementwise.less, "le": elementwise.less_equal,
    "gt": elementwise.greater, "ge": elementwise.greater_equal,
}  # fmt: skip
_UNARY = {
    "abs": elementwise.abs, "neg": elementwise.negative, "pos": elementwise.positive,
    "invert": elementwise.bitwise_invert,
}  # fmt: skip


def _forward(function: Callable) -> Callable:
    def operate(self: Array, other: Any, /) -> Any:
        return function(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    return operate


def _reflected(function: Callable) -> Callable:
    def operate(self: Array, other: Any, /) -> Any:
        return function(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    return operate


def _in_place(function: Callable) -> Callable:
    def operate(self: Array, other: Any, /) -> Any:
        return writes.in_place(self, function, other) if isinstance(other, _OPERANDS) else NotImplemented

    return operate


def _alone(function: Callable) -> Callable:
    def operate(self: Array, /) -> Array:
        return function(self)

    return operate


def _put(name: str, operate: Callable) -> None:
    operate.__name__ = operate.__qualname__ = name
    setattr(Array, name, operate)


def attach() -> None:
    """Give Array its operators."""
    for name, function in _ARITHMETIC.items():
        _put(f"__{name}__", _forward(function))
        _put(f"__r{name}__", _reflected(function))
        _put(f"__i{name}__", _in_place(function))
    for name, function in _COMPARISONS.items():
        _put(f"__{name}__", _forward(function))
    for name, alone in _UNARY.items():
        _put(f"__{name}__", _alone(alone))
    Array.__hash__ = Tensor.__hash__  # type: ignore[method-assign]  # Python drops it with __eq__


attach()

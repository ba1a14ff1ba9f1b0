"""`Size`, the shape of a tensor: a tuple of ints that prints as torch's does."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


class Size(tuple[int, ...]):
    """A tensor's shape. Slicing and adding give a Size again."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        values = tuple(sizes)
        for value in values:
            if type(value) is not int:
                values = tuple(_as_int(v, i) for i, v in enumerate(values))
                break
        return tuple.__new__(cls, values)

    def numel(self) -> int:
        return math.prod(self)

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return tuple.__new__(Size, item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return tuple.__new__(Size, tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        return tuple.__new__(Size, tuple(other) + tuple(self))

    def __mul__(self, times: Any) -> Size:
        return tuple.__new__(Size, tuple.__mul__(self, times))

    def __rmul__(self, times: Any) -> Size:
        return self * times

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


def _as_int(value: Any, position: int) -> int:
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {position} is '{type(value).__name__}')"
        ) from None

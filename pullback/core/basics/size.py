"""`Size`, the shape of a tensor: a tuple of ints that prints as torch's does; and what `x.size` is.

Torch's `x.size` is a method, the Array API standard's a number of elements. `ElementCount` is both: an int that can be
called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .. import seams

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .types import Function

# Every `x.shape[0]` waits on these.
_get: Any = tuple.__getitem__
_new: Any = tuple.__new__


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
        """The number of elements of a tensor with this shape."""
        return math.prod(self)

    def __getitem__(self, index: Any) -> Any:
        return _new(Size, _get(self, index)) if type(index) is slice else _get(self, index)

    def __add__(self, other: object) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return tuple.__new__(Size, tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        return tuple.__new__(Size, tuple(other) + tuple(self))

    def __mul__(self, times: Any) -> Size:
        return tuple.__new__(Size, tuple.__mul__(self, times))

    def __rmul__(self, times: Any) -> Size:
        return self * times

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
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


class ElementCount(int):
    """The value of `x.size`: the number of elements. Calling it gives the shape, or the size of one dim."""

    sizes: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dim."""
        if dim is None:
            return tuple.__new__(Size, self.sizes)
        try:
            return self.sizes[dim]
        except (IndexError, TypeError):
            return self.sizes[seams.wrap_dim(dim, len(self.sizes), scalar_ok=False)]

    def __reduce__(self) -> tuple[Callable[..., ElementCount], tuple[tuple[int, ...]]]:
        return _count, (self.sizes,)


class SizeAttribute(property):
    """The attribute `size` of tensors. On the class, `Tensor.size(x, dim)` is torch's method."""

    __name__ = "size"

    def __call__(self, tensor: Tensor, dim: int | None = None) -> Any:
        return tensor.size(dim)


class AskedCount(ElementCount):
    """The `size` of a tensor that takes operations over: when it is called, the tensor answers."""

    answer: Function

    def __call__(self, *dim: object, **named: object) -> Any:
        return self.answer(dim, named)


def element_count(tensor: Tensor) -> ElementCount:
    """The number of elements of a tensor, made once for each shape."""
    shape = tensor._array.shape
    found = _COUNTS.get(shape)
    return _count(shape) if found is None else found


_COUNTS: dict[tuple[int, ...], ElementCount] = {}
_MOST_COUNTS = 4096  # of a program whose shapes never repeat


def _count(shape: tuple[int, ...]) -> ElementCount:
    if len(_COUNTS) >= _MOST_COUNTS:
        _COUNTS.clear()
    count = _COUNTS[shape] = ElementCount(math.prod(shape))
    count.sizes = shape
    return count

"""The standard's searching, sorting, set and indexing functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..shell.interop.numpy_functions import is_tracked
from ._array import Array, dispatched, run, run_discrete, same_dtype

UniqueAll: Any = type(np.unique_all(np.empty(0)))
UniqueCounts: Any = type(np.unique_counts(np.empty(0)))
UniqueInverse: Any = type(np.unique_inverse(np.empty(0)))


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The position of the first largest element."""
    return run_discrete(np.argmax, x, axis=axis, keepdims=keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The position of the first smallest element."""
    return run_discrete(np.argmin, x, axis=axis, keepdims=keepdims)


def nonzero(x: Tensor, /) -> tuple[Array, ...]:
    """The positions of the elements that are not zero, for each dim."""
    return run_discrete(np.nonzero, x)


def searchsorted(x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None) -> Array:
    """Where elements belong in a sorted array."""
    return run_discrete(np.searchsorted, x1, x2, side=side, sorter=sorter)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Array:
    """Elements of the first array where the condition is true, of the second elsewhere."""
    if is_tracked(x1) or is_tracked(x2):
        x1, x2 = same_dtype(x1, x2)
    return run(np.where, condition, x1, x2)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    """True where an element of one array occurs in another."""
    return run_discrete(np.isin, x1, x2, invert=invert)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The positions of the elements in sorted order; equal elements keep their order."""
    if not descending:
        return run_discrete(np.argsort, x, axis=axis, stable=stable)
    backwards = run_discrete(np.argsort, dispatched(np.flip, x, axis=axis), axis=axis, stable=stable)
    return dispatched(np.flip, x.shape[axis] - 1 - backwards, axis=axis)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements in order."""
    result = run(np.sort, x, axis=axis, stable=stable)
    return run(np.flip, result, axis=axis) if descending else result


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Array:
    """The slices of a dim at some positions."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: axis is needed for an array with {x.ndim} dims")
    return run(np.take, x, indices, axis=0 if axis is None else axis)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Array:
    """The elements at the positions that an array of them gives along a dim."""
    return run(np.take_along_axis, x, indices, axis=axis)


def unique_all(x: Tensor, /) -> Any:
    """The values that occur, where each is first, which of them each element is, and how often each occurs."""
    found = run_discrete(np.unique_all, x)
    return UniqueAll(_kept(x, found), *found[1:])


def unique_counts(x: Tensor, /) -> Any:
    """The values that occur, and how often."""
    found = run_discrete(np.unique_all, x)
    return UniqueCounts(_kept(x, found), found.counts)


def unique_inverse(x: Tensor, /) -> Any:
    """The values that occur, and which of them each element is."""
    found = run_discrete(np.unique_all, x)
    return UniqueInverse(_kept(x, found), found.inverse_indices)


def unique_values(x: Tensor, /) -> Array:
    """The values that occur, in order."""
    return _kept(x, run_discrete(np.unique_all, x)) if is_tracked(x) else run(np.unique, x, equal_nan=False)


def _kept(x: Tensor, found: Any) -> Array:
    """The values, as elements of x if a gradient is to reach them."""
    return dispatched(np.take, x, found.indices) if is_tracked(x) else found.values

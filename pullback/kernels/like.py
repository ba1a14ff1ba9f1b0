"""Functions that NumPy's protocols do not carry to the library that an array is from: new arrays, and the largest element.

With NumPy's own arrays the quickest call is made. An array of another library (CuPy's, say) is asked for what that library
has instead, so that operations which need fresh memory run where their operands are.
"""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np
from numpy import generic, ndarray

from .order import empty_like

NUMPYS = (ndarray, generic)  # what operations of NumPy give: arrays, and its numbers for those without dims


class _Elsewhere(dict[type, bool]):
    """Remembers for each type of array: is its memory another library's?"""

    def __missing__(self, kind: type) -> bool:
        ours = issubclass(kind, NUMPYS) or hasattr(kind, "_pullback_apply")  # tensors and batches have both methods too
        found = self[kind] = not ours and hasattr(kind, "__dlpack__")
        return found


_elsewhere = _Elsewhere()


def is_elsewhere(x: Any) -> bool:
    """True if the memory of an array is another library's, which hands it over as the Array API standard asks."""
    return _elsewhere[type(x)]


def together(*values: Any) -> tuple[Any, ...]:
    """Values, of which those of NumPy's are copied to where the first is that is another library's, if there is one."""
    home = next(filter(is_elsewhere, values), None)
    return values if home is None else tuple([brought(value, home) for value in values])


def brought(value: Any, home: Any) -> Any:
    """An array of NumPy's, or the arrays in a tuple, copied to where `home` is; anything else as it is."""
    if not _elsewhere[type(home)]:
        return value
    if type(value) is ndarray:
        return np.asarray(value, like=home)
    if isinstance(value, tuple):
        found = tuple([brought(entry, home) for entry in value])
        return value if all(map(is_, found, value)) else found
    return value


def zeros(shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
    """An array of zeros of this shape, of the dtype (or another) and library of an array."""
    dtype = like.dtype if dtype is None else dtype
    return np.zeros(shape, dtype, like=like) if _elsewhere[type(like)] else np.zeros(shape, dtype)


def empty(shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
    """The same without setting the elements."""
    dtype = like.dtype if dtype is None else dtype
    return np.empty(shape, dtype, like=like) if _elsewhere[type(like)] else np.empty(shape, dtype)


def full(shape: tuple[int, ...], value: Any, like: Any, dtype: Any = None) -> Any:
    """The same with one value everywhere."""
    out = empty(shape, like, dtype)
    out.fill(value)
    return out


def counted(count: int, like: Any) -> Any:
    """0, 1, 2, ... where an array is."""
    return np.arange(count, like=like) if _elsewhere[type(like)] else np.arange(count)


def copy(x: Any, order: Any = "K") -> Any:
    """A copy with memory of its own, of a number as well."""
    if isinstance(x, NUMPYS):
        if order == "K" and 0 in x.strides and x.ndim > 1:
            out = empty_like(x)
            out[...] = x
            return out
        return np.array(x, order=order)
    return np.array(x, order=order, like=x)


def largest(x: Any, axis: Any) -> Any:
    """The largest elements along some axes, which are kept with length 1; of none in NumPy's arrays, minus infinity."""
    if isinstance(x, NUMPYS):
        return np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    return np.max(x, axis, keepdims=True)


def running(ufunc: Any, x: Any, axis: int) -> Any:
    """`ufunc.accumulate` along an axis, for an associative function of two: libraries other than NumPy have that for few.

    There the parts that are combined double in length with each step.
    """
    if ufunc in (np.add, np.multiply) or isinstance(x, NUMPYS):
        return ufunc.accumulate(x, axis=axis)
    lead, step = (slice(None),) * axis, 1
    while step < x.shape[axis]:
        start, before, after = ((*lead, part) for part in (slice(step), slice(-step), slice(step, None)))
        x, step = np.concatenate([x[start], ufunc(x[before], x[after])], axis), 2 * step
    return x


def combine_at(ufunc: Any, row: Any, places: Any, values: Any) -> None:
    """`ufunc.at` for an associative function of two, which other libraries have for few, and CuPy 14 gets wrong for some.

    Values are sorted by place. Those that are combined double in number with each step, as long as their place is the same;
    the last one for each place is then the result of all.
    """
    if not places.size:
        return
    order = np.argsort(places, kind="stable")
    places, values, step = places[order], values[order], 1
    while step < places.size:
        same = places[step:] == places[:-step]
        later = np.where(same, ufunc(values[:-step], values[step:]), values[step:])
        values, step = np.concatenate([values[:step], later]), 2 * step
    last = full(places.shape, True, places, np.bool_)
    last[:-1] = places[1:] != places[:-1]
    places = places[last]
    row[places] = ufunc(row[places], values[last])

"""Picking and writing along one axis of NumPy's arrays, by places in memory: the kernels of gather, scatter and their kin.

Indices are in bounds and non-negative. `write_...` change memory as it is. Formulas of the same are in `ops/scatter.py`, and
kernels of `x[...]` in `indices.py`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .indices import add_slices
from .thresholds import PLACES_AT_ONCE, REMEMBERED_PLACES


@functools.lru_cache(maxsize=128)
def _own_places(shape: tuple, axis: int) -> list:
    """For each axis but one the numbers 0, 1, ... along it, in a shape that broadcasts to `shape`."""
    ndim = len(shape)
    return [None if d == axis else np.arange(n).reshape((-1,) + (1,) * (ndim - d - 1)) for d, n in enumerate(shape)]


def along_axis(index: Any, axis: int) -> tuple[Any, ...]:
    """NumPy's index for the elements whose place along `axis` is in `index` and is their own along the others."""
    few = index.size <= REMEMBERED_PLACES  # then making the numbers takes longer than using them
    parts = (_own_places if few else _own_places.__wrapped__)(index.shape, axis)
    return (*parts[:axis], index, *parts[axis + 1 :])


@functools.lru_cache(maxsize=128)
def _own_offsets(wanted: tuple, shape: tuple, axis: int) -> tuple:
    """Where elements of an index of shape `wanted` lie in a row of `shape`, were they all 0; how far 1 is along the axis."""
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    own = _own_places(wanted, axis)
    offsets = sum(
        [place * step for place, step in zip(own, steps, strict=True) if place is not None], np.zeros(wanted, np.intp)
    )
    return offsets, steps[axis]


def flat_places(index: Any, shape: tuple, axis: int) -> Any:
    """The places that `along_axis` means in an array of this shape, as one long row. For few indices."""
    offsets, step = _own_offsets(index.shape, shape, axis)
    return index + offsets if step == 1 else index * step + offsets


def places_by_blocks(index: Any, shape: tuple[int, ...], axis: int) -> Iterator[tuple[slice, Any]]:
    """Ranges along the first axis of an index, and the places of the elements there, few enough to stay in the cache."""
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    rows = max(PLACES_AT_ONCE * len(index) // max(index.size, 1), 1)
    own = _own_places.__wrapped__((min(rows, len(index)), *index.shape[1:]), axis)
    offsets: Any = sum([place * step for place, step in zip(own, steps, strict=True) if place is not None])
    for start in range(0, len(index), rows):
        block = slice(start, start + rows)
        part = index[block]
        if len(part) < rows and axis and len(index) > rows:
            offsets = offsets[: len(part)]  # fewer rows in the last one
        first = offsets + start * steps[0] if axis else offsets
        yield block, part * steps[axis] + first if steps[axis] != 1 else part + first


def all_places(index: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The places of `places_by_blocks` as one row."""
    if index.size <= REMEMBERED_PLACES:
        return flat_places(index, shape, axis).reshape(-1)
    return np.concatenate([places.reshape(-1) for _, places in places_by_blocks(index, shape, axis)])


def whole_slices(index: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The numbers of the slices that `numbers[:, None].expand(-1, width)` stands for; None for other indices."""
    for d, step in enumerate(index.strides):
        if d != axis and (step or index.shape[d] != shape[d]):
            return None
    return index[tuple([slice(None) if d == axis else 0 for d in range(index.ndim)])] if index.size else None


# --- one index for each element ---


def picked_along(x: Any, index: Any, axis: int) -> Any:
    """The elements whose place along `axis` is in `index`, in an array of its shape."""
    if not x.flags.c_contiguous:
        return np.ascontiguousarray(x[along_axis(index, axis)])
    if index.size <= REMEMBERED_PLACES:
        return x.take(flat_places(index, x.shape, axis))
    out = np.empty(index.shape, x.dtype)
    for block, places in places_by_blocks(index, x.shape, axis):
        x.take(places, out=out[block], mode="clip")  # they are in bounds; any other mode would copy the result
    return out


def gathered(x: Any, index: Any, axis: int) -> Any:
    if index.ndim and index.ndim == x.ndim:
        slices = whole_slices(index, x.shape, axis) if index.size > REMEMBERED_PLACES else None
        return picked_along(x, index, axis) if slices is None else x.take(slices, axis)
    return np.array(x.reshape(-1)[index.reshape(-1)].reshape(index.shape))  # numbers, or no indices at all


def write_scatter_add(out: Any, index: Any, src: Any, axis: int) -> None:
    """`out += src` at the places of an index. `out` is contiguous."""
    if not index.ndim or index.ndim != out.ndim:
        np.add.at(out.reshape(-1), index.reshape(-1), src.reshape(-1)[: index.size])
        return
    if src.shape != index.shape:
        src = src[tuple(map(slice, index.shape))]
    if index.size <= REMEMBERED_PLACES and src.dtype is out.dtype:
        np.add.at(out.reshape(-1), flat_places(index, out.shape, axis).reshape(-1), src.reshape(-1))
    elif (slices := whole_slices(index, out.shape, axis)) is not None:
        add_slices(out, slices, src, axis)
    else:
        src, flat = src.astype(out.dtype, copy=False), out.reshape(-1)
        for block, places in places_by_blocks(index, out.shape, axis):
            np.add.at(flat, places.reshape(-1), src[block].reshape(-1))


def write_scatter(out: Any, index: Any, src: Any, axis: int) -> None:
    """`scatter` on memory as it is."""
    if not index.ndim or not out.ndim:
        out.reshape(-1)[index.reshape(-1)] = src.reshape(-1)[: index.size] if getattr(src, "ndim", 0) else src
        return
    if getattr(src, "ndim", 0) and src.shape != index.shape:
        src = src[tuple(map(slice, index.shape))]
    if not out.flags.c_contiguous:
        out[along_axis(index, axis)] = src
    elif index.size <= REMEMBERED_PLACES:
        out.reshape(-1)[flat_places(index, out.shape, axis)] = src
    else:
        flat, several = out.reshape(-1), getattr(src, "ndim", 0)
        for block, places in places_by_blocks(index, out.shape, axis):
            flat[places] = src[block] if several else src


# --- one index for each slice ---


def write_index_add(out: Any, index: Any, source: Any, axis: int, alpha: Any = 1) -> None:
    """`index_add` on memory as it is."""
    if type(alpha) is not int or alpha != 1:
        source = source * out.dtype.type(alpha)
    if not out.ndim:
        out += np.add.reduce(source.reshape(-1)).astype(out.dtype)
        return
    add_slices(out, index.reshape(-1), source, axis)

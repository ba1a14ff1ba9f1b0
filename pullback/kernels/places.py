"""Picking and writing along axes of NumPy's arrays, by places in memory: the kernels of `x[...]`, gather, scatter and their kin.

Indices are in bounds, and non-negative unless said otherwise. `write_...` change memory as it is. Formulas of the same are in
`ops/indexing.py` and `ops/scatter.py`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .order import common_order, in_dims
from .thresholds import PLACES_AT_ONCE, PLACES_ONE_BY_ONE, REMEMBERED_PLACES


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


# --- any mixture of indices ---


def picked(x: Any, index: tuple) -> Any:
    if len(index) == 1 and x.flags.c_contiguous and index[0].dtype.char == "l":
        return x.take(index[0], 0)  # the same in a third of the time, where there is little to take
    out = x[index]
    if x.ndim > 1 and type(x) is np.ndarray and not x.flags.c_contiguous:
        return in_dims(out, _order_of_picked(x, index, out))
    return out if out.flags.c_contiguous else np.ascontiguousarray(out)  # NumPy promises no order


def _order_of_picked(x: Any, index: tuple[Any, ...], out: Any) -> list[int]:
    """In which order the dims of `x[index]` lie in memory: those that are kept, as they did in x."""
    steps: list[int] = []  # of the dims of the result; 0 along those of the index arrays
    axis, places, arrays = 0, [], []
    for part in index:
        if type(part) is np.ndarray:
            places.append(len(steps))
            arrays.append(part)
            axis += part.ndim if part.dtype.kind == "b" else 1
        else:
            steps.append(x.strides[axis])
            axis += 1
    steps.extend(x.strides[axis:])
    start = places[0] if places and places[-1] == places[0] else 0
    count = out.ndim - len(steps)
    steps[start:start] = [0] * count
    all_steps = [steps]
    for part in arrays:
        if part.dtype.kind != "b":
            inside = np.broadcast_to(part, out.shape[start : start + count]).strides
            all_steps.append([0] * start + list(inside) + [0] * (out.ndim - start - count))
    return common_order(out.shape, all_steps)


def add_at_index(out: Any, index: tuple[Any, ...], values: Any, fresh: bool = False) -> None:
    """`out[index] += values`, repeats added up. `fresh`: out is all zeros."""
    arrays = [(axis, part) for axis, part in enumerate(index) if type(part) is np.ndarray]
    if len(arrays) == 1 and arrays[0][1].dtype.kind == "b":  # a mask: no repeats
        out[index] += values
    elif len(arrays) == 1:
        axis, places = arrays[0]
        part = out if len(index) == 1 else out[(*index[:axis], slice(None), *index[axis + 1 :])]
        wanted = (*part.shape[:axis], *places.shape, *part.shape[axis + 1 :])
        values = values if values.shape == wanted else np.broadcast_to(values, wanted)
        add_slices(part, places.reshape(-1), values, axis, fresh)
    elif len(arrays) == out.ndim and out.flags.c_contiguous:
        flat = np.zeros((), np.intp)
        for n, (_, part) in zip(out.shape, arrays, strict=True):
            flat = flat * n + np.where(part < 0, part + n, part)
        values = np.broadcast_to(values, flat.shape).reshape(-1).astype(out.dtype, copy=False)
        np.add.at(out.reshape(-1), flat.reshape(-1), values)
    else:
        np.add.at(out, index, values)


def add_slices(out: Any, places: np.ndarray, values: Any, axis: int = 0, fresh: bool = False) -> None:
    """Add slices at places along an axis, repeats added up. `fresh`: out is all zeros."""
    if out.ndim == 1:
        np.add.at(out, places, values.reshape(-1).astype(out.dtype, copy=False))
        return
    if places.size < PLACES_ONE_BY_ONE and not axis:  # too few to sort
        for place, value in zip(places.tolist(), values.reshape(places.size, *out.shape[1:]), strict=True):
            out[place] += value
        return
    from .groups import accumulate  # not part of every program

    if places.size and np.minimum.reduce(places) < 0:
        places = np.where(places < 0, places + out.shape[axis], places)
    values = values.reshape(*out.shape[:axis], places.size, *out.shape[axis + 1 :])
    accumulate(np.add, out, places, values, axis, fresh)

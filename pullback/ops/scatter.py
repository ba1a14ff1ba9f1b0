"""Picking and writing along one axis by an index array: gather, index_select, take, and what puts elements back.

Indices are inputs without a gradient, so rules receive them as they are saved; they are in bounds by the time they get
here and non-negative unless said otherwise. `x[...]` with any mixture of indices is in `indexing.py`, reductions into
places (amax, prod, mean) in `scatter_reduce.py`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..autograd.op import Op, linear, op
from ..kernels.like import copy, zeros
from ..kernels.order import like
from ..kernels.thresholds import PLACES_AT_ONCE, REMEMBERED_PLACES
from .fusing import in_single
from .indexing import add_slices
from .layouts import GATHERED, PUT_FLAT, SCATTERED, SLICES_AT, SLICES_FILLED, TAKEN
from .striding import in_order


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


# --- gather: one index for each element ---


def picked_along(x: Any, index: Any, axis: int) -> Any:
    """The elements whose place along `axis` is in `index`, in an array of its shape."""
    if not x.flags.c_contiguous:
        return in_order(x[along_axis(index, axis)])
    if index.size <= REMEMBERED_PLACES:
        return x.take(flat_places(index, x.shape, axis))
    out = np.empty(index.shape, x.dtype)
    for block, places in places_by_blocks(index, x.shape, axis):
        x.take(places, out=out[block], mode="clip")  # they are in bounds; any other mode would copy the result
    return out


def _gather(x: Any, index: Any, axis: int) -> Any:
    if index.ndim and index.ndim == x.ndim:
        slices = whole_slices(index, x.shape, axis) if index.size > REMEMBERED_PLACES else None
        return picked_along(x, index, axis) if slices is None else x.take(slices, axis)
    return np.array(x.reshape(-1)[index.reshape(-1)].reshape(index.shape))  # numbers, or no indices at all


@in_single
def _scatter_add(x: Any, index: Any, src: Any, axis: int) -> Any:
    out = copy(x, "C")
    write_scatter_add(out, index, src, axis)
    return out


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


@in_single
def _spread(x: Any, index: Any, shape: tuple, axis: int) -> Any:
    out = zeros(shape, x)
    write_scatter_add(out, index, x, axis)
    return out


def _back(g: Any, src_shape: tuple, index: Any, axis: int) -> Any:
    """The cotangent of `src` in a scatter: what was read of it, zeros where it is larger than the index."""
    picked = gather(g, index, axis=axis)
    if tuple(src_shape) == tuple(index.shape):
        return picked
    from .rearranging import pad

    after = tuple(n - m for n, m in zip(src_shape, index.shape, strict=True))
    return pad(picked, before=(0,) * len(after), after=after, value=0)


gather: Op = linear(
    "GatherBackward0",
    _gather,
    x=lambda g, x_shape, index, axis: spread(g, index, shape=x_shape, axis=axis),
    index=None,
    batch=GATHERED,
)
spread: Op = linear(
    "ScatterAddBackward0", _spread, x=lambda g, index, axis: gather(g, index, axis=axis), index=None, batch=SCATTERED
)
scatter_add: Op = linear("ScatterAddBackward0", _scatter_add, x=lambda g: g, index=None, src=_back, batch=SCATTERED)


def _scatter(x: Any, index: Any, src: Any, axis: int) -> Any:
    out = copy(x, "C")
    write_scatter(out, index, src, axis)
    return out


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


def write_scatter_value(out: Any, index: Any, axis: int, value: Any) -> None:
    """`scatter` of one value on memory as it is."""
    write_scatter(out, index, out.dtype.type(value), axis)


def _scatter_value(x: Any, index: Any, axis: int, value: Any) -> Any:
    return _scatter(x, index, x.dtype.type(value), axis)


scatter_zero: Op = linear(
    "ScatterBackward1",
    lambda x, index, axis: _scatter(x, index, x.dtype.type(0), axis),
    x=lambda g, index, axis: scatter_zero(g, index, axis=axis),
    index=None,
    batch=SCATTERED,
    aten="scatter.value",
)
scatter_src: Op = linear(
    "ScatterBackward0",
    _scatter,
    x=lambda g, index, axis: scatter_zero(g, index, axis=axis),
    index=None,
    src=_back,
    batch=SCATTERED,
    aten="scatter.src",
)
scatter_value: Op = op(
    "ScatterBackward1",
    _scatter_value,
    x=lambda g, index, axis: scatter_zero(g, index, axis=axis),
    index=None,
    batch=SCATTERED,
    aten="scatter.value",
)

# --- index_*: one index for each slice ---


def _slices(index: Any, axis: int) -> tuple:
    return (*(slice(None),) * axis, index)


def _index_add(x: Any, index: Any, source: Any, axis: int, alpha: Any = 1) -> Any:
    out = copy(x, "C")
    write_index_add(out, index, source, axis, alpha)
    return out


def write_index_add(out: Any, index: Any, source: Any, axis: int, alpha: Any = 1) -> None:
    """`index_add` on memory as it is."""
    if type(alpha) is not int or alpha != 1:
        source = source * out.dtype.type(alpha)
    if not out.ndim:
        out += np.add.reduce(source.reshape(-1)).astype(out.dtype)
        return
    add_slices(out, index.reshape(-1), source, axis)


def _place_slices(x: Any, index: Any, shape: tuple, axis: int) -> Any:
    out = zeros(shape, x)
    if not shape:
        return np.add.reduce(x.reshape(-1)).astype(x.dtype)
    add_slices(out, index.reshape(-1), x, axis, fresh=True)
    return out


index_select: Op = linear(
    "IndexSelectBackward0",
    lambda x, index, axis: x.take(index, axis) if x.ndim else copy(x),
    x=lambda g, x_shape, index, axis: place_slices(g, index, shape=x_shape, axis=axis),
    index=None,
    batch=SLICES_AT,
)
place_slices: Op = linear(
    "IndexAddBackward0",
    _place_slices,
    x=lambda g, index, axis: index_select(g, index, axis=axis),
    index=None,
    batch=SLICES_AT,
)


def _index_add_source(g: Any, index: Any, source_shape: tuple, axis: int, alpha: Any) -> Any:
    picked = index_select(g, index, axis=axis)
    picked = picked if type(alpha) is int and alpha == 1 else picked * alpha
    return np.reshape(picked, source_shape)


index_add: Op = linear(
    "IndexAddBackward0", _index_add, x=lambda g: g, index=None, source=_index_add_source, batch=SLICES_AT
)


def _index_copy(x: Any, index: Any, source: Any, axis: int) -> Any:
    out = copy(x, "C")
    if not out.ndim:
        return np.array(source, out.dtype).reshape(-1)[-1:].reshape(()) if index.size else out
    out[_slices(index.reshape(-1), axis)] = source
    return out


def _index_clear(x: Any, index: Any, axis: int) -> Any:
    out = copy(x, "C")
    if out.ndim:
        out[_slices(index.reshape(-1), axis)] = 0
    elif index.size:
        out[...] = 0
    return out


index_clear: Op = linear(
    "IndexFillBackward0",
    _index_clear,
    x=lambda g, index, axis: index_clear(g, index, axis=axis),
    index=None,
    batch=SLICES_AT,
    aten="index_fill.int_Scalar",
)
index_copy: Op = linear(
    "IndexCopyBackward0",
    _index_copy,
    x=lambda g, index, axis: index_clear(g, index, axis=axis),
    index=None,
    source=lambda g, index, source_shape, axis: np.reshape(index_select(g, index, axis=axis), source_shape),
    batch=SLICES_AT,
)


def _index_fill(x: Any, index: Any, value: Any, axis: int) -> Any:
    out = copy(x)
    write_index_fill(out, index, value, axis)
    return out


def write_index_fill(out: Any, index: Any, value: Any, axis: int) -> None:
    """`index_fill` on memory as it is."""
    if out.ndim:
        out[_slices(index.reshape(-1), axis)] = value
    elif index.size:
        out[...] = value


def _kept(g: Any, index: Any, axis: int) -> Any:
    return index_clear(g, index, axis=axis)


index_fill: Op = op(
    "IndexFillBackward0",
    _index_fill,
    x=_kept,
    index=None,
    value=None,
    batch=SLICES_FILLED,
    aten="index_fill.int_Scalar",
)
index_fill_from: Op = linear(
    "IndexFillBackward1",
    _index_fill,
    x=_kept,
    index=None,
    value=lambda g, index, axis: np.sum(g - _kept(g, index, axis)),
    batch=SLICES_FILLED,
    aten="index_fill.int_Tensor",
)

# --- take and put: the tensor as one long row ---


def _take(x: Any, index: Any) -> Any:
    return x.reshape(-1)[index]


def _put(x: Any, index: Any, source: Any, accumulate: bool) -> Any:
    out = copy(x, "C")
    flat = out.reshape(-1)
    if accumulate:
        np.add.at(flat, index.reshape(-1), source.reshape(-1).astype(out.dtype, copy=False))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return like(out, x) if type(x) is np.ndarray else out


take: Op = linear(
    "TakeBackward0", _take, x=lambda g, x_shape, index: place_flat(g, index, shape=x_shape), index=None, batch=TAKEN
)
place_flat: Op = linear(
    "PutBackward0",
    lambda x, index, shape: _put(zeros(shape, x), index, x, True),
    x=lambda g, index: take(g, index),
    index=None,
    batch=PUT_FLAT,
)


def _clear_flat(x: Any, index: Any) -> Any:
    out = copy(x, "C")
    out.reshape(-1)[index.reshape(-1)] = 0
    return out


clear_flat: Op = linear(
    "PutBackward0", _clear_flat, x=lambda g, index: clear_flat(g, index), index=None, batch=PUT_FLAT
)
put: Op = linear(
    "PutBackward0",
    _put,
    x=lambda g, index, accumulate: g if accumulate else clear_flat(g, index),
    index=None,
    source=lambda g, index, source_shape: np.reshape(take(g, index), source_shape),
    batch=PUT_FLAT,
)

# --- masks ---


def _masked_select(x: Any, mask: Any) -> Any:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return np.broadcast_to(x, shape)[np.broadcast_to(mask, shape)]


def _place_masked(x: Any, mask: Any, shape: tuple) -> Any:
    full = np.broadcast_shapes(shape, mask.shape)
    out = zeros(full, x)
    out[np.broadcast_to(mask, full)] = x
    return out


# The cotangent has the broadcast shape; the tape's edge sums it to the tensor's own.
masked_select: Op = linear(
    "MaskedSelectBackward0",
    _masked_select,
    x=lambda g, x_shape, mask: place_masked(g, mask, shape=x_shape),
    mask=None,
)
place_masked: Op = linear("MaskedScatterBackward0", _place_masked, x=lambda g, mask: masked_select(g, mask), mask=None)


def _masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    out = np.array(np.broadcast_to(x, shape), order="C")
    mask = np.broadcast_to(mask, shape)
    out[mask] = source.reshape(-1)[: np.count_nonzero(mask)]
    return out


def _masked_source(g: Any, mask: Any, source_shape: tuple) -> Any:
    """The picked elements fill the source from its start; what was not used has no gradient."""
    from .rearranging import pad

    picked = masked_select(g, mask)
    missing = math.prod(source_shape) - picked.shape[0]
    return np.reshape(pad(picked, before=(0,), after=(missing,), value=0), source_shape)


masked_scatter: Op = linear(
    "MaskedScatterBackward0", _masked_scatter, x=lambda g, mask: np.where(mask, 0, g), mask=None, source=_masked_source
)

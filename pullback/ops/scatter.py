"""Picking and writing along one axis by an index array: gather, index_select, and the functions that put elements back.

Indices are inputs without a gradient, so rules receive them as they are saved; they are in bounds by the time they get
here and non-negative unless said otherwise. `x[...]` with any mixture of indices is in `indexing.py`, elements of the
whole array as one long row are in `taking.py`, reductions into places (amax, prod, mean) in `scatter_reduce.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.kernel import kernel
from ..core.op import Op, linear, op
from ..kernels import places as kernels
from ..kernels.indices import add_slices
from ..kernels.like import brought, copy, counted, zeros
from .fusing import in_single
from .layouts import GATHERED, SCATTERED, SLICES_AT, SLICES_FILLED
from .samples import Draw, Sample

if TYPE_CHECKING:
    from ..core.basics.types import Number, Shape
    from ..core.basics.types import NumPyArray as Array

# --- gather: one index for each element ---


def places_of(index: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Where the elements are, in an array of a shape as one long row, that an index along an axis means."""
    if not shape:
        return index * 0
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    places = index * steps[axis]
    for d, size in enumerate(index.shape):
        if d != axis:
            own = counted(size, index) * steps[d]
            places = places + np.reshape(own, (size,) + (1,) * (len(index.shape) - d - 1))
    return places


def add_at_places(out: Array, index: Array, src: Array, axis: int) -> Array:
    """`out`, which is contiguous, with the elements of `src` added where an index means."""
    index = brought(index, out)
    src = np.reshape(cut_to_index(src, index), -1)
    np.add.at(np.reshape(out, -1), np.reshape(places_of(index, out.shape, axis), -1), src.astype(out.dtype, copy=False))
    return out


def write_at_places(out: Array, index: Array, src: Array | Number, axis: int) -> Array:
    """`out`, which is contiguous, with the elements of `src`, or one number, where an index means."""
    index = brought(index, out)
    np.reshape(out, -1)[places_of(index, out.shape, axis)] = (
        cut_to_index(src, index) if getattr(src, "ndim", 0) else src
    )
    return out


def cut_to_index(src: Any, index: Array) -> Array:
    """As much of a source as an index has places for."""
    if not index.ndim or src.ndim != index.ndim:
        return np.reshape(np.reshape(src, -1)[: index.size], index.shape)
    return src[tuple(map(slice, index.shape))]


def _gather(x: Array, index: Array, axis: int) -> Array:
    index = brought(index, x)
    return np.reshape(x, -1)[places_of(index, x.shape, axis)]


def _scatter_add(x: Array, index: Array, src: Array, axis: int) -> Array:
    return add_at_places(copy(x, "C"), index, src, axis)


@in_single
def _fast_scatter_add(x: Array, index: Array, src: Array, axis: int) -> Array:
    out = copy(x, "C")
    kernels.write_scatter_add(out, index, src, axis)
    return out


def _spread(x: Array, index: Array, shape: Shape, axis: int) -> Array:
    return add_at_places(zeros(shape, x), index, x, axis)


@in_single
def _fast_spread(x: Array, index: Array, shape: Shape, axis: int) -> Array:
    out = zeros(shape, x)
    kernels.write_scatter_add(out, index, x, axis)
    return out


def _source_gradient(g: Array, src_shape: Shape, index: Array, axis: int) -> Array:
    """The cotangent of `src` in a scatter: what the index reads, zeros where it is larger than the index."""
    picked = gather(g, index, axis=axis)
    if tuple(src_shape) == tuple(index.shape):
        return picked
    from .rearranging import pad

    after = tuple(n - m for n, m in zip(src_shape, index.shape, strict=True))
    return pad(picked, before=(0,) * len(after), after=after, value=0)


_SHAPES = (
    ((2, 3), (2, 2)),
    ((4,), (7,)),
    ((3, 2, 4), (3, 5, 2)),
    ((0, 3), (0, 2)),
    ((90, 100), (90, 95)),
    ((300, 40), (60, 40)),
)


def _places_drawn(draw: Draw, source: bool = False) -> Iterator[Sample]:
    """Arrays and indices of each shape along an axis, with a source if asked for."""
    for shape, index_shape in _SHAPES:
        axis = 0 if shape == (300, 40) else len(shape) // 2
        index = draw.whole(index_shape, shape[axis])
        yield (draw(*shape), index, *([draw(*index_shape)] if source else [])), {"axis": axis}


def _spread_samples(draw: Draw) -> Iterator[Sample]:
    for (x, index, src), params in _places_drawn(draw, source=True):
        yield (src, index), {"shape": x.shape, **params}


gather: Op = linear(
    "GatherBackward0",
    _gather,
    x=lambda g, x_shape, index, axis: spread(g, index, shape=x_shape, axis=axis),
    index=None,
    kernel=kernel(kernels.gathered),
    batch=GATHERED,
    samples=_places_drawn,
)
spread: Op = linear(
    "ScatterAddBackward0",
    _spread,
    x=lambda g, index, axis: gather(g, index, axis=axis),
    index=None,
    kernel=kernel(_fast_spread),
    batch=SCATTERED,
    samples=_spread_samples,
)
scatter_add: Op = linear(
    "ScatterAddBackward0",
    _scatter_add,
    x=lambda g: g,
    index=None,
    src=_source_gradient,
    kernel=kernel(_fast_scatter_add),
    batch=SCATTERED,
    samples=lambda draw: _places_drawn(draw, source=True),
)


def _scatter(x: Array, index: Array, src: Array | Number, axis: int) -> Array:
    return write_at_places(copy(x, "C"), index, src, axis)


def _fast_scatter(x: Array, index: Array, src: Array, axis: int) -> Array:
    out = copy(x, "C")
    kernels.write_scatter(out, index, src, axis)
    return out


def write_scatter_value(out: Array, index: Array, axis: int, value: Number) -> None:
    """`scatter` of one value on memory as it is."""
    kernels.write_scatter(out, index, out.dtype.type(value), axis)


def _scatter_value(x: Array, index: Array, axis: int, value: Number) -> Array:
    return _scatter(x, index, x.dtype.type(value), axis)


def _distinct_samples(draw: Draw, *more: str, **params: Any) -> Iterator[Sample]:
    """Of places that are written to the last value stays, and which that is, no library promises: none is written twice."""
    for (x, index), axis in _places_drawn(draw):
        order = np.argsort(draw(*x.shape), axis["axis"])[tuple(map(slice, index.shape))]
        yield (x, order, *[draw(*order.shape) for _ in more]), {**axis, **params}


scatter_zero: Op = linear(
    "ScatterBackward1",
    lambda x, index, axis: _scatter(x, index, 0, axis),
    x=lambda g, index, axis: scatter_zero(g, index, axis=axis),
    index=None,
    kernel=kernel(lambda x, index, axis: _fast_scatter(x, index, x.dtype.type(0), axis)),
    batch=SCATTERED,
    aten="scatter.value",
    samples=_distinct_samples,
)
scatter_src: Op = linear(
    "ScatterBackward0",
    _scatter,
    x=lambda g, index, axis: scatter_zero(g, index, axis=axis),
    index=None,
    src=_source_gradient,
    kernel=kernel(_fast_scatter),
    batch=SCATTERED,
    aten="scatter.src",
    samples=lambda draw: _distinct_samples(draw, "src"),
)
scatter_value: Op = op(
    "ScatterBackward1",
    _scatter_value,
    x=lambda g, index, axis: scatter_zero(g, index, axis=axis),
    index=None,
    kernel=kernel(lambda x, index, axis, value: _fast_scatter(x, index, x.dtype.type(value), axis)),
    batch=SCATTERED,
    aten="scatter.value",
    samples=lambda draw: _distinct_samples(draw, value=2.5),
)

# --- index_*: one index for each slice ---


def _spanned(index: Array, shape: tuple[int, ...], axis: int) -> Array:
    """An index of slices along an axis as one for each element of slices that have a shape together."""
    return np.broadcast_to(np.reshape(index, (-1,) + (1,) * (len(shape) - axis - 1)), shape)


def _write_slices(out: Array, index: Array, values: Array | Number, axis: int) -> None:
    """Write to the slices at `index`. Where there are no elements, the places need not be there."""
    if 0 not in out.shape:
        out[(*(slice(None),) * axis, brought(index, out).reshape(-1))] = values


def _sources(source: Array, index: Array, shape: tuple[int, ...], axis: int) -> tuple[Any, Any]:
    """Slices to be put into an array of a shape, with an index for each of their elements."""
    source = np.reshape(source, (*shape[:axis], index.size, *shape[axis + 1 :]))
    return _spanned(brought(index, source), source.shape, axis), source


def _index_add(x: Array, index: Array, source: Array, axis: int, alpha: Number = 1) -> Array:
    if type(alpha) is not int or alpha != 1:
        source = source * alpha
    if not x.ndim:
        return x + np.sum(source)
    return _scatter_add(x, *_sources(source, index, x.shape, axis), axis)


def write_index_add(out: Array, index: Array, source: Array, axis: int, alpha: Number = 1) -> None:
    """`index_add` on memory as it is."""
    kernels.write_index_add(out, index, source, axis, alpha)


def _fast_index_add(x: Array, index: Array, source: Array, axis: int, alpha: Number = 1) -> Array:
    out = copy(x, "C")
    kernels.write_index_add(out, index, source, axis, alpha)
    return out


def _place_slices(x: Array, index: Array, shape: Shape, axis: int) -> Array:
    if not shape:
        return np.sum(x)
    index, x = _sources(x, index, shape, axis)
    return _spread(x, index, shape, axis)


def _fast_place_slices(x: Array, index: Array, shape: Shape, axis: int) -> Array:
    if not shape:
        return np.add.reduce(x.reshape(-1)).astype(x.dtype)
    out = zeros(shape, x)
    add_slices(out, index.reshape(-1), x, axis, fresh=True)
    return out


def _slices_drawn(draw: Draw, source: bool = False) -> Iterator[Sample]:
    """Arrays, and indices of slices along an axis, with such slices if asked for."""
    for shape, axis in (((4,), 0), ((3, 4), 1), ((3, 4, 2), 1), ((3, 0), 0), ((300, 40), 0)):
        index = draw.whole((5 * shape[axis],), shape[axis])
        slices = (*shape[:axis], len(index), *shape[axis + 1 :])
        yield (draw(*shape), index, *([draw(*slices)] if source else [])), {"axis": axis}


def _placed_samples(draw: Draw) -> Iterator[Sample]:
    for (x, index, source), params in _slices_drawn(draw, source=True):
        yield (source, index), {"shape": x.shape, **params}


index_select: Op = linear(
    "IndexSelectBackward0",
    lambda x, index, axis: np.take(x, brought(index, x), axis) if x.ndim else copy(x),
    x=lambda g, x_shape, index, axis: place_slices(g, index, shape=x_shape, axis=axis),
    index=None,
    kernel=kernel(lambda x, index, axis: x.take(index, axis) if x.ndim else NotImplemented),
    batch=SLICES_AT,
    samples=_slices_drawn,
)
place_slices: Op = linear(
    "IndexAddBackward0",
    _place_slices,
    x=lambda g, index, axis: index_select(g, index, axis=axis),
    index=None,
    kernel=kernel(_fast_place_slices),
    batch=SLICES_AT,
    samples=_placed_samples,
)


def _index_add_source(g: Array, index: Array, source_shape: Shape, axis: int, alpha: Number) -> Array:
    picked = index_select(g, index, axis=axis)
    picked = picked if type(alpha) is int and alpha == 1 else picked * alpha
    return np.reshape(picked, source_shape)


index_add: Op = linear(
    "IndexAddBackward0",
    _index_add,
    x=lambda g: g,
    index=None,
    source=_index_add_source,
    kernel=kernel(_fast_index_add),
    batch=SLICES_AT,
    samples=lambda draw: [
        (given, {**params, "alpha": alpha}) for given, params in _slices_drawn(draw, source=True) for alpha in (1, 2.5)
    ],
)


def _index_copy(x: Array, index: Array, source: Array, axis: int) -> Array:
    out = copy(x, "C")
    if out.ndim:
        _write_slices(out, index, source, axis)
    elif index.size:
        out[...] = source.reshape(-1)[-1]
    return out


def _index_clear(x: Array, index: Array, axis: int) -> Array:
    out = copy(x, "C")
    if out.ndim:
        _write_slices(out, index, 0, axis)
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


def _index_fill(x: Array, index: Array, value: Array | Number, axis: int) -> Array:
    out = copy(x)
    write_index_fill(out, index, value, axis)
    return out


def write_index_fill(out: Array, index: Array, value: Array | Number, axis: int) -> None:
    """`index_fill` on memory as it is."""
    if out.ndim:
        _write_slices(out, index, value, axis)
    elif index.size:
        out[...] = value


def _kept(g: Array, index: Array, axis: int) -> Array:
    return index_clear(g, index, axis=axis)


index_fill: Op = op(
    "IndexFillBackward0",
    _index_fill,
    x=_kept,
    index=None,
    value=None,
    batch=SLICES_FILLED,
    aten="index_fill.int_Scalar",
    samples=lambda draw: [((draw(2, 3), np.array([0, 2]), 1.5), {"axis": 1})],
)
index_fill_from: Op = linear(
    "IndexFillBackward1",
    _index_fill,
    x=_kept,
    index=None,
    value=lambda g, index, axis: np.sum(g - _kept(g, index, axis)),
    batch=SLICES_FILLED,
    aten="index_fill.int_Tensor",
    samples=lambda draw: [((draw(2, 3), np.array([0, 2]), draw()), {"axis": 1})],
)

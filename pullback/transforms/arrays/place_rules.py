"""Batching rules of operations that pick or write along one axis by an array of indices.

One index array for all examples: the batch is one more axis. An index array for each example: what picks or writes
whole slices becomes `gather` or `scatter`, which have an index for every element; `take` and `put` do on rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .batched import raw
from .batching_rules import align_axes, example_by_example, ndim_of, with_batch_axes, with_batch_axis

if TYPE_CHECKING:
    from ...core.basics.types import Array, Params, Result, Shape
    from ...core.op import Op


def batch_along_with_indices(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Run `gather`, `scatter` and their like: along an axis, with an array of indices that has as many axes as the others."""
    ndim = len(params["shape"]) if "shape" in params else ndim_of(values[0], flags[0])
    if not ndim or any(ndim_of(value, flag) != ndim for value, flag in zip(values, flags, strict=True)):
        return example_by_example(op, values, flags, params, size)
    full = with_batch_axes(values, flags, size)
    changed = {**params, "axis": params["axis"] + 1}
    if "shape" in params:
        changed["shape"] = (size, *params["shape"])
    return op(*full, **changed)


def batch_slices(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Read or write slices at a list of indices, the second operand."""
    if not all(ndim_of(value, flag) for value, flag in zip(values, flags, strict=True)) or params.get("shape") == ():
        return example_by_example(op, values, flags, params, size)
    full = [value if n == 1 else with_batch_axis(value, flags[n], size) for n, value in enumerate(values)]
    changed = {**params, "axis": params["axis"] + 1}
    if "shape" in params:
        changed["shape"] = (size, *params["shape"])
    return _slices_by_own_index(op, full, changed) if flags[1] else op(*full, **changed)


def _slices_by_own_index(op: Op, values: list[Array], params: Params) -> Result:
    """Read or write slices at a list of indices for each example, by the operation that has an index for every element."""
    from ...ops import scatter

    x, index, *others = values
    axis = params["axis"]
    if op is scatter.index_select:
        return scatter.gather(x, _index_of_elements(index, raw(x).shape, axis), axis=axis)
    if op is scatter.place_slices:
        return scatter.spread(x, _index_of_elements(index, raw(x).shape, axis), **params)
    if op is scatter.index_clear:
        return scatter.scatter_zero(x, _index_of_elements(index, raw(x).shape, axis), axis=axis)
    (source,) = others
    places = _index_of_elements(index, raw(source).shape, axis)
    if op is scatter.index_copy:
        return scatter.scatter_src(x, places, source, axis=axis)
    alpha = params["alpha"]
    return scatter.scatter_add(x, places, source if alpha == 1 else source * alpha, axis=axis)


def _index_of_elements(index: Array, shape: Shape, axis: int) -> Array:
    """A list of indices for each example, repeated for all elements of its slices."""
    rows, count = raw(index).shape
    beside = (1,) * (axis - 1), (1,) * (len(shape) - axis - 1)
    return np.broadcast_to(
        np.reshape(index, (rows, *beside[0], count, *beside[1])), (*shape[:axis], count, *shape[axis + 1 :])
    )


def batch_fill_slices(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Write one number to slices."""
    x, index, value = values
    if not ndim_of(x, flags[0]):
        return example_by_example(op, values, flags, params, size)
    x, axis = with_batch_axis(x, flags[0], size), params["axis"] + 1
    if not flags[1] and not flags[2]:
        return op(x, index, value, axis=axis)
    shape = raw(x).shape
    index = with_batch_axis(index, flags[1], size)
    index = index[:, None] if raw(index).ndim == 1 else index
    written = np.any(index[:, None, :] == np.arange(shape[axis])[:, None], axis=-1)
    written = np.reshape(written, (size, *(1,) * (axis - 1), shape[axis], *(1,) * (len(shape) - axis - 1)))
    return np.where(written, align_axes(value, flags[2], len(shape) - 1), x)


# --- one long row ---


def batch_take(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Take elements of an array by their places in it as one long row."""
    x, index = values
    if not flags[0]:
        return op(x, index)
    from ...ops.scatter import gather

    shape = raw(index).shape[int(flags[1]) :]
    row = _as_row(x, True, size)
    return np.reshape(gather(row, _count_from_start(index, flags[1], size, raw(row).shape[1]), axis=1), (size, *shape))


def batch_put(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Write, add or clear elements by their places in an array as one long row; with `shape`, in an array of zeros."""
    from ...ops import scatter

    if "shape" in params:
        shape = tuple(params["shape"])
        places = _count_from_start(values[1], flags[1], size, math.prod(shape))
        out = scatter.spread(_as_row(values[0], flags[0], size), places, shape=(size, math.prod(shape)), axis=1)
        return np.reshape(out, (size, *shape))
    x = with_batch_axis(values[0], flags[0], size)
    row = _as_row(x, True, size)
    places = _count_from_start(values[1], flags[1], size, raw(row).shape[1])
    if len(values) == 2:
        out = scatter.scatter_zero(row, places, axis=1)
    else:
        write = scatter.scatter_add if params["accumulate"] else scatter.scatter_src
        out = write(row, places, _as_row(values[2], flags[2], size), axis=1)
    return np.reshape(out, raw(x).shape)


def _as_row(value: Array, flag: bool, size: int) -> Array:
    value = with_batch_axis(value, flag, size)
    return np.reshape(value, (size, math.prod(raw(value).shape[1:])))


def _count_from_start(index: Array, flag: bool, size: int, length: int) -> Array:
    """Indices in rows of this length, the negative ones counted from the start."""
    index = _as_row(index, flag, size)
    return np.where(index < 0, index + length, index)


# --- sorted rows ---


def batch_search_sorted(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Find where values belong in sorted rows: one row for all values, or one for each of their rows."""
    rows, wanted = values
    if ndim_of(rows, flags[0]) > 1:
        return op(*with_batch_axes(values, flags, size), **params)
    if not flags[0]:
        return op(rows, wanted, **params)
    shape = raw(wanted).shape[int(flags[1]) :]
    return np.reshape(op(rows, _as_row(wanted, flags[1], size), **params), (size, *shape))


def batch_isin(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Find which elements are in a set: one call if the set is the same for all examples, else a call for each."""
    return example_by_example(op, values, flags, params, size) if flags[1] else op(*values, **params)

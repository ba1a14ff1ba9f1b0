"""Batching rules of `x[index]` and of writes to it, where entries of the index are arrays or full slices.

Index arrays that all examples share leave the batch as one more slice. Where examples have index arrays of their own,
the axes that these look at come first, and are indexed together with the number of the example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ops.layouts import PICKED
from .batched import Batched, level_of, params_level, raw
from .batching_rules import align_axes, apply_batched, example_by_example, is_tensor, ndim_of, with_batch_axis

if TYPE_CHECKING:
    from ...core.basics.types import Array, Params, Result, Shape
    from ...core.op import Op

_ALL = slice(None)


def batch_index(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Index with arrays that are the same for all examples: the batch is one more full slice."""
    index = params["index"]
    places = [place for place, item in enumerate(index) if not isinstance(item, slice)]
    changed = {**params, "index": (_ALL, *index)}
    # The place of the batch axis in the result: NumPy puts the axes of index arrays that are not neighbours before it.
    axis = max(ndim_of(index[place], False) for place in places) if places[-1] - places[0] >= len(places) else 0
    first = with_batch_axis(values[0], flags[0], size)
    if "shape" in params:
        changed["shape"] = (size, *params["shape"])
        return _run(op, [np.moveaxis(first, 0, axis) if axis else first], changed)
    if op.batch is PICKED:
        result = _run(op, [first], changed)
        return np.moveaxis(result, axis, 0) if axis else result
    others = []
    for value, flag in zip(values[1:], flags[1:], strict=True):
        region = _ndim_of_region(raw(first).shape, changed["index"]) - 1
        if axis:
            others.append(np.moveaxis(align_axes(with_batch_axis(value, flag, size), True, region), 0, axis))
        else:
            others.append(align_axes(value, flag, region))
    return _run(op, [first, *others], changed)


def _run(op: Op, arrays: list[Array], params: Params) -> Result:
    """Run the operation, also on plain arrays with an index that is a batch of a level outside."""
    if params_level(params) and not any(is_tensor(array) for array in arrays):
        return apply_batched(op, arrays, params)
    return op(*arrays, **params)


def _ndim_of_region(shape: Shape, index: Array) -> int:
    """The number of axes of `x[index]`, for an x of this shape."""
    one = tuple(np.zeros(item.shape, np.intp) if type(item) is Batched else item for item in index)
    return np.broadcast_to(0, shape)[one].ndim


def batch_own_index(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Index with arrays that differ between examples."""
    level, index = params_level(params), params["index"]
    places = [place for place, item in enumerate(index) if not isinstance(item, slice)]
    if any(isinstance(item, slice) and item != _ALL for item in index) or any(
        is_tensor(getattr(item, "array", None)) for item in index
    ):
        return example_by_example(op, values, flags, params, size, level)
    items = [index[place].array if level_of(index[place]) == level else index[place] for place in places]
    own = [level_of(index[place]) == level and index[place].batched for place in places]
    count = max(ndim_of(item, flag) for item, flag in zip(items, own, strict=True))
    lined = tuple(align_axes(item, flag, count) for item, flag in zip(items, own, strict=True))
    by_example = {**params, "index": (np.arange(size).reshape((size,) + (1,) * count), *lined)}
    is_read = op.batch is PICKED  # and not a write
    ndim = len(params["shape"]) if "shape" in params else ndim_of(values[0], flags[0])
    order = [*places, *(axis for axis in range(ndim) if axis not in places)]
    start = (
        places[0] if places[-1] - places[0] < len(places) else 0
    )  # the axes of arrays that are not neighbours come first, as in NumPy
    if is_read and not flags[0]:
        return _index_axes_in_place(_run(op, [np.transpose(values[0], order)], {"index": lined}), start, count)
    first = with_batch_axis(values[0], flags[0], size)
    if "shape" in params:  # values put back into zeros
        by_example["shape"] = (size, *[params["shape"][axis] for axis in order])
        return _restore_axes(_run(op, [_index_axes_first(first, start, count)], by_example), order)
    first = np.transpose(first, (0, *[axis + 1 for axis in order]))
    if is_read:
        return _index_axes_in_place(_run(op, [first], by_example), start, count)
    full = [with_batch_axis(value, flag, size) for value, flag in zip(values[1:], flags[1:], strict=True)]
    region = count + ndim - len(places)
    others = [_index_axes_first(align_axes(value, True, region), start, count) for value in full]
    return _restore_axes(_run(op, [first, *others], by_example), order)


def _restore_axes(x: Array, order: list[int]) -> Array:
    """Undo the transposition of an example's axes by `order`."""
    return np.transpose(x, (0, *[place + 1 for place in np.argsort(order).tolist()]))


def _index_axes_first(region: Array, start: int, count: int) -> Array:
    """The region that an index picks, with the axes of the index arrays moved in front of the others."""
    return np.moveaxis(region, _axes(start + 1, count), _axes(1, count)) if start else region


def _index_axes_in_place(region: Array, start: int, count: int) -> Array:
    return np.moveaxis(region, _axes(1, count), _axes(start + 1, count)) if start else region


def _axes(start: int, count: int) -> tuple[int, ...]:
    return tuple(range(start, start + count))

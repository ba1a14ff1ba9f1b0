"""Operations that pick elements along one axis: sort, topk, k-th value, median, mode, cumulative extrema, distinct ones.

Their gradient goes to the elements picked: all of them are `take_along` with indices found in the forward, and its
transpose `add_along`. Distinct elements have no gradient, as in torch: asking for it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.kernel import kernel
from ..core.op import Op, fused, linear, op
from ..kernels.like import NUMPYS, brought, counted, full, is_elsewhere, running, zeros
from ..kernels.order import dense_order, inverse
from ..kernels.places import flat_places, picked_along, write_scatter, write_scatter_add
from ..kernels.thresholds import LONG_ROW, REMEMBERED_PLACES, SORTED_PARTLY, TIES_BY_PYTHON
from .counting import sortable
from .layouts import ALL_ALONG, along
from .samples import Draw, Sample, arrays
from .scatter import add_at_places, write_at_places
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array
    from ..core.basics.types import Shape


def _fast_take_along(x: Array, index: Array, axis: int) -> Array:
    """`np.take_along_axis`, without its overhead where there are few axes."""
    if x.ndim == 1:
        return x[index]
    if x.shape[:axis] == index.shape[:axis] and x.shape[axis + 1 :] == index.shape[axis + 1 :]:
        return picked_along(x, index, axis)
    return NotImplemented


def _add_along(x: Array, index: Array, axis: int, size: int, distinct: bool = False) -> Array:
    """Zeros of length `size` along the axis with the elements of `x` added at `index` (`distinct`: without repeats)."""
    out = zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x)
    return (write_at_places if distinct else add_at_places)(out, index, x, axis)


def _fast_add_along(x: Array, index: Array, axis: int, size: int, distinct: bool = False) -> Array:
    out = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
    (write_scatter if distinct else write_scatter_add)(out, index, x, axis)
    return out


def _orders(draw: Draw) -> Iterator[tuple[Array, Array, int]]:
    """Arrays of each shape, the order of the elements along an axis, and the axis."""
    for shape in ((5,), (2, 3), (2, 3, 4), (0, 3), (100, 90), (90, 100)):
        for axis in range(len(shape)):
            x = draw(*shape)
            yield x, np.argsort(x, axis)[(*(slice(None),) * axis, slice(-1))], axis


take_along: Op = linear(
    "GatherBackward0",
    lambda x, index, axis: np.take_along_axis(x, brought(index, x), axis),
    x=lambda g, index, x_shape, axis: add_along(g, index, axis=axis, size=x_shape[axis]),
    index=None,
    kernel=kernel(_fast_take_along),
    batch=ALL_ALONG,
    samples=lambda draw: [((x, order), {"axis": axis}) for x, order, axis in _orders(draw)],
)
add_along: Op = linear(
    "ScatterAddBackward0",
    _add_along,
    x=lambda g, index, axis: take_along(g, index, axis=axis),
    index=None,
    kernel=kernel(_fast_add_along),
    batch=ALL_ALONG,
    samples=lambda draw: [
        ((draw(*order.shape), order), {"axis": axis, "size": x.shape[axis], "distinct": distinct})
        for x, order, axis in _orders(draw)
        for distinct in (True, False)
    ],
)


def _selection(node_name: str, forward: Callable[..., Any], distinct: bool = True, **fields: Any) -> Op:
    """An operation that returns (values, indices) along `axis`; `keepdims` False means the axis has been dropped.

    `distinct`: no element is picked twice.
    """

    def back(g: Array, extras: tuple[Any, ...], x_shape: Shape, axis: int, keepdims: bool) -> tuple[Any, ...]:
        index = extras[0]
        if not keepdims:
            lead = (slice(None),) * axis
            g, index = g[(*lead, None)], index[(*lead, None)]
        return (add_along(g, index, axis=axis, size=x_shape[axis], distinct=distinct),)

    return fused(node_name, forward, inputs=("x",), joint=back, batch=along("axis"), **fields)


def picked(x: Array, index: Array, axis: int, keepdims: bool) -> tuple[Any, ...]:
    """(values, indices) for an index array that has the axis with size 1."""
    index = in_order(index)
    values = take_along.forward(x, index, axis=axis)
    if not keepdims:
        index, values = np.squeeze(index, axis), np.squeeze(values, axis)
    return values, index


# --- order ---


def order_of(x: Array, axis: int, descending: bool) -> Array:
    """The stable order of the elements, NaNs last (first when descending)."""
    x = sortable(x)
    if not descending:
        return x.argsort(axis, kind="stable")
    turned = (*(slice(None),) * axis, slice(None, None, -1))
    return x.shape[axis] - 1 - x[turned].argsort(axis, kind="stable")[turned]


def _sort(x: Array, axis: int, descending: bool, keepdims: bool) -> tuple[Any, ...]:
    if x.ndim > 1 and type(x) is np.ndarray and not x.flags.c_contiguous:  # results lie in memory as x does
        dims = dense_order(x)
        turned = in_order(x.transpose(dims))
        return tuple(part.transpose(inverse(dims)) for part in _sort(turned, dims.index(axis), descending, keepdims))
    order = order_of(x, axis, descending)
    return take_along.forward(x, order, axis=axis), order


sort: Op = _selection("SortBackward0", _sort)


def _partly_sorted(x: Array, rank: int, axis: int) -> tuple[Any, Any] | None:
    """The keys of long rows and the key at a rank of each row; None where sorting all is as good, or NaNs are about."""
    if x.shape[axis] < LONG_ROW or x.size < SORTED_PARTLY:
        return None
    keys = sortable(x)
    if keys.dtype.kind == "f" and np.isnan(np.max(keys)):
        return None
    return keys, _place(np.partition(keys, rank, axis), rank, axis)


def _differ_from_next(values: Array, axis: int, descending: bool) -> Array:
    """A mask that is true where an element of ordered rows differs from the next one."""
    lead = (slice(None),) * axis
    ahead, behind = values[(*lead, slice(None, -1))], values[(*lead, slice(1, None))]
    return ahead > behind if descending else ahead < behind


def _ranks(row: Array, descending: bool) -> list[int]:
    """The number of each element's value among the distinct values of a row in order; NaNs are one value."""
    order = order_of(row, 0, descending)
    values = row[order]
    ahead, behind = values[:-1], values[1:]
    ranks = np.zeros(len(row), np.int64)
    ranks[order[1:]] = np.cumsum((ahead != behind) & ((ahead == ahead) | (behind == behind)))
    return ranks.tolist()


def _first_as_torch(x: Array, order: Array, tied: Any, axis: int, largest: bool) -> Array:
    """The order with those of equal elements in front that torch has there, in rows where some are equal.

    The rows are gone through in Python: where that would be much work, or elsewhere, equal elements come in the order of
    their places.
    """
    from ..kernels.ties import best_places

    length, count = x.shape[axis], order.shape[axis]
    numbers = np.flatnonzero(tied)
    if len(numbers) * length > TIES_BY_PYTHON or is_elsewhere(x):
        return order
    rows = np.moveaxis(x, axis, -1).reshape(-1, length)
    placed = np.moveaxis(order, axis, -1)
    found, known = np.array(placed).reshape(-1, count), {}
    for number in numbers.tolist():
        row = rows[number]
        key = row.tobytes()
        if key not in known:
            known[key] = best_places(_ranks(row, largest), count)
        found[number] = known[key]
    return in_order(np.moveaxis(found.reshape(placed.shape), -1, axis))


def _topk(x: Array, k: int, axis: int, largest: bool, keepdims: bool) -> tuple[Array, Array]:
    length, lead = x.shape[axis], (slice(None),) * axis
    found = _partly_sorted(x, length - k if largest else k - 1, axis) if 0 < k <= length // 8 else None
    if found is None:
        order = order_of(x, axis, largest)[(*lead, slice(0, k + 1))]
        values = take_along.forward(x, order, axis=axis)
        apart = _differ_from_next(values, axis, largest)
        order, values = in_order(order[(*lead, slice(0, k))]), in_order(values[(*lead, slice(0, k))])
        if not k or apart.all():
            return values, order
        tied = ~apart.all(axis)
    else:
        # Of those that equal the last one taken, the first come first, as in a stable order.
        keys, last = (np.moveaxis(each, axis, -1) for each in found)
        taken = keys >= last if largest else keys <= last
        left_out: Any = False
        if np.count_nonzero(taken) > last.size * k:
            equal = keys == last
            taken = keys > last if largest else keys < last
            missing = k - np.sum(taken, axis=-1, keepdims=True)
            places_equal = np.cumsum(equal, axis=-1, dtype=np.int32)
            taken |= equal & (places_equal <= missing)
            left_out = places_equal[..., -1] > missing[..., 0]
        places = np.flatnonzero(taken).reshape(*keys.shape[:-1], k) % length
        order = order_of(np.take_along_axis(keys, places, -1), places.ndim - 1, largest)
        order = in_order(np.moveaxis(np.take_along_axis(places, order, -1), -1, axis))
        values = take_along.forward(x, order, axis=axis)
        tied = left_out | ~_differ_from_next(values, axis, largest).all(axis)
        if not tied.any():
            return values, order
    order = _first_as_torch(x, order, tied, axis, largest)
    return take_along.forward(x, order, axis=axis), order


topk: Op = _selection("TopkBackward0", _topk)


def _place(order: Array, position: int, axis: int) -> Array:
    return order[(*(slice(None),) * axis, slice(position, position + 1))]


def _at_rank(x: Array, rank: int, axis: int) -> Array:
    """The index of the element at a rank of the stable order."""
    found = _partly_sorted(x, rank, axis)
    if found is None:
        return _place(order_of(x, axis, False), rank, axis)
    keys, key = found
    equal = keys == key
    before = rank - np.sum(keys < key, axis=axis, keepdims=True)
    return np.argmax(equal & (np.cumsum(equal, axis=axis, dtype=np.int32) > before), axis=axis, keepdims=True)


kthvalue: Op = _selection(
    "KthvalueBackward0", lambda x, k, axis, keepdims: picked(x, _at_rank(x, k - 1, axis), axis, keepdims)
)


def _median(x: Array, axis: int, keepdims: bool) -> tuple[Any, ...]:
    """The lower median; NaN if there is one, with the index of the first."""
    middle = _at_rank(x, (x.shape[axis] - 1) // 2, axis)
    if x.dtype.kind in "fV":
        missing = np.isnan(x)
        middle = np.where(np.any(missing, axis, keepdims=True), np.argmax(missing, axis, keepdims=True), middle)
    return picked(x, middle, axis, keepdims)


def _nanmedian(x: Array, axis: int, keepdims: bool) -> tuple[Any, ...]:
    order = order_of(x, axis, False)
    present = np.sum(~np.isnan(x), axis=axis, keepdims=True) if x.dtype.kind in "fV" else x.shape[axis]
    position = np.maximum(present - 1, 0) // 2
    position = np.broadcast_to(position, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
    return picked(x, np.take_along_axis(order, position, axis), axis, keepdims)


median: Op = _selection("MedianBackward1", _median, aten="median.dim")
nanmedian: Op = _selection(
    "NanmedianBackward1",
    _nanmedian,
    aten="nanmedian.dim",
    samples=arrays((2, 3), axis=1, keepdims=True),
)


def _mode(x: Array, axis: int, keepdims: bool) -> tuple[Any, ...]:
    """The most frequent value (the smallest of several), with the index of its last occurrence."""
    order = np.moveaxis(order_of(x, axis, False), axis, -1)
    values = np.take_along_axis(np.moveaxis(x, axis, -1), order, -1)
    length = values.shape[-1]
    new = full(values.shape, True, values, np.bool_)
    new[..., 1:] = values[..., 1:] != values[..., :-1]
    position = counted(length, values)
    start = running(np.maximum, np.where(new, position, 0), values.ndim - 1)
    count = position - start + 1
    best = np.argmax(count, axis=-1, keepdims=True)  # the end of the first of the longest runs
    index = np.moveaxis(np.take_along_axis(order, best, -1), -1, axis)
    return picked(x, index, axis, keepdims)


mode: Op = _selection(
    "ModeBackward0",
    _mode,
    samples=arrays((2, 3), axis=1, keepdims=False),
)

# --- extrema with indices ---


def _extremes(x: Array, index: Array, axis: int, keepdims: bool) -> tuple[Any, ...]:
    """(values, indices) of an index array that has the axis with size 1."""
    values = np.take_along_axis(x, index, axis)
    return (values, index) if keepdims else (np.squeeze(values, axis), np.squeeze(index, axis))


def _fast_extremes(x: Array, index: Array, ufunc: np.ufunc, axis: int, keepdims: bool) -> tuple[Any, ...]:
    """The same: of few elements, taking them is quicker than finding them again."""
    few = x.size <= REMEMBERED_PLACES and x.flags.c_contiguous
    values = x.take(flat_places(index, x.shape, axis)) if few else in_order(ufunc.reduce(x, axis, None, None, True))  # type: ignore[call-arg]
    return (values, index) if keepdims else (values.squeeze(axis), index.squeeze(axis))


def _extreme_samples(draw: Draw) -> Iterator[Sample]:
    for shape, axis in (((5,), 0), ((2, 3), 1), ((3, 2, 4), 1), ((0, 3), 1), ((100, 90), 0)):
        for keepdims in (True, False):
            yield (draw(*shape),), {"axis": axis, "keepdims": keepdims}


max_index: Op = _selection(
    "MaxBackward0",
    lambda x, axis, keepdims: _extremes(x, np.argmax(x, axis=axis, keepdims=True), axis, keepdims),
    kernel=kernel(
        lambda x, axis, keepdims: _fast_extremes(x, x.argmax(axis, keepdims=True), np.maximum, axis, keepdims)
    ),
    samples=_extreme_samples,
    aten="max.dim",
)
min_index: Op = _selection(
    "MinBackward0",
    lambda x, axis, keepdims: _extremes(x, np.argmin(x, axis=axis, keepdims=True), axis, keepdims),
    kernel=kernel(
        lambda x, axis, keepdims: _fast_extremes(x, x.argmin(axis, keepdims=True), np.minimum, axis, keepdims)
    ),
    samples=_extreme_samples,
    aten="min.dim",
)


def _running(x: Array, axis: int, ufunc: np.ufunc) -> tuple[Array, Array]:
    """Running extrema and, for each, the index of the latest element that equals it."""
    x = in_order(x)
    values = running(ufunc, x, axis)
    reached = values == x
    if x.dtype.kind in "fV":
        reached |= np.isnan(values) & np.isnan(x)
    if axis == x.ndim - 1 and x.size > REMEMBERED_PLACES and isinstance(x, NUMPYS):
        # The first of each row is reached, and each is repeated until the next is.
        found = np.flatnonzero(reached)
        places = np.repeat(found, np.diff(found, append=x.size)).reshape(x.shape)
        return values, places - np.arange(0, x.size, x.shape[axis]).reshape(*x.shape[:-1], 1)
    places = counted(x.shape[axis], x).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    return values, running(np.maximum, np.where(reached, places, 0), axis)


cummax: Op = _selection("CummaxBackward0", lambda x, axis, keepdims: _running(x, axis, np.maximum), distinct=False)
cummin: Op = _selection(
    "CumminBackward0",
    lambda x, axis, keepdims: _running(x, axis, np.minimum),
    distinct=False,
    samples=lambda draw: [((draw(2, 3),), {"axis": 1, "keepdims": True})],
)


# --- distinct elements: (elements, where each element of the input is among them, how often each occurs) ---


def _distinct(x: Array) -> tuple[Array, Array, Array]:
    elements, inverse, counts = np.unique(sortable(x), return_inverse=True, return_counts=True, equal_nan=False)
    return elements.astype(x.dtype, copy=False), inverse.reshape(x.shape), counts


def _distinct_slices(x: Array, axis: int) -> tuple[Array, Array, Array]:
    slices, inverse, counts = np.unique(
        sortable(x), axis=axis, return_inverse=True, return_counts=True, equal_nan=False
    )
    return slices.astype(x.dtype, copy=False), inverse.reshape(-1), counts


def _runs(x: Array, axis: int | None) -> tuple[Array, Array, Array]:
    rows = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
    length = rows.shape[0]
    new = np.ones(length, bool)
    if length > 1:
        changed = rows[1:] != rows[:-1]
        new[1:] = changed.reshape(length - 1, -1).any(axis=1)
    starts = np.flatnonzero(new)
    first = rows[starts] if axis is None else np.moveaxis(rows[starts], 0, axis)
    inverse = np.cumsum(new) - 1
    return first, inverse.reshape(x.shape) if axis is None else inverse, np.diff(np.append(starts, length))


def _no_gradient(name: str) -> Callable[..., Any]:
    def rule(g: Array) -> Any:
        raise NotImplementedError(
            f"the derivative for '{name}' is not implemented. Equal elements are merged, so no single one of them has a "
            "gradient: find their places with return_inverse=True and pick or average them by index."
        )

    return rule


distinct: Op = op("Unique2Backward0", _distinct, outputs=3, x=_no_gradient("_unique2"), aten="_unique2")
distinct_slices: Op = op("UniqueDimBackward0", _distinct_slices, outputs=3, x=_no_gradient("unique_dim"))
runs: Op = op("UniqueConsecutiveBackward0", _runs, outputs=3, x=_no_gradient("unique_consecutive"))

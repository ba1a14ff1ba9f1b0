"""Operations whose results are counts, positions or truth values: they carry no gradient.

They are operations, not plain functions, so that `vmap` can run them on batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..core.op import Op, op
from .layouts import FOUND_AMONG, SEARCHED, UNKNOWN_SHAPE, along
from .samples import arrays
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import Axes
    from ..core.basics.types import NumPyArray as Array

BOOL = np.dtype(bool)


def _counting(name: str, forward: Callable[..., Any], inputs: tuple[str, ...] = ("x",), **fields: Any) -> Op:
    return op(f"{name}Backward0", forward, inputs=inputs, **fields)


# --- truth and counts ---


def _truth(ufunc: np.ufunc) -> Callable[..., Any]:
    def forward(x: Array, axis: Axes, keepdims: bool) -> Any:
        if x.dtype is BOOL and len(axis) == x.ndim and not keepdims:  # counting is quicker, and hardly slower on much
            found = np.count_nonzero(x)
            return np.bool_(found == x.size if ufunc is np.logical_and else found != 0)
        result = ufunc.reduce(x, axis=axis, keepdims=keepdims) if axis or not np.ndim(x) else x != 0
        return np.asarray(result).astype(np.uint8 if x.dtype == np.uint8 else bool, order="C")

    return forward


all_axes: Op = _counting("All", _truth(np.logical_and), aten="all.dim", batch=along("axis"))
any_axes: Op = _counting(
    "Any",
    _truth(np.logical_or),
    aten="any.dim",
    batch=along("axis"),
    samples=lambda draw: [((draw(2, 3) > 0,), {"axis": (1,), "keepdims": False})],
)
count_nonzero: Op = _counting(
    "CountNonzero",
    lambda x, axis: in_order(np.asarray(np.add.reduce(np.asarray(x) != 0, axis=axis, dtype=np.int64))),
    aten="count_nonzero.dim_IntList",
    batch=along("axis"),
    samples=arrays((2, 3), axis=(0,)),
)
argmax: Op = _counting(
    "Argmax",
    lambda x, axis, keepdims: np.asarray(x.argmax(axis, keepdims=keepdims)),
    batch=along("axis"),
    samples=arrays((2, 3), axis=1, keepdims=False),
)
argmin: Op = _counting(
    "Argmin",
    lambda x, axis, keepdims: np.asarray(x.argmin(axis, keepdims=keepdims)),
    batch=along("axis"),
    samples=arrays((2, 3), axis=0, keepdims=True),
)


def _hash(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Exclusive-or of the bits, integers and floats widened to 64 of them."""
    wide = (x.astype(np.float64) if x.dtype.kind in "fV" else x.astype(np.int64)).view(np.uint64)
    return np.asarray(np.bitwise_xor.reduce(wide, axis=axis, keepdims=keepdims))  # type: ignore[call-overload]


hash_bits: Op = _counting("HashTensor", _hash, batch=along("axis"))

# --- positions ---


def _nonzero(x: Array) -> Array:
    if type(x) is np.ndarray and x.ndim == 1:
        return x.nonzero()[0].reshape(-1, 1)
    return np.argwhere(x).astype(np.int64)


nonzero_rows: Op = _counting("Nonzero", _nonzero, batch=UNKNOWN_SHAPE)


# Like `nonzero`, but torch lets vmap run it where all examples have equally many rows.
argwhere: Op = _counting("Argwhere", lambda x: np.argwhere(x).astype(np.int64))


def _nonzero_static(x: Array, count: int, fill_value: int) -> Array:
    found = np.argwhere(x).astype(np.int64)[:count]
    out = np.full((count, found.shape[1]), fill_value, np.int64)
    out[: len(found)] = found
    return out


nonzero_static: Op = _counting("NonzeroStatic", _nonzero_static)


def sortable(x: Array) -> Array:
    """The array in a dtype whose NaNs NumPy sorts last: it compares bfloat16 as it comes."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def _insertions(row: Array, values: Array, side: Literal["left", "right"]) -> Array:
    if row.dtype.kind == "f" and row.size and np.isnan(row[-1]):
        return _first_above(row, values, side == "left")
    return np.searchsorted(row, values, side)


def _searchsorted(rows: Array, values: Array, side: Literal["left", "right"], kind: np.dtype) -> Array:
    rows, values = sortable(rows), sortable(values)
    if rows.ndim == 1:
        return np.asarray(_insertions(rows, values, side)).astype(kind)
    out = np.empty(values.shape, kind)
    if not out.size or not rows.shape[-1]:  # a row without columns has one place
        return np.zeros_like(out)
    flat_rows, flat_values = rows.reshape(-1, rows.shape[-1]), values.reshape(-1, values.shape[-1])
    for row, value, target in zip(flat_rows, flat_values, out.reshape(flat_values.shape), strict=True):
        target[...] = _insertions(row, value, side)
    return out


searchsorted: Op = _counting(
    "Searchsorted", _searchsorted, ("rows", "values"), batch=SEARCHED, aten="searchsorted.Tensor"
)
isin: Op = _counting(
    "Isin",
    lambda x, among, invert: np.asarray(np.isin(sortable(x), sortable(among), invert=invert)),
    ("x", "among"),
    aten="isin.Tensor_Tensor",
    batch=FOUND_AMONG,
)

# --- histograms ---


def _bincount(x: Array, weights: Array | None, minlength: int) -> Array:
    if weights is None:
        return np.bincount(x, minlength=minlength).astype(np.int64)
    counted = np.bincount(x, weights.astype(np.float64), minlength)
    return counted.astype(np.float32 if weights.dtype == np.float32 else np.float64)


bincount: Op = _counting("Bincount", _bincount, ("x", "weights"))


def limits_of(array: np.ndarray, low: float | None, high: float, function: str, margin: float) -> tuple[float, float]:
    """The range of a histogram: as given, or that of the data if None, widened by `margin` if it is a point."""
    if low is None:
        low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 1.0)
    if low == high:
        low, high = low - margin, high + margin
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"{function}: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(f"{function}: max must be larger than min")
    return low, high


def _counts(place: Array, keep: Array, bins: list, weight: Array | None, kind: np.dtype) -> np.ndarray:
    weights = None if weight is None else weight.reshape(-1)[keep].astype(np.float64)
    return np.bincount(place[keep], weights, int(np.prod(bins))).astype(kind).reshape(bins)


def uniform_counts(
    columns: list[Any], edges: list[Any], weight: Array | None, kind: np.dtype, exact: bool
) -> np.ndarray:
    """Counts of points in a grid of equal bins; the last bin of each axis includes its end.

    The bin is computed, with torch's rounding. `exact`: a point near an edge is then compared with it.
    """
    keep = np.ones(columns[0].shape, bool)
    place = np.zeros(columns[0].shape, np.int64)
    bins = [edge.size - 1 for edge in edges]
    for column, edge, count in zip(columns, edges, bins, strict=True):
        low, high = edge[0], edge[-1]
        inside = (column >= low) & (column <= high)
        keep &= inside
        distance = np.where(inside, column, low) - low
        position = (distance * kind.type(count) / (high - low) if high > low else distance).astype(np.int64)
        position = np.minimum(position, count - 1)
        if exact:
            position -= (column < edge[position]) & (position > 0)
            position += (column >= edge[position + 1]) & (position < count - 1)
        place = place * count + position
    return _counts(place, keep, bins, weight, kind)


def _first_above(edges: np.ndarray, values: np.ndarray, or_equal: bool = False) -> np.ndarray:
    """The first edge above each value, by the bisection torch uses (which decides what edges out of order mean)."""
    below = np.less_equal if or_equal else np.less
    first, length = np.zeros(values.shape, np.int64), np.full(values.shape, edges.size)
    while length.any():
        half = length // 2
        right = (length > 0) & ~below(values, edges[np.minimum(first + half, edges.size - 1)])
        first = np.where(right, first + half + 1, first)
        length = np.where(right, length - half - 1, half)
    return first


def edge_counts(columns: list[Any], edges: list[Any], weight: Array, kind: np.dtype) -> np.ndarray:
    """Counts of points in a grid of given edges; the last bin of each axis includes its end."""
    keep = np.ones(columns[0].shape, bool)
    place = np.zeros(columns[0].shape, np.int64)
    bins = [edge.size - 1 for edge in edges]
    for column, edge, count in zip(columns, edges, bins, strict=True):
        keep &= (column >= edge[0]) & (column <= edge[-1])
        place = place * count + np.clip(_first_above(edge, column) - 1, 0, count - 1)
    return _counts(place, keep, bins, weight, kind)


def _histc(x: Array, bins: int, low: float, high: float) -> Array:
    low, high = limits_of(x, None if low == high else low, high, "torch.histc", 1)
    return uniform_counts([x.reshape(-1)], [_even_edges(low, high, bins, x.dtype)], None, x.dtype, exact=False)


def _even_edges(low: float, high: float, count: int, kind: np.dtype) -> np.ndarray:
    from ..kernels.spacing import evenly  # not part of every program

    return evenly(low, high, count + 1, kind)


histc: Op = _counting("Histc", _histc)


def _density(counts: np.ndarray, edges: list) -> np.ndarray:
    result = counts / counts.sum()
    for axis, edge in enumerate(edges):
        shape = [1] * counts.ndim
        shape[axis] = -1
        result = result / np.diff(edge).reshape(shape)
    return result.astype(counts.dtype)


def _histogram(
    x: Array, weight: Array, *edges: Any, counts: Array, limits: Any, density: bool, function: str
) -> tuple[Any, ...]:
    """Points are the rows of `x` along its last axis; bins are given by edges, or by counts and limits."""
    columns = list(np.moveaxis(x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), -1, 0))
    if not columns:  # points without coordinates are not counted
        return (np.zeros((), x.dtype),)
    if edges:
        found = edge_counts(columns, list(edges), weight, x.dtype)
        edges = tuple(edge.copy() for edge in edges)
    else:
        pairs = [(None, None)] * len(columns) if limits is None else list(zip(limits[0::2], limits[1::2], strict=True))
        spans = [limits_of(column, *pair, function, 0.5) for column, pair in zip(columns, pairs, strict=True)]
        edges = tuple(_even_edges(*span, count, x.dtype) for span, count in zip(spans, counts, strict=True))
        found = uniform_counts(columns, list(edges), weight, x.dtype, exact=True)
    return (_density(found, list(edges)) if density else found, *edges)


histogram: Op = op("HistogramBackward0", _histogram, inputs=(), outputs=0, variadic=True, aten="histogram.bin_ct")

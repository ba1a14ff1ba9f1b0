"""Sorting, searching and counting: sort, topk, unique, searchsorted, histograms, nonzero, isin.

Values that come from the input carry its gradient; indices and counts carry none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd.tape import apply, wrap
from ..ops import sorting as ops
from ..tensor import Tensor
from .checks import not_implemented_for
from .operands import as_operand, as_tensor, wrap_dim
from .reductions import SortResult, TopkResult
from .registry import public

# --- order ---


def _need_order(x: Tensor) -> None:
    if x._array.dtype.kind == "c":
        raise RuntimeError("Sort does not support complex dtypes on CPU: complex numbers have no order")


@public(out=True)
def sort(input: Tensor, *args: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements in order along a dim, and where they came from. Always stable."""
    if args and not isinstance(args[0], bool):
        dim, args = args[0], args[1:]
    if args:
        descending = args[0]
    _need_order(input)
    axis = wrap_dim(dim, input._array.ndim)
    if input._array.ndim == 0:
        return SortResult(input.clone(), wrap(np.zeros((), np.int64)))
    return SortResult(*apply(ops.sort, (input,), {"axis": axis, "descending": descending, "keepdims": True}))


@public(out=True)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that would sort the tensor along a dim."""
    _need_order(input)
    axis = wrap_dim(dim, input._array.ndim)
    if input._array.ndim == 0:
        return wrap(np.zeros((), np.int64))
    return wrap(ops.order_of(input._array, axis, descending))


@public(out=True)
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dim."""
    return sort(input, dim=0)[0]


@public(out=True)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) elements along a dim, in order, and their indices."""
    if input._array.dtype.kind == "c":
        raise not_implemented_for("topk", input)
    axis = wrap_dim(dim, input._array.ndim)
    size = input._array.shape[axis] if input._array.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError("selected index k out of range: " f"k={k} for a dimension of size {size}")
    if input._array.ndim == 0:
        return TopkResult(input.clone(), wrap(np.zeros((), np.int64)))
    return TopkResult(*apply(ops.topk, (input,), {"k": k, "axis": axis, "largest": largest, "keepdims": True}))


# --- distinct values ---


def _unique(x: Tensor, dim: int | None, inverse: bool, counts: bool) -> Any:
    array = x._array
    if dim is None:
        found = np.unique(array, return_inverse=True, return_counts=True, equal_nan=False)
        results = (found[0], found[1].reshape(array.shape), found[2])
    else:
        axis = wrap_dim(dim, array.ndim)
        found = np.unique(array, axis=axis, return_inverse=True, return_counts=True)
        results = (found[0], found[1].reshape(-1), found[2])
    return _chosen(results, inverse, counts)


def _chosen(results: tuple, inverse: bool, counts: bool) -> Any:
    wanted = (True, inverse, counts)
    chosen = tuple(wrap(np.asarray(one)) for one, keep in zip(results, wanted, strict=True) if keep)
    return chosen[0] if len(chosen) == 1 else chosen


@public()
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The distinct elements (or slices along a dim) in order, optionally with inverse indices and counts."""
    return _unique(input, dim, return_inverse, return_counts)


@public()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along a dim) with repeats that follow each other removed."""
    array = input._array
    axis = None if dim is None else wrap_dim(dim, array.ndim)
    rows = array.reshape(-1) if axis is None else np.moveaxis(array, axis, 0)
    length = rows.shape[0]
    new = np.ones(length, bool)
    if length > 1:
        changed = rows[1:] != rows[:-1]
        new[1:] = changed.reshape(length - 1, -1).any(axis=1)
    starts = np.flatnonzero(new)
    values = rows[starts] if axis is None else np.moveaxis(rows[starts], 0, axis)
    inverse = np.cumsum(new) - 1
    counts = np.diff(np.append(starts, length))
    inverse = inverse.reshape(array.shape) if axis is None else inverse
    return _chosen((values, inverse, counts), return_inverse, return_counts)


# --- positions ---


@public(out=False)
def nonzero(input: Any, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Where elements are not zero: a matrix of indices, or one index tensor for each dim."""
    array = as_tensor(input)._array
    if as_tuple:
        return tuple(wrap(index) for index in np.nonzero(np.atleast_1d(array)))
    result = wrap(np.argwhere(array).astype(np.int64))
    if out is None:
        return result
    from .registry import write_out

    write_out("nonzero", out, result)
    return out


@public()
def argwhere(input: Any) -> Tensor:
    """The indices of the elements that are not zero, one row each."""
    return nonzero(input)


@public()
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of `nonzero`, filled up with `fill_value`."""
    found = np.argwhere(as_tensor(input)._array).astype(np.int64)[:size]
    out = np.full((size, found.shape[1]), fill_value, np.int64)
    out[: len(found)] = found
    return wrap(out)


def _side(right: bool, side: str | None) -> str:
    if side is None:
        return "right" if right else "left"
    if side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    return side


@public(out=True)
def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where to insert values into sorted rows so that they stay sorted."""
    rows = sorted_sequence._array
    values = np.asarray(as_tensor(as_operand(input))._array)
    where = _side(right, side)
    if sorter is not None:
        rows = np.take_along_axis(rows, sorter._array, -1)
    kind = np.int32 if out_int32 else np.int64
    if rows.ndim == 1:
        return wrap(np.asarray(np.searchsorted(rows, values, where)).astype(kind))
    if rows.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(rows.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    out = np.empty(values.shape, kind)
    flat_rows, flat_values = rows.reshape(-1, rows.shape[-1]), values.reshape(-1, values.shape[-1])
    for row, value, target in zip(flat_rows, flat_values, out.reshape(flat_values.shape), strict=True):
        target[...] = np.searchsorted(row, value, where)
    return wrap(out)


@public(out=True, method=False)
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the bucket, between sorted boundaries, that each value lies in."""
    if boundaries._array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@public(method=False, out=True)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Which elements are among the test elements."""
    x, among = (np.asarray(as_tensor(value)._array) for value in (elements, test_elements))
    return wrap(np.asarray(np.isin(x, among, assume_unique=False, invert=invert)))


# --- counting ---


@public()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
    array = input._array
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.size and array.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is None:
        return wrap(np.bincount(array, minlength=minlength).astype(np.int64))
    if weights._array.shape != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counted = np.bincount(array, weights._array.astype(np.float64), minlength)
    return wrap(counted.astype(np.float32 if weights._array.dtype == np.float32 else np.float64))


def _edges(low: Any, high: Any, bins: int, kind: np.dtype) -> np.ndarray:
    from ..creation import _evenly

    return _evenly(low, high, bins + 1, kind)


def _limits(array: np.ndarray, low: Any, high: Any, function: str, margin: float) -> tuple[float, float]:
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    if low == high:
        low, high = (low - margin, high + margin) if array.size else (0.0, 1.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"{function}: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{function}: max must be larger than min")
    return low, high


@public(out=True)
def histc(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """Counts in `bins` equal bins between min and max (of the data, if equal)."""
    array = input._array
    if array.dtype.kind not in "fV":
        raise not_implemented_for("histogram_cpu", input)
    if bins <= 0:
        raise RuntimeError(f"torch.histc(): bins must be > 0, but got {bins}")
    low, high = _limits(array, min, max, "torch.histc()", 1)
    return wrap(_uniform_counts([array.reshape(-1)], [(low, high)], [bins], None, array.dtype))


class HistogramResult(tuple):
    """What `histogram` returns: (hist, bin_edges)."""

    _fields = ("hist", "bin_edges")
    hist = property(lambda self: self[0])
    bin_edges = property(lambda self: self[1])


def _uniform_counts(columns: list, limits: list, bins: list, weight: Any, kind: np.dtype) -> np.ndarray:
    """Counts of points in a grid of equal bins; the last bin of each axis includes its end."""
    keep = np.ones(columns[0].shape, bool)
    place = np.zeros(columns[0].shape, np.int64)
    for column, (low, high), count in zip(columns, limits, bins, strict=True):
        inside = (column >= low) & (column <= high)
        keep &= inside
        scaled = np.where(inside, column, low)
        position = ((scaled - low) * (count / (high - low)) if high > low else scaled * 0).astype(np.int64)
        place = place * count + np.minimum(position, count - 1)
    weights = None if weight is None else weight.reshape(-1)[keep].astype(np.float64)
    return np.bincount(place[keep], weights, int(np.prod(bins))).astype(kind).reshape(bins)


def _first_above(edges: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The first edge above each value, by the bisection torch uses (which decides what edges out of order mean)."""
    first, length = np.zeros(values.shape, np.int64), np.full(values.shape, edges.size)
    while length.any():
        half = length // 2
        right = (length > 0) & ~(values < edges[np.minimum(first + half, edges.size - 1)])
        first = np.where(right, first + half + 1, first)
        length = np.where(right, length - half - 1, half)
    return first


def _edge_counts(columns: list, edges: list, weight: Any, kind: np.dtype) -> np.ndarray:
    """Counts of points in a grid of given edges; the last bin of each axis includes its end."""
    keep = np.ones(columns[0].shape, bool)
    place = np.zeros(columns[0].shape, np.int64)
    bins = [edge.size - 1 for edge in edges]
    for column, edge, count in zip(columns, edges, bins, strict=True):
        keep &= (column >= edge[0]) & (column <= edge[-1])
        place = place * count + np.clip(_first_above(edge, column) - 1, 0, count - 1)
    weights = None if weight is None else weight.reshape(-1)[keep].astype(np.float64)
    return np.bincount(place[keep], weights, int(np.prod(bins))).astype(kind).reshape(bins)


def _density(counts: np.ndarray, edges: list) -> np.ndarray:
    result = counts / counts.sum()
    for axis, edge in enumerate(edges):
        shape = [1] * counts.ndim
        shape[axis] = -1
        result = result / np.diff(edge).reshape(shape)
    return result.astype(counts.dtype)


def _histogram(columns: list, bins: Any, range: Any, weight: Any, density: bool, kind: np.dtype, name: str) -> tuple:
    if all(isinstance(one, Tensor) for one in bins):
        edges = [one._array for one in bins]
        counts = _edge_counts(columns, edges, weight, kind)
    else:
        pairs = [(0, 0)] * len(columns) if range is None else list(zip(range[0::2], range[1::2], strict=True))
        limits = [_limits(column, *pair, name, 0.5) for column, pair in zip(columns, pairs, strict=True)]
        edges = [_edges(low, high, count, kind) for (low, high), count in zip(limits, bins, strict=True)]
        counts = _uniform_counts(columns, limits, list(bins), weight, kind)
    return (_density(counts, edges) if density else counts), edges


@public(out=True)
def histogram(
    input: Tensor, bins: Any, *, range: Sequence[float] | None = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Counts in bins, given by number or by edges, and the edges."""
    array = input._array
    weights = None if weight is None else weight._array
    counts, edges = _histogram([array.reshape(-1)], [bins], range, weights, density, array.dtype, "torch.histogram()")
    return HistogramResult((wrap(counts), wrap(edges[0])))


class HistogramddResult(tuple):
    """What `histogramdd` returns: (hist, bin_edges), the edges of each dimension in a tuple."""

    _fields = ("hist", "bin_edges")
    hist = property(lambda self: self[0])
    bin_edges = property(lambda self: self[1])


@public(method=False)
def histogramdd(
    input: Tensor, bins: Any, *, range: Sequence[float] | None = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Counts of points (rows of coordinates) in a grid of bins, and the edges along each axis."""
    array = input._array
    dims = array.shape[-1]
    bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(bins) != dims:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    columns = list(np.moveaxis(array.reshape(-1, dims), -1, 0))
    weights = None if weight is None else weight._array
    counts, edges = _histogram(columns, bins, range, weights, density, array.dtype, "torch.histogramdd()")
    return HistogramddResult((wrap(counts), tuple(wrap(edge) for edge in edges)))


@public()
def hash_tensor(input: Tensor, dim: Any = (), keepdim: bool = False, *, mode: int = 0) -> Tensor:
    """Exclusive-or of the bits of all elements (or along dims), as uint64."""
    from .operands import wrap_dims

    array = input._array
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    wide = array.astype(np.float64).view(np.uint64) if array.dtype.kind in "fV" else array.astype(np.int64).view(np.uint64)
    return wrap(np.asarray(np.bitwise_xor.reduce(wide, axis=wrap_dims(dim, array.ndim), keepdims=keepdim)))

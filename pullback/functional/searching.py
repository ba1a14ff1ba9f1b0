"""Sorting, searching and counting: sort, topk, unique, searchsorted, histograms, nonzero, isin.

Values that come from the input carry its gradient; indices and counts carry none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.basics.dtypes import float32, float64
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..ops import counting
from ..ops import sorting as ops
from ..return_types import returned_by
from .checks import is_known_true, not_implemented_for
from .operands import as_operand, as_tensor, need_bool, need_room, wrap_dim, wrap_dims
from .out_argument import store, write_out
from .reductions import SortResult, TopkResult, ValuesIndices
from .registry import public

# --- order ---


def _need_order(x: Tensor) -> None:
    if x._array.dtype.kind == "c":
        raise RuntimeError("Sort does not support complex dtypes on CPU: complex numbers have no order")


@public(out="same")
def sort(input: Tensor, *args: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> ValuesIndices:
    """The elements in order along a dim, and where they came from. Always stable."""
    if args and not isinstance(args[0], bool):
        dim, args = args[0], args[1:]
    if args:
        descending = need_bool(args[0], "sort", "descending")
    _need_order(input)
    axis = wrap_dim(dim, input._array.ndim)
    if input._array.ndim == 0:
        return SortResult(input.clone(), wrap(np.zeros((), np.int64)))
    return SortResult(*apply(ops.sort, (input,), {"axis": axis, "descending": descending, "keepdims": True}))


@public(out="cast")
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that would sort the tensor along a dim."""
    _need_order(input)
    axis = wrap_dim(dim, input._array.ndim)
    if input._array.ndim == 0:
        return wrap(np.zeros((), np.int64))
    return wrap(ops.sort(input._array, axis=axis, descending=descending, keepdims=True)[1])


@public(out="same")
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dim."""
    return sort(input, dim=0)[0]


@public(out="same")
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ValuesIndices:
    """The k largest (or smallest) elements along a dim, in order, and their indices."""
    if input._array.dtype.kind == "c":
        raise not_implemented_for("topk", input)
    if input._array.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU. Convert first, as in x.to(torch.uint8).")
    axis = wrap_dim(dim, input._array.ndim)
    size = input._array.shape[axis] if input._array.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"selected index k out of range: k={k} for a dimension of size {size}")
    if input._array.ndim == 0:
        return TopkResult(input.clone(), wrap(np.zeros((), np.int64)))
    need_bool(largest, "topk", "largest")
    return TopkResult(*apply(ops.topk, (input,), {"k": k, "axis": axis, "largest": largest, "keepdims": True}))


# --- distinct values ---


def _chosen(results: tuple, inverse: bool, counts: bool) -> Any:
    wanted = (True, inverse, counts)
    chosen = tuple(one for one, keep in zip(results, wanted, strict=True) if keep)
    return chosen[0] if len(chosen) == 1 else chosen


@public(passed="", passed_by_method="")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along a dim) in order, optionally with inverse indices and counts.

    `return_inverse` adds, for each element of the input, its place among the distinct ones; `return_counts` how often
    each occurs. The answer is then a tuple. They are sorted with `sorted=False`, too.
    """
    need_bool(sorted, "unique", "sorted")
    input = as_tensor(input, "input", "unique")
    if dim is None:
        return _chosen(apply(ops.distinct, (input,)), return_inverse, return_counts)
    axis = wrap_dim(dim, input._array.ndim)
    _check_slices(input, axis)
    return _chosen(apply(ops.distinct_slices, (input,), {"axis": axis}), return_inverse, return_counts)


def _check_slices(input: Tensor, axis: int) -> None:
    shape = input._array.shape
    if shape.count(0) > 1:
        raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied")
    if 0 in shape and shape[axis]:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


@public(passed="", passed_by_method="")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along a dim) with repeats that follow each other removed."""
    axis = None if dim is None else wrap_dim(dim, input._array.ndim)
    if axis is not None:
        _check_slices(input, axis)
    return _chosen(apply(ops.runs, (input,), {"axis": axis}), return_inverse, return_counts)


# --- positions ---


@public()
def nonzero(input: Any, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Where elements are not zero: a matrix of indices, or one index tensor for each dim."""
    x = as_tensor(input)
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if out is not None and out._array.dtype != np.int64:
        raise RuntimeError(
            f"nonzero: Expected out tensor to have scalar type Long but got scalar type{out.dtype.type_name}"
        )
    if as_tuple:
        return tuple(wrap(index.copy()) for index in np.nonzero(np.atleast_1d(x._array)))
    result = apply(counting.nonzero_rows, (x,))
    if out is None:
        return result
    write_out("nonzero", out, result)
    return out


@public()
def argwhere(input: Any) -> Tensor:
    """The indices of the elements that are not zero, one row each."""
    return apply(counting.argwhere, (as_tensor(input),))


@public()
def nonzero_static(input: Any, *, size: int, fill_value: int = -1, out: Tensor | None = None) -> Tensor:
    """The first `size` rows of `nonzero`, filled up with `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if out is not None:
        if out._array.dtype != np.int64:
            raise RuntimeError(
                f"nonzero_static: Expected out tensor to have scalar type Long but got scalar type{out.dtype.type_name}"
            )
        return store("nonzero_static", nonzero_static, (input,), {"size": size, "fill_value": fill_value}, out)
    return apply(counting.nonzero_static, (as_tensor(input),), {"count": size, "fill_value": fill_value})


def _side(right: bool, side: str | None) -> str:
    if side is None:
        return "right" if right else "left"
    if side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    return side


@public(out="same")
def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where to insert values into sorted rows so that they stay sorted.

    `right=True` (or `side="right"`) inserts after equal elements, otherwise before. `sorter` has the indices that
    sort an unsorted sequence; `out_int32` makes the answer int32.
    """
    values = as_tensor(as_operand(input))
    rows, kind = sorted_sequence, np.int32 if out_int32 else np.int64
    if sorter is not None:
        rows = apply(ops.take_along, (rows, sorter), {"axis": rows._array.ndim - 1})
    have, want = rows._array.shape, values._array.shape
    if len(have) != 1 and have[:-1] != want[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(have)} and input value "
            f"tensor {list(want)}"
        )
    return apply(counting.searchsorted, (rows, values), {"side": _side(right, side), "kind": kind})


@public(out="same", method=False)
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the bucket, between sorted boundaries, that each value lies in."""
    if boundaries._array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@public(method=False, out="same")
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Which elements are among the test elements.

    `invert` asks for those that are not. `assume_unique` is accepted: it promises that neither has equal elements.
    """
    return apply(counting.isin, (as_tensor(elements), as_tensor(test_elements)), {"invert": invert})


# --- counting ---


@public()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
    array = input._array
    if array.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype.type_name}'. Use x.long().")
    if array.ndim != 1 or is_known_true(np.any(array < 0)):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights._array.shape != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return apply(counting.bincount, (input, weights), {"minlength": minlength})


@public(out="same")
def histc(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """Counts in `bins` equal bins between min and max (of the data, if equal)."""
    need_room(min, input._array.dtype)
    need_room(max, input._array.dtype)
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    if input._array.dtype.kind not in "fV":
        raise not_implemented_for("histogram_cpu", input)
    if bins <= 0:
        raise RuntimeError(f"torch.histc(): bins must be > 0, but got {bins}")
    return apply(counting.histc, (input,), {"bins": bins, "low": min, "high": max})


@returned_by("histogram")
class HistogramResult(NamedTuple):
    """The result of `histogram`."""

    hist: Tensor
    bin_edges: Tensor


@returned_by("histogramdd")
class HistogramddResult(NamedTuple):
    """The result of `histogramdd`: the edges of each dimension are in a tuple."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


def _check_histogram(points: Tensor, bins: list, weight: Tensor | None, function: str) -> None:
    """Complain about points, bins (given by number or by edges) and weights that torch does not take."""
    kind = points.dtype
    if kind not in (float32, float64):
        raise NotImplementedError(
            f"\"histogramdd\" not implemented for '{kind.type_name}'. Convert it first: x.float()."
        )
    shape = points._array.shape[:-1]
    if weight is not None and weight._array.shape != shape:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(points._array.shape)} and weight with "
            f"shape {list(weight._array.shape)}"
        )
    if weight is not None and weight.dtype is not kind:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({kind.short_name}), and weight({weight.dtype.short_name})"
        )
    for number, one in enumerate(bins):
        if not isinstance(one, Tensor):
            if one <= 0:
                raise RuntimeError(f"{function}: bins must be > 0, but got {one} for dimension {number}")
        elif one.dtype is not kind:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{kind.short_name} and bins for dimension {number} with dtype {one.dtype.short_name}"
            )
        elif one._array.ndim != 1:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {one._array.ndim} dimensions in "
                f"the bins tensor for dimension {number}"
            )


def _histogram(points: Tensor, bins: list, range: Any, weight: Any, density: bool, function: str) -> tuple:
    _check_histogram(points, bins, weight, function)
    edges = tuple(bins) if all(isinstance(one, Tensor) for one in bins) else ()
    params = {"counts": None if edges else tuple(bins), "limits": range, "density": density, "function": function}
    return apply(counting.histogram, (points, weight, *edges), params)


@public(out="cast")
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> HistogramResult:
    """Counts in bins, given by number or by edges, and the edges.

    `range` is (lowest, highest) of evenly spaced bins, those of the data unless given. `weight` has a number for each
    element, which counts in place of 1. `density` divides by the sum and by the widths of the bins.
    """
    points = input.reshape(-1, 1)
    flat = None if weight is None or weight._array.shape != input._array.shape else weight.reshape(-1)
    return HistogramResult(
        *_histogram(points, [bins], range, weight if flat is None else flat, density, "torch.histogram()")
    )


@public(method=False)
def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> HistogramddResult:
    """Counts of points (rows of coordinates) in a grid of bins, and the edges along each axis."""
    dims = input._array.shape[-1]
    bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(bins) != dims:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    found, *edges = _histogram(input, bins, range, weight, density, "torch.histogramdd()")
    return HistogramddResult(found, tuple(edges))


@public(out="same")
def hash_tensor(input: Tensor, dim: Any = (), keepdim: bool = False, *, mode: int = 0) -> Tensor:
    """Exclusive-or of the bits of all elements (or along dims), as uint64."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    return apply(counting.hash_bits, (input,), {"axis": wrap_dims(dim, input._array.ndim), "keepdims": keepdim})

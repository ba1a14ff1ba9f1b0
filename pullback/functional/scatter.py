"""Writing elements by index or mask: scatter, scatter_add, scatter_reduce, index_add, index_copy, index_fill,
index_put, index_reduce, masked_fill, masked_scatter, put; each also in place.

`x[...] = y` is in `indexing.py`; picking elements is in `selection.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import writes
from ..core.basics.dtypes import number_in
from ..core.basics.layout import contiguous_format
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..kernels.places import write_scatter
from ..ops import indexing, taking
from ..ops import scatter as ops
from ..ops import scatter_reduce as reductions
from ..transforms.arrays.batched import NotBatchable
from .checks import ONE_VALUE, invalid_combination
from .index_parsing import FULL, kept, parse
from .indexing import check_fits, put_in_place
from .operands import NUMBERS, common_shape, number_tensor, wrap_dim
from .registry import FUNCTIONS, public
from .selection import check_elementwise, check_index, in_bounds, slices_in_bounds


def _same_dtype(input: Tensor, src: Tensor, function: str) -> None:
    if input._array.dtype != src._array.dtype:
        raise RuntimeError(
            f"{function}(): Expected self.dtype to be equal to src.dtype, but got {input.dtype!r} and {src.dtype!r}. "
            "Convert one of them with .to(dtype)."
        )


def _check_source(index: Tensor, src: Tensor, axis: int) -> None:
    have, wanted = src._array.shape, index._array.shape
    if not index._array.size:
        return
    if max(len(have), 1) != max(len(wanted), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if any(n > m for n, m in zip(wanted, have, strict=False)):
        raise RuntimeError(
            f"Expected index {list(wanted)} to be no larger than src {list(have)} in all dimensions (dimension "
            f"{axis} included)"
        )


# --- one index for each element ---


@public(out="same")
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """A copy with the elements of `src` (or one value) written at `index` along a dim.

    The reverse of `gather`: for a matrix and dim 1, `result[i][index[i][j]] = src[i][j]`. Where an index occurs twice,
    one of the values stays; `scatter_add` and `scatter_reduce` keep all.
    """
    op, others, params = _scatter_plan(input, dim, index, value if src is None else src, reduce)
    if op is None:
        return _scatter_with(input, params["axis"], index, others[0], reduce)
    return apply(op, (input, *others), params) if index._array.size else input.clone(memory_format=contiguous_format)


@public(function=False, direct=True)
def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """Write the elements of `src` (or one value) at `index` along a dim."""
    source = value if src is None else src
    writes.check_early(self, source)
    op, others, params = _scatter_plan(self, dim, index, source, reduce)
    if op is None or not index._array.size:
        return writes.in_place(self, FUNCTIONS["scatter"], dim, index, source, reduce=reduce)
    writer = write_scatter if len(others) > 1 else ops.write_scatter_value
    return writes.write_in_place(self, op, others, params, writer)


def _scatter_plan(input: Tensor, dim: int, index: Tensor, source: Any, reduce: str | None) -> tuple:
    """(operation, its inputs after the first, its parameters); no operation where something is reduced."""
    check_index(index, "scatter")
    axis = check_elementwise(input, index, dim, "scatter")
    if reduce is not None:
        return None, (source,), {"axis": axis}
    if isinstance(source, Tensor):
        _same_dtype(input, source, "scatter")
        _check_source(index, source, axis)
        return ops.scatter_src, (index, source), {"axis": axis}
    if not isinstance(source, NUMBERS):
        raise TypeError(f"scatter(): argument 'value' must be Number, not {type(source).__name__}")
    return ops.scatter_value, (index,), {"axis": axis, "value": number_in(source, input._array.dtype)}


def _scatter_with(input: Tensor, axis: int, index: Tensor, source: Any, reduce: Any) -> Tensor:
    names = {"add": "sum", "multiply": "prod"}
    if reduce not in names:
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not isinstance(source, Tensor):
        source = wrap(np.full(index._array.shape, source, input._array.dtype))
    _same_dtype(input, source, "scatter")
    return scatter_reduce(input, axis, index, source, names[reduce])


@public(in_place=True, out="same")
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with the elements of `src` added at `index` along a dim.

    For a matrix and dim 1, `result[i][index[i][j]] += src[i][j]`, for all i and j.
    """
    check_index(index, "scatter_add")
    axis = check_elementwise(input, index, dim, "scatter_add")
    _same_dtype(input, src, "scatter_add")
    _check_source(index, src, axis)
    if not index._array.size:
        return input.clone()
    return apply(ops.scatter_add, (input, index, src), {"axis": axis})


@public(in_place=True, out="same")
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy in which the elements of `src` that go to one place are reduced there: sum, prod, mean, amax or amin."""
    check_index(index, "scatter_reduce")
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got " + str(reduce))
    axis = check_elementwise(input, index, dim, "scatter_reduce")
    _same_dtype(input, src, "scatter")
    _check_source(index, src, axis)
    if not index._array.size:
        return input.clone()
    params = {"axis": axis, "reduce": reduce, "include_self": bool(include_self)}
    return apply(reductions.scatter_reduce, (input, index, src), params)


# --- one index for each slice ---


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """The shape of the slices along a dim."""
    return (*shape[:axis], *shape[axis + 1 :])


def _check_combined(shape: tuple[int, ...], source: tuple[int, ...], axis: int, count: int, function: str) -> None:
    if axis and axis >= len(source):
        raise RuntimeError(
            f"{function}_(): Indexing dim {axis} is out of bounds of the source tensor with dim {len(source)}"
        )
    size = source[axis] if source else 1
    if count != size:
        raise RuntimeError(
            f"{function}_(): Number of indices ({count}) should be equal to source.size(dim): ({size}), for dim: {axis}"
        )
    both = bool(shape and source)
    if (_without(shape, axis) if both else shape) != (_without(source, axis) if both else source):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(shape)} source.shape = {list(source)}"
        )


def _check_copied(shape: tuple[int, ...], source: tuple[int, ...], axis: int, count: int) -> None:
    if shape and source and len(shape) != len(source):
        raise IndexError(
            f"index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({len(source)}), destination dimensionality ({len(shape)})"
        )
    if _without(shape, axis) != _without(source, axis):
        there, given = (" ".join(map(str, _without(each, axis))) for each in (shape, source))
        raise RuntimeError(
            f"index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: {there} at "
            f"dimension {axis} and source slice shape: {given} at dimension {axis}."
        )
    size = source[axis] if source else 1
    if count != size:
        raise IndexError(f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({size})")


def _slices(input: Tensor, dim: int, index: Tensor, source: Tensor | None, function: str) -> int:
    """The checks of the index_* functions."""
    shape = input._array.shape
    axis = wrap_dim(dim, len(shape))
    if index._array.ndim > 1:
        raise IndexError(f"{function}(): Index is supposed to be a vector, but got dim: {index._array.ndim}")
    if source is not None:
        have, count = source._array.shape, index._array.size
        if function == "index_copy":
            _check_copied(shape, have, axis, count)
        else:
            _check_combined(shape, have, axis, count, function)
    return axis


@public(out="same")
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """A copy with the slices of `source`, times `alpha`, added at `index` of a dim: `result[index[i]] += source[i]` for
    dim 0.
    """
    axis = _check_index_add(input, dim, index, source)
    return apply(ops.index_add, (input, index, source), {"axis": axis, "alpha": _scale(input, alpha)})


def _scale(input: Tensor, alpha: Any) -> Any:
    """`alpha` as it multiplies integers: in their dtype."""
    return number_in(alpha, input._array.dtype) if input._array.dtype.kind in "iu" and alpha != 1 else alpha


@public(function=False, direct=True)
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """Add the slices of `source` at `index` of a dim."""
    writes.check_early(self, source)
    params = {"axis": _check_index_add(self, dim, index, source), "alpha": _scale(self, alpha)}
    return writes.write_in_place(self, ops.index_add, (index, source), params, ops.write_index_add)


def _check_index_add(input: Tensor, dim: int, index: Tensor, source: Tensor) -> int:
    check_index(index, "index_add")
    if input._array.dtype != source._array.dtype:
        raise RuntimeError(
            f"index_add(): self ({input.dtype.type_name}) and source ({source.dtype.type_name}) must have the "
            "same scalar type"
        )
    axis = _slices(input, dim, index, source, "index_add")
    slices_in_bounds(index, input._array.shape, axis, IndexError if input._array.ndim < 2 else RuntimeError)
    return axis


@public(in_place=True, out="same")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with the slices of `source` written at `index` of a dim."""
    check_index(index, "index_copy", ("int64",))
    if input._array.dtype != source._array.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {input.dtype.type_name} "
            f"and (source) {source.dtype.type_name}"
        )
    axis = _slices(input, dim, index, source, "index_copy")
    slices_in_bounds(index, input._array.shape, axis, IndexError)
    return apply(ops.index_copy, (input, index, source), {"axis": axis})


@public()
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with one value in the slices at `index` of a dim."""
    op, params, value = _index_fill_plan(input, dim, index, value)
    return apply(op, (input, index, value), params)


@public(function=False, direct=True)
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Write one value to the slices at `index` of a dim."""
    writes.check_early(self, value)
    op, params, value = _index_fill_plan(self, dim, index, value)
    return writes.write_in_place(self, op, (index, value), params, ops.write_index_fill, overlap=True)


def _index_fill_plan(input: Tensor, dim: int, index: Tensor, value: Any) -> tuple:
    if index._array.dtype.name != "int64":
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    axis = _slices(input, dim, index, None, "index_fill_")
    slices_in_bounds(index, input._array.shape, axis, IndexError, negative=True)
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} "
                "dimension(s)."
            )
        return ops.index_fill_from, {"axis": axis}, value
    if isinstance(value, complex) and input._array.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return ops.index_fill, {"axis": axis}, number_in(value, input._array.dtype)


@public(in_place=True, out="cast")
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy in which the slices of `source` that go to one place are reduced there: prod, mean, amax or amin."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    check_index(index, "index_reduce")
    _same_dtype(input, source, "index_reduce")
    axis = _slices(input, dim, index, source, "index_reduce")
    in_bounds(index, input._array.shape[axis] if input._array.ndim else 1, axis, IndexError)
    if not index._array.size:
        return input.clone()
    shape = (1,) * axis + (index._array.size,) + (1,) * (source._array.ndim - axis - 1)
    places = np.reshape(index._array, shape if source._array.ndim else ())
    each = index.detach()  # which counts the writes to the index
    each._array = np.broadcast_to(places, source._array.shape)
    params = {"axis": axis, "reduce": reduce, "include_self": bool(include_self)}
    return apply(reductions.index_reduce, (input, each, source), params)


# --- any indices ---


@public()
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` written (or added) at the indices, one tensor of indices for each dim."""
    try:
        advanced = _index_put_plan(input, indices, values)
    except NotBatchable as error:
        from .batched_indexing import put_by_batch

        index = tuple(FULL if index is None else index for index in indices)
        return put_by_batch(input, index, values, bool(accumulate), error)
    check_fits(values._array.shape, input._array.shape, advanced)
    return apply(indexing.put, (input, values), {"index": advanced, "accumulate": bool(accumulate)})


@public(method=False)
@public(function=False, direct=True)
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write (or add) `values` at the indices, one tensor of indices for each dim."""
    writes.check_early(self, values)
    try:
        plan = _index_put_plan(self, indices, values)
    except NotBatchable:  # every example has indices of its own
        return writes.in_place(self, FUNCTIONS["index_put"], indices, values, accumulate)
    return put_in_place(self, values, plan, bool(accumulate))


def _index_put_plan(input: Tensor, indices: Any, values: Tensor) -> tuple:
    basic, advanced = parse(tuple(FULL if index is None else _as_array(index) for index in indices), input._array)
    if values._array.dtype != input._array.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{input.dtype.type_name} for the destination and {values.dtype.type_name} for the source."
        )
    return kept(advanced, tuple(indices))


def _as_array(index: Any) -> Any:
    """A 0-d index counts as an array here, not as an integer."""
    return np.asarray(index._array) if isinstance(index, Tensor) else index


@public(in_place=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with elements written (or added) at indices of the tensor as one long row."""
    check_index(index, "put_", ("int64",))
    _same_dtype(input, source, "put_")
    if index._array.size != source._array.size:
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._array.size}, index.numel() = {index._array.size}"
        )
    if index._array.size and not input._array.size:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    in_bounds(index, input._array.size, 0, IndexError, negative=True)
    return apply(taking.put, (input, index, source), {"accumulate": bool(accumulate)})


# --- masks ---


def _broadcast_mask(input: Tensor, mask: Tensor, function: str) -> None:
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"{function} only supports boolean masks, but got mask with dtype {mask.dtype.short_name}")
    if input._array.shape == mask._array.shape:
        return
    common_shape(input._array.shape, mask._array.shape)


_VALUES = (*NUMBERS, np.generic)


@public()
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with one value where the mask is true."""
    op, value = _masked_fill_plan(input, mask, value)
    return apply(op, (input, mask, value))


@public(function=False, direct=True)
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Write one value where the mask is true."""
    writes.check_early(self, value)
    op, value = _masked_fill_plan(self, mask, value)
    if np.broadcast_shapes(self._array.shape, mask._array.shape) != self._array.shape:
        raise RuntimeError(
            f"output with shape {list(self._array.shape)} doesn't match the broadcast shape "
            f"{list(np.broadcast_shapes(self._array.shape, mask._array.shape))}"
        )
    return writes.write_in_place(self, op, (mask, value), {}, indexing.write_masked, overlap=True)


def _masked_fill_plan(input: Tensor, mask: Tensor, value: Any) -> tuple:
    _broadcast_mask(input, mask, "masked_fill_")
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value._array.ndim} dimension(s)."
            )
        if value._array.dtype.kind == "c" and input._array.dtype.kind != "c":
            raise RuntimeError("value cannot be converted to type without overflow: it is complex, the tensor is not")
        return indexing.masked_fill_from, value
    if not isinstance(value, _VALUES):
        raise invalid_combination("masked_fill", mask, value, wanted=ONE_VALUE)
    return indexing.masked_fill, number_tensor(value, input)


@public(in_place=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the elements of `source`, in order, where the mask is true."""
    _broadcast_mask(input, mask, "masked_scatter_")
    if input._array.dtype != source._array.dtype:
        raise RuntimeError(
            f"masked_scatter_: expected self and source to have same dtypes but got {input.dtype.type_name} and "
            f"{source.dtype.type_name}"
        )
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    wanted = int(np.count_nonzero(np.broadcast_to(mask._array, shape)))
    if source._array.size < wanted:
        raise RuntimeError(
            "masked_scatter: expected self to have at least as many elements in source as ones in mask: "
            f"{source._array.size} < {wanted}"
        )
    return apply(taking.masked_scatter, (input, mask, source))

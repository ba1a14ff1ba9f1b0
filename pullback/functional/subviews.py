"""Views of parts of a tensor (diagonal, select, narrow, unfold, as_strided), their inverses that write a part into a
copy (`*_scatter`, diag_embed), and the `*_copy` forms of all views.

`x[...]` is in `indexing.py`. Views of the whole in another shape are in `shape.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import writes
from ..core.tape import apply
from ..core.tensor import Tensor
from ..core.view_making import view_of
from ..ops import shape as ops
from ..ops import striding
from ..ops.casting import clone_contiguous
from . import complex_views, shape, splitting
from .copying import fill_
from .operands import need_int, sizes_of, wrap_dim
from .refusals import complaint_for
from .registry import FUNCTIONS, METHODS, public

ndarray = np.ndarray

# --- diagonals ---


def _diagonal_params(input: Tensor, offset: int, dim1: int, dim2: int) -> dict:
    ndim = input._array.ndim
    axis1, axis2 = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if ndim < 2:
        raise IndexError(f"Dimension out of range (a diagonal needs two dims, but the tensor has {ndim})")
    rows, columns = input._array.shape[axis1], input._array.shape[axis2]
    # Further out is nothing, and too far out NumPy counts wrong.
    offset = min(max(need_int(offset, "diagonal", "offset", 2), -rows), columns)
    return {"offset": offset, "axis1": axis1, "axis2": axis2}


@public(direct=True)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonal of two dims.

    It becomes the last dim. `offset` counts diagonals from the main one: above it for positive numbers, below for
    negative.
    """
    try:
        params = _diagonal_params(input, offset, dim1, dim2)
    except AttributeError as error:
        raise complaint_for(error) from None
    array = input._array
    if type(array) is ndarray:
        return view_of(ops.diagonal, input, params, ops.diagonal.forward(array, **params))
    return apply(ops.diagonal, (input,), params)


@public(out="same")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with this vector as its diagonal, or the diagonal of this matrix as a copy."""
    ndim, diagonal = input._array.ndim, need_int(diagonal, "diag", "diagonal", 2)
    if ndim == 1:
        return diag_embed(input, diagonal)
    if ndim == 2:
        return apply(ops.copied_diagonal, (input,), _diagonal_params(input, diagonal, 0, 1))
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")


@public()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Zeros with the last dim of this tensor as the diagonal of two new dims."""
    sizes = input._array.shape
    ndim = len(sizes) + 1
    axis1, axis2 = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if not sizes:
        raise IndexError("diag_embed() needs a tensor with at least one dim")
    offset = need_int(offset, "diag_embed", "offset", 2)
    side = sizes[-1] + abs(offset)
    result = list(sizes[:-1])
    for axis in sorted((axis1, axis2)):
        result.insert(axis, side)
    params = {"shape": tuple(result), "offset": offset, "axis1": axis1, "axis2": axis2}
    return apply(ops.place_diagonal, (input,), params)


@public()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of this tensor on its diagonal."""
    return diag_embed(shape.ravel(input), offset)


@public()
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy in which the diagonal is `src`."""
    params = _diagonal_params(input, offset, dim1, dim2)
    wanted = ops.diagonal.forward(input._array, **params).shape
    _check_part(src, wanted)
    return apply(ops.replace_diagonal, (input, _like(src, input)), params)


@public(function=False, direct=True)
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one value to the main diagonal; with `wrap`, a tall matrix has it again below."""
    sizes, ndim = self._array.shape, self._array.ndim
    if ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if ndim > 2 and len(set(sizes)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    strides = tuple(step // self._array.itemsize for step in self.memory().strides)
    step = sum(strides)
    fill_(as_strided(self, (min(sizes),), (step,)), fill_value)
    rows, columns = sizes[:2]
    if wrap and ndim == 2 and rows > columns + 1:
        # The diagonal goes on one row below where it left the matrix, again and again.
        for top in range(columns + 1, rows, columns + 1):
            fill_(self[top:].diagonal(), fill_value)
    return self


def _like(src: Tensor, input: Tensor) -> Tensor:
    return src if src._array.dtype == input._array.dtype else src.to(input.dtype)


# --- slices ---


def _select_index(input: Tensor, dim: int, index: int) -> tuple:
    sizes = input._array.shape
    if not sizes:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis, index = wrap_dim(dim, len(sizes)), index.__index__()
    if not -sizes[axis] <= index < sizes[axis]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(sizes)} at dimension {axis}")
    return (*(slice(None),) * axis, index)


@public(direct=True)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One slice of a dim, without that dim."""
    try:
        place = _select_index(input, dim, index)
    except AttributeError as error:
        raise complaint_for(error) from None
    array = input._array
    if type(array) is ndarray:
        return view_of(ops.select, input, {"index": place}, array[(*place, ...)])
    return apply(ops.select, (input,), {"index": place})


@public()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy in which one slice of a dim is `src`."""
    place = _select_index(input, dim, index)
    _check_part(src, input._array[(*place, ...)].shape)
    return apply(ops.replace_selected, (input, _like(src, input)), {"index": place})


def _check_part(src: Tensor, wanted: tuple[int, ...]) -> None:
    if src._array.shape != wanted:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src._array.shape)}, slice size = {list(wanted)}"
        )


@public(out="same")
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy in which a slice of a dim is `src`."""
    place = (*(slice(None),) * wrap_dim(dim, input._array.ndim), slice(start, end, step))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    _check_part(src, input._array[(*place, ...)].shape)
    return apply(ops.replace_slice, (input, _like(src, input)), {"index": place})


@public(direct=True)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A view of `length` slices of a dim from `start`."""
    try:
        sizes = input._array.shape
    except AttributeError as error:
        raise complaint_for(error) from None
    if not sizes:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start._array.ndim or start._array.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    axis = wrap_dim(dim, len(sizes))
    start, length = need_int(start, "narrow", "start", 2), need_int(length, "narrow", "length", 3)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -sizes[axis] <= start <= sizes[axis]:
        raise IndexError(
            f"start out of range (expected to be in range of [{-sizes[axis]}, {sizes[axis]}], but got {start})"
        )
    start = start + sizes[axis] if start < 0 else start
    if start + length > sizes[axis]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({sizes[axis]}).")
    place = (*(slice(None),) * axis, slice(start, start + length))
    array = input._array
    if type(array) is ndarray:
        return view_of(ops.slice_, input, {"index": place}, array[place])
    return apply(ops.slice_, (input,), {"index": place})


@public(function=False)
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of all windows of `size` elements along a dim, `step` apart, in a new last dim."""
    sizes = input._array.shape
    axis = wrap_dim(dimension, len(sizes))
    extent = sizes[axis] if sizes else 1
    size, step = need_int(size, "unfold", "size", 2), need_int(step, "unfold", "step", 3)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > extent:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {extent} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return apply(ops.unfold, (input,), {"axis": axis, "size": int(size), "step": int(step)})


# --- free strides ---


def _strided_params(input: Tensor, size: Any, stride: Any, storage_offset: int | None) -> dict:
    """Checked sizes, strides and offset, and the geometry of the tensor they are about."""
    array = input.memory()
    sizes, strides = sizes_of((size,)), sizes_of((stride,))
    if len(sizes) != len(strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in strides):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(strides)}"
        )
    if any(n < 0 for n in sizes):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(sizes)} and strides={list(strides)}")
    item = array.dtype.itemsize
    plain = isinstance(array, ndarray)  # inside vmap, every example counts as a tensor of its own
    geometry = striding.geometry_of(array) if plain else striding.contiguous_geometry(array.shape)
    offset = geometry[2] if storage_offset is None else storage_offset.__index__()
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if storage_offset is None and plain and not array.size and 0 not in sizes and striding.extent_of(array):
        raise RuntimeError(
            f"as_strided: where an empty slice begins in its memory is not known, so sizes {list(sizes)} may be out of "
            "bounds for storage. Pass storage_offset, or call it on the tensor that was sliced."
        )
    last = offset + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True)) + 1
    available = striding.extent_of(array) if plain else math.prod(array.shape) * item
    if math.prod(sizes) and last * item > available or math.prod(sizes) >= 2**62:
        raise RuntimeError(
            f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {last * item} are out of bounds for storage of "
            f"size {available}. A view can only look at memory that the tensor has."
        )
    return {"size": sizes, "stride": strides, "offset": offset, "geometry": geometry}


@public()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of this tensor's memory with the given sizes, strides and offset, within the memory it has."""
    params = _strided_params(input, size, stride, storage_offset)
    params["source"] = input._array if isinstance(input._array, ndarray) else None
    return apply(striding.as_strided, (input,), params)


@public()
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy in which what `as_strided` would look at is `src`."""
    params = _strided_params(input, size, stride, storage_offset)
    _check_part(src, params["size"])
    return apply(striding.replace_strided, (input, _like(src, input)), params)


@public(function=False, direct=True)
def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Look at the memory with other sizes and strides from now on."""
    params = _strided_params(self, size, stride, storage_offset)
    shape_before, stride_before, offset_before = params["geometry"]
    after = (params["size"], params["stride"], params["offset"])
    back = {"size": shape_before, "stride": stride_before, "offset": offset_before, "geometry": after, "source": None}
    params["source"] = self._array
    return writes.reshape_in_place(self, striding.as_strided, params, (striding.as_strided, back))


# --- copies of views ---


def _copy_form(name: str, view: Callable[..., Any], out: str) -> None:
    """Announce `name_copy`: what the view gives, in memory of its own."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        result = view(input, *args, **kwargs)
        if isinstance(result, tuple):
            return tuple(apply(clone_contiguous, (part,)) for part in result)
        return apply(clone_contiguous, (result,))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A copy of what `{name.removesuffix('_copy').removeprefix('unsafe_')}` gives."
    public(method=False, out=out)(function)


def _slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    place = (*(slice(None),) * wrap_dim(dim, input._array.ndim), slice(start, end, step))
    return apply(ops.slice_, (input,), {"index": place})


def _alias(input: Tensor) -> Tensor:
    return apply(ops.alias, (input,))


def _permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    return shape.permute(input, dims)


def _narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    if dim >= input._array.ndim:  # an IndexError for the view, another error for the copy
        raise RuntimeError(f"narrow_copy: expected a dim below {input._array.ndim}, but got {dim}")
    return narrow(input, dim, start, length)


_VIEWS: dict[str, Callable[..., Any]] = {
    "alias": _alias, "as_strided": as_strided, "diagonal": diagonal, "expand": shape.expand, "narrow": _narrow,
    "permute": _permute, "select": select, "slice": _slice, "split": splitting.split,
    "split_with_sizes": splitting.split_with_sizes, "squeeze": shape.squeeze, "t": shape.t, "transpose": shape.transpose,
    "unbind": shape.unbind, "unfold": unfold, "unsqueeze": shape.unsqueeze, "view": shape.view,
    "view_as_complex": complex_views.view_as_complex, "view_as_real": complex_views.view_as_real, "detach": Tensor.detach,
}  # fmt: skip
_IN_ITS_DTYPE = (
    "alias",
    "as_strided",
    "diagonal",
    "expand",
    "narrow",
    "permute",
    "split_with_sizes",
    "view",
)  # their out=
for _name, _view in _VIEWS.items():
    _copy_form(f"{_name}_copy", _view, "same" if _name in _IN_ITS_DTYPE else "cast")
for _name in ("unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"):
    _copy_form(_name, getattr(splitting, _name.removeprefix("unsafe_")), "cast")
    METHODS[_name] = FUNCTIONS[_name]
METHODS["narrow_copy"] = FUNCTIONS["narrow_copy"]

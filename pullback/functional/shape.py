"""Shapes: view, reshape, transpose, permute, expand, squeeze and relatives.

Torch's `view` insists on sharing memory and `reshape` copies when it must; both record what really happened. Views of
parts of a tensor are in `subviews.py`, splitting and joining in files of that name, in-place forms in `shape_in_place.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..core.basics.dtypes import as_dtype
from ..core.basics.dtypes import dtype as dtype_type
from ..core.basics.size import Size
from ..core.basics.storage import storage_of
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..core.view_making import view_of, views_of
from ..kernels.thresholds import VIEW_TRIED
from ..ops import shape as ops
from ..ops.casting import clone as clone_op
from ..ops.casting import clone_contiguous
from ..ops.splitting import unbind as unbind_op
from .operands import common_shape, sizes_of, wrap_dim, wrap_dims
from .refusals import complaint_for, given_sizes
from .registry import public

ndarray = np.ndarray
reshape_op: Any = ops.reshape
_RANGES = [set(range(ndim)) for ndim in range(65)]


def infer_shape(sizes: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """Fill in a -1, and check that the number of elements is right."""
    known = math.prod(sizes)
    if known == count and min(sizes, default=0) >= 0:
        return sizes
    unknown = sizes.count(-1)
    if unknown > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in sizes):
        place = next(i for i, n in enumerate(sizes) if n < -1)
        raise RuntimeError(f"invalid shape dimension {sizes[place]} at index {place} of shape {list(sizes)}")
    if unknown:
        known = -known
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {count} elements into shape {list(sizes)} because the unspecified dimension "
                "size -1 can be any value and is ambiguous"
            )
        if count % known == 0:
            return tuple([count // known if n == -1 else n for n in sizes])
    raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {count}")


def shares_memory(array: Any, shape: tuple[Any, ...]) -> bool:
    """True if reshaping to `shape` needs no copy."""
    if array.flags.c_contiguous:
        return True
    if not array.size:
        return True
    try:
        array.reshape(shape, copy=False)
    except ValueError:
        return False
    except TypeError:  # an array of another library
        return np.may_share_memory(array.reshape(shape), array)
    return True


@public(function=False, direct=True)
def view(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """The same memory in another shape (or, given a dtype, the same bytes in another type)."""
    if named:
        shape = given_sizes("view", shape, named, "size", "dtype")
    quick = _reshaped(input, shape)
    if quick is not None:
        return quick
    if len(shape) == 1 and isinstance(shape[0], (dtype_type, type)):
        return view_dtype(input, as_dtype(shape[0]))
    array = input._array
    sizes = infer_shape(sizes_of(shape), array.size)
    if not shares_memory(array, sizes):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return apply(ops.reshape, (input,), {"shape": sizes})


def _reshaped(input: Tensor, shape: tuple) -> Tensor | None:
    """The view in a shape NumPy understands as it is; None when the careful way is needed."""
    array = input._array
    if type(array) is not ndarray:
        return None
    size = array.size
    if not size or size > VIEW_TRIED and not array.flags.c_contiguous:  # NumPy would make a copy just to find out
        return None
    for n in shape:
        if type(n) is not int or n < -1:
            if len(shape) > 1 or not isinstance(n, tuple) or min(n, default=0) < -1:
                return None
    try:
        out = array.reshape(*shape)
    except (ValueError, TypeError):
        return None
    if out.base is array or out.base is array.base is not None:
        return view_of(reshape_op, input, {"shape": out.shape}, out)
    return None


def view_dtype(x: Tensor, dtype: dtype_type) -> Tensor:
    """The bytes of a tensor read as another dtype; the last dim grows or shrinks with the size of an element."""
    array, wanted = x.memory(), dtype._numpy
    have, want = array.dtype.itemsize, wanted.itemsize
    if have != want:
        if array.ndim == 0:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {x.dtype.type_name} as {dtype.type_name} (different element sizes)"
            )
        if array.size == 0:
            array = np.empty(array.shape, array.dtype)  # no memory to look at; NumPy gives some of these strides of 0
        if array.shape[-1] > 1 and array.strides[-1] != have and array.size:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {x.dtype.type_name} as {dtype.type_name} (different element "
                f"sizes), but got {array.strides[-1] // have}"
            )
        if want > have and array.shape[-1] * have % want:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {want // have} to view {x.dtype.type_name} as {dtype.type_name} "
                f"(different element sizes), but got {array.shape[-1]}"
            )
        if want > have:
            _check_wider(x, dtype, want // have)
    out = array.view(wanted)
    if have != want and not out.size:  # rows stay where they are, which NumPy does not say of rows that hold nothing
        out = as_strided(out, out.shape, (*[step * have for step in x.stride()[:-1]], want))
    result = wrap(out)
    result._storage = storage_of(x)
    return result


def _check_wider(x: Tensor, dtype: dtype_type, ratio: int) -> None:
    """Elements of another dtype must begin where several of this one do."""
    places = [("storage_offset()", x.storage_offset())]
    places += [(f"stride({d})", step) for d, step in enumerate(x.stride()[:-1])]
    for what, number in places:
        if number % ratio:
            raise RuntimeError(
                f"self.{what} must be divisible by {ratio} to view {x.dtype.type_name} as {dtype.type_name} (different "
                f"element sizes), but got {number}"
            )


@public(direct=True)
def reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """The elements in another shape: a view when memory allows, else a copy."""
    if named:
        shape = given_sizes("reshape", shape, named, "shape")
    try:
        quick = _reshaped(input, shape)
    except AttributeError as error:
        raise complaint_for(error) from None
    if quick is not None:
        return quick
    array = input._array
    sizes = infer_shape(sizes_of(shape), array.size)
    if shares_memory(array, sizes):
        return apply(ops.reshape, (input,), {"shape": sizes})
    return apply(ops.unsafe_reshape, (apply(clone_contiguous, (input,)),), {"shape": sizes})


@public(function=False)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of another tensor."""
    return view(input, other._array.shape)


@public(function=False)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of another tensor."""
    return reshape(input, other._array.shape)


@public(direct=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dims from `start_dim` to `end_dim` into one."""
    try:
        array = input._array
    except AttributeError as error:
        raise complaint_for(error) from None
    shape = array.shape
    ndim = len(shape)
    if ndim == 0:
        wrap_dim(start_dim, 0), wrap_dim(end_dim, 0)
        return reshape(input, (1,))
    if type(start_dim) is int and 0 <= start_dim < ndim and end_dim == -1:
        start, end = start_dim, ndim - 1
    else:
        start, end = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    sizes = (
        (array.size,)
        if end - start == ndim - 1
        else (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :])
    )
    if type(array) is ndarray and array.flags.c_contiguous:
        return view_of(reshape_op, input, {"shape": sizes}, array.reshape(sizes))
    return reshape(input, sizes)


@public()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split one dim into several: (4, 6) becomes (4, 2, 3) for dim 1 and sizes (2, 3). One size may be -1."""
    shape = input._array.shape
    axis = wrap_dim(dim, len(shape))
    if isinstance(sizes, int):
        sizes = (sizes,)
    if len(sizes) == 0:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not shape:
        return reshape(input, tuple(sizes))
    known = infer_shape(tuple(sizes), shape[axis]) if -1 in sizes else tuple(sizes)
    if math.prod(known) != shape[axis]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {axis} ({shape[axis]}) in "
            "the input tensor"
        )
    return view(input, (*shape[:axis], *known, *shape[axis + 1 :]))


@public()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dim."""
    flat = reshape(input, (-1,)) if input._array.size else reshape(input, (0,))
    return flat if flat._array.flags.c_contiguous else apply(clone_op, (flat,))


# --- dims in another order ---


@public(direct=True)
def permute(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Dims in another order: `x.permute(2, 0, 1)` has the last one first. A view."""
    order = sizes_of(given_sizes("permute", dims, named, "dims"))
    try:
        ndim = input._array.ndim
    except AttributeError as error:
        raise complaint_for(error) from None
    if set(order) == _RANGES[ndim] and len(order) == ndim:
        return permuted(ops.permute, input, order)
    if len(order) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(order)}"
        )
    axes = tuple([wrap_dim(d, ndim) for d in order])
    if len(set(axes)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return permuted(ops.permute, input, axes)


def permuted(op: Any, input: Tensor, axes: tuple[Any, ...]) -> Tensor:
    """The view an operation such as `permute` makes with the axes in this order."""
    array = input._array
    if type(array) is ndarray:
        return view_of(op, input, {"axes": axes}, array.transpose(axes))
    return apply(op, (input,), {"axes": axes})


@lru_cache(maxsize=256, typed=True)
def swapped_axes(ndim: int, dim0: Any, dim1: Any) -> tuple[Any, ...]:
    """All axes in order, but for two that are exchanged."""
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    axes = list(range(ndim))
    if ndim:
        axes[first], axes[second] = second, first
    return tuple(axes)


@public("swapaxes", "swapdims", direct=True)
def transpose(input: Tensor, dim0: Any = None, dim1: Any = None, axis0: Any = None, axis1: Any = None) -> Tensor:
    """Two dims exchanged (or, as in NumPy, all dims in the order of one tuple)."""
    first, second = (axis0, axis1) if dim0 is None and axis0 is not None else (dim0, dim1)
    if second is None:
        if isinstance(first, (tuple, list)):
            return permute(input, first)
        raise TypeError("transpose() received an invalid combination of arguments: give two dims to exchange")
    try:
        ndim = input._array.ndim
    except AttributeError as error:
        raise complaint_for(error) from None
    return permuted(ops.transpose, input, swapped_axes(ndim, first, second))


def matrix_axes(input: Tensor, name: str) -> tuple[Any, ...]:
    """The axes of the transposed matrix; up to one dim, as they are."""
    ndim = input._array.ndim
    if ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return (1, 0) if ndim == 2 else tuple(range(ndim))


@public(direct=True)
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix (vectors as they are)."""
    try:
        return permuted(ops.matrix_transpose, input, matrix_axes(input, "t"))
    except AttributeError as error:
        raise complaint_for(error) from None


@public()
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of a matrix, or of a batch of matrices."""
    if input._array.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    from .elementary import conj

    return conj(transpose(input, -2, -1)) if input._array.ndim else conj(input)


def _moved(ndim: int, source: Any, destination: Any) -> tuple:
    sources = source if isinstance(source, (tuple, list)) else (source,)
    targets = destination if isinstance(destination, (tuple, list)) else (destination,)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should contain the same "
            f"number of dims as destination ({list(targets)} dims)"
        )
    sources = [wrap_dim(d, ndim) for d in sources]
    targets = [wrap_dim(d, ndim) for d in targets]
    for label, dims in (("source", sources), ("destination", targets)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{label}` ({dims})")
    if ndim == 0:
        return ()
    axes = [i for i in range(ndim) if i not in sources]
    for target, where in sorted(zip(targets, sources, strict=True)):
        axes.insert(target, where)
    return tuple(axes)


@public("moveaxis")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dims moved to other places, the rest in order."""
    return permuted(ops.permute, input, _moved(input._array.ndim, source, destination))


# --- repeating without copying ---


@public(function=False, direct=True)
def expand(input: Tensor, *sizes: Any, implicit: bool = False, size: Any = None) -> Tensor:
    """A view in which dims of size 1 are repeated without a copy; -1 keeps a size, new dims come first."""
    wanted = sizes_of(sizes if size is None else (size,))
    shape = input._array.shape
    extra = len(wanted) - len(shape)
    if extra < 0:
        raise RuntimeError(
            f"expand({input.type()}{{{list(shape)}}}, size={list(wanted)}): the number of sizes provided ({len(wanted)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    if shape == wanted[extra:] and (not extra or min(wanted[:extra]) >= 0):
        return _expanded(input, wanted)
    result = []
    for position in reversed(range(len(wanted))):  # from the last dim on, as torch looks at them
        want = wanted[position]
        have = shape[position - extra] if position >= extra else 1
        if want == -1:
            if position < extra:
                raise RuntimeError(
                    f"expand({{{list(shape)}}}, size={list(wanted)}): the expanded size of the tensor ({want}) isn't "
                    f"allowed in a leading, non-existing dimension {position}"
                )
            want = have
        if have not in (1, want):
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) at non-singleton "
                f"dimension {position}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(shape)}"
            )
        if want < 0:
            raise RuntimeError(f"The expanded size of the tensor ({want}) must not be negative (dimension {position})")
        result.append(want)
    return _expanded(input, tuple(reversed(result)))


def _expanded(input: Tensor, shape: tuple) -> Tensor:
    array = input._array
    if type(array) is ndarray:
        return view_of(ops.expand, input, {"shape": shape}, ops.expand.forward(array, shape))
    return apply(ops.expand, (input,), {"shape": shape})


@public(function=False)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Expanded to the shape of another tensor."""
    return expand(input, other._array.shape)


@public()
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """A view of this shape in which dims of size 1 are repeated without a copy."""
    return expand(input, size)


@public(method=False, direct=True, tensors=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to."""
    for shape in shapes:
        sizes_given = (shape,) if not isinstance(shape, (tuple, list)) else shape
        if not all(hasattr(n, "__index__") for n in sizes_given):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
    sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    for shape in sizes:
        for n in shape:
            if n < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({n}): ({n})")
    try:
        return Size(np.broadcast_shapes(*sizes))
    except ValueError:
        raise RuntimeError(
            "Shape mismatch: objects cannot be broadcast to a single shape. The shapes are "
            + ", ".join(str(shape) for shape in sizes)
        ) from None


@public(method=False, direct=True, passed="")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    try:
        shape = common_shape((), *(x._array.shape for x in tensors))
    except AttributeError as error:
        raise complaint_for(error) from None
    return tuple(x if x._array.shape == shape else expand(x, shape) for x in tensors)


# --- dims of size 1 ---


@public(direct=True)
def unsqueeze(input: Tensor, dim: Any = None, *, axis: Any = None) -> Tensor:
    """With a new dim of size 1 at this place: (3,) becomes (1, 3) for dim 0, (3, 1) for dim 1. A view."""
    try:
        array = input._array
    except AttributeError as error:
        raise complaint_for(error) from None
    place = wrap_dim(axis if dim is None else dim, array.ndim + 1)
    if type(array) is ndarray:
        return view_of(ops.unsqueeze, input, {"axis": place}, ops.unsqueeze.forward(array, place))
    return apply(ops.unsqueeze, (input,), {"axis": place})


def ones(shape: tuple[Any, ...], dim: Any) -> tuple[Any, ...]:
    """The dims of size 1 among those given (None: all)."""
    dims = range(len(shape)) if dim is None else () if dim == () else wrap_dims(dim, len(shape))
    return tuple([i for i in dims if shape[i] == 1])


@public(direct=True)
def squeeze(input: Tensor, dim: Any = None, *, axis: Any = None) -> Tensor:
    """Without dims of size 1 (all, or those given): (1, 3, 1) becomes (3,). A view."""
    dim = axis if dim is None else dim
    op = ops.squeeze_all if dim is None else ops.squeeze if isinstance(dim, int) else ops.squeeze_several
    try:
        array = input._array
    except AttributeError as error:
        raise complaint_for(error) from None
    shape = array.shape
    if type(dim) is int and 0 <= dim < len(shape):
        axes = (dim,) if shape[dim] == 1 else ()
    else:
        axes = ones(shape, dim)
    if type(array) is ndarray:
        return view_of(op, input, {"axes": axes}, array.squeeze(axes))
    return apply(op, (input,), {"axes": axes})


@public(direct=True)
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all slices of a dim."""
    try:
        ndim = input._array.ndim
    except AttributeError as error:
        raise complaint_for(error) from None
    if not ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return views_of(unbind_op, input, {"axis": wrap_dim(dim, ndim)})

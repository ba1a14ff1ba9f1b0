"""Shapes: view, reshape, transpose, expand, squeeze, split, cat and relatives.

Torch's `view` insists on sharing memory and `reshape` copies when it must; both record what really happened.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd.tape import apply
from ..dtypes import as_dtype, dtype as dtype_type
from ..ops import shape as ops
from ..ops.casting import clone as clone_op
from ..tensor import Tensor
from .operands import promote, sizes_of, wrap_dim, wrap_dims
from .registry import public


def infer_shape(sizes: tuple, count: int) -> tuple:
    """Fill in a -1, and check that the number of elements is right."""
    unknown = [i for i, n in enumerate(sizes) if n == -1]
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in sizes):
        raise RuntimeError(f"invalid shape dimension {min(sizes)}")
    known = math.prod(n for n in sizes if n != -1)
    if unknown:
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {count} elements into shape {list(sizes)} because the unspecified dimension size -1 "
                "can be any value and is ambiguous"
            )
        if count % known:
            raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {count}")
        return tuple(count // known if n == -1 else n for n in sizes)
    if known != count:
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {count}")
    return sizes


def shares_memory(array: Any, shape: tuple) -> bool:
    """Whether reshaping to `shape` needs no copy."""
    if array.flags.c_contiguous:
        return True
    result = array.reshape(shape)
    return np.may_share_memory(result, array) if array.size else True


@public(function=False)
def view(input: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape (or, given a dtype, the same bytes in another type)."""
    if len(shape) == 1 and isinstance(shape[0], dtype_type):
        return view_dtype(input, shape[0])
    array = input._array
    sizes = infer_shape(sizes_of(shape), array.size)
    if not shares_memory(array, sizes):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return apply(ops.reshape, (input,), {"shape": sizes})


def view_dtype(x: Tensor, dtype: dtype_type) -> Tensor:
    """The bytes of a tensor read as another dtype."""
    from ..autograd import views
    from ..autograd.tape import wrap

    result = wrap(x.memory().view(as_dtype(dtype).numpy))
    result._storage = views.storage_of(x)
    return result


@public(wrap=False)
def reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """The elements in another shape: a view when memory allows, else a copy."""
    if named:
        shape = (named["shape"],)
    array = input._array
    sizes = infer_shape(sizes_of(shape), array.size)
    if shares_memory(array, sizes):
        return apply(ops.reshape, (input,), {"shape": sizes})
    return apply(ops.unsafe_reshape, (apply(clone_op, (input,)),), {"shape": sizes})


@public(function=False)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of another tensor."""
    return view(input, other.shape)


@public(function=False)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of another tensor."""
    return reshape(input, other.shape)


@public()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dims from `start_dim` to `end_dim` into one."""
    shape = input._array.shape
    ndim = len(shape)
    if ndim == 0:
        return reshape(input, (1,))
    start, end = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    return reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@public()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split one dim into several."""
    shape = input._array.shape
    axis = wrap_dim(dim, len(shape))
    if len(sizes) == 0:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = infer_shape(tuple(sizes), shape[axis]) if -1 in sizes else tuple(sizes)
    if math.prod(known) != shape[axis]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {axis} ({shape[axis]}) in the input tensor"
        )
    return view(input, (*shape[:axis], *known, *shape[axis + 1 :]))


@public()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dim."""
    return reshape(input, (-1,))


@public(wrap=False)
def permute(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Dims in another order."""
    order = sizes_of((named["dims"],) if named else dims)
    ndim = input._array.ndim
    if len(order) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering "
            f"of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(order)}"
        )
    axes = tuple(wrap_dim(d, ndim) for d in order)
    if len(set(axes)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return apply(ops.permute, (input,), {"axes": axes})


@public("swapaxes", "swapdims", in_place=False)
def transpose(input: Tensor, dim0: Any, dim1: int | None = None) -> Tensor:
    """Two dims exchanged (or, as in NumPy, all dims in the order of one tuple)."""
    if dim1 is None:
        return permute(input, dim0)
    ndim = input._array.ndim
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    axes = list(range(ndim))
    if ndim:
        axes[first], axes[second] = axes[second], axes[first]
    return apply(ops.transpose, (input,), {"axes": tuple(axes)})


@public()
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix (vectors as they are)."""
    ndim = input._array.ndim
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return apply(ops.matrix_transpose, (input,), {"axes": (1, 0) if ndim == 2 else tuple(range(ndim))})


def _moved(ndim: int, source: Any, destination: Any) -> tuple:
    sources = source if isinstance(source, (tuple, list)) else (source,)
    targets = destination if isinstance(destination, (tuple, list)) else (destination,)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should contain the same number of dims "
            f"as destination ({list(targets)} dims)"
        )
    sources = [wrap_dim(d, ndim) for d in sources]
    targets = [wrap_dim(d, ndim) for d in targets]
    for label, dims in (("source", sources), ("destination", targets)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{label}` ({dims})")
    axes = [i for i in range(ndim) if i not in sources]
    for target, where in sorted(zip(targets, sources, strict=True)):
        axes.insert(target, where)
    return tuple(axes)


@public("moveaxis")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dims moved to other places, the rest in order."""
    return apply(ops.permute, (input,), {"axes": _moved(input._array.ndim, source, destination)})


@public(function=False, wrap=False)
def expand(input: Tensor, *sizes: Any, implicit: bool = False) -> Tensor:
    """A view in which dims of size 1 are repeated."""
    wanted = sizes_of(sizes)
    shape = input._array.shape
    extra = len(wanted) - len(shape)
    if extra < 0:
        raise RuntimeError(
            f"expand({{{list(shape)}}}, size={list(wanted)}): the number of sizes provided ({len(wanted)}) must be greater or equal "
            f"to the number of dimensions in the tensor ({len(shape)})"
        )
    result = []
    for position, want in enumerate(wanted):
        have = shape[position - extra] if position >= extra else 1
        if want == -1:
            if position < extra:
                raise RuntimeError(
                    f"expand({{{list(shape)}}}, size={list(wanted)}): the expanded size of the tensor ({want}) isn't allowed in a "
                    "leading, non-existing dimension " f"{position}"
                )
            want = have
        if have not in (1, want):
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) at non-singleton dimension "
                f"{position}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(shape)}"
            )
        result.append(want)
    return apply(ops.expand, (input,), {"shape": tuple(result)})


@public(function=False)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Expanded to the shape of another tensor."""
    return expand(input, other.shape)


@public()
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """Expanded to a shape."""
    return expand(input, size)


@public()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new dim of size 1."""
    return apply(ops.unsqueeze, (input,), {"axis": wrap_dim(dim, input._array.ndim + 1)})


@public()
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without dims of size 1 (all, or those given)."""
    shape = input._array.shape
    if dim is None:
        return apply(ops.squeeze_all, (input,), {"shape": tuple(n for n in shape if n != 1)})
    dims = wrap_dims(dim, len(shape)) if dim != () else ()
    return apply(ops.squeeze, (input,), {"shape": tuple(n for i, n in enumerate(shape) if n != 1 or i not in dims)})


@public()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonal of two dims."""
    ndim = input._array.ndim
    axis1, axis2 = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return apply(ops.diagonal, (input,), {"offset": int(offset), "axis1": axis1, "axis2": axis2})


@public()
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One slice of a dim, without that dim."""
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = wrap_dim(dim, len(shape))
    index = int(index)
    if not -shape[axis] <= index < shape[axis]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {axis}"
        )
    return apply(ops.select, (input,), {"index": (*(slice(None),) * axis, index)})


@public()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A view of `length` slices of a dim from `start`."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    axis, start = wrap_dim(dim, len(shape)), int(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -shape[axis] <= start <= shape[axis]:
        raise IndexError(f"start out of range (expected to be in range of [{-shape[axis]}, {shape[axis]}], but got {start})")
    start = start + shape[axis] if start < 0 else start
    if start + length > shape[axis]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({shape[axis]}).")
    return apply(ops.slice_, (input,), {"index": (*(slice(None),) * axis, slice(start, start + length))})


# --- splitting and joining ---


@public()
def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces: of one size (the last may be smaller), or of the sizes given."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = wrap_dim(dim, len(shape))
    size = shape[axis]
    if isinstance(split_size_or_sections, (list, tuple)):
        sizes = [int(n) for n in split_size_or_sections]
        if min(sizes, default=0) < 0:
            raise RuntimeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}")
        if int(np.sum(sizes)) != size:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {axis}), but got "
                f"split_sizes={sizes}"
            )
        stops = np.cumsum(sizes).tolist()
        bounds = tuple((stop - n, stop) for n, stop in zip(sizes, stops, strict=True))
        return apply(ops.split_sizes, (input,), {"axis": axis, "bounds": bounds})
    piece = int(split_size_or_sections)
    if piece < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={piece}")
    if piece == 0 and size != 0:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    bounds = tuple((i, min(i + piece, size)) for i in range(0, size, piece)) if size else ((0, 0),)
    return apply(ops.split, (input,), {"axis": axis, "bounds": bounds})


@public()
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of the sizes given."""
    return split(input, list(split_sizes), dim)


@public()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` equal pieces."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = shape[wrap_dim(dim, len(shape))]
    piece = -(-size // chunks)
    if piece == 0:
        return split(input, [0] * chunks, dim)
    return split(input, piece, dim)


@public()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all slices of a dim."""
    if not input._array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return apply(ops.unbind, (input,), {"axis": wrap_dim(dim, input._array.ndim)})


def _tensor_list(tensors: Any, function: str) -> list[Tensor]:
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{function}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError(f"torch.{function}(): expected a non-empty list of Tensors" if function == "cat" else f"{function} expects a non-empty TensorList")
    return list(tensors)


@public("concat", "concatenate", method=False, out=True)
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along a dim."""
    items = _tensor_list(tensors, "cat")
    items = list(promote(*items)) if len({x._array.dtype for x in items}) > 1 else items
    full = [x for x in items if x._array.shape != (0,)] or items
    if any(not x._array.ndim for x in items):
        position = next(i for i, x in enumerate(items) if not x._array.ndim)
        raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    axis = wrap_dim(dim, full[0]._array.ndim)
    first = full[0]._array.shape
    for number, x in enumerate(items):
        shape = x._array.shape
        if shape == (0,):
            continue
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for i, (a, b) in enumerate(zip(first, shape, strict=True)):
            if i != axis and a != b:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {a} but got size {b} for tensor "
                    f"number {number} in the list."
                )
    return apply(ops.concatenate, tuple(full), {"axis": axis})


@public(method=False, out=True)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new dim."""
    items = _tensor_list(tensors, "stack")
    first = items[0]._array.shape
    for number, x in enumerate(items):
        if x._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(x._array.shape)} at entry {number}"
            )
    items = list(promote(*items)) if len({x._array.dtype for x in items}) > 1 else items
    return apply(ops.stack, tuple(items), {"axis": wrap_dim(dim, len(first) + 1)})

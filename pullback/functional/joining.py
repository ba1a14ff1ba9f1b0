"""Splitting a tensor into views (split, chunk, unbind, ...) and joining tensors (cat, stack, meshgrid, "
"block_diag, ...)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ..autograd.mode import current_mode
from ..autograd.node import Node
from ..autograd.op import Op
from ..autograd.tape import apply, wrap
from ..autograd.view_making import views_of
from ..autograd.views import refresh
from ..notices import warn_user
from ..ops import rearranging, splitting
from ..ops import shape as ops
from ..tensor import Tensor, anchor_of
from . import shape as shapes
from .operands import promote, wrap_dim
from .registry import claimed, public, store

ndarray = np.ndarray

# --- splitting ---


@public(wrap=False)
def split(
    input: Any = None, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None, tensor: Any = None
) -> tuple[Tensor, ...]:
    """Views of consecutive pieces: of one size (the last may be smaller), or of the sizes given.

    The method calls its argument `split_size` in torch, and the function its first one `tensor`.
    """
    input = tensor if input is None else input
    split_size_or_sections = split_size if split_size_or_sections is None else split_size_or_sections
    shape = input._array.shape
    if isinstance(split_size_or_sections, (list, tuple)):
        return split_with_sizes(input, split_size_or_sections, dim)
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = wrap_dim(dim, len(shape))
    size, piece = shape[axis], split_size_or_sections.__index__()
    if piece < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={piece}")
    if piece == 0 and size != 0:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    return _cut(input, axis, size, piece)


def _cut(input: Tensor, axis: int, size: int, piece: int) -> tuple[Tensor, ...]:
    """Views of pieces of one size; the last may be smaller."""
    bounds = [(start, start + piece) for start in range(0, size, piece)] if size else [(0, 0)]
    if bounds[-1][1] != size:
        bounds[-1] = (bounds[-1][0], size)
    return views_of(splitting.split, input, {"axis": axis, "bounds": tuple(bounds)})


@public()
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of the sizes given."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("split_with_sizes expects at least a 1-dimensional tensor")
    axis = wrap_dim(dim, len(shape))
    size, sizes = shape[axis], [n.__index__() for n in split_sizes]
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
        )
    if sum(sizes) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension "
            f"{axis}), but got split_sizes={sizes}"
        )
    bounds = tuple((stop - n, stop) for n, stop in zip(sizes, accumulate(sizes), strict=True))
    return views_of(splitting.split_sizes, input, {"axis": axis, "bounds": bounds})


@public(wrap=False)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` equal pieces."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = wrap_dim(dim, len(shape))
    size = shape[axis]
    if size == 0:
        return split_with_sizes(input, [0] * chunks, dim)
    return _cut(input, axis, size, -(-size // chunks))


@public()
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:
    """Views of pieces as equal as possible, or cut at the indices given."""
    where = next((v for v in (indices_or_sections, indices, sections) if v is not None), None)
    shape = input._array.shape
    if not shape:
        raise RuntimeError(
            f"tensor_split expected at least a 1-dimensional tensor, but got a tensor with {len(shape)} dims"
        )
    axis = wrap_dim(dim, len(shape))
    if isinstance(where, Tensor):
        if where._array.dtype.name != "int64":
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{where.dtype.type_name}"
            )
        if where._array.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
                f"but got a tensor with {where._array.ndim} dims"
            )
        where = where._array.tolist()
    size = shape[axis]
    if isinstance(where, (tuple, list)):
        cuts = [n.__index__() for n in where]
        bounds = list(zip([0, *cuts], [*cuts, size], strict=True))
        # A cut before its neighbour gives an empty piece, as slices do.
        return tuple(_slice(input, axis, *slice(start, stop).indices(size)[:2]) for start, stop in bounds)
    if where is None or not hasattr(where, "__index__"):
        raise TypeError(
            f"tensor_split() received an invalid combination of arguments - got ({type(input).__name__}, "
            f"{type(where).__name__}): give a number of sections, or indices to cut at"
        )
    sections = where.__index__()
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    each, longer = divmod(size, sections)
    stops = list(accumulate(each + (number < longer) for number in range(sections)))
    return tuple(_slice(input, axis, start, stop) for start, stop in zip([0, *stops], stops, strict=False))


def _slice(input: Tensor, axis: int, start: int, stop: int) -> Tensor:
    return apply(ops.slice_, (input,), {"index": (*(slice(None),) * axis, slice(start, max(start, stop)))})


def _split_along(name: str, least: int, axis: int) -> None:
    def function(input: Tensor, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None) -> Any:
        where = next((v for v in (indices_or_sections, indices, sections) if v is not None), None)
        shape = input._array.shape
        if len(shape) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got a tensor "
                f"with {len(shape)} dimensions!"
            )
        along = 0 if len(shape) == 1 else axis
        if isinstance(where, int) and (where == 0 or shape[along] % where):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {along}, but the size of the dimension "
                f"{shape[along]} is not divisible by the split_size {where}!"
            )
        return tensor_split(input, where, along)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`tensor_split` along dim {axis}."
    public(wrap=False)(function)


_split_along("hsplit", 1, 1)
_split_along("vsplit", 2, 0)
_split_along("dsplit", 3, 2)


# --- joining ---


def _atleast(name: str, ndim: int) -> None:
    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return _with_dims(tensors[0], ndim)
        if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
            tensors = tuple(tensors[0])
        return tuple(_with_dims(x, ndim) for x in tensors)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensors with at least {ndim} dims; several give a tuple."
    public(method=False, wrap=False)(function)


def _with_dims(x: Tensor, ndim: int) -> Tensor:
    have = x._array.ndim
    if have >= ndim:
        return x
    if have == 0:
        return shapes.reshape(x, (1,) * ndim)
    if ndim == 2:
        return shapes.unsqueeze(x, 0)
    return shapes.unsqueeze(x if have == 2 else shapes.unsqueeze(x, 0), -1)


for _ndim in (1, 2, 3):
    _atleast(f"atleast_{_ndim}d", _ndim)


def tensor_list(tensors: Any, function: str) -> list[Tensor]:
    """The tensors to join, in one dtype; complaints in torch's words."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{function}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        if function == "cat":
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        raise RuntimeError(f"{function} expects a non-empty TensorList")
    first = None
    mixed = False
    for number, value in enumerate(tensors):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"expected Tensor as element {number} in argument 0, but got {type(value).__name__}. "
                f"{function} joins tensors: convert other things with torch.tensor first."
            )
        kind = value._array.dtype
        if first is None:
            first = kind
        elif kind is not first and kind != first:
            mixed = True
    return list(promote(*tensors)) if mixed else list(tensors)


def _joined(op: Op, tensors: Any, dim: Any, new_dim: int) -> Tensor | None:
    """The join when everything is plain (arrays of one dtype that NumPy can join); None when care is needed."""
    try:
        arrays = [x._array for x in tensors]
        first = arrays[0]
        kind, ndim = first.dtype, first.ndim + new_dim
        shape = first.shape if new_dim else None
    except (AttributeError, IndexError, TypeError):
        return None
    if type(dim) is not int or not -ndim <= dim < ndim or isinstance(tensors, Tensor):
        return None
    for array in arrays:
        if array.dtype is not kind or type(array) is not ndarray or shape is not None and array.shape != shape:
            return None
    mode = current_mode()
    if mode.special:
        return None
    params = {"axis": dim + ndim if dim < 0 else dim}
    try:
        out = op.forward(*arrays, **params)
    except ValueError:
        return None
    result = wrap(out)
    if mode.grad and kind.kind in "fcV":
        _record_join(op, tensors, params, result)
    return result


def _record_join(op: Op, tensors: Any, params: dict, result: Tensor) -> None:
    """`tape.record` for a join, which saves nothing but shapes."""
    edges: list[Any] = []
    mask = 0
    bit = 1
    slots = False
    for x in tensors:
        if x._view is not None:
            refresh(x)
        if x._requires_grad:
            mask |= bit
            node = x._node
            edges.append(anchor_of(x) if node is None else node)
            slots = slots or x._output_nr != 0
        else:
            edges.append(None)
        bit <<= 1
    if not mask:
        return
    out = result._array
    plan = op.plan(mask, len(edges), out.dtype.kind == "c")
    saved = (tuple([x._array.shape for x in tensors]),) if plan.saves else ()
    node = Node().prepare(tuple(edges), saved, params, plan, out.shape, out.dtype)
    node.arrays = saved  # shapes are as good as arrays: the engine need not ask
    if slots:
        node.slots = tuple([x._output_nr for x in tensors])
    result._node = node
    result._requires_grad = True


@public("concat", "concatenate", method=False, wrap=False)
def cat(tensors: Sequence[Tensor], dim: Any = 0, *, axis: Any = None, out: Tensor | None = None) -> Tensor:
    """Join tensors along a dim."""
    dim = dim if axis is None else axis
    if out is not None:
        return store("cat", cat, (tensors, dim), {}, out)
    quick = _joined(rearranging.concatenate, tensors, dim, 0)
    if quick is not None:
        return quick
    try:
        items = tensor_list(tensors, "cat")
    except TypeError:
        if not claimed((tensors,), {}):
            raise
        return cat(tensors, dim)  # which asks a foreign object among the tensors now
    shapes_given = [x._array.shape for x in items]
    if (0,) in shapes_given:  # torch skips such tensors whatever the others' dims are
        items = [x for x in items if x._array.shape != (0,)] or items[:1]
    first = items[0]._array.shape
    if not all(shapes_given):
        position = next(i for i, shape in enumerate(shapes_given) if not shape)
        raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    along = 0 if first == (0,) else wrap_dim(dim, len(first))
    for number, x in enumerate(items):
        shape = x._array.shape
        if shape != first:
            _check_joinable(first, shape, along, number)
    return apply(rearranging.concatenate, tuple(items), {"axis": along})


def _check_joinable(first: tuple, shape: tuple, axis: int, number: int) -> None:
    if len(shape) != len(first):
        raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
    for i, (a, b) in enumerate(zip(first, shape, strict=True)):
        if i != axis and a != b:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {axis}. Expected size {a} but got size {b} for "
                f"tensor number {number} in the list."
            )


@public(method=False, wrap=False)
def stack(tensors: Sequence[Tensor], dim: Any = 0, *, axis: Any = None, out: Tensor | None = None) -> Tensor:
    """Join tensors of one shape along a new dim."""
    dim = dim if axis is None else axis
    if out is not None:
        return store("stack", stack, (tensors, dim), {}, out)
    quick = _joined(rearranging.stack, tensors, dim, 1)
    if quick is not None:
        return quick
    try:
        items = tensor_list(tensors, "stack")
    except TypeError:
        if not claimed((tensors,), {}):
            raise
        return stack(tensors, dim)
    first = items[0]._array.shape
    for number, x in enumerate(items):
        if x._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(x._array.shape)} at entry {number}"
            )
    return apply(rearranging.stack, tuple(items), {"axis": wrap_dim(dim, len(first) + 1)})


@public(method=False, out=True)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors side by side: along dim 1, vectors along dim 0."""
    items = [_with_dims(x, 1) for x in tensor_list(tensors, "hstack")]
    return cat(items, 0 if items[0]._array.ndim == 1 else 1)


@public("row_stack", method=False, out=True)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors on top of each other; vectors are rows."""
    return cat([_with_dims(x, 2) for x in tensor_list(tensors, "vstack")], 0)


@public(method=False, out=True)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along a third dim."""
    return cat([_with_dims(x, 3) for x in tensor_list(tensors, "dstack")], 2)


@public(method=False, out=True)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors side by side; vectors are columns."""
    items = tensor_list(tensors, "column_stack")
    columns = [shapes.reshape(x, (x._array.size, 1)) if x._array.ndim <= 1 else x for x in items]
    return cat(columns, 1)


@public(method=False, out=True)
def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Pad each tensor to equal chunks along a dim, flatten the chunks behind it, and join them."""
    items = tensor_list(tensors, "_chunk_cat")
    axis = wrap_dim(dim, items[0]._array.ndim)
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    lead = items[0]._array.shape[:axis]
    flat = []
    for x in items:
        sizes = x._array.shape
        missing = -sizes[axis] % num_chunks
        before = (0,) * len(sizes)
        after = tuple(missing if i == axis else 0 for i in range(len(sizes)))
        padded = apply(rearranging.pad, (x,), {"before": before, "after": after, "value": 0})
        flat.append(shapes.reshape(padded, (*lead, num_chunks, -1)))
    return cat(flat, axis + 1)


@public(method=False, wrap=False)
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with these matrices on its diagonal; vectors are rows."""
    items = list(tensors)
    if not items:
        from ..creation import empty

        return empty((1, 0))
    for number, x in enumerate(items):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {number} in argument 0, but got {type(x).__name__}")
        if x._array.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {number} has "
                f"{x._array.ndim} dimensions"
            )
    rows = [_with_dims(x, 2) for x in tensor_list(items, "block_diag")]
    return apply(rearranging.block_diagonal, tuple(rows), {})


@public(method=False, wrap=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: each vector expanded over the dims of the others."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warn_user("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f"torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {indexing}")
    for x in tensors:
        if x._array.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x._array.ndim}D"
            )
        if x._array.dtype != tensors[0]._array.dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(tensors) >= 2
    order = [1, 0, *range(2, len(tensors))] if swap else list(range(len(tensors)))
    sizes = tuple(tensors[i]._array.size for i in order)
    grids: list[Any] = [None] * len(tensors)
    for place, number in enumerate(order):
        column = shapes.reshape(tensors[number], (sizes[place], *(1,) * (len(order) - place - 1)))
        grids[number] = shapes.expand(column, sizes)
    return tuple(grids)

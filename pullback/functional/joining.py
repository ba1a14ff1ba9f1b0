"""Joining tensors: cat, stack and relatives, block_diag, meshgrid; `atleast_*d`, which gives them dims to be joined along.

The way back is in `splitting.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import seams
from ..core.basics.notices import warn_user
from ..core.mode import current_mode
from ..core.node import Node, fill
from ..core.op import Op
from ..core.tape import apply, wrap
from ..core.tensor import Tensor, anchor_of
from ..core.views import refresh
from ..ops import rearranging
from . import shape as shapes
from .operands import promote, wrap_dim
from .out_argument import store
from .refusals import complaint_for
from .registry import public

ndarray = np.ndarray


def _atleast(name: str, ndim: int) -> None:
    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return _with_dims(tensors[0], ndim)
        if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
            tensors = tuple(tensors[0])
        return tuple(_with_dims(x, ndim) for x in tensors)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensors with at least {ndim} dims; several give a tuple."
    public(method=False, passed="")(function)


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


def tensor_list(tensors: Any, function: str, shaped: Callable[[Tensor], Tensor] | None = None) -> list[Tensor]:
    """The tensors to join, in one dtype; complaints in torch's words.

    `shaped` gives them dims first: then a tensor that had none has as much say about the dtype as the others.
    """
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        help = f". Put them into a list: torch.{function}([a, b])." if isinstance(tensors, Tensor) else ""
        raise TypeError(
            f"{function}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}{help}"
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
    items = list(tensors) if shaped is None else [shaped(x) for x in tensors]
    return list(promote(*items)) if mixed else items


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
    numbers = tuple([x._output_nr for x in tensors]) if slots else None
    node = fill(Node(), plan, tuple(edges), numbers, saved, saved, params, out.shape, out.dtype)
    result._node = node
    result._requires_grad = True


@public("concat", "concatenate", method=False, direct=True)
def cat(tensors: Sequence[Tensor], dim: Any = 0, *, axis: Any = None, out: Tensor | None = None) -> Tensor:
    """Join tensors along a dim they have: (2, 3) and (4, 3) become (6, 3) for dim 0."""
    dim = dim if axis is None else axis
    if out is not None:
        return store("cat", cat, (tensors, dim), {}, out, "joined")
    quick = _joined(rearranging.concatenate, tensors, dim, 0)
    if quick is not None:
        return quick
    try:
        items = tensor_list(tensors, "cat")
    except TypeError:
        if not seams.notice_foreign_objects((tensors,), {}):
            raise
        return cat(tensors, dim)  # which now calls the `__torch_function__` of a foreign object among the tensors
    shapes_given = [x._array.shape for x in items]
    if not all(shapes_given):
        position = next(i for i, shape in enumerate(shapes_given) if not shape)
        raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    first = next((shape for shape in shapes_given if shape != (0,)), (0,))
    along = 0 if first == (0,) else wrap_dim(dim, len(first))
    if (0,) in shapes_given and first != (0,):  # such tensors add nothing, whatever the others' dims are
        nothing = (*first[:along], 0, *first[along + 1 :])
        items = [x.reshape(nothing) if x._array.shape == (0,) else x for x in items]
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


@public(method=False, direct=True)
def stack(tensors: Sequence[Tensor], dim: Any = 0, *, axis: Any = None, out: Tensor | None = None) -> Tensor:
    """Join tensors of one shape along a new dim: two of (3,) become (2, 3) for dim 0, (3, 2) for dim 1."""
    dim = dim if axis is None else axis
    if out is not None:
        return store("stack", stack, (tensors, dim), {}, out, "joined")
    quick = _joined(rearranging.stack, tensors, dim, 1)
    if quick is not None:
        return quick
    try:
        items = tensor_list(tensors, "stack")
    except TypeError:
        if not seams.notice_foreign_objects((tensors,), {}):
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


@public(method=False, out="joined")
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors side by side: along dim 1, vectors along dim 0."""
    items = tensor_list(tensors, "hstack", lambda x: _with_dims(x, 1))
    return cat(items, 0 if items[0]._array.ndim == 1 else 1)


@public("row_stack", method=False, out="joined")
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors on top of each other; vectors are rows."""
    return cat(tensor_list(tensors, "vstack", lambda x: _with_dims(x, 2)), 0)


@public(method=False, out="joined")
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along a third dim."""
    return cat(tensor_list(tensors, "dstack", lambda x: _with_dims(x, 3)), 2)


@public(method=False, out="joined")
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors side by side; vectors are columns."""
    return cat(tensor_list(tensors, "column_stack", _column), 1)


def _column(x: Tensor) -> Tensor:
    return shapes.reshape(x, (x._array.size, 1)) if x._array.ndim <= 1 else x


@public(method=False, out="cast")
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


@public(method=False, direct=True, passed="")
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with these matrices on its diagonal; vectors are rows."""
    items = list(tensors)
    if not items:
        from .creation import empty

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


@public(method=False, direct=True, passed="..., indexing")
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
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    try:
        for x in tensors:
            if x._array.ndim > 1:
                raise RuntimeError(
                    f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x._array.ndim}D"
                )
            if x._array.dtype != tensors[0]._array.dtype:
                raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    except AttributeError as error:
        raise complaint_for(error) from None
    swap = indexing == "xy" and len(tensors) >= 2
    order = [1, 0, *range(2, len(tensors))] if swap else list(range(len(tensors)))
    sizes = tuple(tensors[i]._array.size for i in order)
    grids: list[Any] = [None] * len(tensors)
    for place, number in enumerate(order):
        column = shapes.reshape(tensors[number], (sizes[place], *(1,) * (len(order) - place - 1)))
        grids[number] = shapes.expand(column, sizes)
    return tuple(grids)

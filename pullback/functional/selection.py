"""Picking elements by index or mask: gather, index_select, take, take_along_dim, masked_select, unravel_index.

`x[...]` is in `indexing.py`; the functions that write elements back are in `scatter.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.basics.dtypes import int64
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..ops import scatter as ops
from ..ops import taking
from ..transforms.arrays.batched import all_values
from .index_parsing import largest_unsigned
from .indexing import getitem
from .operands import common_shape, number_tensor, wrap_dim
from .registry import public
from .shape import expand, ravel, reshape
from .ternary import where


def check_index(index: Any, function: str, kinds: tuple[Any, ...] = ("int64", "int32")) -> None:
    """An index must be a tensor of integers."""
    if not isinstance(index, Tensor):
        raise TypeError(f"{function}(): argument 'index' must be Tensor, not {type(index).__name__}")
    kind = index._array.dtype
    if not (kind.kind == "i" and kind.itemsize == 8) and kind.name not in kinds:  # a name takes a microsecond
        raise RuntimeError(
            f"{function}(): Expected dtype int64 for index, but got {index.dtype!r}. Convert it with index.long()."
            if kinds == ("int64",)
            else f"{function}(): Expected dtype int32/int64 for index, but got {index.dtype!r}. Use index.long()."
        )


def in_bounds(
    index: Tensor, size: int, dim: int, error: type[Any] = RuntimeError, negative: bool = False, words: str = ""
) -> None:
    """Every index must be a place in a dim of this size; `words` come first in the error where torch has others."""
    array = index._array
    if type(array) is not np.ndarray:
        array = all_values(array)
    if not array.size or not negative and array.dtype.char == "l" and largest_unsigned(array) < size:
        return
    low, high = int(array.min()), int(array.max())
    if high >= size or low < (-size if negative else 0):
        bad = high if high >= size else low
        raise error(f"{words}index {bad} is out of bounds for dimension {dim} with size {size}")


def slices_in_bounds(
    index: Tensor, shape: tuple[int, ...], axis: int, error: type[Any] = RuntimeError, negative: bool = False
) -> None:
    """Complain about an index outside an axis. Indices of slices without elements are not checked."""
    if 0 not in shape or 0 not in shape[:axis] + shape[axis + 1 :]:
        in_bounds(index, shape[axis] if shape else 1, axis, error, negative)


def check_elementwise(input: Tensor, index: Tensor, dim: int, function: str) -> int:
    """The checks of gather and scatter: dims match, and the index is no larger than the tensor except along `dim`."""
    shape, wanted = input._array.shape, index._array.shape
    axis = wrap_dim(dim, len(shape))
    if index._array.size == 0:
        return axis
    if (len(wanted) or 1) != (len(shape) or 1):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as input tensor"
            if function == "gather"
            else "Index tensor must have the same number of dimensions as self tensor"
        )
    for d, n in enumerate(wanted):
        if d != axis and n > shape[d]:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(wanted)} to be no larger than self "
                f"{list(shape)} apart from dimension {axis}"
            )
    in_bounds(index, shape[axis] if shape else 1, axis)
    return axis


@public(out="same")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """The elements at `index` along a dim, one for each index.

    The result has the shape of `index`; for a matrix and dim 1, `result[i][j] = input[i][index[i][j]]`. So
    `scores.gather(1, labels[:, None])` picks one score of each row.
    """
    if index._array.size:
        check_index(index, "gather")
    elif index._array.dtype.kind != "i":  # torch takes any dtype for no indices at all
        index = wrap(np.empty(index._array.shape, np.intp))
    axis = check_elementwise(input, index, dim, "gather")
    return apply(ops.gather, (input, index), {"axis": axis})


@public(out="same")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of a dim at `index`, a vector of integers, in its order and as often: `x[:, index]` for dim 1."""
    check_index(index, "index_select")
    if index._array.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    shape = input._array.shape
    axis = wrap_dim(dim, len(shape))
    if not shape and index._array.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index._array.size} value(s)")
    _check_selection(index, shape, axis)
    if not index._array.ndim:
        index = reshape(index, (1,))
    return apply(ops.index_select, (input, index), {"axis": axis})


def _check_selection(index: Tensor, shape: tuple[int, ...], axis: int) -> None:
    """Torch has three ways to say that there is no such slice."""
    size = shape[axis] if shape else 1
    if len(shape) > 1 and not size and index._array.size:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if len(shape) < 2 or axis == 0 and 0 not in shape:
        in_bounds(index, size, axis, IndexError, words="index out of range in self: ")
        return
    try:
        in_bounds(index, size, axis)
    except RuntimeError:
        places = all_values(index._array)
        outside = places[(places < 0) | (places >= size)].flat[0]
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={outside} axis_dim={size}") from None


@public(out="same")
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at `index` of the tensor as one long row."""
    check_index(index, "take", ("int64",))
    if input._array.size == 0 and index._array.size:
        raise IndexError("take(): tried to take from an empty tensor")
    size = input._array.size
    array = all_values(index._array)
    if array.size and (int(array.max()) >= size or int(array.min()) < -size):
        raise IndexError(f"out of range: tried to access index {int(array.max())} on a tensor of {size} elements.")
    return apply(taking.take, (input, index))


@public(out="same")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """The elements at `indices` along a dim; both tensors are broadcast along the other dims."""
    if indices._array.dtype != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.type_name}")
    if dim is None:
        return gather(ravel(input), 0, ravel(indices))
    if input._array.ndim != indices._array.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input._array.ndim} dimensions for input, and {indices._array.ndim} dimensions for indices"
        )
    axis = wrap_dim(dim, input._array.ndim)
    size, places = input._array.shape[axis] if input._array.ndim else 1, indices._array
    if type(places) is not np.ndarray or places.size and largest_unsigned(places) >= size:
        indices = wrap(np.where(places < 0, places + size, places))
    own, other = list(input._array.shape), list(indices._array.shape)
    own[axis : axis + 1] = other[axis : axis + 1] = [1] if own else []
    if own == other:
        return gather(input, axis, indices)
    common = common_shape(tuple(own), tuple(other))
    sizes = (input._array.shape[axis], indices._array.shape[axis])
    own_full, index_full = (tuple(n if d != axis else size for d, n in enumerate(common)) for size in sizes)
    return gather(expand(input, own_full), axis, expand(indices, index_full))


@public(out="same")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is true, in one dim."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {mask.dtype!r}")
    common_shape(input._array.shape, mask._array.shape)
    return apply(taking.masked_select, (input, mask))


@public(method=False, passed="indices, shape")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat indices as one tensor of indices for each dim of `shape`."""
    if indices._array.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype!r}")
    if isinstance(shape, Tensor) or not hasattr(shape, "__index__") and not isinstance(shape, Sequence):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    given = (shape,) if hasattr(shape, "__index__") else shape
    for n in given:
        if not hasattr(n, "__index__"):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    sizes = tuple(n.__index__() for n in given)
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    result = []
    indices = indices.to(int64)
    for axis, n in enumerate(sizes):
        step = math.prod(sizes[axis + 1 :])
        result.append(indices // step % n)
    return tuple(result)


@public(method=False)
def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: Any, fill: Any) -> Tensor:
    """`x[indices]` with `fill` where the mask is false; indices there may be out of bounds."""
    picked = getitem(input, _clamped(input, indices))
    return where(mask, picked, number_tensor(fill, input))


@public(method=False)
def _unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices: Any, values: Tensor) -> Tensor:
    """`values` added at `indices` where the mask is true; indices elsewhere may be out of bounds."""
    from .scatter import index_put

    return index_put(input, _clamped(input, indices), where(mask, values, number_tensor(0, values)), True)


def _clamped(input: Tensor, indices: Any) -> tuple:
    sizes = input._array.shape
    return tuple(
        slice(None) if index is None else wrap(np.clip(index._array, -sizes[d], sizes[d] - 1))
        for d, index in enumerate(indices)
    )

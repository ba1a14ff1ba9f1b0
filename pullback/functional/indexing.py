"""`x[...]` and `x[...] = y`: torch's indexing, read and write.

Integers, slices, Ellipsis and None make views; integer and boolean tensors (or arrays, or lists) pick elements.
Negative steps, which torch refuses, work here: the result is a copy-free view as in NumPy.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..autograd import views
from ..autograd.tape import apply, wrap
from ..ops import indexing as ops
from ..ops import shape as shapes
from ..tensor import Tensor

_FULL = slice(None)


def getitem(x: Tensor, index: Any) -> Tensor:
    """`x[index]`."""
    if type(index) is int:
        shape = x._array.shape
        if not shape:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number")
        if not -shape[0] <= index < shape[0]:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {shape[0]}")
        return apply(shapes.select, (x,), {"index": (index,)})
    basic, advanced = parse(index, x._array)
    if not advanced:
        return _view(x, basic)
    x = _view(x, basic) if any(part is None or part is not _FULL for part in basic) else x
    return apply(ops.pick, (x,), {"index": advanced})


def _view(x: Tensor, index: tuple) -> Tensor:
    if not index or all(part is _FULL for part in index):
        return apply(shapes.slice_, (x,), {"index": index})
    if all(part is None for part in index if part is not _FULL):
        result = x
        for position, part in enumerate(index):
            if part is None:
                result = apply(shapes.unsqueeze, (result,), {"axis": position})
        return result
    if any(type(part) is int for part in index):
        return apply(shapes.select, (x,), {"index": index})
    return apply(shapes.slice_, (x,), {"index": index})


def parse(index: Any, array: Any) -> tuple[tuple, tuple]:
    """Split an index into a view (ints, slices, None) and what picks elements from that view.

    The second is empty for a pure view; otherwise it has one entry for each dim of the view: slices and arrays.
    """
    items = index if isinstance(index, tuple) else (index,) if not _is_sequence(index) else _sequence(index)
    items = [_item(item) for item in items]
    used = sum(item.ndim if isinstance(item, np.ndarray) and item.dtype.kind == "b" else 1 for item in items if item is not None and item is not Ellipsis)
    ndim = array.ndim
    if used > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    position = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    items[position : position + 1] = [_FULL] * (ndim - used)
    has_arrays = any(isinstance(item, np.ndarray) for item in items)
    basic: list[Any] = []
    advanced: list[Any] = []
    dim = 0
    for item in items:
        if item is None:
            basic.append(None)
            advanced.append(_FULL)
        elif type(item) is int:
            _check_int(item, dim, array.shape[dim])
            basic.append(item)
            dim += 1
        elif isinstance(item, slice):
            basic.append(item)
            advanced.append(_FULL)
            dim += 1
        elif item.dtype.kind == "b":
            _check_mask(item, dim, array.shape)
            basic.extend([_FULL] * item.ndim)
            advanced.extend(item.nonzero() if item.ndim else _scalar_mask(item, basic))
            dim += item.ndim
        else:
            _check_bounds(item, dim, array.shape[dim])
            basic.append(_FULL)
            advanced.append(item)
            dim += 1
    while basic and basic[-1] is _FULL and not has_arrays:
        basic.pop()
    return tuple(basic), tuple(advanced) if has_arrays else ()


def _scalar_mask(mask: np.ndarray, basic: list) -> tuple:
    basic.append(None)
    return (np.zeros(int(mask), np.intp),)


def _is_sequence(index: Any) -> bool:
    return isinstance(index, list)


def _sequence(index: list) -> tuple:
    """A list is one index array, unless it holds slices or other non-numbers."""
    if any(isinstance(item, (slice, type(None), type(Ellipsis), list, tuple, Tensor, np.ndarray)) for item in index) and any(
        isinstance(item, (slice, type(None), type(Ellipsis))) for item in index
    ):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
            "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], "
            "which will result either in an error or a different result",
            UserWarning,
            stacklevel=5,
        )
        return tuple(index)
    return (index,)


def _item(item: Any) -> Any:
    """One entry of an index as None, Ellipsis, int, slice or array."""
    if item is None or item is Ellipsis or type(item) is int:
        return item
    if type(item) is slice:
        return _slice(item)
    if isinstance(item, bool):
        return np.array(item)
    if isinstance(item, Tensor):
        array = item._array
        if array.ndim == 0 and array.dtype.kind in "iu" and not isinstance(array, np.generic) or isinstance(array, np.generic) and array.dtype.kind in "iu":
            return int(array)
        return _index_array(np.asarray(array))
    if isinstance(item, (np.ndarray, list, tuple, range)):
        array = np.asarray(item)
        if array.size == 0 and not isinstance(item, np.ndarray):
            array = array.astype(np.intp)
        return _index_array(array)
    if isinstance(item, np.generic):
        return _item(item.item())
    if hasattr(item, "__index__"):
        return item.__index__()
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    raise TypeError(
        f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(item).__name__})"
    )


def _index_array(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "b":
        return array
    if array.dtype == np.uint8:
        warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", UserWarning, stacklevel=6)
        return array.astype(bool)
    if array.dtype.kind in "iu":
        return array.astype(np.intp, copy=False)
    if array.dtype.kind in "US":
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


def _slice(item: slice) -> slice:
    parts = []
    for bound in (item.start, item.stop, item.step):
        if bound is not None and type(bound) is not int:
            if isinstance(bound, Tensor) and (bound._array.ndim or bound._array.dtype.kind not in "iu") and bound._array.size != 1:
                raise TypeError("only integer tensors of a single element can be converted to an index")
            bound = bound.__index__()
        parts.append(bound)
    if parts[2] == 0:
        raise ValueError("step must be greater than zero")
    return _FULL if parts == [None, None, None] else slice(*parts)


def _check_int(index: int, dim: int, size: int) -> None:
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


def _check_bounds(index: np.ndarray, dim: int, size: int) -> None:
    if index.size:
        low, high = int(index.min()), int(index.max())
        if high >= size or low < -size:
            bad = high if high >= size else low
            raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def _check_mask(mask: np.ndarray, dim: int, shape: tuple) -> None:
    for offset, size in enumerate(mask.shape):
        if size != shape[dim + offset]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {offset} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {dim + offset}"
            )


# --- writing ---


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    from .copying import copy_

    basic, advanced = parse(index, x._array)
    target = x if not basic else _view(x, basic)
    if not isinstance(value, Tensor):
        value = _value(value, x)
    if not advanced:
        if target is x:
            target = _view(x, ())
        copy_(target, _drop_leading(value, target._array.shape))
        return
    if value._array.dtype != x._array.dtype:
        value = value.to(x.dtype)
    _check_fits(value, target, advanced)
    views.in_place(target, _put, value, advanced)


def _put(x: Tensor, value: Tensor, index: tuple) -> Tensor:
    return apply(ops.put, (x, value), {"index": index, "accumulate": False})


def _value(value: Any, x: Tensor) -> Tensor:
    if isinstance(value, (bool, int, float)) and x._array.dtype.kind != "c" or isinstance(value, complex):
        return wrap(np.asarray(value).astype(x._array.dtype))
    from .operands import as_operand

    converted = as_operand(value)
    if converted is None:
        raise TypeError(f"can't assign a {type(value).__name__} to a torch.{x.dtype.type_name}Tensor")
    return converted if isinstance(converted, Tensor) else wrap(np.asarray(converted).astype(x._array.dtype))


def _drop_leading(value: Tensor, shape: tuple) -> Tensor:
    """Torch lets a value have extra leading dims of size 1."""
    have = value._array.shape
    extra = len(have) - len(shape)
    if extra > 0 and all(n == 1 for n in have[:extra]):
        from .shape import reshape

        return reshape(value, have[extra:])
    return value


def _check_fits(value: Tensor, target: Tensor, index: tuple) -> None:
    result = np.broadcast_to(np.int8(0), target._array.shape)[index].shape
    try:
        fits = np.broadcast_shapes(value._array.shape, result) == result
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value._array.shape)} cannot be broadcast to indexing result of shape {list(result)}"
        )

"""Parse what stands between the brackets of `x[...]`: from anything Python allows to a view and index arrays.

An index becomes (basic, advanced): integers, slices and None that make a view, then one entry for each dim of that view
that picks elements from it. Torch and NumPy agree on such indices; they differ on integers mixed with arrays, which
is why the integers go first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.basics.notices import warn_user
from ..core.tensor import Tensor
from ..kernels.thresholds import LOOKED_AT_EXPANDED

ndarray = np.ndarray
FULL = slice(None)
_BOUNDS = (int, type(None))
_NOT_NUMBERS = (slice, list, tuple, Tensor, np.ndarray)


def out_of_bounds(index: int, shape: tuple[Any, ...], dim: int = 0) -> IndexError:
    """Torch's complaint about an integer that is no place in a dim."""
    if not shape:
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    return IndexError(f"index {index} is out of bounds for dimension {dim} with size {shape[dim]}")


def parse_basic(index: tuple[Any, ...], shape: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """An index of integers, plain slices, None and Ellipsis, without the Ellipsis. None if there is anything else."""
    parts: list[Any] = []
    ndim = len(shape)
    dim = 0
    ellipsis = False
    for part in index:
        kind = type(part)
        if kind is int:
            if dim >= ndim or not -shape[dim] <= part < shape[dim]:
                return None  # `parse` says what is wrong
            parts.append(part)
            dim += 1
        elif kind is slice:
            start, stop, step = part.start, part.stop, part.step
            if dim >= ndim:
                return None
            if not start is stop is step is None:
                if type(start) not in _BOUNDS or type(stop) not in _BOUNDS or type(step) not in _BOUNDS or step == 0:
                    return None
                if start or stop is not None and stop < shape[dim] or step is not None and step != 1:
                    parts.append(part)
                    dim += 1
                    continue
            parts.append(FULL)
            dim += 1
        elif part is None:
            parts.append(None)
        elif part is Ellipsis and not ellipsis:
            ellipsis = True
            skipped = ndim + 1 - sum([other is not None for other in index])  # dims that no other part is about
            if skipped < 0:
                return None
            parts += [FULL] * skipped
            dim += skipped
        else:
            return None
    while parts and parts[-1] is FULL:
        parts.pop()
    return tuple(parts)


def parse_arrays(index: Any, array: Any) -> tuple[Any, ...] | None:
    """An index of nothing but integer tensors of one shape, or one mask, as arrays. None if there is anything else.

    Bounds are not looked at: NumPy refuses what is out of them, and `check_arrays` then says it in torch's words.
    """
    if type(array) is not ndarray:
        return None
    if isinstance(index, Tensor):
        places = index._array
        if type(places) is not ndarray or not places.ndim:
            return None
        kind = places.dtype.char
        if kind == "l" and array.ndim or kind == "?" and array.shape[: places.ndim] == places.shape:
            return (places,)
        return None
    if type(index) is not tuple or not 0 < len(index) <= array.ndim:
        return None
    shape = None
    for part in index:
        if not isinstance(part, Tensor) or type(part._array) is not ndarray or part._array.dtype.char != "l":
            return None
        if not part._array.ndim or shape is not None and part._array.shape != shape:
            return None
        shape = part._array.shape
    return tuple([part._array for part in index])


class Index(tuple):
    """An index of arrays as a node keeps it, with the tensors whose memory it looks at: writes to them are noticed."""

    tensors: tuple[Tensor, ...] = ()


def kept(arrays: tuple[Any, ...], given: Any) -> Index:
    """The arrays of an index for a node. Masks, which torch turns into places at once, and NumPy's arrays are copied."""
    if isinstance(given, Tensor) and given._array.dtype.char == "l":
        index = Index(arrays)
        index.tensors = (given,)
        return index
    parts = given if type(given) in (tuple, list) else (given,)
    tensors = tuple([part for part in parts if isinstance(part, Tensor) and part._array.dtype.char == "l"])
    watched = {id(tensor._array) for tensor in tensors}
    others = {id(getattr(part, "_array", part)) for part in parts} - watched
    index = Index([part.copy() if id(part) in others and type(part) is ndarray else part for part in arrays])
    index.tensors = tensors
    return index


def check_arrays(arrays: tuple[Any, ...], shape: tuple[Any, ...]) -> None:
    """IndexError if one of the integers of `parse_arrays` is out of bounds."""
    for dim, places in enumerate(arrays):
        if places.dtype.char == "l":
            check_bounds(places, dim, shape[dim])


def parse(index: Any, array: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Split an index into a view (ints, slices, None) and what picks elements from that view.

    The second is empty for a pure view; otherwise its entries are slices and arrays, one for each dim of the view (a
    single mask stands for as many dims as it has).
    """
    given = index if isinstance(index, tuple) else _sequence(index) if isinstance(index, (list, str)) else (index,)
    items = _for_all_dims([_item(item) for item in given], array.ndim)
    arrays = [item for item in items if isinstance(item, np.ndarray)]
    single_mask = len(arrays) == 1 and arrays[0].dtype.kind == "b" and arrays[0].ndim > 0
    basic: list[Any] = []
    advanced: list[Any] = []
    dim = 0
    for item in items:
        if item is None:
            basic.append(None)
            advanced.append(FULL)
            continue
        if type(item) is int:
            if not -array.shape[dim] <= item < array.shape[dim]:
                raise out_of_bounds(item, array.shape, dim)
            basic.append(item)
        elif isinstance(item, slice):
            basic.append(item)
            advanced.append(FULL)
        elif item.dtype.kind == "b":
            _check_mask(item, dim, array.shape)
            if item.ndim:
                basic.extend([FULL] * item.ndim)
                advanced.extend((item,) if single_mask else item.nonzero())
            else:  # x[True]: a new dim of size 1 or 0
                basic.append(None)
                advanced.append(np.zeros(int(item), np.intp))
        else:
            check_bounds(item, dim, array.shape[dim])
            basic.append(FULL)
            advanced.append(item)
        dim += _dims_used(item)
    if arrays:
        _check_broadcast(advanced)
        return tuple(basic), tuple(advanced)
    while basic and basic[-1] is FULL:
        basic.pop()
    return tuple(basic), ()


def _for_all_dims(items: list, ndim: int) -> list:
    """The items with whole slices for the dims that none of them is about, and without an Ellipsis."""
    used = sum(_dims_used(item) for item in items)
    if used > ndim:
        if ndim == 0 and len(items) == 1 and type(items[0]) is int:
            raise out_of_bounds(items[0], ())
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    position = next((position for position, item in enumerate(items) if item is Ellipsis), len(items))
    items[position : position + 1] = [FULL] * (ndim - used)
    return [item for item in items if item is not Ellipsis]  # the first one has taken all the dims there are


def _dims_used(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype.kind == "b" else 1


def _sequence(index: list | str) -> tuple:
    """A list is one index array, unless it holds anything but numbers: then it stands for a tuple.

    So it was in early NumPy, for lists shorter than the number of dims an array could have, and torch has kept to it.
    """
    if (
        isinstance(index, str)
        or len(index) < 32
        and any(isinstance(item, _NOT_NUMBERS) or item is None or item is Ellipsis for item in index)
    ):
        warn_user(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch "
            "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
            "x[torch.tensor(seq)], which will result either in an error or a different result",
        )
        if isinstance(index, str):
            raise TypeError("new(): invalid data type 'str'")
        return tuple(index)
    return (index,)


def _item(item: Any) -> Any:
    """One entry of an index as None, Ellipsis, int, slice or array."""
    if item is None or item is Ellipsis or type(item) is int:
        return item
    if type(item) is slice:
        return _slice(item)
    if isinstance(item, (bool, np.bool_)):
        return np.array(item)
    if isinstance(item, Tensor):
        array = item._array
        if array.ndim == 0 and array.dtype.kind in "iu" and array.dtype != np.uint8:
            return int(array)
        return _index_array(np.asarray(array))
    if isinstance(item, (np.ndarray, list, tuple, range)):
        if isinstance(item, (list, tuple)) and any(isinstance(part, Tensor) for part in item):
            item = [part._array if isinstance(part, Tensor) else part for part in item]
        array = np.asarray(item)
        if array.size == 0 and not isinstance(item, np.ndarray):
            array = array.astype(np.intp)
        return _index_array(array)
    if isinstance(item, np.generic):
        return _item(item.item())
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{type(item).__name__})"
    )


def _index_array(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "b":
        return array
    if array.dtype == np.uint8:
        warn_user("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
        return array.astype(bool)
    if array.dtype.kind in "iu":
        return array.astype(np.intp, copy=False)
    if array.dtype.kind in "USO":
        raise TypeError(f"new(): invalid data type {array.dtype.name!r}")
    raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


def _slice(item: slice) -> slice:
    parts = []
    for bound in (item.start, item.stop, item.step):
        if bound is not None and type(bound) is not int:
            if not hasattr(bound, "__index__"):
                raise TypeError(
                    f"slice indices must be integers or None or have an __index__ method, not {type(bound).__name__}"
                )
            bound = bound.__index__()
        parts.append(bound)
    if parts[2] == 0:
        raise ValueError("slice step cannot be zero")
    return FULL if parts[:2] == [None, None] and parts[2] in (None, 1) else slice(*parts)


def largest_unsigned(index: np.ndarray) -> int:
    """The largest of some integers of 64 bits. Negative ones are huge without their sign: one look is enough for both bounds."""
    numbers = index.view(np.uintp)
    if numbers.size > LOOKED_AT_EXPANDED and 0 in numbers.strides:  # expanded: one of each is enough
        numbers = numbers[tuple([slice(None if step else 1) for step in numbers.strides])]
    return numbers.item(numbers.argmax())  # of few numbers, in a third of the time of `max`


def check_bounds(index: np.ndarray, dim: int, size: int) -> None:
    """Every index must be a place in a dim of this size, counted from either end."""
    if index.size and largest_unsigned(index) >= size:
        if size == 0:
            raise IndexError(f"index is out of bounds for dimension with size 0: dimension {dim} has no elements")
        low, high = int(index.min()), int(index.max())
        if high >= size or low < -size:
            bad = high if high >= size else low
            raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def _check_mask(mask: np.ndarray, dim: int, shape: tuple) -> None:
    for offset, size in enumerate(mask.shape):
        if size != shape[dim + offset]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {offset} does not match the shape of the indexed "
                f"tensor {list(shape)} at index {dim + offset}"
            )


def _check_broadcast(advanced: list) -> None:
    shapes = [part.shape for part in advanced if isinstance(part, np.ndarray) and part.dtype.kind != "b"]
    if len(shapes) > 1:
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            raise IndexError(
                "shape mismatch: indexing tensors could not be broadcast together with shapes "
                + ", ".join(str(list(shape)) for shape in shapes)
            ) from None

"""Views with any shape and strides over an array's memory, never outside it; and the transpose of making one.

A geometry is (shape, strides, offset), counted in elements from the start of the memory an array looks at. NumPy's own
`as_strided` trusts its caller; here the buffer protocol checks every view against the memory's true size.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.op import Op, linear
from .layouts import RESTRIDED, STRIDED, WRITTEN

if TYPE_CHECKING:
    from ..core.basics.types import Number, Shape
    from ..core.basics.types import NumPyArray as Array

Geometry = tuple[tuple[int, ...], tuple[int, ...], int]  # (shape, strides, offset)


def in_order(x: Array) -> Array:
    """An array with its elements in memory in the order of its axes: torch leaves the results of most operations so.

    NumPy follows the order of the operands instead, and a `view` of such a result would be refused.
    """
    return x if x.ndim < 2 or x.flags.c_contiguous else x.copy()


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory another looks at."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def address(array: np.ndarray) -> int:
    """Where in memory the first element lies."""
    return array.__array_interface__["data"][0]


def geometry_of(array: np.ndarray) -> Geometry:
    """Where the elements of an array lie in the memory of its owner."""
    size = array.itemsize
    offset = (address(array) - address(owner_of(array))) // size
    return array.shape, tuple(step // size for step in array.strides), offset


def same_places(one: Geometry, other: Geometry) -> bool:
    """True if two geometries lead to the same places: the stride of an axis with one element means nothing."""
    (shape, strides, offset), (other_shape, other_strides, other_offset) = one, other
    return (
        shape == other_shape
        and offset == other_offset
        and all(n == 1 or a == b for n, a, b in zip(shape, strides, other_strides, strict=True))
    )


def plain_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of memory in the order of its axes. NumPy leaves those of axes of size 0 and 1 open."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def contiguous_geometry(shape: Shape) -> Geometry:
    """The geometry of a tensor of this shape with memory of its own."""
    return shape, tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape))), 0


def extent_of(array: np.ndarray) -> int:
    """How many bytes the memory of an array's owner has."""
    owner = owner_of(array)
    if not owner.size:
        return 0
    return sum((n - 1) * abs(step) for n, step in zip(owner.shape, owner.strides, strict=True)) + owner.itemsize


def view_at(array: np.ndarray, shape: Shape, strides: Shape, start: int = 0) -> np.ndarray:
    """A view with the given shape and strides (in bytes) that begins `start` bytes into `array`.

    ValueError if it would reach outside the memory of the array's owner.
    """
    kind = array.dtype
    if start >= 0 and array.flags.c_contiguous and kind.kind != "V":
        try:
            return np.ndarray(shape, kind, array, start, strides)
        except ValueError:
            if array.base is None:
                raise  # else it may still be within the memory of the owner
    owner = owner_of(array)
    start += address(array) - address(owner)
    plain = _as_buffer(owner)
    if plain is None:
        return _unowned(array, owner, shape, strides, start)
    if start < 0:
        raise ValueError("the view would begin before the memory of the tensor")
    if kind.kind == "V":  # NumPy cannot export bfloat16 as a buffer
        number = np.dtype(f"u{kind.itemsize}")
        return np.ndarray(shape, number, plain.view(number), start, strides).view(kind)
    return np.ndarray(shape, kind, plain, start, strides)


def copied_memory(array: np.ndarray, memo: dict[Any, Any]) -> np.ndarray:
    """A copy for `deepcopy`: arrays that look at the same memory look at the same copy of it."""
    if not isinstance(array, np.ndarray):
        return np.array(array, order="K")
    owner = owner_of(array)
    if type(owner) is not np.ndarray:  # a file in memory, of which only this part is wanted
        return np.array(array, order="K", subok=False)
    copied = copied_owner(owner, memo)
    if array is owner:
        return copied
    if copied.strides != owner.strides:  # memory from elsewhere with gaps, which a copy has not
        return np.array(array, order="K")
    kind, plain = array.dtype, copied.ravel(order="K").view(np.uint8)
    number = np.dtype(f"u{kind.itemsize}") if kind.kind == "V" else kind  # NumPy cannot export bfloat16 as a buffer
    return np.ndarray(array.shape, number, plain, address(array) - address(owner), array.strides).view(kind)


def copied_owner(owner: np.ndarray, memo: dict[Any, Any]) -> np.ndarray:
    """The copy of an array that owns memory, made once for each `memo`."""
    copies = memo.setdefault("memory", {})  # the other keys are numbers
    if id(owner) not in copies:
        copies[id(owner)] = owner, np.array(owner, order="K")  # the owner stays alive, and its number its own
    return copies[id(owner)][1]


def _as_buffer(owner: np.ndarray) -> np.ndarray | None:
    """The owner's memory in order, or None if it has gaps."""
    if owner.flags.c_contiguous:
        return owner
    order = sorted(range(owner.ndim), key=lambda axis: -owner.strides[axis])
    sorted_owner = owner.transpose(order)
    return sorted_owner if sorted_owner.flags.c_contiguous else None


def _unowned(array: np.ndarray, owner: np.ndarray, shape: Shape, strides: Shape, start: int) -> np.ndarray:
    """A view of memory that came from elsewhere with gaps: only between its own first and last element."""
    low, high = _extent(owner.shape, owner.strides)
    first, last = _extent(shape, strides)
    if math.prod(shape) and (start + first < low or start + last > high):
        raise ValueError("the view would reach outside the memory of the tensor")
    moved = np.lib.stride_tricks.as_strided(owner, (), ()) if start == 0 else _shifted(owner, start)
    return np.lib.stride_tricks.as_strided(moved.view(array.dtype), shape, strides)


def _shifted(owner: np.ndarray, start: int) -> np.ndarray:
    step = owner.itemsize if start > 0 else -owner.itemsize
    count = abs(start) // owner.itemsize
    return np.lib.stride_tricks.as_strided(owner, (count + 1,), (step,))[count, ...]


def _extent(shape: Shape, strides: Shape) -> tuple[int, int]:
    low = sum(min(0, (n - 1) * step) for n, step in zip(shape, strides, strict=True))
    high = sum(max(0, (n - 1) * step) for n, step in zip(shape, strides, strict=True))
    return low, high


# --- as_strided ------------------------------------------------------------------------------------------------------


def positions(geometry: Geometry) -> np.ndarray:
    """The place in memory of every element of a geometry."""
    shape, strides, offset = geometry
    result = np.array(offset, np.intp)
    for axis, (n, step) in enumerate(zip(shape, strides, strict=True)):
        result = result + (np.arange(n, dtype=np.intp) * step).reshape((-1,) + (1,) * (len(shape) - axis - 1))
    return np.broadcast_to(result, shape)


def _as_strided(x: Array, size: Shape, stride: Shape, offset: int, geometry: Geometry, source: Array) -> Array:
    """The view, if `x` is the very array it was asked of; of other values the same elements, as a copy."""
    if x is source:
        return over_memory(x, size, stride, offset)
    own, target = positions(geometry), positions((size, stride, offset))
    memory = np.zeros(_places(own, target), x.dtype)
    memory[own] = x
    return memory[target]


def _places(*lists: np.ndarray) -> int:
    return max((int(places.max()) for places in lists if places.size), default=-1) + 1


def over_memory(x: np.ndarray, size: Shape, stride: Shape, offset: int) -> np.ndarray:
    """The view of `x`'s memory with sizes, strides and offset in elements."""
    bytes_each = x.itemsize
    begin = address(owner_of(x)) - address(x) + offset * bytes_each
    if math.prod(size) == 0:
        return x.reshape(-1)[:0].reshape(size)
    return view_at(x, size, tuple(step * bytes_each for step in stride), begin)


def _restride(x: Array, source: Geometry, target: Geometry, shared: Geometry) -> Array:
    """Lay `x` out in memory by one geometry, adding where elements meet, and read it by another.

    `shared` is the geometry of the tensor that was looked at: where several of its elements are one place in memory,
    each has an equal share in it.
    """
    out_of, into, weights = positions(source), positions(target), positions(shared)
    places = _places(out_of, into, weights)
    memory = np.zeros(places, x.dtype)
    np.add.at(memory, out_of.reshape(-1), np.asarray(x).reshape(-1))
    share = np.bincount(weights.reshape(-1), minlength=places) if weights.size else np.ones(places, np.intp)
    if places and share.max() > 1:
        memory /= np.maximum(share, 1).astype(memory.real.dtype)
    return memory[into]


restride: Op = linear(
    "AsStridedBackward0",
    _restride,
    x=lambda g, source, target, shared: restride(g, source=target, target=source, shared=shared),
    batch=RESTRIDED,
)
as_strided: Op = linear(
    "AsStridedBackward0",
    _as_strided,
    view=True,
    x=lambda g, size, stride, offset, geometry: restride(
        g, source=(size, stride, offset), target=geometry, shared=geometry
    ),
    batch=STRIDED,
    # a view of a view looks at the same memory: the step from the base does not pass through the views in between
    step_from_base=lambda params, base: {**params, "geometry": geometry_of(base), "source": base},
)


def _replace_strided(
    x: Array, source: Array | Number, size: Shape, stride: Shape, offset: int, geometry: Geometry
) -> Array:
    own, target = positions(geometry), positions((size, stride, offset))
    memory = np.zeros(_places(own, target), x.dtype)
    memory[own] = x
    memory[target] = source
    return memory[own]


clear_strided: Op = linear(
    "AsStridedScatterBackward0",
    lambda x, size, stride, offset, geometry: _replace_strided(x, 0, size, stride, offset, geometry),
    x=lambda g, size, stride, offset, geometry: clear_strided(
        g, size=size, stride=stride, offset=offset, geometry=geometry
    ),
    batch=WRITTEN,
)
replace_strided: Op = linear(
    "AsStridedScatterBackward0",
    _replace_strided,
    x=lambda g, size, stride, offset, geometry: clear_strided(
        g, size=size, stride=stride, offset=offset, geometry=geometry
    ),
    source=lambda g, size, stride, offset, geometry: restride(
        g, source=geometry, target=(size, stride, offset), shared=geometry
    ),
    batch=WRITTEN,
)

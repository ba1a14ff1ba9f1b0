"""The standard's functions of shapes. They go through the library's own, so that views know whose memory they see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ._array import Array, as_arrays, dispatched, run, same_dtype

Axes = int | tuple[int, ...] | None


def broadcast_arrays(*arrays: Tensor) -> tuple[Array, ...]:
    """The arrays, broadcast to a common shape."""
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return tuple(broadcast_to(x, shape) for x in arrays)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to."""
    return np.broadcast_shapes(*shapes)


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Array:
    """The array, broadcast to a shape."""
    return dispatched(np.broadcast_to, x, shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Array:
    """The arrays one after another along a dim (flattened first if there is none)."""
    return run(np.concat, same_dtype(*arrays), axis=axis)


def expand_dims(x: Tensor, /, axis: int | tuple[int, ...] = 0) -> Array:
    """A dim of size one inserted."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    ndim = x.ndim + len(axes)
    if any(not -ndim <= each < ndim for each in axes):
        raise IndexError(f"expand_dims: axis {axis} is out of bounds for a result with {ndim} dims")
    return dispatched(np.expand_dims, x, axes)


def flip(x: Tensor, /, *, axis: Axes = None) -> Array:
    """The elements in reverse order."""
    return run(np.flip, x, axis=axis)


def moveaxis(x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Array:
    """Dims moved to other positions."""
    return dispatched(np.moveaxis, x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Array:
    """The dims in another order."""
    return dispatched(np.permute_dims, x, axes)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Array:
    """Each element several times."""
    times = repeats.detach()._array.astype(np.int64) if isinstance(repeats, Tensor) else repeats
    return run(np.repeat, x, times, axis=axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """The elements in another shape: a view if possible, or as `copy` says."""
    if copy is False and not np.shares_memory(np.reshape(x._array, shape), x._array) and x.size:
        raise ValueError(f"reshape(copy=False): an array of shape {tuple(x.shape)} has no view of shape {shape}")
    result = dispatched(np.reshape, x, shape)
    return as_arrays(result.clone()) if copy else result


def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: Axes = None) -> Array:
    """The elements moved along dims, those that leave coming in at the other end."""
    return run(np.roll, x, shift, axis=axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Array:
    """Dims of size one removed."""
    for each in axis if isinstance(axis, tuple) else (axis,):
        if x.shape[each] != 1:
            raise ValueError(f"squeeze: dim {each} has size {x.shape[each]}, only dims of size 1 can be removed")
    return dispatched(np.squeeze, x, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Array:
    """The arrays side by side along a new dim."""
    return run(np.stack, same_dtype(*arrays), axis=axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Array:
    """The array several times along each dim."""
    return run(np.tile, x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices along a dim."""
    return dispatched(np.unstack, x, axis=axis)

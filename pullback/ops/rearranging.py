"""Operations that copy elements into another arrangement: joining, flipping, rolling, repeating, padding, triangles.

All linear. Views are in `shape.py`; picking elements by index arrays in `indexing.py` and `scatter.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.kernel import kernel
from ..core.op import Op, linear, op
from ..kernels.like import copy, full, zeros
from ..kernels.order import has_channels_last, in_dims, keeping_channels, like, with_channels_last
from ..kernels.rectifier import BITS
from ..kernels.thresholds import MASKED_TRIANGLE, REMEMBERED_TRIANGLE
from .layouts import ALL_ALONG, BLOCKS, LAST_AXES, OF_SHAPE, PADDED, REPEATED, along
from .reductions import sum_axes
from .samples import Draw, Sample, arrays
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import Axes, Shape
    from ..core.basics.types import NumPyArray as Array

# --- joining ---


def _concatenate(*arrays: Array, axis: int) -> Array:
    out = np.concatenate(arrays, axis)
    if out.ndim == 4 and all(map(has_channels_last, arrays)):
        return with_channels_last(out)
    return in_order(out)


def _cut(g: Array, needs: tuple[bool, ...], shapes: tuple[Shape, ...], axis: int) -> list[Any]:
    lead = (slice(None),) * axis
    pieces, start = [], 0
    for needed, shape in zip(needs, shapes, strict=True):
        stop = start + shape[axis]
        pieces.append(g[(*lead, slice(start, stop))] if needed else None)
        start = stop
    return pieces


def _fast_stack(*arrays: Array, axis: int) -> Array:
    first = arrays[0]
    if axis < 2 and first.ndim == 4 and not first.flags.c_contiguous and all(map(has_channels_last, arrays)):
        return in_dims(np.stack(arrays, axis), (0, 3, 4, 1, 2) if axis else (0, 1, 3, 4, 2))
    if not axis:
        return np.array(arrays, first.dtype)
    out = np.empty((*first.shape[:axis], len(arrays), *first.shape[axis:]), first.dtype)
    lead: tuple[Any, ...] = (slice(None),) * axis
    if len(arrays) <= 8:
        for number, array in enumerate(arrays):
            out[(*lead, number)] = array
        return out
    return np.stack(arrays, axis, out=out)


concatenate: Op = linear("CatBackward0", _concatenate, variadic=True, joint=_cut, inputs=(), batch=ALL_ALONG)
stack: Op = linear(
    "StackBackward0",
    lambda *arrays, axis: np.stack(arrays, axis),
    variadic=True,
    inputs=(),
    joint=lambda g, needs, axis: [g[(*(slice(None),) * axis, i)] if needed else None for i, needed in enumerate(needs)],
    kernel=kernel(_fast_stack),
    batch=ALL_ALONG,
    samples=lambda draw: [
        (tuple([draw(*shape) for _ in range(count)]), {"axis": axis})
        for shape, count in (((), 2), ((3,), 1), ((2, 3), 3), ((0, 2), 2), ((2, 3, 2, 2), 2), ((300, 40), 9))
        for axis in range(len(shape) + 1)
    ],
)


def _corners(shapes: tuple[Shape, ...]) -> list[Any]:
    """Where each block of a block-diagonal matrix lies."""
    row = column = 0
    places = []
    for rows, columns in shapes:
        places.append((slice(row, row + rows), slice(column, column + columns)))
        row, column = row + rows, column + columns
    return places


def _block_diagonal(*arrays: Array) -> Array:
    shapes = tuple(array.shape for array in arrays)
    out = zeros((sum(rows for rows, _ in shapes), sum(columns for _, columns in shapes)), arrays[0])
    for array, place in zip(arrays, _corners(shapes), strict=True):
        out[place] = array
    return out


block_diagonal: Op = linear(
    "BlockDiagBackward0",
    _block_diagonal,
    variadic=True,
    inputs=(),
    joint=lambda g, needs, shapes: [
        g[place] if needed else None for needed, place in zip(needs, _corners(shapes), strict=True)
    ],
    batch=BLOCKS,
    samples=arrays((2, 3), (1, 2)),
)

# --- another order ---

_FULL, _BACKWARDS = slice(None), slice(None, None, -1)


def _flip(x: Array, axes: Axes) -> Array:
    turned = x[tuple([_BACKWARDS if axis in axes else _FULL for axis in range(x.ndim)])].copy()
    return like(turned, x) if type(x) is np.ndarray else turned


def _roll(x: Array, shifts: Shape, axes: Axes) -> Array:
    x = in_order(x)
    if len(axes) > 1 or not x.size:
        return np.roll(x, shifts, axes)
    lead = (_FULL,) * axes[0]
    cut = -shifts[0] % x.shape[axes[0]]
    return np.concatenate((x[(*lead, slice(cut, None))], x[(*lead, slice(0, cut))]), axes[0])


def _rotate(x: Array, k: int, axes: Axes) -> Array:
    if not k % 2:
        return _flip(x, axes) if k % 4 else copy(x, "C")
    return np.swapaxes(_flip(x, (axes[k % 4 == 1],)), *axes)


flip: Op = linear("FlipBackward0", _flip, x=lambda g, axes: flip(g, axes=axes), batch=along("axes"))
roll: Op = linear(
    "RollBackward0",
    keeping_channels(_roll, 4, 5),
    x=lambda g, shifts, axes: roll(g, shifts=tuple(-s for s in shifts), axes=axes),
    batch=along("axes"),
)
rotate: Op = linear(
    "Rot90Backward0",
    _rotate,
    x=lambda g, k, axes: rotate(g, k=-k, axes=axes),
    batch=along("axes"),
    samples=arrays((2, 3), k=1, axes=(0, 1)),
)

# --- parts set to zero, parts added ---


def _fast_triangle(x: Array, diagonal: int, lower: bool) -> Array:
    """Elements of a triangle of matrices, zeros elsewhere."""
    x = in_order(x)
    rows, columns = x.shape[-2:]
    diagonal = min(max(diagonal, -rows - 1), columns + 1)  # beyond, nothing changes any more
    if rows * columns > MASKED_TRIANGLE:
        return np.tril(x, diagonal) if lower else np.triu(x, diagonal)
    kind = BITS.get(x.dtype)
    # For few elements making the mask takes longer than using it.
    mask = (_mask if rows * columns <= REMEMBERED_TRIANGLE else _mask.__wrapped__)(rows, columns, diagonal, lower, kind)
    if kind is None:
        return np.where(mask, x, np.zeros((), x.dtype))
    return np.bitwise_and(x.view(kind), mask).view(x.dtype)


@functools.lru_cache(maxsize=64)
def _mask(rows: int, columns: int, diagonal: int, lower: bool, kind: np.dtype) -> Array:
    """Where a matrix has its triangle: all bits of numbers of a kind, which is faster than a choice, or truth values."""
    inside = np.tri(rows, columns, diagonal if lower else diagonal - 1, dtype=bool)
    inside = inside if lower else ~inside
    return inside if kind is None else np.negative(inside.astype(kind))


def _matrices(draw: Draw) -> Iterator[Sample]:
    for shape in ((3, 4), (2, 4, 3), (0, 3), (2, 2, 2, 2), (100, 90), (600, 600)):
        for diagonal in (0, -1, 2) if len(shape) < 4 else (-9, 9):
            yield (draw(*shape),), {"diagonal": diagonal}


tril: Op = linear(
    "TrilBackward0",
    lambda x, diagonal: np.tril(x, diagonal),
    x=lambda g, diagonal: tril(g, diagonal=diagonal),
    kernel=kernel(lambda x, diagonal: _fast_triangle(x, diagonal, True)),
    batch=LAST_AXES,
    samples=_matrices,
)
triu: Op = linear(
    "TriuBackward0",
    lambda x, diagonal: np.triu(x, diagonal),
    x=lambda g, diagonal: triu(g, diagonal=diagonal),
    kernel=kernel(lambda x, diagonal: _fast_triangle(x, diagonal, False)),
    batch=LAST_AXES,
    samples=_matrices,
)


def _pad(x: Array, before: Shape, after: Shape, value: Array) -> Array:
    """Negative amounts cut off instead."""
    if x.ndim > 1 and max(before + after, default=0) <= 0:
        return copy(x[tuple([slice(-b, n + a) for n, b, a in zip(x.shape, before, after, strict=True)])])
    sizes = list(zip(x.shape, before, after, strict=True))
    shape = tuple([n + b + a for n, b, a in sizes])
    out = full(shape, value, x) if value else zeros(shape, x)
    if min(before + after, default=0) < 0:
        x = x[tuple([slice(-b if b < 0 else 0, n + a if a < 0 else n) for n, b, a in sizes])]
        sizes = [(n, b if b > 0 else 0, 0) for n, (_, b, _) in zip(x.shape, sizes, strict=True)]
    out[tuple([slice(b, b + n) for n, b, _ in sizes])] = x
    return out


def _pad_transpose(g: Array, before: Shape, after: Shape) -> Array:
    return pad(g, before=tuple(-b for b in before), after=tuple(-a for a in after), value=0)


_pad = keeping_channels(_pad, 4, 5)
pad: Op = linear(
    "ConstantPadNdBackward0",
    _pad,
    x=_pad_transpose,
    batch=PADDED,
    samples=arrays((2, 3), before=(1, 0), after=(0, 2), value=0),
)
pad_with: Op = op(
    "ConstantPadNdBackward0",
    _pad,
    x=_pad_transpose,
    batch=PADDED,
    samples=arrays((2, 3), before=(1, 0), after=(-1, 2), value=0.5),
)  # not linear: the padding is not zero

# --- copies ---


def _repeat(x: Array, repeats: Shape) -> Array:
    if 0 in repeats:  # there NumPy makes the copies along the other dims first
        padded = (1,) * (len(repeats) - x.ndim) + tuple(x.shape)
        return x[:0].reshape(tuple(n * size for n, size in zip(repeats, padded, strict=True)))
    return in_order(np.tile(x, repeats))


def _repeat_transpose(g: Array, x_shape: Shape, repeats: Shape) -> Array:
    """Sum over the copies: each axis of the output is (copies, size)."""
    if 0 in repeats:
        return empty_sum(g, shape=x_shape)
    padded = (1,) * (len(repeats) - len(x_shape)) + tuple(x_shape)
    split_shape = tuple(n for pair in zip(repeats, padded, strict=True) for n in pair)
    return sum_axes(np.reshape(g, split_shape), axis=tuple(range(0, 2 * len(repeats), 2)), keepdims=False)


# The transpose of an operation without any output elements: zeros, and back to nothing.
empty_sum: Op = linear(
    "RepeatBackward0",
    lambda x, shape: zeros(shape, x),
    x=lambda g, x_shape: empty_sum(g, shape=x_shape),
    batch=OF_SHAPE,
)
repeat: Op = linear("RepeatBackward0", _repeat, x=_repeat_transpose, batch=REPEATED)

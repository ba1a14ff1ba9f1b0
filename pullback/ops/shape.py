"""Operations that only move elements: reshaping, permuting, slicing, joining. All linear, most of them views.

Axes are non-negative and shapes complete by the time they get here (`functional/shape.py` sees to that).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.op import linear
from ..autograd.fit import sum_to


def _reshape(x: Any, shape: tuple) -> Any:
    return x.reshape(shape)


def _reshape_transpose(g: Any, x_shape: tuple) -> Any:
    return reshape(g, shape=x_shape)


reshape = linear("ViewBackward0", _reshape, view=True, x=_reshape_transpose)
unsafe_reshape = linear("UnsafeViewBackward0", _reshape, x=_reshape_transpose)
unsqueeze = linear(
    "UnsqueezeBackward0", lambda x, axis: x[(slice(None),) * axis + (None,)], view=True, x=_reshape_transpose
)
squeeze = linear("SqueezeBackward1", _reshape, view=True, x=_reshape_transpose)
squeeze_all = linear("SqueezeBackward0", _reshape, view=True, x=_reshape_transpose)


def _inverse(axes: tuple) -> tuple:
    inverse = [0] * len(axes)
    for position, axis in enumerate(axes):
        inverse[axis] = position
    return tuple(inverse)


def _permute(x: Any, axes: tuple) -> Any:
    return x.transpose(axes)


permute = linear("PermuteBackward0", _permute, view=True, x=lambda g, axes: permute(g, axes=_inverse(axes)))
transpose = linear("TransposeBackward0", _permute, view=True, x=lambda g, axes: transpose(g, axes=_inverse(axes)))
matrix_transpose = linear("TBackward0", _permute, view=True, x=lambda g, axes: matrix_transpose(g, axes=_inverse(axes)))


def _expand(x: Any, shape: tuple) -> Any:
    if x.shape == shape:
        return x[...]
    extra = len(shape) - x.ndim
    strides = (0,) * extra + tuple(
        stride if size == want else 0 for size, want, stride in zip(x.shape, shape[extra:], x.strides, strict=True)
    )
    return np.lib.stride_tricks.as_strided(x, shape, strides)


expand = linear("ExpandBackward0", _expand, view=True, x=lambda g, x_shape: sum_to(g, x_shape))


# --- basic indexing: integers, slices, None ---


def _index(x: Any, index: tuple) -> Any:
    return x[(*index, ...)]  # the ellipsis makes a full index a 0-d view instead of a scalar


def _index_transpose(g: Any, x_shape: tuple, index: tuple) -> Any:
    return place(g, shape=x_shape, index=index)


def _place(x: Any, shape: tuple, index: tuple) -> Any:
    out = np.zeros(shape, x.dtype)
    out[(*index, ...)] = x
    return out


place = linear("SliceBackward0", _place, x=lambda g, index: g[(*index, ...)])
slice_ = linear("SliceBackward0", _index, view=True, x=_index_transpose)
select = linear("SelectBackward0", _index, view=True, x=_index_transpose)


def _diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    return np.lib.stride_tricks.as_strided(*_diagonal_layout(x, offset, axis1, axis2))


def _diagonal_layout(x: Any, offset: int, axis1: int, axis2: int) -> tuple:
    rows, columns = x.shape[axis1], x.shape[axis2]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    index: list[Any] = [slice(None)] * x.ndim
    if length:
        index[axis1], index[axis2] = slice(max(-offset, 0), None), slice(max(offset, 0), None)
    start = x[tuple(index)]
    kept = [i for i in range(x.ndim) if i not in (axis1, axis2)]
    shape = (*(x.shape[i] for i in kept), length)
    strides = (*(x.strides[i] for i in kept), x.strides[axis1] + x.strides[axis2])
    return start, shape, strides


def _place_diagonal(x: Any, shape: tuple, offset: int, axis1: int, axis2: int) -> Any:
    out = np.zeros(shape, x.dtype)
    _diagonal(out, offset, axis1, axis2)[...] = x
    return out


place_diagonal = linear(
    "DiagonalBackward0",
    _place_diagonal,
    x=lambda g, offset, axis1, axis2: diagonal(g, offset=offset, axis1=axis1, axis2=axis2),
)
diagonal = linear(
    "DiagonalBackward0",
    _diagonal,
    view=True,
    x=lambda g, x_shape, offset, axis1, axis2: place_diagonal(
        g, shape=x_shape, offset=offset, axis1=axis1, axis2=axis2
    ),
)

# --- several views at once ---


def _pieces(x: Any, axis: int, bounds: tuple) -> tuple:
    lead = (slice(None),) * axis
    return tuple(x[(*lead, slice(start, stop))] for start, stop in bounds)


def _join(g: tuple, axis: int) -> tuple:
    return (concatenate(*g, axis=axis),)


def _piece_step(params: dict, number: int, shape: tuple) -> tuple:
    lead = (slice(None),) * params["axis"]
    return slice_, {"index": (*lead, slice(*params["bounds"][number]))}


split = linear("SplitBackward0", _pieces, view=True, outputs=0, inputs=("x",), joint=_join)
split_sizes = linear("SplitWithSizesBackward0", _pieces, view=True, outputs=0, inputs=("x",), joint=_join)
split.output_step = split_sizes.output_step = _piece_step  # type: ignore[attr-defined]


def _unbind(x: Any, axis: int) -> tuple:
    lead = (slice(None),) * axis
    return tuple(x[(*lead, i, ...)] for i in range(x.shape[axis]))


unbind = linear(
    "UnbindBackward0", _unbind, view=True, outputs=0, inputs=("x",), joint=lambda g, axis: (stack(*g, axis=axis),)
)
unbind.output_step = lambda params, number, shape: (  # type: ignore[attr-defined]
    select, {"index": (*(slice(None),) * params["axis"], number)},
)  # fmt: skip

# --- joining ---


def _concatenate(*arrays: Any, axis: int) -> Any:
    return np.concatenate(arrays, axis=axis)


def _cut(g: Any, needs: tuple, shapes: tuple, axis: int) -> list:
    lead = (slice(None),) * axis
    pieces, start = [], 0
    for needed, shape in zip(needs, shapes, strict=True):
        stop = start + shape[axis]
        pieces.append(g[(*lead, slice(start, stop))] if needed else None)
        start = stop
    return pieces


concatenate = linear("CatBackward0", _concatenate, variadic=True, joint=_cut, inputs=())
stack = linear(
    "StackBackward0",
    lambda *arrays, axis: np.stack(arrays, axis=axis),
    variadic=True,
    inputs=(),
    joint=lambda g, needs, axis: [
        g[(*(slice(None),) * axis, i)] if needed else None for i, needed in enumerate(needs)
    ],
)

# --- copies in another order ---

flip = linear("FlipBackward0", lambda x, axes: np.flip(x, axes).copy(), x=lambda g, axes: flip(g, axes=axes))
roll = linear(
    "RollBackward0",
    lambda x, shifts, axes: np.roll(x, shifts, axes),
    x=lambda g, shifts, axes: roll(g, shifts=tuple(-s for s in shifts), axes=axes),
)
tril = linear("TrilBackward0", lambda x, diagonal: np.tril(x, diagonal), x=lambda g, diagonal: tril(g, diagonal=diagonal))
triu = linear("TriuBackward0", lambda x, diagonal: np.triu(x, diagonal), x=lambda g, diagonal: triu(g, diagonal=diagonal))
repeat = linear(
    "RepeatBackward0",
    lambda x, repeats: np.tile(x, repeats),
    x=lambda g, x_shape, repeats: _repeat_transpose(g, x_shape, repeats),
)


def _repeat_transpose(g: Any, x_shape: tuple, repeats: tuple) -> Any:
    """Sum over the copies: each axis of the output is (copies, size)."""
    padded = (1,) * (len(repeats) - len(x_shape)) + tuple(x_shape)
    split_shape = tuple(n for pair in zip(repeats, padded, strict=True) for n in pair)
    return np.sum(np.reshape(g, split_shape), axis=tuple(range(0, 2 * len(repeats), 2)))

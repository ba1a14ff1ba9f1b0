"""Operations that only move elements and share memory: reshaping, permuting, slicing. All linear.

Axes are non-negative and shapes complete by the time they get here (`functional/shape.py` sees to that). Views with
free strides are in `striding.py`, several views at once in `splitting.py`, joining and copies in another order in
`rearranging.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.kernel import kernel
from ..core.op import Op, linear
from ..core.unbroadcast import sum_to
from ..kernels.like import copy, zeros
from ..kernels.order import with_steps_of
from .layouts import (
    DIAGONAL,
    DIAGONAL_REPLACED,
    EXPANDED,
    INSERTED,
    PERMUTED,
    PLACED,
    REPLACED,
    RESHAPED,
    SAME,
    SLICED,
    SQUEEZED,
    WINDOWS,
    WINDOWS_JOINED,
)
from .samples import arrays
from .striding import view_at

if TYPE_CHECKING:
    from ..core.basics.types import Axes, Number, Shape
    from ..core.basics.types import NumPyArray as Array


def _reshape(x: Array, shape: Shape) -> Array:
    return x.reshape(shape)


def _reshape_transpose(g: Array, x_shape: Shape) -> Array:
    return reshape(g, shape=x_shape)


def _unsqueeze(x: Array, axis: int) -> Array:
    return x[(slice(None),) * axis + (None,)] if axis else x[None]


def _squeeze(x: Array, axes: Axes) -> Array:
    return x.squeeze(axes)


reshape: Op = linear("ViewBackward0", _reshape, view=True, x=_reshape_transpose, batch=RESHAPED)
unsafe_reshape: Op = linear("UnsafeViewBackward0", _reshape, x=_reshape_transpose, batch=RESHAPED, aten="_unsafe_view")
unsqueeze: Op = linear("UnsqueezeBackward0", _unsqueeze, view=True, x=_reshape_transpose, batch=SQUEEZED)
unsqueeze_in_place: Op = linear(
    "UnsqueezeBackward1", _unsqueeze, view=True, x=_reshape_transpose, batch=SQUEEZED, aten="unsqueeze_"
)
squeeze_all: Op = linear("SqueezeBackward0", _squeeze, view=True, x=_reshape_transpose, batch=SQUEEZED)
squeeze: Op = linear("SqueezeBackward1", _squeeze, view=True, x=_reshape_transpose, batch=SQUEEZED, aten="squeeze.dim")
squeeze_several: Op = linear(
    "SqueezeBackward2",
    _squeeze,
    view=True,
    x=_reshape_transpose,
    batch=SQUEEZED,
    aten="squeeze.dims",
    samples=arrays((2, 1, 1), axes=(1, 2)),
)
squeeze_all_in_place: Op = linear(
    "SqueezeBackward3",
    _squeeze,
    view=True,
    x=_reshape_transpose,
    batch=SQUEEZED,
    aten="squeeze_",
    samples=arrays((2, 1, 1), axes=(1, 2)),
)
squeeze_in_place: Op = linear(
    "SqueezeBackward4",
    _squeeze,
    view=True,
    x=_reshape_transpose,
    batch=SQUEEZED,
    aten="squeeze_.dim",
    samples=arrays((2, 1), axes=(1,)),
)
squeeze_several_in_place: Op = linear(
    "SqueezeBackward5",
    _squeeze,
    view=True,
    x=_reshape_transpose,
    batch=SQUEEZED,
    aten="squeeze_.dims",
    samples=arrays((2, 1, 1), axes=(1, 2)),
)
alias: Op = linear("AliasBackward0", lambda x: x[...], view=True, x=lambda g: g, batch=SAME)


def _inverse(axes: Axes) -> tuple[Any, ...]:
    inverse = [0] * len(axes)
    for position, axis in enumerate(axes):
        inverse[axis] = position
    return tuple(inverse)


def _permute(x: Array, axes: Axes) -> Array:
    return x.transpose(axes)


def _permute_transpose(g: Array, axes: Axes) -> Array:
    return permute(g, axes=_inverse(axes))


permute: Op = linear("PermuteBackward0", _permute, view=True, x=_permute_transpose, batch=PERMUTED)
transpose: Op = linear(
    "TransposeBackward0", _permute, view=True, x=_permute_transpose, batch=PERMUTED, aten="transpose.int"
)
transpose_in_place: Op = linear(
    "TransposeBackward1",
    _permute,
    view=True,
    x=_permute_transpose,
    batch=PERMUTED,
    aten="transpose_",
    samples=arrays((2, 3), axes=(1, 0)),
)
matrix_transpose: Op = linear("TBackward0", _permute, view=True, x=_permute_transpose, batch=PERMUTED)
matrix_transpose_in_place: Op = linear(
    "TBackward1",
    _permute,
    view=True,
    x=_permute_transpose,
    batch=PERMUTED,
    aten="t_",
    samples=arrays((2, 3), axes=(1, 0)),
)


def _expand(x: Array, shape: Shape) -> Array:
    if x.shape == shape:
        return x[...]
    if not isinstance(x, np.ndarray):  # a number of NumPy's, or an array of another library
        return np.broadcast_to(x, shape)
    sizes, strides = x.shape, x.strides
    extra = len(shape) - len(sizes)
    if sizes != shape[extra:]:
        strides = tuple(
            [step if size == want else 0 for size, want, step in zip(sizes, shape[extra:], strides, strict=True)]
        )
    return view_at(x, shape, (0,) * extra + strides)


expand: Op = linear("ExpandBackward0", _expand, view=True, x=lambda g, x_shape: sum_to(g, x_shape), batch=EXPANDED)

# --- basic indexing: integers, slices, None ---


def _index(x: Array, index: tuple[Any, ...]) -> Array:
    return x[(*index, ...)]  # the ellipsis makes a full index a 0-d view instead of a scalar


def _index_transpose(g: Array, x_shape: Shape, index: tuple[Any, ...]) -> Array:
    return place(g, shape=x_shape, index=index)


def _place(x: Array, shape: Shape, index: tuple[Any, ...]) -> Array:
    out = zeros(shape, x)
    out[(*index, ...)] = x
    return out


place: Op = linear("SliceBackward0", _place, x=lambda g, index: g[(*index, ...)], batch=PLACED, aten="slice_backward")
slice_: Op = linear(
    "SliceBackward0", _index, view=True, x=_index_transpose, batch=SLICED, selects=True, aten="slice.Tensor"
)
select: Op = linear(
    "SelectBackward0", _index, view=True, x=_index_transpose, batch=SLICED, selects=True, aten="select.int"
)
insert: Op = linear(
    "UnsqueezeBackward0", _index, view=True, x=_index_transpose, batch=INSERTED
)  # an index that ends with None


def _replace(x: Array, source: Array, index: tuple[Any, ...]) -> Array:
    out = with_steps_of(x) if type(x) is np.ndarray else copy(x)
    out[(*index, ...)] = source
    return out


def _cleared(x: Array, index: tuple[Any, ...]) -> Array:
    out = copy(x)
    out[(*index, ...)] = 0
    return out


clear: Op = linear(
    "SliceBackward0",
    _cleared,
    x=lambda g, index: clear(g, index=index),
    batch=PLACED,
    aten="slice.Tensor",
    samples=arrays((2, 3), index=(slice(None), 1)),
)
replace_selected: Op
replace_slice: Op
replace_slice, replace_selected = (
    linear(
        name,
        _replace,
        x=lambda g, index: clear(g, index=index),
        source=lambda g, index: g[(*index, ...)],
        batch=REPLACED,
    )
    for name in ("SliceScatterBackward0", "SelectScatterBackward0")
)

# --- diagonals ---


def _diagonal(x: Array, offset: int, axis1: int, axis2: int) -> Array:
    result = x.diagonal(offset, axis1, axis2)
    if isinstance(x, np.ndarray) and x.flags.writeable:  # NumPy's diagonal is read-only, others' never
        result.flags.writeable = True
    return result


def _place_diagonal(x: Array, shape: Shape, offset: int, axis1: int, axis2: int) -> Array:
    out = zeros(shape, x)
    _diagonal(out, offset, axis1, axis2)[...] = x
    return out


def _diagonal_transpose(g: Array, x_shape: Shape, offset: int, axis1: int, axis2: int) -> Array:
    return place_diagonal(g, shape=x_shape, offset=offset, axis1=axis1, axis2=axis2)


def _place_diagonal_transpose(g: Array, offset: int, axis1: int, axis2: int) -> Array:
    return diagonal(g, offset=offset, axis1=axis1, axis2=axis2)


place_diagonal: Op = linear("DiagEmbedBackward0", _place_diagonal, x=_place_diagonal_transpose, batch=DIAGONAL)
diagonal: Op = linear("DiagonalBackward0", _diagonal, view=True, x=_diagonal_transpose, batch=DIAGONAL)
copied_diagonal: Op = linear(
    "DiagonalBackward0_copy", lambda x, offset, axis1, axis2: copy(x.diagonal(offset, axis1, axis2)), x=_diagonal_transpose,
    batch=DIAGONAL, samples=arrays((2, 3), offset=1, axis1=0, axis2=1),
)  # fmt: skip


def _replace_diagonal(x: Array, source: Array | Number, offset: int, axis1: int, axis2: int) -> Array:
    out = with_steps_of(x) if type(x) is np.ndarray else copy(x)
    _diagonal(out, offset, axis1, axis2)[...] = source
    return out


def _clear_diagonal(x: Array, offset: int, axis1: int, axis2: int) -> Array:
    return _replace_diagonal(x, 0, offset, axis1, axis2)


def _clear_diagonal_transpose(g: Array, offset: int, axis1: int, axis2: int) -> Array:
    return clear_diagonal(g, offset=offset, axis1=axis1, axis2=axis2)


clear_diagonal: Op = linear(
    "DiagonalScatterBackward0",
    _clear_diagonal,
    x=_clear_diagonal_transpose,
    batch=DIAGONAL,
    samples=arrays((2, 3), offset=1, axis1=0, axis2=1),
)
replace_diagonal: Op = linear(
    "DiagonalScatterBackward0",
    _replace_diagonal,
    x=_clear_diagonal_transpose,
    source=_place_diagonal_transpose,
    batch=DIAGONAL_REPLACED,
    samples=arrays((2, 3), (2,), offset=1, axis1=0, axis2=1),
)

# --- windows ---


def _windows(x: Array, axis: int, size: int, step: int) -> Array:
    if x.ndim == 0:
        return np.reshape(x, -1)[:size]
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis)
    return windows[(*(slice(None),) * axis, slice(None, None, step))]


def _fast_windows(x: Array, axis: int, size: int, step: int) -> Array:
    if x.ndim == 0:
        return view_at(x, (size,), (x.itemsize,))
    count = (x.shape[axis] - size) // step + 1
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
    strides = (*x.strides[:axis], x.strides[axis] * step, *x.strides[axis + 1 :], x.strides[axis])
    return view_at(x, shape, strides)


def _fold(x: Array, shape: Shape, axis: int, size: int, step: int) -> Array:
    """Add windows back to where they were cut; overlaps accumulate. One addition for each place in a window."""
    if not shape:
        return np.add.reduce(x, axis=0)
    out = zeros(shape, x)
    count = x.shape[axis]
    lead = (slice(None),) * axis
    for place_in_window in range(size if count else 0):
        stop = place_in_window + (count - 1) * step + 1
        out[(*lead, slice(place_in_window, stop, step))] += x[..., place_in_window]
    return out


fold: Op = linear(
    "UnfoldBackward0",
    _fold,
    x=lambda g, axis, size, step: unfold(g, axis=axis, size=size, step=step),
    batch=WINDOWS_JOINED,
)
unfold: Op = linear(
    "UnfoldBackward0",
    _windows,
    view=True,
    x=lambda g, x_shape, axis, size, step: fold(g, shape=x_shape, axis=axis, size=size, step=step),
    kernel=kernel(_fast_windows),
    batch=WINDOWS,
    samples=lambda draw: [
        ((draw(*shape),), {"axis": axis, "size": size, "step": step})
        for shape, axis, size, step in (
            ((), 0, 1, 1),
            ((5,), 0, 3, 2),
            ((4, 7, 2), 1, 2, 3),
            ((3, 4), 0, 3, 1),
            ((0, 4), 1, 2, 2),
            ((100, 90), 1, 7, 3),
        )
    ],
)

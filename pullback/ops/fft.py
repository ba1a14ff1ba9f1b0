"""Discrete Fourier transforms over axes. All linear; the adjoint of a transform is one in the opposite direction.

Transforms are unscaled but for `scale`. Sizes are right by the time an array gets here (`resize` pads and trims).
`frames` cuts the windows of short-time transforms, `overlap_add` is its adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.op import Op, linear
from ..kernels.like import copy, zeros
from ..kernels.order import empty_like, inverse
from ..kernels.thresholds import ALL_FREQUENCIES
from .layouts import LEADING, along
from .samples import arrays
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import Axes, Shape
    from ..core.basics.types import NumPyArray as Array


def _complex_of(dtype: np.dtype) -> np.dtype:
    return np.result_type(dtype, np.complex64)


def _scaled(x: Array, factor: float) -> Array:
    """A fresh array times a number."""
    if abs(factor - 1) > 1e-12:
        x *= factor
    return x


def _single(x: Array) -> bool:
    return x.dtype.char in "fF"


def _pass(x: Array, axes: Axes, forward: bool) -> tuple[Any, int]:
    """Transform one axis after the other; what the result is still to be multiplied by.

    NumPy computes in double precision, which is slow, when it is asked for an unscaled transform in single precision,
    so those are divided by their size (and the caller multiplies by it, together with the scale).
    """
    left = 1
    for axis in axes:
        if not _single(x):
            x = np.fft.fft(x, axis=axis) if forward else np.fft.ifft(x, axis=axis, norm="forward")
        else:
            x = np.fft.fft(x, axis=axis, norm="forward") if forward else np.fft.ifft(x, axis=axis)
            left *= x.shape[axis]
    return x, left


def _batches_first(fixed: int) -> Callable[..., Any]:
    """Let a transform run over memory in which its own axes come last, and leave its result so, as torch does.

    The other axes come before them, wide steps first; so do those transformed, but for as many at the end as are `fixed`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(x: Array, axes: Axes, **params: Any) -> Array:
            if type(x) is not np.ndarray or not axes:
                return function(x, axes, **params)
            steps = x.strides
            if len(axes) > 1 and x.dtype.kind == "f" and function is _transform.__wrapped__:
                steps = empty_like(x).strides  # torch makes complex numbers of it first
            free, last = axes[: len(axes) - fixed], axes[len(axes) - fixed :]
            order = sorted((axis for axis in range(x.ndim) if axis not in axes), key=lambda axis: -steps[axis])
            order += (*sorted(free, key=lambda axis: -steps[axis]), *last)
            if order == sorted(order):
                return function(x, axes, **params)
            own = tuple(order.index(axis) for axis in axes)
            return function(x.transpose(order), own, **params).transpose(inverse(order))

        run.__wrapped__ = function  # type: ignore[attr-defined]
        return run

    return decorate


@_batches_first(fixed=0)
def _transform(x: Array, axes: Axes, scale: float, forward: bool) -> Array:
    """All frequencies. The result of a real input is complex as well."""
    if not axes:
        return _scaled(copy(x).astype(_complex_of(x.dtype)), scale)
    x = in_order(x)
    if 0 in x.shape:
        return _scaled(x.astype(_complex_of(x.dtype)), scale)
    if x.dtype.kind == "f" and x.size > ALL_FREQUENCIES:
        return _mirrored(x, axes, scale, forward)
    out, left = _pass(x, axes, forward)
    return _scaled(out, left * scale)


def _mirrored(x: Array, axes: Axes, scale: float, forward: bool) -> Array:
    """All frequencies of a real input: half of them are the conjugates of the other half."""
    half = _real_transform(x, axes, scale=scale)
    if not forward:
        half = np.conj(half, out=half)
    last, size = axes[-1], x.shape[axes[-1]]
    lead = (slice(None),) * last
    out = np.empty(x.shape, half.dtype)
    kept = half.shape[last]
    out[(*lead, slice(0, kept))] = half
    # The frequency -k of the last axis belongs to -j of each other.
    mirror = half[(*lead, slice(size - kept, 0, -1))]
    for axis in axes[:-1]:
        mirror = np.roll(np.flip(mirror, axis), 1, axis)
    np.conj(mirror, out=out[(*lead, slice(kept, None))])
    return out


def _transform_adjoint(g: Array, axes: Axes, scale: float, forward: bool) -> Array:
    return transform(g, axes=axes, scale=scale, forward=not forward)


transform: Op = linear("FftC2CBackward0", _transform, x=_transform_adjoint, batch=along("axes"), aten="_fft_c2c")
transform_of_real: Op = linear(
    "FftR2CBackward0", _transform, x=_transform_adjoint, batch=along("axes"), aten="_fft_r2c"
)


@_batches_first(fixed=1)
def _real_transform(x: Array, axes: Axes, scale: float) -> Array:
    """Of a real input: the last axis keeps the non-negative frequencies only."""
    x = in_order(x)
    if 0 in x.shape:
        shape = list(x.shape)
        shape[axes[-1]] = shape[axes[-1]] // 2 + 1
        return np.zeros(shape, _complex_of(x.dtype))
    last = axes[-1]
    out = np.fft.rfft(x, axis=last, norm="forward" if _single(x) else None)
    out, left = _pass(out, axes[:-1], True)
    return _scaled(out, scale * left * (x.shape[last] if _single(x) else 1))


def _real_transform_adjoint(g: Array, x_shape: Shape, axes: Axes, scale: float) -> Array:
    last = axes[-1]
    half = scale_inner(g, axis=last, size=x_shape[last], factor=0.5)
    return real_inverse(half, axes=axes, size=x_shape[last], scale=scale)


real_transform: Op = linear(
    "FftR2CBackward0", _real_transform, x=_real_transform_adjoint, batch=along("axes"), aten="_fft_r2c"
)


@_batches_first(fixed=1)
def _real_inverse(x: Array, axes: Axes, size: int, scale: float) -> Array:
    """Back from non-negative frequencies to a real result with `size` elements on the last axis."""
    if 0 in x.shape:
        shape = list(x.shape)
        shape[axes[-1]] = size
        return np.zeros(shape, x.real.dtype)
    x, left = _pass(x, axes[:-1], False)
    out = in_order(np.fft.irfft(x, size, axis=axes[-1], norm=None if _single(x) else "forward"))
    return _scaled(out, scale * left * (size if _single(x) else 1))


def _real_inverse_adjoint(g: Array, axes: Axes, size: int, scale: float) -> Array:
    return scale_inner(real_transform(g, axes=axes, scale=scale), axis=axes[-1], size=size, factor=2)


real_inverse: Op = linear(
    "FftC2RBackward0", _real_inverse, x=_real_inverse_adjoint, batch=along("axes"), aten="_fft_c2r"
)


def _scale_inner(x: Array, axis: int, size: int, factor: float) -> Array:
    """Multiply the frequencies that stand for themselves and their negatives in a real signal of `size` elements."""
    out = copy(x)
    out[(*(slice(None),) * axis, slice(1, size - size // 2))] *= factor
    return out


scale_inner: Op = linear(
    "FftC2RBackward0",
    _scale_inner,
    x=lambda g, axis, size, factor: scale_inner(g, axis=axis, size=size, factor=factor),
    batch=along("axis"),
    aten="_fft_c2r",
)


def _resize(x: Array, axes: Axes, sizes: Shape) -> Array:
    """Cut axes off at their ends, or continue them with zeros."""
    shape, kept = list(x.shape), [slice(None)] * x.ndim
    for axis, size in zip(axes, sizes, strict=True):
        kept[axis] = slice(0, min(size, shape[axis]))
        shape[axis] = size
    out = zeros(tuple(shape), x)
    out[tuple(kept)] = x[tuple(kept)]
    return out


def _resize_adjoint(g: Array, x_shape: Shape, axes: Axes) -> Array:
    return resize(g, axes=axes, sizes=tuple(x_shape[axis] for axis in axes))


resize: Op = linear(
    "ResizeBackward0",
    _resize,
    x=_resize_adjoint,
    batch=along("axes"),
    aten="resize_",
    samples=arrays((2, 3), axes=(1,), sizes=(5,)),
)

# --- windows along the last axis ---


def _frames(x: Array, size: int, step: int) -> Array:
    return np.lib.stride_tricks.sliding_window_view(x, size, axis=-1)[..., ::step, :].copy()


def _overlap_add(x: Array, length: int, step: int) -> Array:
    """Add windows back to where they were cut. Cut into pieces as long as the step, only few additions are needed."""
    count, size = x.shape[-2:]
    pieces = -(-size // step)
    batch = x.shape[:-2]
    if pieces * step != size:
        x = _resize(x, (x.ndim - 1,), (pieces * step,))
    x = x.reshape(*batch, count, pieces, step)
    out = zeros((*batch, count + pieces - 1, step), x)
    for piece in range(pieces):
        out[..., piece : piece + count, :] += x[..., piece, :]
    out = out.reshape(*batch, (count + pieces - 1) * step)
    return out if out.shape[-1] == length else _resize(out, (out.ndim - 1,), (length,))


frames: Op = linear(
    "UnfoldBackward0",
    _frames,
    x=lambda g, x_shape, step: overlap_add(g, length=x_shape[-1], step=step),
    batch=LEADING,
    samples=arrays((2, 7), size=3, step=2),
)
overlap_add: Op = linear(
    "UnfoldBackward1",
    _overlap_add,
    x=lambda g, x_shape, step: frames(g, size=x_shape[-1], step=step),
    batch=LEADING,
    samples=arrays((2, 3, 4), length=8, step=2),
)

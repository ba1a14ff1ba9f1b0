"""Discrete Fourier transforms over axes. All linear; the adjoint of a transform is one in the opposite direction.

Transforms are unscaled but for `scale`. Sizes are right by the time an array gets here (`resize` pads and trims).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.op import linear


def _complex_of(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64)


def _scaled(x: Any, scale: float) -> Any:
    return x if scale == 1 else x * scale


def _transform(x: Any, axes: tuple, scale: float, forward: bool) -> Any:
    """All frequencies. The result of a real input is complex as well."""
    if not axes or 0 in x.shape:
        return _scaled(x, scale).astype(_complex_of(x.dtype))
    if len(axes) == 1:
        out = np.fft.fft(x, axis=axes[0]) if forward else np.fft.ifft(x, axis=axes[0], norm="forward")
    else:
        out = np.fft.fftn(x, axes=axes) if forward else np.fft.ifftn(x, axes=axes, norm="forward")
    return _scaled(out, scale)


transform = linear(
    "FftC2CBackward0",
    _transform,
    x=lambda g, axes, scale, forward: transform(g, axes=axes, scale=scale, forward=not forward),
)


def _real_transform(x: Any, axes: tuple, scale: float) -> Any:
    """Of a real input: the last axis keeps the non-negative frequencies only."""
    if 0 in x.shape:
        shape = list(x.shape)
        shape[axes[-1]] = shape[axes[-1]] // 2 + 1
        return np.zeros(shape, _complex_of(x.dtype))
    out = np.fft.rfft(x, axis=axes[-1])
    return _transform(out, axes[:-1], scale, True) if len(axes) > 1 else _scaled(out, scale)


def _real_transform_adjoint(g: Any, x_shape: tuple, axes: tuple, scale: float) -> Any:
    last = axes[-1]
    half = scale_inner(g, axis=last, size=x_shape[last], factor=0.5)
    return real_inverse(half, axes=axes, size=x_shape[last], scale=scale)


real_transform = linear("FftR2CBackward0", _real_transform, x=_real_transform_adjoint)


def _real_inverse(x: Any, axes: tuple, size: int, scale: float) -> Any:
    """Back from non-negative frequencies to a real result with `size` elements on the last axis."""
    if 0 in x.shape:
        shape = list(x.shape)
        shape[axes[-1]] = size
        return np.zeros(shape, x.real.dtype)
    if len(axes) > 1:
        x = _transform(x, axes[:-1], 1, False)
    return _scaled(np.fft.irfft(x, size, axis=axes[-1], norm="forward"), scale)


def _real_inverse_adjoint(g: Any, axes: tuple, size: int, scale: float) -> Any:
    return scale_inner(real_transform(g, axes=axes, scale=scale), axis=axes[-1], size=size, factor=2)


real_inverse = linear("FftC2RBackward0", _real_inverse, x=_real_inverse_adjoint)


def _scale_inner(x: Any, axis: int, size: int, factor: float) -> Any:
    """Multiply the frequencies that stand for themselves and their negatives in a real signal of `size` elements."""
    out = np.array(x)
    out[(*(slice(None),) * axis, slice(1, size - size // 2))] *= factor
    return out


def _scale_inner_adjoint(g: Any, axis: int, size: int, factor: float) -> Any:
    return scale_inner(g, axis=axis, size=size, factor=factor)


scale_inner = linear("FftC2RBackward0", _scale_inner, x=_scale_inner_adjoint)


def _resize(x: Any, axes: tuple, sizes: tuple) -> Any:
    """Cut axes off at their ends, or continue them with zeros."""
    shape, kept = list(x.shape), [slice(None)] * x.ndim
    for axis, size in zip(axes, sizes, strict=True):
        kept[axis] = slice(0, min(size, shape[axis]))
        shape[axis] = size
    out = np.zeros(shape, x.dtype)
    out[tuple(kept)] = x[tuple(kept)]
    return out


resize = linear(
    "ConstantPadNdBackward0",
    _resize,
    x=lambda g, x_shape, axes: resize(g, axes=axes, sizes=tuple(x_shape[axis] for axis in axes)),
)

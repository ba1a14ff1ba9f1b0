"""Layer norm, RMS norm and batch norm: normalized values, the statistics backward needs, and pullbacks.

Layer and RMS norm run as fused kernels on plain arrays, forward and backward; on anything else their pullbacks are
formulas of the input alone, so statistics carry no gradient of their own. Group norm and instance norm are
compositions in `nn/functional/normalization.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd.op import Op, op
from ..kernels import normalization as kernels
from ..quiet import quiet
from .batching import normalized
from .fusing import fused, in_single, is_half, narrowed, plain


def _trailing(x: Any, axes: int) -> tuple:
    ndim = len(x.shape)
    return tuple(range(ndim - axes, ndim))


def _leading(x: Any, axes: int) -> tuple:
    return tuple(range(len(x.shape) - axes))


def _moment(x: Any, axis: tuple) -> Any:
    return np.sum(x, axis=axis, keepdims=True) / max(math.prod(x.shape[i] for i in axis), 1)


def _over_lead(x: Any, axes: int) -> Any:
    lead = _leading(x, axes)
    return np.sum(x, axis=lead) if lead else x


def _widened(*values: Any) -> list:
    return [value.astype(np.float32) if value is not None and is_half(value.dtype) else value for value in values]


# --- layer norm ---


def _layer_norm(x: Any, weight: Any, bias: Any, axes: int, eps: float) -> tuple:
    return kernels.layer_norm(x, weight, bias, axes=axes, eps=eps)


def _layer_norm_pullback(
    g: Any, x: Any, weight: Any, extras: Any, needs: tuple, axes: int, eps: float
) -> tuple:
    g = g[0]
    if plain(g, x, weight):
        kind = x.dtype
        if not is_half(kind):
            return kernels.layer_norm_backward(g, x, *extras, weight, axes=axes, wanted=needs)
        gradients = kernels.layer_norm_backward(
            *_widened(np.asarray(g), x, extras[0], extras[1], weight), axes=axes, wanted=needs
        )
        return tuple(narrowed(gradient, kind) for gradient in gradients)
    axis = _trailing(x, axes)
    centred = x - _moment(x, axis)
    scale = (_moment(centred * centred, axis) + eps) ** -0.5
    normal = centred * scale
    inner = g if weight is None else g * weight
    return (
        scale * (inner - _moment(inner, axis) - normal * _moment(inner * normal, axis)) if needs[0] else None,
        _over_lead(g * normal, axes) if needs[1] else None,
        _over_lead(g, axes) if needs[2] else None,
    )


layer_norm: Op = fused(
    "NativeLayerNormBackward0",
    in_single(_layer_norm),
    inputs=("x", "weight", "bias"),
    batch=normalized,
    joint=_layer_norm_pullback,
)


def _rms_norm(x: Any, weight: Any, axes: int, eps: float | None) -> tuple:
    return kernels.rms_norm(x, weight, axes=axes, eps=eps)


def _rms_norm_pullback(g: Any, x: Any, weight: Any, extras: Any, needs: tuple, axes: int, eps: float | None) -> tuple:
    g = g[0]
    if plain(g, x, weight):
        kind = x.dtype
        gradients = kernels.rms_norm_backward(
            *_widened(np.asarray(g), x, extras[0], weight), axes=axes, wanted=(*needs, False)[:2]
        )
        return tuple(narrowed(gradient, kind) if is_half(kind) else gradient for gradient in gradients)
    axis = _trailing(x, axes)
    if eps is None:
        eps = float(np.finfo(np.float32 if x.dtype.itemsize <= 4 else np.float64).eps)
    scale = (_moment(x * x, axis) + eps) ** -0.5
    normal = x * scale
    inner = g if weight is None else g * weight
    return (
        scale * (inner - normal * _moment(inner * normal, axis)) if needs[0] else None,
        _over_lead(g * normal, axes) if needs[1] else None,
    )


rms_norm: Op = fused(
    "MulBackward0", in_single(_rms_norm), inputs=("x", "weight"), batch=normalized, joint=_rms_norm_pullback
)

# --- batch norm: statistics of each channel (axis 1) over everything else ---


def _channels(x: Any) -> tuple:
    """All axes but the channels'."""
    return (0, *range(2, len(x.shape)))


def _beside(values: Any, x: Any) -> Any:
    """One value a channel, shaped to broadcast against `x`."""
    return np.reshape(values, (-1, *(1,) * (len(x.shape) - 2)))


@quiet
def _batch_norm(x: Any, weight: Any, bias: Any, eps: float) -> tuple:
    kind = x.dtype
    x, weight, bias = _widened(x, weight, bias)
    n, channels = x.shape[:2]
    folded = x.reshape(n, channels, math.prod(x.shape[2:]))
    count = max(n * folded.shape[2], 1)
    mean = np.add.reduce(np.add.reduce(folded, axis=2), axis=0) / count
    out = folded - mean[:, None]
    variance = np.add.reduce(np.vecdot(out, out), axis=0) / count
    scale = 1 / np.sqrt(variance + eps)
    out *= (scale if weight is None else scale * weight)[:, None]
    if bias is not None:
        out += bias[:, None]
    return out.reshape(x.shape).astype(kind, copy=False), mean, variance


def _batch_norm_pullback(g: Any, x: Any, weight: Any, extras: Any, needs: tuple, eps: float) -> tuple:
    g = g[0]
    axis = _channels(x)
    if plain(g, x, weight):
        mean, variance = _beside(extras[0], x), _beside(extras[1], x)
        centred = x - mean
    else:
        centred = x - _moment(x, axis)
        variance = _moment(centred * centred, axis)
    scale = (variance + eps) ** -0.5
    normal = centred * scale
    total = np.sum(g, axis=axis)
    projected = np.sum(g * normal, axis=axis)
    gradient = None
    if needs[0]:
        count = max(math.prod(x.shape[i] for i in axis), 1)
        factor = scale if weight is None else scale * _beside(weight, x)
        gradient = factor * (g - _beside(total, x) / count - normal * (_beside(projected, x) / count))
    return gradient, projected, total


batch_norm: Op = op(
    "NativeBatchNormBackward0", _batch_norm, inputs=("x", "weight", "bias"), outputs=0, joint=_batch_norm_pullback
)


@quiet
def _fixed_norm(x: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    kind = x.dtype
    x, mean, variance, weight, bias = _widened(x, mean, variance, weight, bias)
    scale = 1 / np.sqrt(variance + eps)
    scale = _beside(scale if weight is None else scale * weight, x)
    out = (x - _beside(mean, x)) * scale
    if bias is not None:
        out += _beside(bias, x)
    return out.astype(kind, copy=False)


def _fixed_norm_pullback(
    g: Any, x: Any, mean: Any, variance: Any, weight: Any, needs: tuple, eps: float
) -> tuple:
    scale = (_beside(variance, x) + eps) ** -0.5
    axis = _channels(x)
    return (
        g * (scale if weight is None else scale * _beside(weight, x)) if needs[0] else None,
        None,
        None,
        np.sum(g * (x - _beside(mean, x)) * scale, axis=axis) if needs[3] else None,
        np.sum(g, axis=axis) if needs[4] else None,
    )


fixed_norm: Op = op(
    "NativeBatchNormBackward0",
    _fixed_norm,
    inputs=("x", "mean", "variance", "weight", "bias"),
    joint=_fixed_norm_pullback,
)

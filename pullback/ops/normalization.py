"""Layer, RMS, batch and group norm: normalized values, the statistics backward needs, and pullbacks.

Layer and RMS norm run as fused kernels on plain arrays, forward and backward; on anything else their pullbacks are
formulas of the input alone, so statistics carry no gradient of their own. Instance norm is a
composition in `nn/functional/normalization.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd.op import Op, fused, op
from ..kernels import channels
from ..kernels import normalization as kernels
from ..kernels.order import has_channels_last, keeping_channels
from ..quiet import quiet
from .batching import _fold, _full, _unfold, folding
from .fusing import in_single, is_half, narrowed, number_for, plain, widened
from .layouts import CHANNELS, GIVEN_CHANNELS, GROUPS, LAST_NORMALIZED
from .striding import in_order


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


def _narrowed_first(gradients: tuple, kind: np.dtype) -> tuple:
    """The input's gradient in its dtype; those of weight and bias, which may be wider, are cast at the tape's edge."""
    return (None if gradients[0] is None else narrowed(gradients[0], kind), *gradients[1:])


# --- layer norm ---


def _layer_norm(x: Any, weight: Any, bias: Any, axes: int, eps: float) -> tuple:
    return kernels.layer_norm(in_order(x), weight, bias, axes=axes, eps=eps)


def _layer_norm_pullback(g: Any, x: Any, weight: Any, extras: Any, needs: tuple, axes: int, eps: float) -> tuple:
    if plain(g, x, weight):
        kind = x.dtype
        if not is_half(kind):
            return kernels.layer_norm_backward(g, x, extras[0], extras[1], weight, axes=axes, wanted=needs)
        gradients = kernels.layer_norm_backward(
            *map(widened, (np.asarray(g), x, extras[0], extras[1], weight)), axes=axes, wanted=needs
        )
        return _narrowed_first(gradients, kind)
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
    batch=LAST_NORMALIZED,
    joint=_layer_norm_pullback,
)


def _rms_norm_pullback(g: Any, x: Any, weight: Any, extras: Any, needs: tuple, axes: int, eps: float | None) -> tuple:
    if plain(g, x, weight):
        kind = x.dtype
        gradients = kernels.rms_norm_backward(
            *map(widened, (np.asarray(g), x, extras[0], weight)), axes=axes, wanted=(*needs, False)[:2]
        )
        return _narrowed_first(gradients, kind) if is_half(kind) else gradients
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
    "MulBackward0",
    keeping_channels(in_single(kernels.rms_norm), 4, 5),
    inputs=("x", "weight"),
    batch=LAST_NORMALIZED,
    joint=_rms_norm_pullback,
    copies_before_writes=True,
    aten="mul.Tensor",
)

# --- batch norm: statistics of each channel (axis 1) over everything else ---


def _channels(x: Any) -> tuple:
    """All axes but the channels'."""
    return (0, *range(2, len(x.shape)))


def _beside(values: Any, x: Any) -> Any:
    """One value a channel, shaped to broadcast against `x`."""
    ndim = len(x.shape)
    return values if ndim == 2 else np.reshape(values, (-1, *(1,) * (ndim - 2)))


def _folded(x: Any) -> Any:
    """An array (n, channels, ...) as (n, channels, rest), or as it is if there is no rest."""
    shape = x.shape
    return x if len(shape) <= 3 else x.reshape(shape[0], shape[1], math.prod(shape[2:]))


def _column(values: Any, folded: Any) -> Any:
    """One value a channel, shaped to broadcast against what `_folded` gives."""
    return values if folded.ndim == 2 else values[:, None]


def _channel_sums(x: Any) -> Any:
    """Sums over everything but channels of what `_folded` gives."""
    kind = x.dtype.char
    if x.ndim == 2:
        return kernels.column_of_ones(len(x), kind)[0].dot(x)
    return np.add.reduce(np.matmul(x, kernels.column_of_ones(x.shape[2], kind)[0]), axis=0)


def _channel_products(x: Any, y: Any) -> Any:
    """Sums of products over everything but channels."""
    return _channel_sums(x * y) if x.ndim == 2 else np.add.reduce(np.vecdot(x, y), axis=0)


@quiet
def _batch_norm(x: Any, weight: Any, bias: Any, eps: float) -> tuple:
    shape, kind = x.shape, x.dtype
    x = x if x.ndim > 3 and has_channels_last(x) else in_order(x)
    if is_half(kind):
        x, weight, bias = map(widened, (x, weight, bias))
    if channels.suits(x):
        out, mean, variance = _large_batch_norm(x, weight, bias, eps)
        return out.astype(kind, copy=False), mean, variance
    folded = _folded(x)
    count = number_for(max(x.size // max(shape[1], 1), 1), x)
    mean = _channel_sums(folded) / count
    out = folded - _column(mean, folded)
    variance = _channel_products(out, out) / count
    scale = np.reciprocal(np.sqrt(variance + number_for(eps, x)))
    if weight is not None:
        scale = scale * weight
    np.multiply(out, _column(scale, out), out)
    if bias is not None:
        np.add(out, _column(bias, out), out)
    return out.reshape(shape).astype(kind, copy=False), mean, variance


def _pooled(means: Any, squares: Any, length: int, axis: int) -> tuple:
    """Mean and variance of rows taken together, from the moments of each (in float64, there are few)."""
    means = means.astype(np.float64)
    mean = np.mean(means, axis=axis, keepdims=True)
    deviations = means - mean
    squares = np.mean(squares, axis=axis, keepdims=True, dtype=np.float64)
    return mean, squares / length + np.mean(deviations * deviations, axis=axis, keepdims=True)


def _large_batch_norm(x: Any, weight: Any, bias: Any, eps: float) -> tuple:
    n, count = x.shape[:2]
    rows = channels.as_rows(x)
    means, squares = channels.moments(rows)
    mean, variance = (v[0] for v in _pooled(means.reshape(n, count), squares.reshape(n, count), rows.shape[1], 0))
    factor = 1 / np.sqrt(variance + eps)
    if weight is not None:
        factor = factor * weight
    offset = -mean * factor if bias is None else bias - mean * factor
    kind = x.dtype
    out = channels.scaled(x, *(np.tile(value.astype(kind), n) for value in (factor, offset)))
    return out, mean.astype(kind), variance.astype(kind)


def _plain_batch_norm_pullback(
    g: Any, x: Any, weight: Any, mean: Any, variance: Any, needs: tuple, eps: float
) -> tuple:
    """The pullback on arrays: g times a number a channel, plus the centred input times another, plus a third."""
    if channels.suits(x):
        return _large_batch_norm_pullback(g, x, weight, mean, variance, needs, eps)
    upstream, folded = _folded(g), _folded(x)
    centred = folded - _column(mean, folded)
    scale = np.reciprocal(np.sqrt(variance + number_for(eps, x)))
    total = _channel_sums(upstream)
    projected = _channel_products(upstream, centred) * scale
    if not needs[0]:
        return None, projected, total
    share = number_for(1 / max(x.size // max(x.shape[1], 1), 1), x)
    factor = scale if weight is None else scale * weight
    out = upstream * _column(factor, upstream)
    np.multiply(centred, _column(factor * scale * projected * share, centred), centred)
    np.add(centred, _column(factor * total * share, centred), centred)
    return np.subtract(out, centred, out).reshape(x.shape), projected, total


def _large_batch_norm_pullback(
    g: Any, x: Any, weight: Any, mean: Any, variance: Any, needs: tuple, eps: float
) -> tuple:
    n, count = x.shape[:2]
    scale = 1 / np.sqrt(variance + eps)
    totals, products = channels.sums(g, x, np.tile(mean, n))
    total = np.add.reduce(totals.reshape(n, count), axis=0)
    projected = np.add.reduce(products.reshape(n, count), axis=0) * scale
    if not needs[0]:
        return None, projected, total
    elements = x.size // count
    factor = scale if weight is None else scale * weight
    slope = -factor * scale * projected / elements
    offset = -factor * total / elements - slope * mean
    factor, slope, offset = (np.tile(value, n) for value in (factor, slope, offset))
    return channels.combined(g, factor, x, slope, offset), projected, total


def _batch_norm_pullback(g: Any, x: Any, weight: Any, extras: Any, needs: tuple, eps: float) -> tuple:
    if plain(g, x, weight):
        if not is_half(x.dtype):
            return _plain_batch_norm_pullback(g, x, weight, extras[0], extras[1], needs, eps)
        wide = (*map(widened, (np.asarray(g), x, weight, extras[0], extras[1])), needs, eps)
        return _narrowed_first(_plain_batch_norm_pullback(*wide), x.dtype)
    axis = _channels(x)
    centred = x - _moment(x, axis)
    scale = (_moment(centred * centred, axis) + eps) ** -0.5
    normal = centred * scale
    total = np.sum(g, axis=axis)
    projected = np.sum(g * normal, axis=axis)
    gradient = None
    if needs[0]:
        count = max(math.prod(x.shape[i] for i in axis), 1)
        factor = scale if weight is None else scale * _beside(weight, x)
        gradient = factor * (g - _beside(total, x) / count - normal * (_beside(projected, x) / count))
    return gradient, projected, total


batch_norm: Op = fused(
    "NativeBatchNormBackward0",
    _batch_norm,
    inputs=("x", "weight", "bias"),
    batch=CHANNELS,
    joint=_batch_norm_pullback,
)

# --- group norm: each sample's channels in groups, statistics of a group over its channels and all their elements ---


@quiet
def _group_norm(x: Any, weight: Any, bias: Any, groups: int, eps: float) -> tuple:
    shape, kind = x.shape, x.dtype
    if is_half(kind):
        x, weight, bias = map(widened, (x, weight, bias))
    if channels.suits(x):
        out, mean, scale = _large_group_norm(x, weight, bias, groups, eps)
        return out.astype(kind, copy=False), mean, scale
    rows = x.reshape(shape[0] * groups, math.prod(shape[1:]) // max(groups, 1))
    out, mean, scale = kernels.layer_norm(rows, None, None, axes=1, eps=eps)
    out = out.reshape(shape[0], shape[1], math.prod(shape[2:]))
    if weight is not None:
        np.multiply(out, weight[:, None], out)
    if bias is not None:
        np.add(out, bias[:, None], out)
    return out.reshape(shape).astype(kind, copy=False), mean, scale


def _large_group_norm(x: Any, weight: Any, bias: Any, groups: int, eps: float) -> tuple:
    n, count = x.shape[:2]
    each = (n, groups, count // groups)
    rows = channels.as_rows(x)
    means, squares = channels.moments(rows)
    mean, variance = _pooled(means.reshape(each), squares.reshape(each), rows.shape[1], 2)
    scale = 1 / np.sqrt(variance + eps)
    factor = np.broadcast_to(scale, each) if weight is None else scale * weight.reshape(each[1:])
    offset = -mean * factor if bias is None else bias.reshape(each[1:]) - mean * factor
    kind = x.dtype
    out = channels.scaled(x, *(value.astype(kind).reshape(-1) for value in (factor, offset)))
    return out, mean.astype(kind).reshape(-1, 1), scale.astype(kind).reshape(-1, 1)


def _plain_group_norm_pullback(g: Any, x: Any, weight: Any, mean: Any, scale: Any, needs: tuple, groups: int) -> tuple:
    """The pullback on arrays: all sums are over a channel of a sample first, of the centred input and its products."""
    if channels.suits(x):
        return _large_group_norm_pullback(g, x, weight, mean, scale, needs, groups)
    n, count = x.shape[:2]
    rest = math.prod(x.shape[2:])
    rows = x.reshape(n * groups, count // groups * rest)
    normal = rows - mean
    np.multiply(normal, scale, normal)
    upstream, normal = g.reshape(n, count, rest), normal.reshape(n, count, rest)
    totals = np.matmul(upstream, kernels.column_of_ones(rest, x.dtype.char)[0])
    products = np.vecdot(upstream, normal)
    for_weight = np.add.reduce(products, axis=0) if needs[1] else None
    for_bias = np.add.reduce(totals, axis=0) if needs[2] else None
    if not needs[0]:
        return None, for_weight, for_bias
    if weight is not None:
        totals, products = totals * weight, products * weight
    each = (n, groups, count // groups)
    elements = rows.shape[1]
    mean_total = np.add.reduce(totals.reshape(each), axis=2).reshape(-1, 1) * (scale / elements)
    mean_product = np.add.reduce(products.reshape(each), axis=2).reshape(-1, 1) * (scale / elements)
    normal = normal.reshape(rows.shape)
    np.multiply(normal, mean_product, normal)
    np.add(normal, mean_total, normal)
    factor = np.broadcast_to(scale.reshape(n, groups, 1), each).reshape(n, count, 1)
    out = upstream * (factor if weight is None else factor * weight[:, None])
    return np.subtract(out.reshape(rows.shape), normal, normal).reshape(x.shape), for_weight, for_bias


def _large_group_norm_pullback(g: Any, x: Any, weight: Any, mean: Any, scale: Any, needs: tuple, groups: int) -> tuple:
    n, count = x.shape[:2]
    each = (n, groups, count // groups)
    mean, scale = mean.reshape(n, groups, 1), scale.reshape(n, groups, 1)
    totals, products = channels.sums(g, x, np.broadcast_to(mean, each).reshape(-1))
    totals, products = totals.reshape(each), products.reshape(each) * scale
    for_weight = np.add.reduce(products, axis=0).reshape(count) if needs[1] else None
    for_bias = np.add.reduce(totals, axis=0).reshape(count) if needs[2] else None
    if not needs[0]:
        return None, for_weight, for_bias
    factor = np.broadcast_to(scale, each)
    if weight is not None:
        weights = weight.reshape(each[1:])
        totals, products, factor = totals * weights, products * weights, factor * weights
    elements = x.size // (n * groups)
    slope = np.add.reduce(products, axis=2, keepdims=True) * (-scale * scale / elements)
    offset = np.add.reduce(totals, axis=2, keepdims=True) * (-scale / elements) - slope * mean
    factor, slope, offset = (np.broadcast_to(value, each).reshape(-1) for value in (factor, slope, offset))
    return channels.combined(g, factor, x, slope, offset), for_weight, for_bias


def _group_norm_pullback(g: Any, x: Any, weight: Any, extras: Any, needs: tuple, groups: int, eps: float) -> tuple:
    if plain(g, x, weight) and x.size:
        if not is_half(x.dtype):
            return _plain_group_norm_pullback(g, x, weight, extras[0], extras[1], needs, groups)
        wide = (*map(widened, (np.asarray(g), x, weight, extras[0], extras[1])), needs, groups)
        return _narrowed_first(_plain_group_norm_pullback(*wide), x.dtype)
    shape = tuple(x.shape)
    rows = (shape[0], groups, math.prod(shape[1:]) // max(groups, 1))
    values = np.reshape(x, rows)
    centred = values - _moment(values, (2,))
    scale = (_moment(centred * centred, (2,)) + eps) ** -0.5
    normal = centred * scale
    gradient = None
    if needs[0]:
        inner = np.reshape(g if weight is None else g * _beside(weight, x), rows)
        gradient = scale * (inner - _moment(inner, (2,)) - normal * _moment(inner * normal, (2,)))
        gradient = np.reshape(gradient, shape)
    axis = _channels(x)
    return (
        gradient,
        np.sum(g * np.reshape(normal, shape), axis=axis) if needs[1] else None,
        np.sum(g, axis=axis) if needs[2] else None,
    )


@folding
def grouped(op: Any, values: list[Any], flags: list[Any], params: dict[Any, Any], size: int) -> Any:
    """Group norm: more examples are more samples; parameters that differ between examples are applied afterwards."""
    x, *parameters = values
    folded = _fold(_full(x, flags[0], size))
    shared = not any(flags[1:])
    out, *statistics = (_unfold(part, size) for part in op(folded, *(parameters if shared else (None, None)), **params))
    for number, (value, flag) in enumerate(zip(() if shared else parameters, flags[1:], strict=False)):
        if value is None:
            continue
        ones = (1,) * (len(out.shape) - 3)
        value = np.reshape(value, (value.shape[0], 1, value.shape[1], *ones) if flag else (value.shape[0], *ones))
        out = out + value if number else out * value
    return (out, *statistics)


_channels_kept_in_groups = keeping_channels(
    lambda x, weight, bias, groups, eps: _group_norm(in_order(x), weight, bias, groups, eps), 4, 5
)
group_norm: Op = fused(
    "NativeGroupNormBackward0",
    _channels_kept_in_groups,
    inputs=("x", "weight", "bias"),
    batch=GROUPS,
    joint=_group_norm_pullback,
)

# --- given statistics ---


@quiet
def _fixed_norm(x: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    kind = x.dtype
    x = x if x.ndim > 3 and has_channels_last(x) else in_order(x)
    x, mean, variance, weight, bias = map(widened, (x, mean, variance, weight, bias))
    scale = np.reciprocal(np.sqrt(variance + number_for(eps, variance)))
    if weight is not None:
        scale = scale * weight
    if channels.suits(x):
        offset = -mean * scale if bias is None else bias - mean * scale
        values = (np.tile(value.astype(x.dtype, copy=False), x.shape[0]) for value in (scale, offset))
        return channels.scaled(x, *values).astype(kind, copy=False)
    scale = _beside(scale, x)
    out = (x - _beside(mean, x)) * scale
    if bias is not None:
        out += _beside(bias, x)
    return out.astype(kind, copy=False)


def _fixed_norm_pullback(g: Any, x: Any, mean: Any, variance: Any, weight: Any, needs: tuple, eps: float) -> tuple:
    if plain(g, x, weight, mean, variance):
        if is_half(x.dtype):
            wide = (*map(widened, (np.asarray(g), x, mean, variance, weight)), needs, eps)
            return _narrowed_first(_fixed_norm_pullback(*wide), x.dtype)
        if channels.suits(x):
            return _large_fixed_norm_pullback(g, x, mean, variance, weight, needs, eps)
        return _plain_fixed_norm_pullback(g, x, mean, variance, weight, needs, eps)
    scale = (_beside(variance, x) + eps) ** -0.5
    axis = _channels(x)
    return (
        g * (scale if weight is None else scale * _beside(weight, x)) if needs[0] else None,
        None,
        None,
        np.sum(g * (x - _beside(mean, x)) * scale, axis=axis) if needs[3] else None,
        np.sum(g, axis=axis) if needs[4] else None,
    )


def _plain_fixed_norm_pullback(
    g: Any, x: Any, mean: Any, variance: Any, weight: Any, needs: tuple, eps: float
) -> tuple:
    upstream, folded = _folded(g), _folded(x)
    scale = np.reciprocal(np.sqrt(variance + number_for(eps, variance)))
    factor = scale if weight is None else scale * weight
    return (
        (upstream * _column(factor, upstream)).reshape(x.shape) if needs[0] else None,
        None,
        None,
        _channel_products(upstream, folded - _column(mean, folded)) * scale if needs[3] else None,
        _channel_sums(upstream) if needs[4] else None,
    )


def _large_fixed_norm_pullback(
    g: Any, x: Any, mean: Any, variance: Any, weight: Any, needs: tuple, eps: float
) -> tuple:
    n, count = x.shape[:2]
    kind = x.dtype
    scale = (1 / np.sqrt(variance + eps)).astype(kind, copy=False)
    factor = scale if weight is None else scale * weight
    gradient = channels.scaled(g, np.tile(factor, n)) if needs[0] else None
    if not (needs[3] or needs[4]):
        return gradient, None, None, None, None
    totals, products = channels.sums(g, x, np.tile(mean.astype(kind, copy=False), n))
    for_weight = np.add.reduce(products.reshape(n, count), axis=0) * scale
    return gradient, None, None, for_weight, np.add.reduce(totals.reshape(n, count), axis=0)


fixed_norm: Op = op(
    "NativeBatchNormBackward0",
    _fixed_norm,
    inputs=("x", "mean", "variance", "weight", "bias"),
    batch=GIVEN_CHANNELS,
    joint=_fixed_norm_pullback,
)

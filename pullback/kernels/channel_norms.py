"""Batch norm and group norm, with statistics of their own or given ones: forward and backward, for single precision and double.

Statistics are of a channel (axis 1), or of a group of channels of one sample. What backward needs is handed on: means, and
variances or one over deviations. Large arrays go through `channels.py` in blocks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.basics.constants import number
from . import channels
from .normalization import column_of_ones, layer_norm
from .order import has_channels_last
from .thresholds import NORMALIZED_AT_ONCE


def _beside(values: Any, x: Any) -> Any:
    """One value a channel, shaped to broadcast against `x`."""
    return values if x.ndim == 2 else values.reshape(-1, *(1,) * (x.ndim - 2))


def _folded(x: Any) -> Any:
    """An array (n, channels, ...) as (n, channels, rest), or as it is if there is no rest."""
    shape = x.shape
    return x if len(shape) <= 3 else x.reshape(shape[0], shape[1], math.prod(shape[2:]))


def _unfolded(out: Any, x: Any) -> Any:
    """The array in the shape of another, and itself where it has it: of a view, a leaf would make a copy for its gradient."""
    return out if out.shape == x.shape else out.reshape(x.shape)


def _column(values: Any, folded: Any) -> Any:
    """One value a channel, shaped to broadcast against what `_folded` gives."""
    return values if folded.ndim == 2 else values[:, None]


def _channel_sums(x: Any) -> Any:
    """Sums over everything but channels of what `_folded` gives."""
    kind = x.dtype.char
    if x.ndim == 2:
        return column_of_ones(len(x), kind)[0].dot(x)
    return np.add.reduce(np.matmul(x, column_of_ones(x.shape[2], kind)[0]), axis=0)


def _channel_products(x: Any, y: Any) -> Any:
    """Sums of products over everything but channels."""
    if x.ndim > 2:
        return np.add.reduce(np.vecdot(x, y), axis=0)
    return sum(_channel_sums(x[rows] * y[rows]) for rows in _blocks(x))


def _centred_products(g: Any, x: Any, mean: Any) -> Any:
    """Sums of `g * (x - mean)` over everything but channels."""
    if x.ndim > 2:
        return _channel_products(g, x - mean[:, None])
    return sum(_channel_sums(g[rows] * (x[rows] - mean)) for rows in _blocks(x))


def _blocks(x: Any) -> list[slice]:
    """The rows of a matrix in blocks; one at least, so that sums of nothing have a shape."""
    step = max(NORMALIZED_AT_ONCE // max(x.shape[1], 1), 1)
    return [slice(start, start + step) for start in range(0, max(len(x), 1), step)]


def _pooled(means: Any, squares: Any, length: int, axis: int) -> tuple:
    """Mean and variance of rows taken together, from the moments of each (in float64, there are few)."""
    means = means.astype(np.float64)
    mean = np.mean(means, axis=axis, keepdims=True)
    deviations = means - mean
    squares = np.mean(squares, axis=axis, keepdims=True, dtype=np.float64)
    return mean, squares / length + np.mean(deviations * deviations, axis=axis, keepdims=True)


# --- batch norm ---


def batch_norm(x: Any, weight: Any, bias: Any, eps: float) -> tuple:
    """(result, means, variances)."""
    shape = x.shape
    x = x if x.ndim > 3 and has_channels_last(x) else np.ascontiguousarray(x)
    if channels.suits(x):
        return _large_batch_norm(x, weight, bias, eps)
    folded = _folded(x)
    count = number(max(x.size // max(shape[1], 1), 1), x.dtype)
    mean = _channel_sums(folded) / count
    out = folded - _column(mean, folded)
    variance = _channel_products(out, out) / count
    scale = np.reciprocal(np.sqrt(variance + number(eps, x.dtype)))
    if weight is not None:
        scale = scale * weight
    np.multiply(out, _column(scale, out), out)
    if bias is not None:
        np.add(out, _column(bias, out), out)
    return out.reshape(shape), mean, variance


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


def batch_norm_backward(g: Any, x: Any, weight: Any, mean: Any, variance: Any, needs: tuple, eps: float) -> tuple:
    """The pullback on arrays: g times a number a channel, plus the centred input times another, plus a third."""
    if channels.suits(x):
        return _large_batch_norm_backward(g, x, weight, mean, variance, needs, eps)
    upstream, folded = _folded(g), _folded(x)
    scale = np.reciprocal(np.sqrt(variance + number(eps, x.dtype)))
    total = _channel_sums(upstream)
    projected = _centred_products(upstream, folded, mean) * scale
    if not needs[0]:
        return None, projected, total
    share = number(1 / max(x.size // max(x.shape[1], 1), 1), x.dtype)
    factor = scale if weight is None else scale * weight
    slope, offset = (_column(each, folded) for each in (factor * scale * projected * share, factor * total * share))
    out = upstream * _column(factor, upstream)
    mean = _column(mean, folded)
    for rows in _blocks(folded) if folded.ndim == 2 else [slice(None)]:
        centred = folded[rows] - mean
        np.multiply(centred, slope, centred)
        np.add(centred, offset, centred)
        np.subtract(out[rows], centred, out[rows])
    return _unfolded(out, x), projected, total


def _large_batch_norm_backward(
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


# --- group norm ---


def group_norm(x: Any, weight: Any, bias: Any, groups: int, eps: float) -> tuple:
    """(result, means, one over deviations)."""
    shape, x = x.shape, np.ascontiguousarray(x)
    if channels.suits(x):
        return _large_group_norm(x, weight, bias, groups, eps)
    rows = x.reshape(shape[0] * groups, math.prod(shape[1:]) // max(groups, 1))
    out, mean, scale = layer_norm(rows, None, None, axes=1, eps=eps)
    out = out.reshape(shape[0], shape[1], math.prod(shape[2:]))
    if weight is not None:
        np.multiply(out, weight[:, None], out)
    if bias is not None:
        np.add(out, bias[:, None], out)
    return out.reshape(shape), mean, scale


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


def group_norm_backward(g: Any, x: Any, weight: Any, mean: Any, scale: Any, needs: tuple, groups: int) -> tuple:
    """The pullback on arrays: all sums are over a channel of a sample first, of the centred input and its products."""
    if channels.suits(x):
        return _large_group_norm_backward(g, x, weight, mean, scale, needs, groups)
    n, count = x.shape[:2]
    rest = math.prod(x.shape[2:])
    rows = x.reshape(n * groups, count // groups * rest)
    normal = rows - mean
    np.multiply(normal, scale, normal)
    upstream, normal = g.reshape(n, count, rest), normal.reshape(n, count, rest)
    totals = np.matmul(upstream, column_of_ones(rest, x.dtype.char)[0])
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


def _large_group_norm_backward(g: Any, x: Any, weight: Any, mean: Any, scale: Any, needs: tuple, groups: int) -> tuple:
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


# --- given statistics ---


def fixed_norm(x: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    """The result, for given means and variances."""
    x = x if x.ndim > 3 and has_channels_last(x) else np.ascontiguousarray(x)
    scale = np.reciprocal(np.sqrt(variance + number(eps, variance.dtype)))
    if weight is not None:
        scale = scale * weight
    if channels.suits(x):
        offset = -mean * scale if bias is None else bias - mean * scale
        values = (np.tile(value.astype(x.dtype, copy=False), x.shape[0]) for value in (scale, offset))
        return channels.scaled(x, *values)
    scale = _beside(scale, x)
    out = x - _beside(mean, x)
    np.multiply(out, scale, out)
    if bias is not None:
        out += _beside(bias, x)
    return out


def fixed_norm_backward(g: Any, x: Any, mean: Any, variance: Any, weight: Any, needs: tuple, eps: float) -> tuple:
    """Cotangents of input, weight and bias; None for means and variances, and for those not wanted."""
    if channels.suits(x):
        return _large_fixed_norm_backward(g, x, mean, variance, weight, needs, eps)
    upstream, folded = _folded(g), _folded(x)
    scale = np.reciprocal(np.sqrt(variance + number(eps, variance.dtype)))
    factor = scale if weight is None else scale * weight
    return (
        _unfolded(upstream * _column(factor, upstream), x) if needs[0] else None,
        None,
        None,
        _centred_products(upstream, folded, mean) * scale if needs[3] else None,
        _channel_sums(upstream) if needs[4] else None,
    )


def _large_fixed_norm_backward(
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

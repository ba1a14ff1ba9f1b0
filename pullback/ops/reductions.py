"""Reductions over axes: sums, means, extrema, products, softmax and its relatives.

`axis` is a tuple of non-negative axes (all of them for a full reduction), `keepdims` a bool.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd.op import linear, op
from .shape import _expand, expand, reshape


def kept_shape(shape: tuple, axis: tuple) -> tuple:
    return tuple(1 if i in axis else n for i, n in enumerate(shape))


def spread(g: Any, x_shape: tuple, axis: tuple, keepdims: bool) -> Any:
    """The cotangent of a reduction, repeated over what was reduced."""
    if type(g) is np.ndarray or isinstance(g, np.generic):
        g = np.asarray(g)
        return _expand(g if keepdims or len(axis) == len(x_shape) else g.reshape(kept_shape(x_shape, axis)), x_shape)
    if not keepdims and len(axis) != len(x_shape):
        g = reshape(g, shape=kept_shape(x_shape, axis))
    return expand(g, shape=x_shape)


def unkeep(value: Any, axis: tuple, keepdims: bool) -> Any:
    """Give a reduced value its size-1 axes (back), so that it broadcasts against the input."""
    if keepdims:
        return value
    for one in sorted(axis):
        value = value[(slice(None),) * one + (None,)]
    return value


def _sum(x: Any, axis: tuple, keepdims: bool) -> Any:
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return np.add.reduce(x.astype(np.float32), axis=axis, keepdims=keepdims).astype(x.dtype)
    return np.add.reduce(x, axis=axis, keepdims=keepdims)


def _sum_transpose(g: Any, x_shape: tuple, axis: tuple, keepdims: bool) -> Any:
    return spread(g, x_shape, axis, keepdims)


sum_axes = linear("SumBackward1", _sum, x=_sum_transpose)
sum_all = linear("SumBackward0", _sum, x=_sum_transpose)


def count_of(shape: tuple, axis: tuple) -> int:
    return math.prod(shape) if len(axis) == len(shape) else math.prod([shape[i] for i in axis])


def _mean(x: Any, axis: tuple, keepdims: bool) -> Any:
    count = count_of(x.shape, axis)
    if count == 0:
        return np.full(np.add.reduce(x, axis=axis, keepdims=keepdims).shape, math.nan, x.dtype)
    return _sum(x, axis, keepdims) / count


def _mean_transpose(g: Any, x_shape: tuple, axis: tuple, keepdims: bool) -> Any:
    return spread(g / max(count_of(x_shape, axis), 1), x_shape, axis, keepdims)


mean_axes = linear("MeanBackward1", _mean, x=_mean_transpose)
mean_all = linear("MeanBackward0", _mean, x=_mean_transpose)

# --- softmax ---


def _softmax(x: Any, axis: int) -> Any:
    shifted = np.exp(x - np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf))
    return shifted / np.add.reduce(shifted, axis=axis, keepdims=True)


softmax = op(
    "SoftmaxBackward0",
    _softmax,
    x=lambda g, out, axis: (g - np.sum(g * out, axis=axis, keepdims=True)) * out,
)


def _log_softmax(x: Any, axis: int) -> Any:
    shifted = x - np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))


log_softmax = op(
    "LogSoftmaxBackward0",
    _log_softmax,
    x=lambda g, out, axis: g - np.exp(out) * np.sum(g, axis=axis, keepdims=True),
)

# --- extrema ---


def _extreme_pullback(g: Any, x: Any, out: Any, axis: tuple, keepdims: bool) -> Any:
    """Shared equally among ties."""
    winners = (x == unkeep(out, axis, keepdims)) | (np.isnan(x) & np.isnan(unkeep(out, axis, keepdims)))
    return np.where(winners, unkeep(g, axis, keepdims) / np.sum(winners, axis=axis, keepdims=True), 0)


def _amax(x: Any, axis: tuple, keepdims: bool) -> Any:
    return np.maximum.reduce(x, axis=axis, keepdims=keepdims)


def _amin(x: Any, axis: tuple, keepdims: bool) -> Any:
    return np.minimum.reduce(x, axis=axis, keepdims=keepdims)


amax = op("AmaxBackward0", _amax, x=_extreme_pullback)
amin = op("AminBackward0", _amin, x=_extreme_pullback)
max_all = op("MaxBackward1", _amax, x=_extreme_pullback)
min_all = op("MinBackward1", _amin, x=_extreme_pullback)

aminmax = op(
    "AminmaxBackward0",
    lambda x, axis, keepdims: (_amin(x, axis, keepdims), _amax(x, axis, keepdims)),
    inputs=("x",),
    outputs=0,
    joint=lambda g, x, outs, axis, keepdims: (
        _extreme_pullback(g[0], x, outs[0], axis, keepdims) + _extreme_pullback(g[1], x, outs[1], axis, keepdims),
    ),
)

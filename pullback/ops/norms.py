"""Vector norms and distances between points.

The derivative where a norm is zero (or a difference is) is the subgradient torch chooses: zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd.op import Op, op
from .matmul import adjoint, matmul
from .reductions import sum_of_squares, unkeep


def _vector_norm(x: Any, order: float, axis: Any, keepdims: Any) -> Any:
    if x.dtype.itemsize == 2:  # half precision: add up in float32
        return _vector_norm(x.astype(np.float32), order, axis, keepdims).astype(x.dtype)
    if order == 2 and x.dtype.kind != "c":
        return np.sqrt(sum_of_squares(x, axis, keepdims))
    size = np.abs(x)
    if order == 0:
        return np.add.reduce(size != 0, axis=axis, keepdims=keepdims, dtype=size.dtype)
    if order == math.inf:
        return np.maximum.reduce(size, axis=axis, keepdims=keepdims)
    if order == -math.inf:
        return np.minimum.reduce(size, axis=axis, keepdims=keepdims)
    if order == 1:
        return np.add.reduce(size, axis=axis, keepdims=keepdims)
    if order == 2:
        return np.sqrt(np.add.reduce(size * size, axis=axis, keepdims=keepdims))
    return np.add.reduce(size**order, axis=axis, keepdims=keepdims) ** (1 / order)


def _direction(x: Any) -> Any:
    """x / |x|, zero at zero."""
    if x.dtype.kind != "c":
        return np.sign(x)
    size = np.abs(x)
    return _divided(x, size)


def _divided(g: Any, by: Any) -> Any:
    """g / by, zero where `by` is."""
    return np.where(by == 0, 0, g / np.where(by == 0, 1, by))


def _vector_norm_pullback(g: Any, x: Any, out: Any, order: float, axis: tuple, keepdims: bool) -> Any:
    g, norm = unkeep(g, axis, keepdims), unkeep(out, axis, keepdims)
    if order == 0:
        return x * 0 * g
    if order == 1:
        return g * _direction(x)
    if order == 2:
        return x * _divided(g, norm)
    size = np.abs(x)
    if math.isinf(order):  # shared equally among the elements that attain it
        attained = size == norm
        return _direction(x) * (g * attained / np.sum(attained, axis=axis, keepdims=True))
    if order < 2:
        slope = np.where(x == 0, 0, _direction(x) * np.where(x == 0, 1, size) ** (order - 1))
        return slope * (g * norm ** (1 - order) if order < 1 else _divided(g, norm ** (order - 1)))
    return x * size ** (order - 2) * _divided(g, norm ** (order - 1))


vector_norm: Op = op("LinalgVectorNormBackward0", _vector_norm, x=_vector_norm_pullback)


def _euclidean(a: Any, b: Any) -> Any:
    """|a_i - b_j| from one matrix product: |a|^2 + |b|^2 - 2 a.b."""
    squares = np.add.reduce(a * a, axis=-1, keepdims=True) + np.add.reduce(b * b, axis=-1)[..., None, :]
    return np.sqrt(np.maximum(squares - 2 * np.matmul(a, np.swapaxes(b, -1, -2)), 0))


def _euclidean_left(g: Any, a: Any, b: Any, out: Any) -> Any:
    ratio = _divided(g, out)
    return a * np.sum(ratio, axis=-1, keepdims=True) - matmul(ratio, b)


euclidean_distances: Op = op(
    "CdistBackward0",
    _euclidean,
    a=_euclidean_left,
    b=lambda g, a, b, out: _euclidean_left(adjoint(g), b, a, adjoint(out)),
)

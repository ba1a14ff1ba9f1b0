"""Layer norm and RMS norm over trailing axes: forward and backward, blocked and threaded.

Rows are the leading axes, columns the normalized trailing ones. Forward also returns what backward needs of a row
(its mean and reciprocal deviation) and nothing the size of the input. Half precision is computed in float32.
Batch norm and group norm are in `ops/normalization.py`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..quiet import restore, silence
from .memory import aligned, empty
from .threads import parallel_rows, prepare_broadcast


def _rows(x: np.ndarray, axes: int) -> np.ndarray:
    """`x` as (rows, columns) in the type it is computed in, with its last `axes` axes as columns."""
    columns = math.prod(x.shape[x.ndim - axes :])
    rows = math.prod(x.shape[: x.ndim - axes])
    dtype = np.float32 if x.dtype == np.float16 else x.dtype
    return x.reshape(rows, columns).astype(dtype, copy=False)


def _flat(parameter: np.ndarray | None, dtype: np.dtype) -> np.ndarray | None:
    """A parameter as an aligned row."""
    if parameter is None:
        return None
    row = aligned((parameter.size,), dtype)
    row[:] = parameter.reshape(-1)
    return row


def _statistics_shape(x: np.ndarray, axes: int) -> tuple[int, ...]:
    return (*x.shape[: x.ndim - axes], *[1] * axes)


SMALL = 1 << 14
"""Up to this many elements the plain formula over one axis beats blocks."""


def is_small(x: np.ndarray, axes: int) -> bool:
    """Whether the plain formula serves: over one axis, of few elements, not in half precision."""
    return axes == 1 and 0 < x.size <= SMALL and x.dtype.itemsize > 2


@functools.lru_cache(maxsize=64)
def column_of_ones(length: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """(ones, their number): a product with ones sums rows twice as fast as a reduction where they are few."""
    return np.ones(length, dtype), np.array(length, dtype)


def _small_layer_norm(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shape = x.shape
    ones, columns = column_of_ones(shape[-1], x.dtype.char)
    rows = x if x.ndim == 2 else x.reshape(-1, shape[-1])
    token = silence()
    try:
        mean = np.matmul(rows, ones)
        np.divide(mean, columns, mean)
        out = rows - mean[:, None]
        deviation = np.vecdot(out, out)
        np.divide(deviation, columns, deviation)
        np.add(deviation, eps, deviation)
        np.reciprocal(np.sqrt(deviation, deviation), deviation)
        np.multiply(out, deviation[:, None], out)
        if weight is not None:
            np.multiply(out, weight, out)
        if bias is not None:
            np.add(out, bias, out)
    finally:
        restore(token)
    lead = (*shape[:-1], 1)
    return out if x.ndim == 2 else out.reshape(shape), mean.reshape(lead), deviation.reshape(lead)


def _small_backward(
    gradient: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    deviation: np.ndarray,
    weight: np.ndarray | None,
    wanted: tuple[bool, ...],
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """The pullback of layer norm over one axis, where there is too little for blocks and threads."""
    length = x.shape[-1]
    kind = x.dtype.char
    rows, upstream = (x, gradient) if x.ndim == 2 else (x.reshape(-1, length), gradient.reshape(-1, length))
    scale = deviation.reshape(-1, 1)
    normal = rows - mean.reshape(-1, 1)
    np.multiply(normal, scale, normal)
    lead = column_of_ones(len(rows), kind)[0]
    for_weight = np.matmul(lead, upstream * normal) if wanted[1] else None
    for_bias = np.matmul(lead, upstream) if wanted[2] else None
    if not wanted[0]:
        return None, for_weight, for_bias
    ones, columns = column_of_ones(length, kind)
    inner = upstream if weight is None else upstream * weight
    projection = np.vecdot(inner, normal)
    np.divide(projection, columns, projection)
    total = np.matmul(inner, ones)
    np.divide(total, columns, total)
    np.multiply(normal, projection[:, None], normal)
    np.add(normal, total[:, None], normal)
    np.subtract(inner, normal, normal)
    np.multiply(normal, scale, normal)
    return normal if x.ndim == 2 else normal.reshape(x.shape), for_weight, for_bias


def layer_norm(
    x: np.ndarray, weight: np.ndarray | None = None, bias: np.ndarray | None = None, *, axes: int = 1, eps: float = 1e-5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(result, mean, reciprocal deviation); rows have mean 0 and variance 1 before weight and bias."""
    if is_small(x, axes):
        return _small_layer_norm(x, weight, bias, eps)
    rows = _rows(x, axes)
    count, columns = rows.shape
    dtype = rows.dtype
    weight, bias = _flat(weight, dtype), _flat(bias, dtype)
    result = empty(x.shape, dtype)
    out = result.reshape(rows.shape)
    mean, deviation = np.zeros((count, 1), dtype), np.zeros((count, 1), dtype)
    ones = np.ones(columns, dtype)

    def block(start: int, stop: int) -> None:
        prepare_broadcast(columns)
        part, result = rows[start:stop], out[start:stop]
        centre, scale = mean[start:stop], deviation[start:stop]
        np.divide(np.matmul(part, ones)[:, None], columns, out=centre)
        np.subtract(part, centre, result)
        np.divide(np.vecdot(result, result)[:, None], columns, out=scale)
        np.sqrt(np.add(scale, eps, out=scale), out=scale)
        np.reciprocal(scale, out=scale)
        np.multiply(result, scale, result)
        if weight is not None:
            np.multiply(result, weight, result)
        if bias is not None:
            np.add(result, bias, result)

    if rows.size:
        parallel_rows(block, count, columns * dtype.itemsize * 4, products=True)
    shape = _statistics_shape(x, axes)
    return result.astype(x.dtype, copy=False), mean.reshape(shape), deviation.reshape(shape)


def _sum_parts(parts: dict[int, np.ndarray]) -> np.ndarray:
    """Sum of the blocks' partial results in the order of the rows, so that it does not depend on thread timing."""
    total: Any = None
    for start in sorted(parts):
        total = parts[start] if total is None else total + parts[start]
    return total


def _backward(
    gradient: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray | None,
    deviation: np.ndarray,
    weight: np.ndarray | None,
    axes: int,
    wanted: tuple[bool, bool, bool],
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """Shared backward pass; `mean` is None where rows were not centred."""
    rows, cotangents = _rows(x, axes), _rows(gradient, axes)
    count, columns = rows.shape
    dtype = rows.dtype
    scales = deviation.reshape(count, 1)
    centres = None if mean is None else mean.reshape(count, 1)
    factors = np.ones(columns, dtype) if weight is None else _flat(weight, dtype)
    want_x, want_weight, want_bias = wanted
    gradient_x: Any = empty(x.shape, dtype) if want_x else None
    out: Any = gradient_x.reshape(rows.shape) if want_x else None
    weight_parts: dict[int, np.ndarray] = {}
    bias_parts: dict[int, np.ndarray] = {}

    def block(start: int, stop: int) -> None:
        prepare_broadcast(columns)
        part, upstream, scale = rows[start:stop], cotangents[start:stop], scales[start:stop]
        if want_bias:
            bias_parts[start] = np.matmul(np.ones(stop - start, dtype), upstream)
        if not (want_x or want_weight):
            return
        # The input is never centred: products with the scales, weights and means sum over rows or columns and weigh
        # them at once, and what the mean contributes is taken off the sums.
        buffer = aligned(part.shape, dtype)
        np.multiply(upstream, part, buffer)
        if want_weight:
            weight_parts[start] = np.matmul(scale[:, 0], buffer)
            if centres is not None:
                weight_parts[start] -= np.matmul(scale[:, 0] * centres[start:stop, 0], upstream)
        if not want_x:
            return
        projection = np.matmul(buffer, factors)[:, None]
        total = None
        if centres is not None:
            total = np.matmul(upstream, factors)[:, None]
            projection -= centres[start:stop] * total
        projection *= scale * scale * scale / -columns
        result = out[start:stop]
        np.multiply(upstream, scale, result)
        if weight is not None:
            np.multiply(result, factors, result)
        np.add(result, np.multiply(part, projection, buffer), result)
        if total is not None:
            np.subtract(result, projection * centres[start:stop] + total * scale / columns, result)

    if rows.size:
        parallel_rows(block, count, columns * dtype.itemsize * 6, products=True)
    shape = x.shape[x.ndim - axes :]

    def finished(parts: dict[int, np.ndarray]) -> np.ndarray:
        total = _sum_parts(parts) if parts else np.zeros(columns, dtype)
        return total.reshape(shape).astype(gradient.dtype, copy=False)

    return (
        gradient_x.astype(x.dtype, copy=False) if want_x else None,
        finished(weight_parts) if want_weight else None,
        finished(bias_parts) if want_bias else None,
    )


def layer_norm_backward(
    gradient: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    deviation: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    axes: int = 1,
    wanted: tuple[bool, bool, bool] = (True, True, True),
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """Cotangents of input, weight and bias; None for those not `wanted`."""
    if is_small(x, axes) and (weight is None or weight.dtype == x.dtype):
        return _small_backward(gradient, x, mean, deviation, weight, wanted)
    return _backward(gradient, x, mean, deviation, weight, axes, wanted)


def rms_norm(
    x: np.ndarray, weight: np.ndarray | None = None, *, axes: int = 1, eps: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(result, reciprocal root mean square); `eps` defaults to the machine epsilon of the type computed in."""
    rows = _rows(x, axes)
    count, columns = rows.shape
    dtype = rows.dtype
    weight = _flat(weight, dtype)
    epsilon = float(np.finfo(dtype).eps) if eps is None else eps
    result = empty(x.shape, dtype)
    out = result.reshape(rows.shape)
    deviation = np.zeros((count, 1), dtype)

    def block(start: int, stop: int) -> None:
        prepare_broadcast(columns)
        part, result, scale = rows[start:stop], out[start:stop], deviation[start:stop]
        np.divide(np.vecdot(part, part)[:, None], columns, out=scale)
        np.sqrt(np.add(scale, epsilon, out=scale), out=scale)
        np.reciprocal(scale, out=scale)
        np.multiply(part, scale, out=result)
        if weight is not None:
            np.multiply(result, weight, out=result)

    if rows.size:
        parallel_rows(block, count, columns * dtype.itemsize * 2)
    return result.astype(x.dtype, copy=False), deviation.reshape(_statistics_shape(x, axes))


def rms_norm_backward(
    gradient: np.ndarray,
    x: np.ndarray,
    deviation: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    axes: int = 1,
    wanted: tuple[bool, bool] = (True, True),
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Cotangents of input and weight; None for those not `wanted`."""
    return _backward(gradient, x, None, deviation, weight, axes, (*wanted, False))[:2]

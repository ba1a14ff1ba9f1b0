"""Layer norm and RMS norm over trailing axes: forward and backward, blocked and threaded.

Rows are the leading axes, columns the normalized trailing ones. Forward also returns what backward needs of a row
(its mean and reciprocal deviation) and nothing the size of the input. Half precision is computed in float32.
Sums in blocks are by `dot` and `vecdot`, which let other threads run meanwhile.
Batch norm and group norm are in `ops/normalization.py`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .half import wide_type
from .memory import Scratch, aligned, empty
from .threads import parallel_rows, prepare_broadcast
from .thresholds import WHOLE


def _rows(x: np.ndarray, axes: int) -> np.ndarray:
    """`x` as (rows, columns) in the type it is computed in, with its last `axes` axes as columns."""
    columns = math.prod(x.shape[x.ndim - axes :])
    rows = math.prod(x.shape[: x.ndim - axes])
    return x.reshape(rows, columns).astype(wide_type(x.dtype), copy=False)


def _flat(parameter: np.ndarray | None, dtype: np.dtype) -> np.ndarray | None:
    """A parameter as an aligned row."""
    if parameter is None:
        return None
    row = aligned((parameter.size,), dtype)
    row[:] = parameter.reshape(-1)
    return row


def _statistics_shape(x: np.ndarray, axes: int) -> tuple[int, ...]:
    return (*x.shape[: x.ndim - axes], *[1] * axes)


def is_small(x: np.ndarray, axes: int) -> bool:
    """True if the plain formula serves: over one axis, of few elements, not in half precision."""
    return axes == 1 and 0 < x.size <= WHOLE and x.dtype.itemsize > 2


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
    mean = rows.dot(ones)
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
    for_weight = lead.dot(upstream * normal) if wanted[1] else None
    for_bias = lead.dot(upstream) if wanted[2] else None
    if not wanted[0]:
        return None, for_weight, for_bias
    ones, columns = column_of_ones(length, kind)
    inner = upstream if weight is None else upstream * weight
    projection = np.vecdot(inner, normal)
    np.divide(projection, columns, projection)
    total = inner.dot(ones)
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
    mean, deviation = np.zeros(count, dtype), np.zeros(count, dtype)
    ones = np.ones(columns, dtype)
    number, extra, root = np.array([columns, columns * eps, math.sqrt(columns)], dtype)

    def block(start: int, stop: int) -> None:
        prepare_broadcast(columns)
        part, result, centre, scale = rows[start:stop], out[start:stop], mean[start:stop], deviation[start:stop]
        np.divide(part.dot(ones), number, centre)
        np.subtract(part, centre[:, None], result)
        np.vecdot(result, result, out=scale)
        np.add(scale, extra, scale)
        np.divide(root, np.sqrt(scale, scale), scale)
        np.multiply(result, scale[:, None], result)
        if weight is not None:
            np.multiply(result, weight, result)
        if bias is not None:
            np.add(result, bias, result)

    if rows.size:
        parallel_rows(block, count, columns * dtype.itemsize * 4, products=True)
    shape = _statistics_shape(x, axes)
    return result.astype(x.dtype, copy=False), mean.reshape(shape), deviation.reshape(shape)


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
    scales = deviation.reshape(count)
    centres = None if mean is None else mean.reshape(count)
    want_x, want_weight, want_bias = wanted
    factors: Any = np.ones(columns, dtype) if weight is None else _flat(weight, dtype)
    gradient_x: Any = empty(x.shape, dtype) if want_x else None
    out: Any = gradient_x.reshape(rows.shape) if want_x else None
    # What multiplies rows of the cotangent in the sums over rows: ones for the bias, scaled means for the weight.
    across = np.ones((2, count), dtype)
    if centres is not None:
        np.multiply(scales, centres, across[1])
    sums: dict[int, tuple] = {}
    scratch = Scratch(columns, dtype)
    shares, cubes = scales / columns, scales * scales * scales / -columns

    def block(start: int, stop: int) -> None:
        prepare_broadcast(columns)
        part, upstream, scale = rows[start:stop], cotangents[start:stop], scales[start:stop]
        # The input is never centred: what the mean contributes is taken off the sums.
        totals = across[:, start:stop].dot(upstream) if want_bias or centres is not None else None
        buffer = np.multiply(upstream, part, scratch.rows(stop - start))
        sums[start] = totals, scale.dot(buffer) if want_weight else None
        if want_x:
            of_rows = (scale, shares[start:stop], cubes[start:stop], None if centres is None else centres[start:stop])
            _pull_rows(out[start:stop], part, upstream, buffer, factors, weight is not None, *of_rows)

    if rows.size:
        width = columns * dtype.itemsize * 6
        parallel_rows(block, count, width, inline_bytes=4 << 20, products=True)
    shape = x.shape[x.ndim - axes :]

    for_weight, for_bias = np.zeros(columns, dtype), np.zeros(columns, dtype)
    for start in sorted(sums):  # in the order of the rows, so that it does not depend on the threads' timing
        totals, products = sums[start]
        if want_bias:
            for_bias += totals[0]
        if want_weight:
            for_weight += products if centres is None else products - totals[1]
    return (
        gradient_x.astype(x.dtype, copy=False) if want_x else None,
        for_weight.reshape(shape).astype(gradient.dtype, copy=False) if want_weight else None,
        for_bias.reshape(shape).astype(gradient.dtype, copy=False) if want_bias else None,
    )


def _pull_rows(
    result: np.ndarray, part: np.ndarray, upstream: np.ndarray, buffer: np.ndarray, factors: np.ndarray, weighted: bool,
    scale: np.ndarray, share: np.ndarray, cube: np.ndarray, centre: np.ndarray | None,
) -> None:  # fmt: skip
    """Write what some rows of the input get; `buffer` has `upstream * part`, and serves as work space from then on."""
    projection, total = buffer.dot(factors), None
    if centre is not None:
        total = upstream.dot(factors)
        np.subtract(projection, np.multiply(centre, total), projection)
    np.multiply(projection, cube, projection)
    np.multiply(upstream, scale[:, None], result)
    if weighted:
        np.multiply(result, factors, result)
    np.add(result, np.multiply(part, projection[:, None], buffer), result)
    if total is not None and centre is not None:
        offset = np.multiply(total, share, total)
        np.add(offset, np.multiply(projection, centre), offset)
        np.subtract(result, offset[:, None], result)


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
    deviation = np.zeros(count, dtype)

    def block(start: int, stop: int) -> None:
        prepare_broadcast(columns)
        part, result, scale = rows[start:stop], out[start:stop], deviation[start:stop]
        np.divide(np.vecdot(part, part), columns, scale)
        np.sqrt(np.add(scale, epsilon, scale), scale)
        np.reciprocal(scale, scale)
        np.multiply(part, scale[:, None], result)
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

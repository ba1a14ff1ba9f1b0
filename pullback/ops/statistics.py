"""Variances, log-sum-exp, products and medians over axes; norms are in `norms.py`.

`axis` is a tuple of non-negative axes, `keepdims` a bool; `correction` is what is subtracted from the count.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..core.basics.constants import FLOAT32
from ..core.op import Op, conjugate, op
from ..kernels.like import largest
from ..kernels.thresholds import FOLDED_PRODUCT
from .cumulative import has_zeros, products_before
from .fusing import number_for
from .layouts import MEDIAN_OF_ALL, along
from .piecewise import fill
from .reductions import count_of, mean_axes, mean_transpose, spread, sum_axes, sum_of_squares, with_reduced_axes
from .samples import arrays
from .shape import permute, reshape
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import Axes
    from ..core.basics.types import NumPyArray as Array

# --- variance ---

_ROUNDING = {2: 1e-12, 4: 1e-12, 8: 1e-30}
"""By the bytes of a number: the square of what its rounding may be, with room for that of sums."""


def _variance(x: Array, axis: Axes, keepdims: bool, correction: float) -> Array:
    if x.dtype.kind == "c":
        return _variance(x.real, axis, keepdims, correction) + _variance(x.imag, axis, keepdims, correction)
    count = count_of(x.shape, axis)
    values = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    total = sum_axes.forward(values, axis, len(axis) < x.ndim)
    mean = total / number_for(max(count, 1), total)
    deviation = values - mean
    total = in_order(sum_of_squares(deviation, axis, keepdims))
    means = mean.ravel()
    if count and total.size and not np.min(total) > count * _ROUNDING[x.itemsize] * means.dot(means):
        # Some numbers may all be equal: their deviations are none, and not what rounding makes of their mean.
        deviation -= mean_axes.forward(deviation, axis, len(axis) < x.ndim)
        total = in_order(sum_of_squares(deviation, axis, keepdims))
    divisor = max(count - correction, 0)
    if divisor:
        out = total / number_for(divisor, total)
        return out if out.dtype is x.dtype else out.astype(x.dtype)
    return np.where(total > 0, np.inf, np.nan).astype(x.dtype)


def _variance_pullback(g: Array, x: Array, axis: Axes, keepdims: bool, correction: float) -> Array:
    count = count_of(x.shape, axis)
    divisor = count - correction
    mean = sum_axes(x, axis=axis, keepdims=True) / max(count, 1)
    if divisor <= 0 and len(axis) == len(x.shape):  # the same for whatever else x might be
        return with_reduced_axes(g, axis, keepdims) * np.where(x == mean, math.nan, math.inf)
    scale = 2 / divisor if divisor else math.inf
    return with_reduced_axes(g, axis, keepdims) * scale * (x - mean)


def _deviation_pullback(g: Array, x: Array, out: Array, axis: Axes, keepdims: bool, correction: float) -> Array:
    safe = np.where(out == 0, 1, out)
    return _variance_pullback(np.where(out == 0, 0, g / (2 * safe)), x, axis, keepdims, correction)


def _deviation(x: Array, axis: Axes, keepdims: bool, correction: float) -> Array:
    out = np.sqrt(_variance(x, axis, keepdims, correction))
    overflows = x.dtype is FLOAT32 and (np.isinf(out).any() if out.ndim else math.isinf(out))
    if overflows:  # squares above 1e38, whose root need not be
        return np.sqrt(_variance(x.astype(np.float64), axis, keepdims, correction)).astype(x.dtype)
    return out


variance: Op = op("VarBackward0", _variance, x=_variance_pullback, batch=along("axis"), aten="var.correction")
deviation: Op = op("StdBackward0", _deviation, x=_deviation_pullback, batch=along("axis"), aten="std.correction")


variance_mean: Op = op(
    "VarMeanBackward0",
    lambda x, axis, keepdims, correction: (
        _variance(x, axis, keepdims, correction),
        mean_axes.forward(x, axis, keepdims),
    ),
    inputs=("x",),
    outputs=0,
    joint=lambda g, x, x_shape, axis, keepdims, correction: (
        _variance_pullback(g[0], x, axis, keepdims, correction) + mean_transpose(g[1], x_shape, axis, keepdims),
    ),
    batch=along("axis"),
    aten="var_mean.correction",
    samples=arrays((2, 3), axis=(1,), keepdims=False, correction=1),
)
deviation_mean: Op = op(
    "StdMeanBackward0",
    lambda x, axis, keepdims, correction: (
        _deviation(x, axis, keepdims, correction),
        mean_axes.forward(x, axis, keepdims),
    ),
    inputs=("x",),
    outputs=0,
    joint=lambda g, x, out, x_shape, axis, keepdims, correction: (
        _deviation_pullback(g[0], x, out, axis, keepdims, correction) + mean_transpose(g[1], x_shape, axis, keepdims),
    ),
    batch=along("axis"),
    aten="std_mean.correction",
    samples=arrays((2, 3), axis=(1,), keepdims=True, correction=0),
)

# --- log-sum-exp ---


def _logsumexp(x: Array, axis: Axes, keepdims: bool) -> Array:
    real = x.real if x.dtype.kind == "c" else x
    if x.dtype.itemsize == 2:
        return _logsumexp(x.astype(np.float32), axis, keepdims).astype(x.dtype)
    peak = in_order(largest(real, axis))
    flat = peak.ravel()
    if not flat.dot(flat) < math.inf:  # some are infinite, NaN or huge
        peak = np.where(np.isfinite(peak), peak, real.dtype.type(0))
    out = np.log(sum_axes.forward(np.exp(x - peak), axis, True)) + peak
    return out if keepdims else out.squeeze(axis)


logsumexp: Op = op(
    "LogsumexpBackward0",
    _logsumexp,
    x=lambda g, x, out, axis, keepdims: with_reduced_axes(g, axis, keepdims) * np.exp(
        conjugate(x) - conjugate(with_reduced_axes(out, axis, keepdims))
    ),
    batch=along("axis"),
)  # fmt: skip

# --- products ---


def _folded(x: Array, axis: Axes) -> Array:
    """Rows whose halves are multiplied with each other until they are short: NumPy multiplies a row one by one."""
    last = x.ndim - 1
    if axis[-1] != last or x.dtype.kind not in "fc" or x.dtype.itemsize == 2 or x.size < FOLDED_PRODUCT:
        return x
    while (length := x.shape[-1]) > 32:
        half = length // 2
        product = x[..., :half] * x[..., half : 2 * half]
        if length % 2:
            product[..., 0] *= x[..., -1]
        x = product
    return x


def _product(x: Array, axis: Axes, keepdims: bool) -> Array:
    if axis:
        x = _folded(x if len(axis) < x.ndim else x.reshape(*(1,) * (x.ndim - 1), -1), axis)
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return in_order(np.multiply.reduce(x.astype(np.float32), axis=axis, keepdims=keepdims).astype(x.dtype))  # type: ignore[call-overload]
    return in_order(
        np.multiply.reduce(x, axis=axis, dtype=x.dtype if x.dtype.kind in "iu" else None, keepdims=keepdims)  # type: ignore[call-overload]
    )


def _others(x: Array) -> Array:
    """For each element of a vector along the last axis, the product of all the others."""
    axis = len(x.shape) - 1
    return products_before(x, axis=axis, reverse=False) * products_before(x, axis=axis, reverse=True)


def _product_pullback(g: Array, x: Array, out: Array, axis: Axes, keepdims: bool) -> Array:
    g = with_reduced_axes(g, axis, keepdims)
    if count_of(x.shape, axis) == 1:
        return g * fill(x, value=1)  # constant in x, so that second derivatives are zeros without rounding
    if not has_zeros(x):
        return g * conjugate(with_reduced_axes(out, axis, keepdims) / x)
    rest = tuple(i for i in range(len(x.shape)) if i not in axis)
    order = rest + tuple(axis)
    moved = permute(x, axes=order)
    flat = reshape(moved, shape=(*(x.shape[i] for i in rest), count_of(x.shape, axis)))
    others = reshape(_others(flat), shape=tuple(x.shape[i] for i in order))
    return g * conjugate(permute(others, axes=tuple(order.index(i) for i in range(len(order)))))


product_all: Op = op("ProdBackward0", _product, x=_product_pullback, autocast="full", batch=along("axis"))
product_axes: Op = op(
    "ProdBackward1", _product, x=_product_pullback, autocast="full", batch=along("axis"), aten="prod.dim_int"
)

# --- sums that leave NaN out ---


def _nansum(x: Array, axis: Axes, keepdims: bool) -> Array:
    kept = np.where(np.isnan(x), x.dtype.type(0), x)
    return sum_axes.forward(kept, axis, keepdims)


nansum: Op = op(
    "NansumBackward0",
    _nansum,
    x=lambda g, x, axis, keepdims: spread(g, x.shape, axis, keepdims) * ~np.isnan(x),
    batch=along("axis"),
    samples=arrays((2, 3), axis=(1,), keepdims=False),
)

# --- medians of everything: the gradient is shared among the elements equal to it ---


def _median_of_all(x: Array) -> Array:
    flat = x.reshape(-1)
    if flat.size == 0:
        return np.array(math.nan).astype(x.dtype)
    if x.dtype.kind in "fV" and np.isnan(flat).any():
        return x.dtype.type(math.nan)
    return np.partition(flat, (flat.size - 1) // 2)[(flat.size - 1) // 2]


def _nanmedian_of_all(x: Array) -> Array:
    flat = x.reshape(-1)
    if x.dtype.kind in "fV":
        flat = flat[~np.isnan(flat)]
    return _median_of_all(flat)


def _shared(g: Array, x: Array, out: Array) -> Array:
    chosen = (x == out) | (np.isnan(x) & np.isnan(out))
    return np.where(chosen, g / np.sum(chosen), 0)


median_of_all: Op = op(
    "MedianBackward0",
    _median_of_all,
    x=_shared,
    batch=MEDIAN_OF_ALL,
    samples=arrays((2, 3)),
)
nanmedian_of_all: Op = op(
    "NanmedianBackward0",
    _nanmedian_of_all,
    x=_shared,
    batch=MEDIAN_OF_ALL,
    samples=arrays((2, 3)),
)

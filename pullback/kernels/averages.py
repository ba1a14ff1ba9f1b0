"""Average, sum and adaptive average pooling, one spatial axis after another, and their transposes.

A window's sum over several axes is a sum over one axis at a time, so cost grows with the sum of the kernel sizes
and not their product. Padding is never stored: each tap adds the range of positions where it lies inside.
Every function here is linear in its array. Arrays are (n, channels, *spatial).
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ..core.basics.constants import FLOAT32, FLOAT64, ones
from . import few_columns
from .half import wide_type
from .pooling import adaptive_bounds, pooled_shape
from .threads import parallel_rows
from .windows import windows_of

Ints = tuple[int, ...]


def _tap_ranges(size: int, count: int, kernel: int, stride: int, padding: int) -> list[tuple[slice, slice]]:
    """For each tap that touches the axis: the positions it serves, and the coordinates it reads there."""
    ranges = []
    for tap in range(max(padding - (count - 1) * stride, 0), min(kernel, size + padding)):  # the others see padding
        first = max(-(-(padding - tap) // stride), 0)
        last = min((size - 1 + padding - tap) // stride, count - 1)
        if first <= last:
            start = first * stride - padding + tap
            stop = last * stride - padding + tap + 1
            ranges.append((slice(first, last + 1), slice(start, stop, stride)))
    return ranges


def _window_counts(size: int, count: int, kernel: int, stride: int, padding: int, include_padding: bool) -> np.ndarray:
    """The divisor of each window along one axis: its length inside the padded axis, or inside the axis."""
    starts = np.arange(count) * stride - padding
    stops = np.minimum(starts + kernel, size + padding)
    if include_padding:
        return stops - starts
    return np.minimum(stops, size) - np.maximum(starts, 0)


class _Plan:
    """Tap ranges of each axis and the divisor of each position, an int where it is the same for all."""

    def __init__(
        self,
        spatial: Ints,
        output: Ints,
        kernel: Ints,
        stride: Ints,
        padding: Ints,
        include_padding: bool,
        override: int | None,
        dtype: np.dtype,
    ) -> None:
        axes = list(zip(spatial, output, kernel, stride, padding))
        self.dtype = dtype
        self.ranges = [_tap_ranges(*sizes) for sizes in axes]
        self.windows = windows_of(spatial, kernel, stride, padding, (1,) * len(kernel), output)
        if override is not None:
            if override == 0:
                raise RuntimeError("divisor must be not zero")
            self.divisor: np.ndarray | int = override
            return
        total = np.ones((1,) * len(output), np.int64)
        for axis, sizes in enumerate(axes):
            counts = _window_counts(*sizes, include_padding)
            shape = [1] * len(output)
            shape[axis] = len(counts)
            total = total * counts.reshape(shape)
        same = total.size > 0 and bool((total == total.flat[0]).all())
        self.divisor = int(total.flat[0]) if same else total.astype(dtype)

    def suits_few(self, planes: int) -> bool:
        """True if `few_columns` is quicker for so many planes."""
        windows = self.windows
        return not windows.bordered and few_columns.suits(planes, 1, 1, windows, self.dtype)


plan_of = functools.lru_cache(maxsize=128)(_Plan)


def _along(axis: int, part: slice | int) -> tuple:
    return (slice(None),) * axis + (part,)


def avg_pool(
    x: np.ndarray,
    *,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:
    """Mean of each window; a `divisor_override` of 1 gives its sum."""
    axes = len(kernel)
    spatial, lead = x.shape[x.ndim - axes :], x.shape[: x.ndim - axes]
    output = pooled_shape(spatial, kernel, stride, padding, (1,) * axes, ceil_mode=ceil_mode)
    dtype = wide_type(x.dtype)
    plan = plan_of(spatial, output, kernel, stride, padding, count_include_pad, divisor_override, dtype)
    planes = x.reshape(math.prod(lead), *spatial).astype(dtype, copy=False)
    if plan.suits_few(len(planes)):
        out = few_columns.window_sums(planes, plan.windows) / plan.divisor
        return out.reshape(*lead, *output).astype(x.dtype, copy=False)
    out = np.empty((len(planes), *output), dtype)

    def block(start: int, stop: int) -> None:
        part = planes[start:stop]
        for axis, taps in enumerate(plan.ranges, 1):
            part = _sum_taps(part, axis, output[axis - 1], taps)
        np.divide(part, plan.divisor, out=out[start:stop])

    if out.size:
        parallel_rows(block, len(planes), math.prod(spatial) * dtype.itemsize * 3)
    return out.reshape(*lead, *output).astype(x.dtype, copy=False)


def _sum_taps(x: np.ndarray, axis: int, count: int, taps: list[tuple[slice, slice]]) -> np.ndarray:
    """Sum of windows along one axis."""
    whole = slice(0, count)
    if len(taps) > 1 and taps[0][0] == taps[1][0] == whole:
        # No padding under the first two taps: their sum starts the result.
        out = np.add(x[_along(axis, taps[0][1])], x[_along(axis, taps[1][1])])
        taps = taps[2:]
    else:
        shape = list(x.shape)
        shape[axis] = count
        out = np.zeros(shape, x.dtype)
    for positions, coordinates in taps:
        target = out[_along(axis, positions)]
        np.add(target, x[_along(axis, coordinates)], out=target)
    return out


def avg_pool_transpose(
    gradient: np.ndarray,
    *,
    spatial: Ints,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:
    """Transpose of `avg_pool` from a cotangent (n, channels, *output) to (n, channels, *spatial)."""
    axes = len(kernel)
    output, lead = gradient.shape[gradient.ndim - axes :], gradient.shape[: gradient.ndim - axes]
    dtype = wide_type(gradient.dtype)
    plan = plan_of(spatial, output, kernel, stride, padding, count_include_pad, divisor_override, dtype)
    planes = gradient.reshape(math.prod(lead), *output).astype(dtype, copy=False)
    if plan.suits_few(len(planes)):
        out = few_columns.window_sums_transpose(planes / plan.divisor, plan.windows)
        return out.reshape(*lead, *spatial).astype(gradient.dtype, copy=False)
    out = np.empty((len(planes), *spatial), dtype)

    def block(start: int, stop: int) -> None:
        part = np.divide(planes[start:stop], plan.divisor)
        for axis in range(axes, 0, -1):
            shape = list(part.shape)
            windows, shape[axis] = shape[axis], spatial[axis - 1]
            spread = out[start:stop] if axis == 1 else np.empty(shape, dtype)
            taps, step = kernel[axis - 1], stride[axis - 1]
            apart = taps <= step
            if taps != step or padding[axis - 1] or taps * windows != spatial[axis - 1]:
                spread.fill(0)  # some coordinates are read by no window, or by several
            for positions, coordinates in plan.ranges[axis - 1]:
                target = spread[_along(axis, coordinates)]
                if apart:  # windows do not overlap
                    target[...] = part[_along(axis, positions)]
                else:
                    np.add(target, part[_along(axis, positions)], out=target)
            part = spread

    if out.size:
        parallel_rows(block, len(planes), math.prod(spatial) * dtype.itemsize * 3)
    return out.reshape(*lead, *spatial).astype(gradient.dtype, copy=False)


def adaptive_avg_pool(x: np.ndarray, *, output: Ints) -> np.ndarray:
    """Mean of windows that divide each axis into `output` parts."""
    axes = len(output)
    dtype = x.dtype
    x = x.astype(wide_type(dtype), copy=False)
    if all(count == 1 for count in output) and x.size:
        lead = x.shape[: x.ndim - axes]
        flat = x.reshape(math.prod(lead), -1)
        count = flat.shape[1]
        mean = (
            np.vecdot(flat, ones(count, x.dtype) if x.dtype in (FLOAT32, FLOAT64) else np.ones(count, x.dtype)) / count
        )
        return mean.reshape(*lead, *output).astype(dtype, copy=False)
    result = np.empty((*x.shape[: x.ndim - axes], *output), x.dtype)  # first: there may be no room for it
    for axis, count in enumerate(output, x.ndim - axes):
        shape = list(x.shape)
        shape[axis] = count
        out = np.empty(shape, x.dtype) if axis < x.ndim - 1 else result
        for place, (start, stop) in enumerate(adaptive_bounds(x.shape[axis], count)):
            total = np.add.reduce(x[_along(axis, slice(start, stop))], axis=axis)
            np.divide(total, stop - start, out=out[_along(axis, place)])
        x = out
    return x.astype(dtype, copy=False)


def adaptive_avg_pool_transpose(gradient: np.ndarray, *, spatial: Ints) -> np.ndarray:
    """Transpose of `adaptive_avg_pool`."""
    axes = len(spatial)
    dtype = gradient.dtype
    gradient = gradient.astype(wide_type(dtype), copy=False)
    for axis, size in zip(range(gradient.ndim - 1, gradient.ndim - axes - 1, -1), reversed(spatial)):
        shape = list(gradient.shape)
        shape[axis] = size
        out = np.zeros(shape, gradient.dtype)
        for place, (start, stop) in enumerate(adaptive_bounds(size, gradient.shape[axis])):
            target = out[_along(axis, slice(start, stop))]
            np.add(target, gradient[_along(axis, slice(place, place + 1))] / (stop - start), out=target)
        gradient = out
    return gradient.astype(dtype, copy=False)

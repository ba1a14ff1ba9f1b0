"""Convolutions and averages of few elements: a table of indices picks all columns at once, one product does the rest.

What `convolution.py` does to make large ones fast (pieces, threads, scratch memory) takes longer here than the work
itself. Arrays are float32 or float64 and there is one group.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from .thresholds import FEW_COLUMN_ELEMENTS
from .windows import Windows


def suits(samples: int, channels: int, groups: int, windows: Windows, dtype: np.dtype) -> bool:
    """True if a convolution is one for this module."""
    elements = samples * channels * windows.taps * math.prod(windows.output)
    return groups == 1 and 0 < elements <= FEW_COLUMN_ELEMENTS and dtype.char in "fd"


@functools.lru_cache(maxsize=64)
def tap_table(windows: Windows) -> np.ndarray:
    """Where in the padded sample each tap reads for each position: (taps, positions)."""
    starts = np.zeros(1, np.intp)
    for count, stride, step in zip(windows.output, windows.stride, windows.steps):
        starts = (starts[:, None] + np.arange(count) * stride * step).reshape(-1)
    return np.array(windows.offsets)[:, None] + starts


@functools.lru_cache(maxsize=64)
def tap_places(planes: int, windows: Windows) -> np.ndarray:
    """`tap_table` for several planes laid end to end."""
    starts = np.arange(planes) * math.prod(windows.padded)
    return (starts[:, None] + tap_table(windows).reshape(-1)).reshape(-1)


def window_sums(planes: np.ndarray, windows: Windows) -> np.ndarray:
    """The sum of each window of planes (planes, *spatial), where there is no padding: (planes, *output)."""
    picked = planes.reshape(len(planes), -1).take(tap_table(windows), 1)
    return np.add.reduce(picked, axis=1).reshape(len(planes), *windows.output)


def window_sums_transpose(gradient: np.ndarray, windows: Windows) -> np.ndarray:
    """The transpose of `window_sums`."""
    planes = len(gradient)
    out = np.zeros(planes * math.prod(windows.spatial), gradient.dtype)
    values = np.repeat(gradient.reshape(planes, 1, -1), windows.taps, axis=1)
    np.add.at(out, tap_places(planes, windows), values.reshape(-1))
    return out.reshape(planes, *windows.spatial)


def convolution(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, windows: Windows
) -> tuple[np.ndarray, np.ndarray]:
    """(result, columns (n, channels * taps, positions))."""
    n, outputs = x.shape[0], weight.shape[0]
    columns = windows.padded_samples(x).take(tap_table(windows), 2).reshape(n, x.shape[1] * windows.taps, -1)
    matrix = weight.reshape(outputs, -1)
    out = matrix.dot(columns[0])[None] if n == 1 else np.matmul(matrix, columns)
    if bias is not None:
        np.add(out, bias[:, None], out)
    return out.reshape(n, outputs, *windows.output), columns


def input_gradient(gradient: np.ndarray, weight: np.ndarray, windows: Windows) -> np.ndarray:
    """The transpose in the input."""
    n, outputs = gradient.shape[:2]
    channels = weight.shape[1]
    slopes, matrix = gradient.reshape(n, outputs, -1), weight.reshape(outputs, -1)
    columns = matrix.T.dot(slopes[0]) if n == 1 else np.matmul(matrix.T, slopes)
    out = np.zeros(n * channels * math.prod(windows.padded), gradient.dtype)
    np.add.at(out, tap_places(n * channels, windows), columns.reshape(-1))
    return np.ascontiguousarray(windows.interior(out.reshape(n, channels, -1)))


def parameter_gradients(
    gradient: np.ndarray, columns: np.ndarray, weight_shape: tuple[int, ...], biased: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """The cotangents of weight and bias."""
    n, outputs = gradient.shape[:2]
    slopes = gradient.reshape(n, outputs, -1)
    for_bias = np.add.reduce(slopes, axis=(0, 2)) if biased else None
    if n == 1:
        return slopes[0].dot(columns[0].T).reshape(weight_shape), for_bias
    products = np.matmul(slopes, columns.swapaxes(1, 2))
    return np.add.reduce(products, axis=0).reshape(weight_shape), for_bias

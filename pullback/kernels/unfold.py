"""Unfold and fold: sliding windows copied out as columns, and columns added back; each is the other's transpose."""

from __future__ import annotations

import math

import numpy as np

from .threads import parallel_rows
from .windows import Windows, windows_of

Ints = tuple[int, ...]


def _geometry(spatial: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Windows:
    for name, values in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
        if any(value <= 0 for value in values):
            raise RuntimeError(f"{name} should be greater than zero, but got {values}")
    if any(value < 0 for value in padding):
        raise RuntimeError(f"padding should be non-negative, but got {padding}")
    return windows_of(spatial, kernel, stride, padding, dilation, flat=False)


def unfold(x: np.ndarray, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> np.ndarray:
    """Windows of `x` (n, channels, *spatial) as columns (n, channels * taps, positions)."""
    windows = _geometry(x.shape[2:], kernel, stride, padding, dilation)
    if any(count < 1 for count in windows.output):
        raise RuntimeError(
            f"Given input with spatial size {x.shape[2:]}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as {windows.output}, "
            "but its components must be at least one."
        )
    n, channels = x.shape[:2]
    positions = math.prod(windows.output)
    out = np.empty((n, channels, *kernel, *windows.output), x.dtype)

    def block(start: int, stop: int) -> None:
        np.copyto(out[start:stop], windows.columns(windows.padded_samples(x[start:stop])))

    if out.size:
        parallel_rows(block, n, channels * windows.taps * positions * x.itemsize)
    return out.reshape(n, channels * windows.taps, positions)


def fold(
    columns: np.ndarray, *, spatial: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> np.ndarray:
    """Add columns (n, channels * taps, positions) where `unfold` reads them, into (n, channels, *spatial)."""
    windows = _geometry(spatial, kernel, stride, padding, dilation)
    n, rows, positions = columns.shape
    if rows % windows.taps:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={rows} and kernel_size={kernel}."
        )
    if any(count < 1 for count in windows.output):
        raise RuntimeError(
            f"Given output_size={spatial}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"stride={stride}, calculated shape of the array of sliding blocks as {windows.output}, which is too small "
            "(non-positive)"
        )
    expected = math.prod(windows.output)
    if positions != expected:
        raise RuntimeError(
            f"Given output_size={spatial}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"stride={stride}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{' * '.join(map(str, windows.output))} = {expected}, but got input.size(2)={positions}."
        )
    channels = rows // windows.taps
    by_tap = columns.reshape(n, channels, windows.taps, *windows.output)
    out = np.empty((n, channels, *spatial), columns.dtype)

    def block(start: int, stop: int) -> None:
        buffer = np.zeros((stop - start, channels, math.prod(windows.padded)), columns.dtype)
        for tap, view in enumerate(windows.tap_views(buffer)):
            np.add(view, by_tap[start:stop, :, tap], out=view)
        np.copyto(out[start:stop], windows.interior(buffer))

    if out.size:
        parallel_rows(block, n, rows * positions * columns.itemsize)
    return out

"""Geometry of sliding windows: what convolution, pooling and unfold share.

A `Windows` knows, for a spatial shape and a kernel with stride, padding and dilation, where each kernel tap reads.
It pads samples into a buffer, views the buffer as (channel, tap, position) without copying, and adds such
columns back into a padded buffer, which is the transpose. Arithmetic on the values lives in the callers.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Number of windows that lie fully inside one padded axis."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


class Windows:
    """Where the taps of a kernel read in one sample, for each output position.

    With all strides 1 the geometry is `flat`: positions are a contiguous range of the flattened padded sample, so
    that a tap's column is one long run of memory. The range also covers positions that wrap around a row's end
    ("wide" positions); `narrow` drops them again. An `output` larger than what fits (ceil mode) extends the border
    at the end.
    """

    __slots__ = ("spatial", "kernel", "stride", "padding", "dilation", "padded", "output", "steps", "flat", "span",
                 "positions", "_offsets", "wide_shape", "taps", "bordered", "dense", "wide_size")  # fmt: skip
    spatial: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    def __init__(
        self,
        spatial: tuple[int, ...],
        kernel: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        output: tuple[int, ...] | None = None,
        *,
        flat: bool = True,
    ) -> None:
        self.spatial, self.kernel, self.stride, self.padding, self.dilation = spatial, kernel, stride, padding, dilation
        if output is None:
            output = tuple(map(window_count, spatial, kernel, stride, padding, dilation))
        self.output: tuple[int, ...] = output
        self.padded: tuple[int, ...] = tuple(
            max(size + 2 * pad, (count - 1) * step + spread * (taps - 1) + 1)
            for size, pad, count, step, spread, taps in zip(spatial, padding, output, stride, dilation, kernel)
        )
        steps = [1]
        for size in self.padded[:0:-1]:
            steps.append(steps[-1] * size)
        self.steps: tuple[int, ...] = tuple(reversed(steps))
        self.flat: bool = flat and all(step == 1 for step in stride)
        self.span: int = sum((count - 1) * step for count, step in zip(output, self.steps)) + 1
        self.positions: tuple[int, ...] = (self.span,) if self.flat else output
        self.wide_shape: tuple[int, ...] = (output[0], *self.padded[1:]) if self.flat else output
        self.taps: int = math.prod(kernel)
        self._offsets: list[int] | None = None
        self.bordered: bool = self.padded != spatial  # the padded sample is larger than the sample
        self.dense: bool = self.wide_shape == output  # wide positions are exactly the output positions
        self.wide_size: int = math.prod(self.wide_shape)

    @property
    def offsets(self) -> list[int]:
        """How far behind the first tap each one reads; made when it is asked for, as a kernel may turn out not to fit."""
        if self._offsets is None:
            distances = [
                [tap * d * step for tap in range(k)] for k, d, step in zip(self.kernel, self.dilation, self.steps)
            ]
            self._offsets = [sum(taps) for taps in itertools.product(*distances)]
        return self._offsets

    def interior(self, buffer: np.ndarray) -> np.ndarray:
        """The part of a padded buffer (..., padded elements) that holds the sample, as (..., *spatial)."""
        index: tuple[Any, ...] = tuple(slice(pad, pad + size) for pad, size in zip(self.padding, self.spatial))
        return buffer.reshape(*buffer.shape[:-1], *self.padded)[..., *index]

    def padded_samples(self, x: np.ndarray, fill: object = 0) -> np.ndarray:
        """`x` (n, channels, *spatial) as a contiguous (n, channels, padded elements); copied only where needed."""
        if not self.bordered:
            return np.ascontiguousarray(x).reshape(*x.shape[:2], math.prod(x.shape[2:]))
        shape = (*x.shape[:2], math.prod(self.padded))
        buffer = np.full(shape, fill, x.dtype) if fill else np.zeros(shape, x.dtype)
        self.interior(buffer)[...] = x
        return buffer

    def columns(self, buffer: np.ndarray) -> np.ndarray:
        """View of a contiguous padded buffer (n, channels, padded elements) as (n, channels, *kernel, *positions)."""
        size = buffer.itemsize
        tap_strides = [d * step * size for d, step in zip(self.dilation, self.steps)]
        if self.flat:
            position_strides = [size]
        else:
            position_strides = [s * step * size for s, step in zip(self.stride, self.steps)]
        return np.ndarray(
            (*buffer.shape[:2], *self.kernel, *self.positions),
            buffer.dtype,
            buffer,
            0,
            (*buffer.strides[:2], *tap_strides, *position_strides),
        )

    def bands(self, buffer: np.ndarray, length: int) -> np.ndarray:
        """View of a padded buffer (n, channels, padded elements) as (n, channels, *inner kernel, length): inner taps."""
        size = buffer.itemsize
        strides = [d * step * size for d, step in zip(self.dilation[1:], self.steps[1:])]
        shape = (*buffer.shape[:2], *self.kernel[1:], length)
        return np.ndarray(shape, buffer.dtype, buffer, 0, (*buffer.strides[:2], *strides, size))

    def narrow(self, wide: np.ndarray) -> np.ndarray:
        """View of wide positions (..., prod(wide_shape)) as the output (..., *output)."""
        wide = wide.reshape(*wide.shape[:-1], *self.wide_shape)
        index: tuple[Any, ...] = tuple(map(slice, self.output))
        return wide[..., *index]

    def tap_views(self, buffer: np.ndarray) -> Iterator[np.ndarray]:
        """For each tap in order, the view (..., *positions) of a contiguous buffer (..., padded elements) it reads."""
        size = buffer.itemsize
        if self.flat:
            for offset in self.offsets:
                yield buffer[..., offset : offset + self.span]
            return
        strides = (*buffer.strides[:-1], *[s * step * size for s, step in zip(self.stride, self.steps)])
        shape = (*buffer.shape[:-1], *self.output)
        for offset in self.offsets:
            yield np.ndarray(shape, buffer.dtype, buffer, offset * size, strides)


windows_of: Callable[..., Windows] = functools.lru_cache(maxsize=256)(Windows)
"""A `Windows`, kept for the next call: a model asks for the same few geometries at every step."""

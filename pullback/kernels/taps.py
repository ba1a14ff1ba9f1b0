"""Weighted sums of a few pixels for each point of an image, and the two transposes of that.

Images are (n, channels, *spatial), weights and places (n, taps, *points): a point is the sum of its taps' pixels times
their weights. Places count through an image with a frame of zeros one pixel wide, so that a tap outside reads zero and
what is added there is lost. The three functions are the three derivatives of one sum of products.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .threads import parallel_tasks
from .thresholds import TAP_BYTES


def _inner(ndim: int) -> tuple:
    return (slice(None), *(slice(1, -1),) * (ndim - 1))


def _framed(x: np.ndarray) -> np.ndarray:
    """Planes (channels, *spatial) with a frame of zeros, each as one row."""
    out = np.zeros((len(x), *[size + 2 for size in x.shape[1:]]), x.dtype)
    out[_inner(x.ndim)] = x
    return out.reshape(len(x), -1)


def _by_channels(function: Callable[[int, slice], object], shape: tuple[int, ...], points: int) -> None:
    """`function(sample, channels)` for blocks of the channels of every sample, on all threads."""
    samples, channels = shape[:2]
    step = max(TAP_BYTES // (4 * max(points, math.prod(shape[2:]), 1)), 1)
    parallel_tasks(
        function, [(n, slice(start, start + step)) for n in range(samples) for start in range(0, channels, step)]
    )


def weighted_taps(x: np.ndarray, weights: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The points (n, channels, *points) of images."""
    points = weights.shape[2:]
    out = np.empty((*x.shape[:2], *points), x.dtype)
    rows, factors, indices = _as_rows(out, 2), _as_rows(weights, 2), _as_rows(places, 2)

    def block(sample: int, channels: slice) -> None:
        planes, total = _framed(x[sample, channels]), rows[sample, channels]
        part = np.empty_like(total)
        for tap, (index, factor) in enumerate(zip(indices[sample], factors[sample], strict=True)):
            target = part if tap else total
            planes.take(index, 1, out=target, mode="clip")
            target *= factor
            if tap:
                total += part

    _by_channels(block, x.shape, rows.shape[2])
    return out


def spread_taps(g: np.ndarray, weights: np.ndarray, places: np.ndarray, spatial: tuple[int, ...]) -> np.ndarray:
    """Images to which each point has added itself times its taps' weights."""
    out = np.empty((*g.shape[:2], *spatial), g.dtype)
    rows, factors, indices = _as_rows(g, 2), _as_rows(weights, 2), _as_rows(places, 2)
    framed = tuple(size + 2 for size in spatial)

    def block(sample: int, channels: slice) -> None:
        index = indices[sample].reshape(-1)
        planes = np.zeros((len(rows[sample, channels]), math.prod(framed)), g.dtype)
        for plane, row in zip(planes, rows[sample, channels], strict=True):
            np.add.at(plane, index, (factors[sample] * row).reshape(-1))
        out[sample, channels] = planes.reshape(-1, *framed)[_inner(len(framed) + 1)]

    _by_channels(block, out.shape, rows.shape[2])
    return out


def taps_times_points(g: np.ndarray, x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """For each tap (n, taps, *points) its pixel times the point, summed over channels."""
    out = np.zeros(places.shape, x.dtype)
    rows, totals, indices = _as_rows(g, 2), _as_rows(out, 2), _as_rows(places, 2)

    def sample_of(sample: int) -> None:
        def block(_: int, channels: slice) -> None:
            planes, points = _framed(x[sample, channels]), rows[sample, channels]
            part = np.empty_like(points)
            for total, index in zip(totals[sample], indices[sample], strict=True):
                planes.take(index, 1, out=part, mode="clip")
                total += np.einsum("cp,cp->p", part, points)

        _by_channels(block, (1, *x.shape[1:]), rows.shape[2])  # the channels of one sample are added up: in turn

    parallel_tasks(sample_of, [(sample,) for sample in range(len(x))])
    return out


def _as_rows(x: np.ndarray, ndim: int) -> np.ndarray:
    """The axes from `ndim` on as one."""
    return x.reshape(*x.shape[:ndim], math.prod(x.shape[ndim:]))

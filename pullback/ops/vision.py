"""Resampling of axes (resizing, and padding with an array's own values), and sampling of images at any points.

Resampling is linear; a transpose swaps the tables. `axes` are the axes concerned, `tables` and `back` the tables of
`kernels/resampling.py` for each, there and back. A sample is the sum of a few pixels times weights (`kernels/taps.py`),
so it has two derivatives that are sums of products of the same three things.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.kernel import kernel
from ..core.op import Op, linear, op
from ..kernels import taps
from ..kernels.like import brought, zeros
from ..kernels.order import keeping_channels
from ..kernels.resampling import apply_table, padding_tables, resize_tables
from .fusing import in_single
from .layouts import SAMPLES, along
from .samples import Draw, Sample
from .scatter import add_at_places

if TYPE_CHECKING:
    from ..core.basics.types import Axes, Shape
    from ..core.basics.types import NumPyArray as Array


def _resample(x: Array, axes: Axes, tables: tuple[Any, ...], back: tuple[Any, ...]) -> Array:
    for axis, table in zip(axes, tables, strict=True):
        x = _resampled(x, axis, *brought(table, x))
    return x


def _resampled(x: Array, axis: int, places: Array, weights: Array | None) -> Array:
    """One axis resampled: each element is a sum over its taps."""
    taps = [np.take(x, places[:, tap], axis) for tap in range(places.shape[1])]
    if weights is None:
        return taps[0]
    across = (-1, *(1,) * (x.ndim - axis - 1))
    columns = [np.reshape(weights[:, tap], across).astype(x.dtype) for tap in range(places.shape[1])]
    return sum([part * column for part, column in zip(taps[1:], columns[1:])], taps[0] * columns[0])


def _fast_resample(x: Array, axes: Axes, tables: tuple[Any, ...], back: tuple[Any, ...]) -> Array:
    for axis, table in zip(axes, tables, strict=True):
        x = apply_table(x, axis, table)
    return x


def _resizing_samples(draw: Draw) -> Iterator[Sample]:
    """Images that are resized, in one axis or two, or padded with their own values."""
    for shape in ((2, 2, 4, 3), (0, 2, 4, 3), (2, 3, 40, 50)):
        rows, columns = shape[2:]
        resized = [
            resize_tables(mode, rows, 2 * rows - 1, None, False, False, True)
            for mode in ("nearest", "linear", "bicubic")
        ]
        for forth, back in [*resized, padding_tables(rows, 2, 1, "reflect"), padding_tables(rows, 3, 3, "circular")]:
            yield (draw(*shape),), {"axes": (2,), "tables": (forth,), "back": (back,)}
        (forth, back), (across, home) = resized[1], padding_tables(columns, 1, 2, "replicate")
        yield (draw(*shape),), {"axes": (2, 3), "tables": (forth, across), "back": (back, home)}


def resampling(name: str, aten: str | None = None) -> Op:
    """The operation under the node name torch gives it."""
    return linear(
        name,
        _resample,
        inputs=("x",),
        batch=along("axes"),
        x=lambda g, axes, tables, back: resample_back(g, axes=axes, tables=back, back=tables),
        kernel=kernel(keeping_channels(in_single(_fast_resample), 4, 5)),
        samples=_resizing_samples,
        aten=aten,
    )


resample_back: Op = resampling("UpsampleBackward0", "upsample_bilinear2d_backward")
_OPS: dict[str, Op] = {}


def resample_op(name: str) -> Op:
    """The resampling operation called `name`, made when first asked for."""
    if name not in _OPS:
        _OPS[name] = resampling(name)
    return _OPS[name]


# --- images (n, channels, *spatial) at points: weights and places are (n, taps, *points) ---


def _spatial(x_shape: Shape) -> tuple[Any, ...]:
    return tuple(x_shape[2:])


def _framed_planes(x: Array) -> Array:
    """Images with a frame of zeros one pixel wide, the pixels of each in a row."""
    spatial = len(x.shape) - 2
    framed = np.pad(x, ((0, 0), (0, 0), *((1, 1),) * spatial))
    return np.reshape(framed, (*x.shape[:2], math.prod(framed.shape[2:])))


def _of_taps(array: Array) -> list[Any]:
    """Weights or places, or points (n, channels, *points), by taps or channels: (n, 1, points in a row) each."""
    rows = np.reshape(array, (*array.shape[:2], math.prod(array.shape[2:])))
    return [rows[:, tap : tap + 1] for tap in range(array.shape[1])]


def _weighted_taps(x: Array, weights: Array, places: Array) -> Array:
    planes = _framed_planes(x)
    parts = zip(_of_taps(brought(places, x)), _of_taps(weights), strict=True)
    out = sum([np.take_along_axis(planes, index, 2) * factor for index, factor in parts])
    return np.reshape(out, (*x.shape[:2], *weights.shape[2:]))


def _spread_taps(points: Array, weights: Array, places: Array, spatial: Shape) -> Array:
    framed = tuple(size + 2 for size in spatial)
    rows = np.reshape(points, (*points.shape[:2], math.prod(points.shape[2:])))
    out = zeros((*points.shape[:2], math.prod(framed)), points)
    for index, factor in zip(_of_taps(brought(places, points)), _of_taps(weights), strict=True):
        add_at_places(out, np.broadcast_to(index, rows.shape), rows * factor, 2)
    inner: Any = (..., *(slice(1, -1),) * len(spatial))
    return np.reshape(out, (*points.shape[:2], *framed))[inner]


def _taps_times_points(points: Array, x: Array, places: Array) -> Array:
    planes = _framed_planes(x)
    rows = np.reshape(points, (*points.shape[:2], math.prod(points.shape[2:])))
    parts = [np.sum(np.take_along_axis(planes, index, 2) * rows, axis=1) for index in _of_taps(brought(places, x))]
    return np.reshape(np.stack(parts, 1), places.shape)


def _points_drawn(draw: Draw, *wanted: str) -> Iterator[Sample]:
    """Images, points, weights of taps and their places, of which an operation gets what it wants."""
    for spatial, samples, points in (
        ((3, 2), 2, (2, 1)),
        ((2, 2, 1), 1, (2,)),
        ((3, 4), 0, (5,)),
        ((60, 50), 2, (80, 40)),
    ):
        framed = tuple(size + 2 for size in spatial)
        places = draw.whole((samples, 2, *points), math.prod(framed))
        given = {
            "x": draw(samples, 2, *spatial),
            "points": draw(samples, 2, *points),
            "weights": draw(samples, 2, *points),
            "places": places,
        }
        yield tuple(given[name] for name in wanted), {"spatial": spatial} if "x" not in wanted else {}


def _sampling(name: str, aten: str) -> Op:
    return op(
        name,
        _weighted_taps,
        kind="bilinear",
        batch=SAMPLES,
        x=lambda g, weights, places, x_shape: spread_taps(g, weights, places, spatial=_spatial(x_shape)),
        weights=lambda g, x, places: taps_times_points(g, x, places),
        places=None,
        kernel=kernel(in_single(taps.weighted_taps)),
        samples=lambda draw: _points_drawn(draw, "x", "weights", "places"),
        aten=aten,
    )


points_of_images: Op = _sampling("GridSampler2DBackward0", "grid_sampler_2d")
points_of_volumes: Op = _sampling("GridSampler3DBackward0", "grid_sampler_3d")
spread_taps: Op = op(
    "GridSampler2DBackwardBackward0",
    _spread_taps,
    kind="bilinear",
    inputs=("points", "weights", "places"),
    batch=SAMPLES,
    points=lambda g, weights, places: points_of_images(g, weights, places),
    weights=lambda g, points, places: taps_times_points(points, g, places),
    places=None,
    kernel=kernel(in_single(taps.spread_taps)),
    samples=lambda draw: _points_drawn(draw, "points", "weights", "places"),
    aten="grid_sampler_2d_backward",
)
taps_times_points: Op = op(
    "GridSampler2DBackwardBackward0",
    _taps_times_points,
    kind="bilinear",
    inputs=("points", "x", "places"),
    batch=SAMPLES,
    points=lambda g, x, places: points_of_images(x, g, places),
    x=lambda g, points, places, x_shape: spread_taps(points, g, places, spatial=_spatial(x_shape)),
    places=None,
    kernel=kernel(in_single(taps.taps_times_points)),
    samples=lambda draw: _points_drawn(draw, "points", "x", "places"),
    aten="grid_sampler_2d_backward",
)

# Where affine maps (N, axes, axes + 1) put points (1, K, axes + 1). Only the shape of the points matters to torch, which
# makes them anew in backward: they are a parameter here, so that a second pass finds them.
affine_points: Op = linear(
    "AffineGridGeneratorBackward0",
    in_single(lambda maps, points, shape: (points.astype(maps.dtype) @ np.swapaxes(maps, -1, -2)).reshape(shape)),
    maps=lambda g, points, shape: affine_maps(g, points=points, shape=shape),
)


def _moments(g: Array, points: Array) -> Array:
    return np.swapaxes(g, -1, -2) @ points.astype(g.dtype)


affine_maps: Op = linear(
    "AffineGridGeneratorBackward0",
    in_single(lambda g, points, shape: _moments(g.reshape(shape[0], -1, shape[-1]), points)),
    g=lambda m, points, shape: affine_points(m, points=points, shape=shape),
)

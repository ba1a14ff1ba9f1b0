"""Resampling of axes (resizing, and padding with an array's own values), and sampling of images at any points.

Resampling is linear; a transpose swaps the tables. `axes` are the axes concerned, `tables` and `back` the tables of
`kernels/resampling.py` for each, there and back. A sample is the sum of a few pixels times weights (`kernels/taps.py`),
so it has two derivatives that are sums of products of the same three things.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.op import Op, linear, op
from ..kernels import taps
from ..kernels.order import keeping_channels
from ..kernels.resampling import apply_table
from .fusing import in_single
from .layouts import SAMPLES, along


def _resample(x: Any, axes: tuple, tables: tuple, back: tuple) -> Any:
    for axis, table in zip(axes, tables, strict=True):
        x = apply_table(x, axis, table)
    return x


def resampling(name: str, aten: str | None = None) -> Op:
    """The operation under the node name torch gives it."""
    return linear(
        name,
        keeping_channels(in_single(_resample), 4, 5),
        inputs=("x",),
        batch=along("axes"),
        x=lambda g, axes, tables, back: resample_back(g, axes=axes, tables=back, back=tables),
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


def _spatial(x_shape: tuple) -> tuple:
    return tuple(x_shape[2:])


def _sampling(name: str, aten: str) -> Op:
    return op(
        name,
        in_single(taps.weighted_taps),
        kind="bilinear",
        batch=SAMPLES,
        x=lambda g, weights, places, x_shape: spread_taps(g, weights, places, spatial=_spatial(x_shape)),
        weights=lambda g, x, places: taps_times_points(g, x, places),
        places=None,
        aten=aten,
    )


points_of_images: Op = _sampling("GridSampler2DBackward0", "grid_sampler_2d")
points_of_volumes: Op = _sampling("GridSampler3DBackward0", "grid_sampler_3d")
spread_taps: Op = op(
    "GridSampler2DBackwardBackward0",
    in_single(taps.spread_taps),
    kind="bilinear",
    inputs=("points", "weights", "places"),
    batch=SAMPLES,
    points=lambda g, weights, places: points_of_images(g, weights, places),
    weights=lambda g, points, places: taps_times_points(points, g, places),
    places=None,
    aten="grid_sampler_2d_backward",
)
taps_times_points: Op = op(
    "GridSampler2DBackwardBackward0",
    in_single(taps.taps_times_points),
    kind="bilinear",
    inputs=("points", "x", "places"),
    batch=SAMPLES,
    points=lambda g, x, places: points_of_images(x, g, places),
    x=lambda g, points, places, x_shape: spread_taps(points, g, places, spatial=_spatial(x_shape)),
    places=None,
    aten="grid_sampler_2d_backward",
)

# Where affine maps (N, axes, axes + 1) put points (1, K, axes + 1). Only the shape of the points matters to torch, which
# makes them anew in backward: they are a parameter here, so that a second pass finds them.
affine_points: Op = linear(
    "AffineGridGeneratorBackward0",
    in_single(lambda maps, points, shape: (points.astype(maps.dtype) @ np.swapaxes(maps, -1, -2)).reshape(shape)),
    maps=lambda g, points, shape: affine_maps(g, points=points, shape=shape),
)


def _moments(g: Any, points: Any) -> Any:
    return np.swapaxes(g, -1, -2) @ points.astype(g.dtype)


affine_maps: Op = linear(
    "AffineGridGeneratorBackward0",
    in_single(lambda g, points, shape: _moments(g.reshape(shape[0], -1, shape[-1]), points)),
    g=lambda m, points, shape: affine_points(m, points=points, shape=shape),
)

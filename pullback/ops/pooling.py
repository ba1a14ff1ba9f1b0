"""Pooling: maxima with their indices, averages, and putting values back by index.

Given the indices, max pooling is linear: `gather_planes` reads and `scatter_planes` adds, each the transpose of the
other. Averages are linear themselves, with transposes from the kernels. Arrays are (..., *spatial).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.op import Op, fused, linear, op
from ..kernels import averages
from ..kernels import pooling as kernels
from ..kernels.order import keeping_channels
from .fusing import handing_on, in_single
from .layouts import LEADING

# --- values at flat indices of planes ---


def _gather_rule(g: Any, indices: Any, x_shape: tuple, axes: int) -> Any:
    return scatter_planes(g, indices, spatial=_spatial(x_shape, axes))


def _scatter_rule(g: Any, indices: Any, spatial: tuple) -> Any:
    return gather_planes(g, indices, axes=len(spatial))


gather_planes: Op = linear("GatherBackward0", kernels.gather_planes, batch=LEADING, x=_gather_rule, indices=None)
scatter_planes: Op = linear(
    "MaxPool2DWithIndicesBackwardBackward0",
    in_single(kernels.scatter_planes),
    inputs=("x", "indices"),
    batch=LEADING,
    x=_scatter_rule,
    indices=None,
)


max_unpool2d: Op = linear(
    "MaxUnpool2DBackward0", keeping_channels(kernels.max_unpool, 4), batch=LEADING, x=_scatter_rule, indices=None
)
max_unpool3d: Op = linear("MaxUnpool3DBackward0", kernels.max_unpool, batch=LEADING, x=_scatter_rule, indices=None)

# --- maxima ---


def _spatial(x_shape: tuple, axes: int) -> tuple:
    return tuple(x_shape[len(x_shape) - axes :])


_ATEN = {1: "squeeze.dim"}  # over one axis, torch puts another in and takes it out again


def _max_op(axes: int, name: str, kernel: Any) -> Op:
    """An operation that gives maxima over `axes` axes, and their places: a cotangent is added back there."""

    def rule(g: Any, x_shape: tuple, extras: Any) -> tuple:
        return (scatter_planes(g, extras[0], spatial=_spatial(x_shape, axes)),)

    return fused(name, in_single(kernel), inputs=("x",), batch=LEADING, joint=rule, aten=_ATEN.get(axes))


max_pool: dict[int, Op] = {
    axes: _max_op(axes, name, keeping_channels(kernels.max_pool, axes + 2))
    for axes, name in (
        (1, "SqueezeBackward1"), (2, "MaxPool2DWithIndicesBackward0"), (3, "MaxPool3DWithIndicesBackward0"),
    )
}  # fmt: skip


@in_single
def _max_values(x: Any, **window: Any) -> Any:
    return kernels.max_pool(x, indices=False, **window)[0]


max_values: Op = op(
    "MaxPool2DBackward0", keeping_channels(_max_values, 4, 5), batch=LEADING, x=None
)  # where no gradient is asked for


_RANKS = {1: (3,), 2: (4,), 3: ()}  # of operands whose channels may lie last; not those of volumes


adaptive_max_pool: dict[int, Op] = {
    axes: _max_op(axes, name, keeping_channels(kernels.adaptive_max_pool, *_RANKS[axes]))
    for axes, name in ((1, "SqueezeBackward1"), (2, "AdaptiveMaxPool2DBackward0"), (3, "AdaptiveMaxPool3DBackward0"))
}


def _fractional(x: Any, samples: Any, kernel: tuple, output: tuple) -> tuple:
    if x.size == 0:
        shape = (*x.shape[: x.ndim - len(output)], *output)
        return np.empty(shape, x.dtype), np.empty(shape, np.int64)
    return kernels.fractional_max_pool(x, samples, kernel=kernel, output=output)


def _fractional_rule(g: Any, x_shape: tuple, extras: Any, kernel: tuple) -> tuple:
    return scatter_planes(g, extras[0], spatial=_spatial(x_shape, len(kernel))), None


fractional_max_pool: dict[int, Op] = {
    axes: fused(name, in_single(_fractional), inputs=("x", "samples"), batch=LEADING, joint=_fractional_rule)
    for axes, name in ((2, "FractionalMaxPool2DBackward0"), (3, "FractionalMaxPool3DBackward0"))
}

# --- averages ---


pooled = handing_on("kernel", "stride", "padding", "ceil_mode", "include", "divisor")


@in_single
def _average(x: Any, include: bool, divisor: int | None, **window: Any) -> Any:
    return averages.avg_pool(x, count_include_pad=include, divisor_override=divisor, **window)


@in_single
def _spread_average(x: Any, ceil_mode: bool, include: bool, divisor: int | None, **window: Any) -> Any:
    return averages.avg_pool_transpose(x, count_include_pad=include, divisor_override=divisor, **window)


@pooled
def _average_rule(g: Any, x_shape: tuple, **params: Any) -> Any:
    return avg_pool_transpose(g, spatial=_spatial(x_shape, len(params["kernel"])), **params)


@pooled
def _spread_average_rule(g: Any, **params: Any) -> Any:
    return avg_pool[len(params["kernel"])](g, **params)


avg_pool: dict[int, Op] = {
    axes: linear(
        name,
        keeping_channels(_average, *_RANKS[axes]),
        inputs=("x",),
        batch=LEADING,
        x=_average_rule,
        aten=_ATEN.get(axes),
    )
    for axes, name in ((1, "SqueezeBackward1"), (2, "AvgPool2DBackward0"), (3, "AvgPool3DBackward0"))
}
avg_pool_transpose: Op = linear(
    "AvgPool2DBackwardBackward0", _spread_average, inputs=("x",), batch=LEADING, x=_spread_average_rule
)


adaptive_avg_pool: dict[int, Op] = {
    axes: linear(
        name,
        keeping_channels(in_single(averages.adaptive_avg_pool), *_RANKS[axes]),
        inputs=("x",),
        batch=LEADING,
        x=lambda g, x_shape, output: adaptive_avg_transpose(g, spatial=_spatial(x_shape, len(output))),
        aten=_ATEN.get(axes),
    )
    for axes, name in ((1, "SqueezeBackward1"), (2, "AdaptiveAvgPool2DBackward0"), (3, "AdaptiveAvgPool3DBackward0"))
}


adaptive_avg_transpose: Op = linear(
    "AdaptiveAvgPool2DBackwardBackward0",
    in_single(averages.adaptive_avg_pool_transpose),
    inputs=("x",),
    batch=LEADING,
    x=lambda g, x_shape, spatial: adaptive_avg_pool[len(spatial)](g, output=_spatial(x_shape, len(spatial))),
    aten="_adaptive_avg_pool2d_backward",
)

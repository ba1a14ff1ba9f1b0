"""Pooling: maxima with their indices, averages, and putting values back by index.

Given the indices, max pooling is linear: `gather_planes` reads and `scatter_planes` adds, each the transpose of the
other. Averages are linear themselves, with transposes from the kernels. Arrays are (..., *spatial).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.kernel import kernel
from ..core.op import Op, fused, linear, op
from ..kernels import averages, like
from ..kernels import pooling as kernels
from ..kernels.order import keeping_channels
from .fusing import handing_on, in_single
from .layouts import LEADING
from .samples import Draw, Sample
from .windows import added_back, columns, geometry, largest_read, places_read

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array
    from ..core.basics.types import Shape

# --- values at flat indices of planes ---


def _gather_rule(g: Array, indices: Array, x_shape: Shape, axes: int) -> Array:
    return scatter_planes(g, indices, spatial=_spatial(x_shape, axes))


def _scatter_rule(g: Array, indices: Array, spatial: Shape) -> Array:
    return gather_planes(g, indices, axes=len(spatial))


def _as_planes(x: Array, axes: int) -> Array:
    """`x` (..., *spatial) as (planes, elements of a plane)."""
    lead = len(x.shape) - axes
    return np.reshape(x, (math.prod(x.shape[:lead]), math.prod(x.shape[lead:])))


def _gather_planes(x: Array, indices: Array, axes: int) -> Array:
    return np.reshape(np.take_along_axis(_as_planes(x, axes), _as_planes(indices, axes), 1), tuple(indices.shape))


def _flat_places(indices: Array, spatial: Shape) -> Array:
    """Places in planes as places in all planes laid end to end."""
    planes = _as_planes(indices, len(spatial))
    starts = like.brought(np.arange(planes.shape[0]) * math.prod(spatial), indices)
    return np.reshape(planes + starts[:, None], (-1,))


def _scatter_planes(x: Array, indices: Array, spatial: Shape) -> Array:
    lead = tuple(x.shape[: len(x.shape) - len(spatial)])
    out = like.zeros((math.prod(lead) * math.prod(spatial),), x)
    np.add.at(out, _flat_places(indices, spatial), np.reshape(x, (-1,)))
    return np.reshape(out, (*lead, *spatial))


def _max_unpool(x: Array, indices: Array, spatial: Shape) -> Array:
    lead, size = tuple(x.shape[: len(x.shape) - len(spatial)]), math.prod(spatial)
    if np.any((indices < 0) | (indices >= size)):
        raise RuntimeError(f"Found an invalid max index (output volumes are of size {'x'.join(map(str, spatial))})")
    out = like.zeros((math.prod(lead) * size,), x)
    out[_flat_places(indices, spatial)] = np.reshape(x, (-1,))
    return np.reshape(out, (*lead, *spatial))


def _place_samples(draw: Draw, kind: str) -> Iterator[Sample]:
    """Values and the places of planes that they are read from, or put at: some several times, but for `unpool`."""
    for lead, spatial, output in (
        ((2, 3), (4, 5), (2, 2)),
        ((2,), (7,), (3,)),
        ((0,), (4, 4), (2, 2)),
        ((16, 8), (32, 32), (16, 16)),
    ):
        size = math.prod(spatial)
        places = draw.whole((*lead, *output), size)
        if kind == "unpool":
            places = np.broadcast_to(np.arange(math.prod(output)).reshape(output) * 2, places.shape)
        if kind == "gather":
            yield (draw(*lead, *spatial), places), {"axes": len(spatial)}
        else:
            yield (draw(*places.shape), places), {"spatial": spatial}


gather_planes: Op = linear(
    "GatherBackward0",
    _gather_planes,
    x=_gather_rule,
    indices=None,
    kernel=kernel(kernels.gather_planes),
    batch=LEADING,
    samples=lambda draw: _place_samples(draw, "gather"),
)
scatter_planes: Op = linear(
    "MaxPool2DWithIndicesBackwardBackward0",
    _scatter_planes,
    x=_scatter_rule,
    indices=None,
    kernel=kernel(in_single(kernels.scatter_planes)),
    batch=LEADING,
    samples=lambda draw: _place_samples(draw, "scatter"),
)


def _unpooling(node_name: str, fast: Callable[..., Any]) -> Op:
    return linear(
        node_name, _max_unpool, x=_scatter_rule, indices=None, kernel=kernel(fast), batch=LEADING,
        samples=lambda draw: _place_samples(draw, "unpool"),
    )  # fmt: skip


max_unpool2d: Op = _unpooling("MaxUnpool2DBackward0", keeping_channels(kernels.max_unpool, 4))
max_unpool3d: Op = _unpooling("MaxUnpool3DBackward0", kernels.max_unpool)

# --- maxima ---


def _spatial(x_shape: Shape, axes: int) -> tuple[Any, ...]:
    return tuple(x_shape[len(x_shape) - axes :])


_ATEN = {1: "squeeze.dim"}  # over one axis, torch puts another in and takes it out again


def _max_op(
    axes: int, name: str, formula: Callable[..., Any], fast: Callable[..., Any], samples: Callable[..., Any]
) -> Op:
    """An operation that gives maxima over `axes` axes, and their places: a cotangent is added back there."""

    def rule(g: Array, x_shape: Shape, extras: tuple[Any, ...]) -> tuple[Any, ...]:
        return (scatter_planes(g, extras[0], spatial=_spatial(x_shape, axes)),)

    return fused(
        name, formula, joint=rule, inputs=("x",), kernel=kernel(in_single(fast)), batch=LEADING, aten=_ATEN.get(axes),
        samples=lambda draw: samples(draw, axes),
    )  # fmt: skip


def _max_pool(
    x: Array, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil_mode: bool
) -> tuple[Any, ...]:
    spatial = _spatial(x.shape, len(kernel))
    output = kernels.pooled_shape(spatial, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
    return largest_read(x, places_read(geometry(spatial, kernel, stride, padding, dilation, output)), output)


def _window_samples(draw: Draw, axes: int) -> Iterator[Sample]:
    """Planes whose windows overlap, hang over the border and leave gaps; few, none and many."""
    for size, step, pad, wide, ceil_mode in ((2, 2, 0, 1, False), (3, 2, 1, 1, True), (3, 1, 1, 2, False)):
        for shape in ((1, 2, 5, 6, 7), (0, 3, 7, 6, 8), (4, 4, 24, 24, 24) if axes == 3 else (8, 8, 1030, 8, 8)):
            window = {"kernel": size, "stride": step, "padding": pad, "dilation": wide}
            x = draw(*shape[: 2 + axes])
            x[:1, 0], x[:1, 1, ..., 1:3], x[:1, 1, ..., :1] = -math.inf, math.nan, math.inf
            yield (x,), {name: (n,) * axes for name, n in window.items()} | {"ceil_mode": ceil_mode}


max_pool: dict[int, Op] = {
    axes: _max_op(axes, name, _max_pool, keeping_channels(kernels.max_pool, axes + 2), _window_samples)
    for axes, name in (
        (1, "SqueezeBackward1"), (2, "MaxPool2DWithIndicesBackward0"), (3, "MaxPool3DWithIndicesBackward0"),
    )
}  # fmt: skip


@in_single
def _max_values(x: Array, **window: Any) -> Array:
    return kernels.max_pool(x, indices=False, **window)[0]


max_values: Op = op(  # where no gradient is asked for
    "MaxPool2DBackward0",
    lambda x, kernel, stride, padding, dilation, ceil_mode: _max_pool(x, kernel, stride, padding, dilation, ceil_mode)[
        0
    ],
    x=None,
    kernel=kernel(keeping_channels(_max_values, 4, 5)),
    batch=LEADING,
    samples=lambda draw: _window_samples(draw, 2),
)


_RANKS = {1: (3,), 2: (4,), 3: ()}  # of operands whose channels may lie last; not those of volumes


def _adaptive_max_pool(x: Array, output: Shape) -> tuple[Any, ...]:
    spatial = _spatial(x.shape, len(output))
    return largest_read(x, _adaptive_places(spatial, tuple(output)), output)


@functools.lru_cache(maxsize=64)
def _adaptive_places(spatial: Shape, output: Shape) -> Array:
    """The elements of each window, (positions, elements): of a shorter window, the last ones of an axis again."""
    table: Array = np.zeros((1, 1), np.int64)
    for size, count in zip(spatial, output):
        bounds = kernels.adaptive_bounds(size, count)
        longest = max((stop - start for start, stop in bounds), default=1)
        places = np.array([np.minimum(np.arange(start, start + longest), stop - 1) for start, stop in bounds], np.int64)
        table = table[:, None, :, None] * size + places.reshape(1, count, 1, longest)
        table = table.reshape(table.shape[0] * count, table.shape[2] * longest)
    return table


def _adaptive_samples(draw: Draw, axes: int) -> Iterator[Sample]:
    for shape, output in (((2, 3, 7, 6, 8), 3), ((0, 3, 7, 6, 8), 2), ((8, 8, 130, 8, 8), 4), ((2, 3, 4, 4, 4), 1)):
        yield (draw(*shape[: 2 + axes]),), {"output": (output,) * axes}


adaptive_max_pool: dict[int, Op] = {
    axes: _max_op(
        axes, name, _adaptive_max_pool, keeping_channels(kernels.adaptive_max_pool, *_RANKS[axes]), _adaptive_samples
    )
    for axes, name in ((1, "SqueezeBackward1"), (2, "AdaptiveMaxPool2DBackward0"), (3, "AdaptiveMaxPool3DBackward0"))
}


def _fractional(x: Array, samples: Array, kernel: Shape, output: Shape) -> tuple[Any, ...]:
    if x.size == 0:
        shape = (*x.shape[: x.ndim - len(output)], *output)
        return np.empty(shape, x.dtype), np.empty(shape, np.int64)
    return kernels.fractional_max_pool(x, samples, kernel=kernel, output=output)


def _fractional_rule(g: Array, x_shape: Shape, extras: tuple[Any, ...], kernel: Shape) -> tuple[Array, Array | None]:
    return scatter_planes(g, extras[0], spatial=_spatial(x_shape, len(kernel))), None


fractional_max_pool: dict[int, Op] = {
    axes: fused(name, in_single(_fractional), inputs=("x", "samples"), batch=LEADING, joint=_fractional_rule)
    for axes, name in ((2, "FractionalMaxPool2DBackward0"), (3, "FractionalMaxPool3DBackward0"))
}

# --- averages ---


pooled = handing_on("kernel", "stride", "padding", "ceil_mode", "include", "divisor")


@in_single
def _average(x: Array, include: bool, divisor: int | None, **window: Any) -> Array:
    return averages.avg_pool(x, count_include_pad=include, divisor_override=divisor, **window)


@in_single
def _spread_average(x: Array, ceil_mode: bool, include: bool, divisor: int | None, **window: Any) -> Array:
    return averages.avg_pool_transpose(x, count_include_pad=include, divisor_override=divisor, **window)


@pooled
def _average_rule(g: Array, x_shape: Shape, **params: Any) -> Array:
    return avg_pool_transpose(g, spatial=_spatial(x_shape, len(params["kernel"])), **params)


@pooled
def _spread_average_rule(g: Array, **params: Any) -> Array:
    return avg_pool[len(params["kernel"])](g, **params)


def _average_formula(
    x: Array, kernel: Shape, stride: Shape, padding: Shape, ceil_mode: bool, include: bool, divisor: int | None
) -> Array:
    spatial = _spatial(x.shape, len(kernel))
    output = kernels.pooled_shape(spatial, kernel, stride, padding, (1,) * len(kernel), ceil_mode=ceil_mode)
    count, places = _shares(spatial, output, kernel, stride, padding, include, divisor, x)
    sums = np.sum(columns(x, places), axis=len(x.shape) - len(kernel))
    return np.reshape(sums, (*x.shape[: len(x.shape) - len(kernel)], *output)) / count


def _spread_average_formula(
    x: Array,
    spatial: Shape,
    kernel: Shape,
    stride: Shape,
    padding: Shape,
    ceil_mode: bool,
    include: bool,
    divisor: int | None,
) -> Array:
    lead = len(x.shape) - len(kernel)
    count, places = _shares(spatial, tuple(x.shape[lead:]), kernel, stride, padding, include, divisor, x)
    shares = np.reshape(x / count, (*x.shape[:lead], 1, math.prod(places.output)))
    return added_back(np.broadcast_to(shares, (*x.shape[:lead], places.taps, math.prod(places.output))), places)


def _shares(
    spatial: Shape,
    output: Shape,
    kernel: Shape,
    stride: Shape,
    padding: Shape,
    include: bool,
    divisor: int | None,
    x: Array,
) -> tuple[Any, ...]:
    """(divisor of the sum of each window, geometry of the windows)."""
    count = averages.plan_of(spatial, output, kernel, stride, padding, include, divisor, x.dtype).divisor
    return like.brought(count, x), geometry(spatial, kernel, stride, padding, (1,) * len(kernel), output)


def _average_samples(draw: Draw, axes: int, spread: bool = False) -> Iterator[Sample]:
    for include, divisor in ((True, None), (False, None), (True, 3)):
        for (x,), params in _window_samples(draw, axes):
            del params["dilation"]
            told = {**params, "include": include, "divisor": divisor}
            if not spread:
                yield (x,), told
            else:
                window = [params[name] for name in ("kernel", "stride", "padding")]
                output = kernels.pooled_shape(x.shape[2:], *window, (1,) * axes, ceil_mode=params["ceil_mode"])
                yield (draw(*x.shape[:2], *output),), {"spatial": x.shape[2:], **told}


avg_pool: dict[int, Op] = {
    axes: linear(
        name,
        _average_formula,
        x=_average_rule,
        kernel=kernel(keeping_channels(_average, *_RANKS[axes])),
        batch=LEADING,
        aten=_ATEN.get(axes),
        samples=functools.partial(_average_samples, axes=axes),
    )
    for axes, name in ((1, "SqueezeBackward1"), (2, "AvgPool2DBackward0"), (3, "AvgPool3DBackward0"))
}
avg_pool_transpose: Op = linear(
    "AvgPool2DBackwardBackward0",
    _spread_average_formula,
    x=_spread_average_rule,
    kernel=kernel(_spread_average),
    batch=LEADING,
    samples=lambda draw: _average_samples(draw, 2, spread=True),
)


def _adaptive_average(x: Array, output: Shape) -> Array:
    for axis, count in enumerate(output, len(x.shape) - len(output)):
        parts = [x[(slice(None),) * axis + (slice(*ends),)] for ends in kernels.adaptive_bounds(x.shape[axis], count)]
        x = np.stack([np.sum(part, axis=axis) / part.shape[axis] for part in parts], axis)
    return x


def _adaptive_average_transpose(x: Array, spatial: Shape) -> Array:
    for axis, size in enumerate(spatial, len(x.shape) - len(spatial)):
        lead, shape = (slice(None),) * axis, list(x.shape)
        shape[axis] = size
        out = like.zeros(tuple(shape), x)
        for place, (start, stop) in enumerate(kernels.adaptive_bounds(size, x.shape[axis])):
            out[(*lead, slice(start, stop))] += x[(*lead, slice(place, place + 1))] / (stop - start)
        x = out
    return x


adaptive_avg_pool: dict[int, Op] = {
    axes: linear(
        name,
        _adaptive_average,
        x=lambda g, x_shape, output: adaptive_avg_transpose(g, spatial=_spatial(x_shape, len(output))),
        kernel=kernel(keeping_channels(in_single(averages.adaptive_avg_pool), *_RANKS[axes])),
        batch=LEADING,
        aten=_ATEN.get(axes),
        samples=functools.partial(_adaptive_samples, axes=axes),
    )
    for axes, name in ((1, "SqueezeBackward1"), (2, "AdaptiveAvgPool2DBackward0"), (3, "AdaptiveAvgPool3DBackward0"))
}


adaptive_avg_transpose: Op = linear(
    "AdaptiveAvgPool2DBackwardBackward0",
    _adaptive_average_transpose,
    x=lambda g, x_shape, spatial: adaptive_avg_pool[len(spatial)](g, output=_spatial(x_shape, len(spatial))),
    kernel=kernel(in_single(averages.adaptive_avg_pool_transpose)),
    batch=LEADING,
    aten="_adaptive_avg_pool2d_backward",
    samples=lambda draw: [
        ((draw(*shape),), {"spatial": spatial})
        for shape, spatial in (((2, 3, 3, 3), (7, 6)), ((0, 3, 2, 2), (4, 4)), ((8, 8, 16, 16), (33, 40)))
    ],
)

"""Convolution and its two transposes: three bilinear operations, each derivative of one being another of the three.

`convolution(x, weight)`, `convolution_input(g, weight)` (a transposed convolution) and `convolution_weight(g, x)`, with
parameters as tuples, one number a spatial axis. The kernels do the work. Also `unfold` and `fold`, which copy windows
out as columns and add them back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.kernel import kernel
from ..core.op import Op, conjugate, fused, linear, op
from ..kernels import convolution as kernels
from ..kernels import unfold as columns_kernels
from ..kernels.order import has_channels_last, keeping_channels, with_channels_last
from ..kernels.windows import Windows
from .fusing import handing_on, in_single
from .layouts import CONVOLVED, CONVOLVED_KEEPING, CONVOLVED_WEIGHT, SAMPLES
from .reductions import sum_axes
from .samples import Draw, Sample
from .windows import added_back, columns, geometry

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array
    from ..core.basics.types import Shape

geometric = handing_on("stride", "padding", "dilation", "groups")

# --- formulas: windows as columns, times weights as matrices ---


def _matrix(weight: Array, groups: int) -> Array:
    """Weights (out, channels / groups, *kernel) as a matrix for each group."""
    return np.reshape(weight, (groups, weight.shape[0] // groups, math.prod(weight.shape[1:])))


def _plus(x: Array, bias: Array | None) -> Array:
    return x if bias is None else x + np.reshape(bias, (-1, *(1,) * (len(x.shape) - 2)))


def _columns_in_groups(x: Array, places: Windows, groups: int) -> Array:
    rows = x.shape[1] // groups * places.taps
    return np.reshape(columns(x, places), (x.shape[0], groups, rows, math.prod(places.output)))


def _convolution_with_columns(
    x: Array, weight: Array, bias: Array | None, stride: Shape, padding: Shape, dilation: Shape, groups: int
) -> tuple[Array, Array]:
    places = geometry(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    found = _columns_in_groups(x, places, groups)
    out = np.matmul(_matrix(weight, groups), found)
    return _plus(np.reshape(out, (x.shape[0], weight.shape[0], *places.output)), bias), found


def _convolution(x: Array, weight: Array, stride: Shape, padding: Shape, dilation: Shape, groups: int) -> Array:
    return _convolution_with_columns(x, weight, None, stride, padding, dilation, groups)[0]


def _convolution_input(
    g: Array, weight: Array, spatial: Shape, stride: Shape, padding: Shape, dilation: Shape, groups: int
) -> Array:
    places = geometry(spatial, weight.shape[2:], stride, padding, dilation, g.shape[2:])
    n, outputs, count = g.shape[0], weight.shape[0] // groups, math.prod(places.output)
    parts = np.matmul(np.swapaxes(_matrix(weight, groups), 1, 2), np.reshape(g, (n, groups, outputs, count)))
    return added_back(np.reshape(parts, (n, weight.shape[1] * groups, places.taps, count)), places)


def _convolution_weight(
    g: Array, x: Array, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, groups: int
) -> Array:
    places = geometry(x.shape[2:], kernel, stride, padding, dilation, g.shape[2:])
    n, outputs = g.shape[:2]
    left = np.reshape(g, (n, groups, outputs // groups, math.prod(places.output)))
    products = np.matmul(left, np.swapaxes(_columns_in_groups(x, places, groups), 2, 3))
    return np.reshape(np.sum(products, axis=0), (outputs, x.shape[1] // groups, *kernel))


def _image_samples(draw: Draw, kind: str = "") -> Iterator[Sample]:
    """Lines, images and volumes, with all that can be said of a convolution; `kind` is what the first array is."""
    for shape, out, size, stride, padding, dilation, groups in (
        ((2, 3, 5, 6), 4, (3, 2), (1, 1), (0, 0), (1, 1), 1),
        ((2, 4, 7, 6), 6, (3, 3), (2, 1), (1, 2), (1, 2), 2),
        ((1, 2, 9), 2, (3,), (2,), (1,), (3,), 1),
        ((1, 2, 4, 4, 3), 2, (2, 2, 2), (1, 1, 1), (1, 0, 0), (1, 1, 1), 1),
        ((0, 3, 5, 6), 4, (3, 2), (1, 1), (0, 0), (1, 1), 1),
        ((4, 8, 32, 32), 16, (3, 3), (1, 1), (1, 1), (1, 1), 1),
        ((4, 8, 33, 32), 16, (3, 3), (2, 2), (1, 1), (1, 1), 4),
        ((2, 3, 4, 4), 5, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    ):
        params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        output = geometry(shape[2:], size, stride, padding, dilation).output
        x, g, weight = draw(*shape), draw(shape[0], out, *output), draw(out, shape[1] // groups, *size)
        if kind == "weight":
            yield (g, x), {"kernel": size, **params}
        elif kind.startswith("input"):
            yield (g, weight, *([draw(shape[1])] if "bias" in kind else [])), {"spatial": shape[2:], **params}
        elif kind != "keeping":
            yield (x, weight, *([draw(out)] if "bias" in kind else [])), params
        elif groups == 1 and size != (1, 1):
            yield (x, weight, draw(out)), params
            yield (x, weight, None), params


# --- operations ---


@in_single
def _biased(x: Array, weight: Array, bias: Array, **geometry: Any) -> Array:
    return kernels.convolution(x, weight, bias=bias, **geometry)


@in_single
def _transposed_biased(g: Array, weight: Array, bias: Array, **geometry: Any) -> Array:
    return kernels.convolution_input(g, weight, bias=bias, **geometry)


@geometric
def _input_rule(g: Array, weight: Array, x_shape: Shape, **geometry: Any) -> Array:
    return convolution_input(g, conjugate(weight), spatial=tuple(x_shape[2:]), **geometry)


@geometric
def _weight_rule(g: Array, x: Array, weight_shape: Shape, **geometry: Any) -> Array:
    return convolution_weight(g, conjugate(x), kernel=tuple(weight_shape[2:]), **geometry)


def _bias_rule(g: Array) -> Array:
    return sum_axes(g, axis=(0, *range(2, len(g.shape))), keepdims=False)


convolution: Op = op(
    "ConvolutionBackward0",
    _convolution,
    x=_input_rule,
    weight=_weight_rule,
    kind="bilinear",
    kernel=kernel(keeping_channels(in_single(kernels.convolution), 4, inputs=2)),
    batch=CONVOLVED,
    autocast="short",
    samples=_image_samples,
)
convolution_biased: Op = op(
    "ConvolutionBackward0",
    lambda x, weight, bias, stride, padding, dilation, groups: _plus(
        _convolution(x, weight, stride, padding, dilation, groups), bias
    ),
    kind="affine",
    x=_input_rule,
    weight=_weight_rule,
    bias=_bias_rule,
    kernel=kernel(keeping_channels(_biased, 4, inputs=2)),
    batch=CONVOLVED,
    autocast="short",
    samples=lambda draw: _image_samples(draw, "bias"),
)


def _keeping(x: Array, weight: Array, bias: Array, stride: Shape, padding: Shape, dilation: Shape, groups: int) -> Any:
    if not x.size:
        return NotImplemented
    found = kernels.convolution_keeping(x, weight, bias, stride=stride, padding=padding, dilation=dilation)
    if x.flags.c_contiguous and weight.flags.c_contiguous or x.ndim != 4:
        return found
    return (with_channels_last(found[0]), *found[1:]) if has_channels_last(x) or has_channels_last(weight) else found


@geometric
def _keeping_rule(
    g: Array, x: Array, weight: Array, needs: tuple[bool, ...], **geometry: Any
) -> tuple[Array | None, ...]:
    return (
        _input_rule(g, weight, tuple(x.shape), *geometry.values()) if needs[0] else None,
        _weight_rule(g, x, tuple(weight.shape), *geometry.values()),
        _bias_rule(g) if needs[2] else None,
    )


@geometric
def _keeping_backward(
    g: Array, x: Array, weight: Array, extras: tuple[Any, ...], needs: tuple[bool, ...], **geometry: Any
) -> tuple[Any, ...]:
    if not x.size:
        return NotImplemented
    for_input = convolution_input(g, weight, spatial=x.shape[2:], **geometry) if needs[0] else None
    del geometry["groups"]
    kept = kernels.gradients_from_columns(g, extras[0], weight.shape, x.shape, biased=needs[2], **geometry)
    return for_input, *kept


convolution_keeping: Op = fused(  # where the weight's gradient will be wanted; groups is 1 and the values are real
    "ConvolutionBackward0",
    _convolution_with_columns,
    joint=_keeping_rule,
    inputs=("x", "weight", "bias"),
    kernel=kernel(_keeping, joint=_keeping_backward),
    autocast="short",
    batch=CONVOLVED_KEEPING,
    samples=lambda draw: _image_samples(draw, "keeping"),
)


def _cropped(out: Array, shape: Shape) -> Array:
    """A convolution may have more positions than the gradient it is the cotangent of: output padding made them."""
    if tuple(out.shape[2:]) == tuple(shape[2:]):
        return out
    return out[(slice(None), slice(None), *(slice(0, size) for size in shape[2:]))]


@geometric
def _transposed_input_rule(u: Array, weight: Array, g_shape: Shape, **geometry: Any) -> Array:
    return _cropped(convolution(u, conjugate(weight), **geometry), g_shape)


@geometric
def _transposed_weight_rule(u: Array, g: Array, weight_shape: Shape, **geometry: Any) -> Array:
    return convolution_weight(conjugate(g), u, kernel=tuple(weight_shape[2:]), **geometry)


convolution_input: Op = op(
    "ConvolutionBackward0",
    _convolution_input,
    g=_transposed_input_rule,
    weight=_transposed_weight_rule,
    kind="bilinear",
    kernel=kernel(keeping_channels(in_single(kernels.convolution_input), 4, inputs=2)),
    batch=CONVOLVED,
    autocast="short",
    samples=lambda draw: _image_samples(draw, "input"),
)
convolution_input_biased: Op = op(
    "ConvolutionBackward0",
    lambda g, weight, bias, spatial, stride, padding, dilation, groups: _plus(
        _convolution_input(g, weight, spatial, stride, padding, dilation, groups), bias
    ),
    kind="affine",
    g=_transposed_input_rule,
    weight=_transposed_weight_rule,
    bias=_bias_rule,
    kernel=kernel(keeping_channels(_transposed_biased, 4, inputs=2)),
    batch=CONVOLVED,
    autocast="short",
    samples=lambda draw: _image_samples(draw, "input bias"),
)


@geometric
def _weight_map_left(v: Array, x: Array, g_shape: Shape, **geometry: Any) -> Array:
    return _cropped(convolution(conjugate(x), v, **geometry), g_shape)


@geometric
def _weight_map_right(v: Array, g: Array, x_shape: Shape, **geometry: Any) -> Array:
    return convolution_input(conjugate(g), v, spatial=tuple(x_shape[2:]), **geometry)


convolution_weight: Op = op(
    "ConvolutionBackward0",
    _convolution_weight,
    g=_weight_map_left,
    x=_weight_map_right,
    kind="bilinear",
    inputs=("g", "x"),
    kernel=kernel(in_single(kernels.convolution_weight)),
    batch=CONVOLVED_WEIGHT,
    autocast="short",
    aten="convolution_backward",
    samples=lambda draw: _image_samples(draw, "weight"),
)

# --- windows as columns ---

windowed = handing_on("kernel", "stride", "padding", "dilation")


def _unfold(x: Array, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Array:
    found = columns(x, geometry(x.shape[2:], kernel, stride, padding, dilation))
    return np.reshape(found, (x.shape[0], math.prod(found.shape[1:-1]), found.shape[-1]))


def _fold(x: Array, spatial: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Array:
    places = geometry(spatial, kernel, stride, padding, dilation)
    return added_back(np.reshape(x, (x.shape[0], x.shape[1] // places.taps, places.taps, x.shape[2])), places)


@windowed
def _unfold_rule(g: Array, x_shape: Shape, **window: Any) -> Array:
    return fold(g, spatial=tuple(x_shape[2:]), **window)


@windowed
def _fold_rule(g: Array, **window: Any) -> Array:
    return unfold(g, **window)


def _column_samples(draw: Draw, folded: bool = False) -> Iterator[Sample]:
    for (x, weight), params in _image_samples(draw):
        window = {"kernel": weight.shape[2:], **{name: params[name] for name in ("stride", "padding", "dilation")}}
        if not folded:
            yield (x,), window
        else:
            count = math.prod(geometry(x.shape[2:], *window.values()).output)
            yield (draw(len(x), x.shape[1] * math.prod(weight.shape[2:]), count),), {"spatial": x.shape[2:], **window}


unfold: Op = linear(
    "Im2ColBackward0",
    _unfold,
    x=_unfold_rule,
    kernel=kernel(columns_kernels.unfold),
    batch=SAMPLES,
    samples=_column_samples,
)
fold: Op = linear(
    "Col2ImBackward0",
    _fold,
    x=_fold_rule,
    kernel=kernel(in_single(columns_kernels.fold)),
    batch=SAMPLES,
    samples=lambda draw: _column_samples(draw, folded=True),
)

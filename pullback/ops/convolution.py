"""Convolution and its two transposes: three bilinear operations, each derivative of one being another of the three.

`convolution(x, weight)`, `convolution_input(g, weight)` (a transposed convolution) and `convolution_weight(g, x)`, with
parameters as tuples, one number a spatial axis. The kernels do the work. Also `unfold` and `fold`, which copy windows
out as columns and add them back.
"""

from __future__ import annotations

from typing import Any

from ..autograd.op import Op, conjugate, fused, linear, op
from ..kernels import convolution as kernels
from ..kernels import unfold as columns
from ..kernels.order import has_channels_last, keeping_channels, with_channels_last
from .fusing import handing_on, in_single, plain
from .layouts import CONVOLVED, CONVOLVED_KEEPING, CONVOLVED_WEIGHT, SAMPLES
from .reductions import sum_axes

geometric = handing_on("stride", "padding", "dilation", "groups")


@in_single
def _biased(x: Any, weight: Any, bias: Any, **geometry: Any) -> Any:
    return kernels.convolution(x, weight, bias=bias, **geometry)


@in_single
def _transposed_biased(g: Any, weight: Any, bias: Any, **geometry: Any) -> Any:
    return kernels.convolution_input(g, weight, bias=bias, **geometry)


@geometric
def _input_rule(g: Any, weight: Any, x_shape: tuple, **geometry: Any) -> Any:
    return convolution_input(g, conjugate(weight), spatial=tuple(x_shape[2:]), **geometry)


@geometric
def _weight_rule(g: Any, x: Any, weight_shape: tuple, **geometry: Any) -> Any:
    return convolution_weight(g, conjugate(x), kernel=tuple(weight_shape[2:]), **geometry)


def _bias_rule(g: Any) -> Any:
    return sum_axes(g, axis=(0, *range(2, len(g.shape))), keepdims=False)


convolution: Op = op(
    "ConvolutionBackward0",
    keeping_channels(in_single(kernels.convolution), 4, inputs=2),
    kind="bilinear",
    batch=CONVOLVED,
    x=_input_rule,
    weight=_weight_rule,
    autocast="short",
)
convolution_biased: Op = op(
    "ConvolutionBackward0",
    keeping_channels(_biased, 4, inputs=2),
    kind="affine",
    batch=CONVOLVED,
    x=_input_rule,
    weight=_weight_rule,
    bias=_bias_rule,
    autocast="short",
)


def _keeping(x: Any, weight: Any, bias: Any, stride: tuple, padding: tuple, dilation: tuple, groups: int) -> tuple:
    found = kernels.convolution_keeping(x, weight, bias, stride=stride, padding=padding, dilation=dilation)
    if x.flags.c_contiguous and weight.flags.c_contiguous or x.ndim != 4:
        return found
    return (with_channels_last(found[0]), *found[1:]) if has_channels_last(x) or has_channels_last(weight) else found


@geometric
def _keeping_rule(g: Any, x: Any, weight: Any, extras: Any, needs: tuple, **geometry: Any) -> tuple:
    x_shape, weight_shape, groups = tuple(x.shape), tuple(weight.shape), geometry.pop("groups")
    for_input = None
    if needs[0]:
        for_input = convolution_input(g, conjugate(weight), spatial=x_shape[2:], groups=groups, **geometry)
    biased = needs[2]
    if plain(g, x, weight):
        kept = extras[0]
        return for_input, *kernels.gradients_from_columns(g, kept, weight_shape, x_shape, biased=biased, **geometry)
    for_weight = convolution_weight(g, conjugate(x), kernel=weight_shape[2:], groups=groups, **geometry)
    return for_input, for_weight, _bias_rule(g) if biased else None


convolution_keeping: Op = fused(  # where the weight's gradient will be wanted; groups is 1 and the values are real
    "ConvolutionBackward0",
    _keeping,
    inputs=("x", "weight", "bias"),
    joint=_keeping_rule,
    autocast="short",
    batch=CONVOLVED_KEEPING,
)


def _cropped(out: Any, shape: tuple) -> Any:
    """A convolution may have more positions than the gradient it is the cotangent of: output padding made them."""
    if tuple(out.shape[2:]) == tuple(shape[2:]):
        return out
    return out[(slice(None), slice(None), *(slice(0, size) for size in shape[2:]))]


@geometric
def _transposed_input_rule(u: Any, weight: Any, g_shape: tuple, **geometry: Any) -> Any:
    return _cropped(convolution(u, conjugate(weight), **geometry), g_shape)


@geometric
def _transposed_weight_rule(u: Any, g: Any, weight_shape: tuple, **geometry: Any) -> Any:
    return convolution_weight(conjugate(g), u, kernel=tuple(weight_shape[2:]), **geometry)


convolution_input: Op = op(
    "ConvolutionBackward0",
    keeping_channels(in_single(kernels.convolution_input), 4, inputs=2),
    kind="bilinear",
    batch=CONVOLVED,
    g=_transposed_input_rule,
    weight=_transposed_weight_rule,
    autocast="short",
)
convolution_input_biased: Op = op(
    "ConvolutionBackward0",
    keeping_channels(_transposed_biased, 4, inputs=2),
    kind="affine",
    batch=CONVOLVED,
    g=_transposed_input_rule,
    weight=_transposed_weight_rule,
    bias=_bias_rule,
    autocast="short",
)


@geometric
def _weight_map_left(v: Any, x: Any, g_shape: tuple, **geometry: Any) -> Any:
    return _cropped(convolution(conjugate(x), v, **geometry), g_shape)


@geometric
def _weight_map_right(v: Any, g: Any, x_shape: tuple, **geometry: Any) -> Any:
    return convolution_input(conjugate(g), v, spatial=tuple(x_shape[2:]), **geometry)


convolution_weight: Op = op(
    "ConvolutionBackward0",
    in_single(kernels.convolution_weight),
    kind="bilinear",
    inputs=("g", "x"),
    batch=CONVOLVED_WEIGHT,
    g=_weight_map_left,
    x=_weight_map_right,
    autocast="short",
    aten="convolution_backward",
)

# --- windows as columns ---

windowed = handing_on("kernel", "stride", "padding", "dilation")


@windowed
def _unfold_rule(g: Any, x_shape: tuple, **window: Any) -> Any:
    return fold(g, spatial=tuple(x_shape[2:]), **window)


@windowed
def _fold_rule(g: Any, **window: Any) -> Any:
    return unfold(g, **window)


unfold: Op = linear("Im2ColBackward0", columns.unfold, batch=SAMPLES, x=_unfold_rule)
fold: Op = linear("Col2ImBackward0", in_single(columns.fold), inputs=("x",), batch=SAMPLES, x=_fold_rule)

"""Convolution and its two transposes: three bilinear operations, each derivative of one being another of the three.

`convolution(x, weight)`, `convolution_input(g, weight)` (a transposed convolution) and `convolution_weight(g, x)`, with
parameters as tuples, one number a spatial axis. The kernels do the work. Also `unfold` and `fold`, which copy windows
out as columns and add them back.
"""

from __future__ import annotations

from typing import Any

from ..autograd.op import Op, conjugate, linear, op
from ..kernels import convolution as kernels
from ..kernels import unfold as columns
from .batching import convolved, convolved_weight, samples
from .fusing import fused, in_single, plain
from .reductions import sum_axes


def _convolution(x: Any, weight: Any, stride: tuple, padding: tuple, dilation: tuple, groups: int) -> Any:
    return kernels.convolution(x, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _biased(x: Any, weight: Any, bias: Any, stride: tuple, padding: tuple, dilation: tuple, groups: int) -> Any:
    return kernels.convolution(x, weight, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias)


def _transposed(
    g: Any, weight: Any, spatial: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    return kernels.convolution_input(
        g, weight, spatial=spatial, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


def _transposed_biased(
    g: Any, weight: Any, bias: Any, spatial: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    return kernels.convolution_input(
        g, weight, spatial=spatial, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias
    )


def _weight_map(g: Any, x: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int) -> Any:
    return kernels.convolution_weight(
        g, x, kernel=kernel, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


def _input_rule(
    g: Any, weight: Any, x_shape: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    return convolution_input(
        g,
        conjugate(weight),
        spatial=tuple(x_shape[2:]),
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )


def _weight_rule(
    g: Any, x: Any, weight_shape: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    return convolution_weight(
        g,
        conjugate(x),
        kernel=tuple(weight_shape[2:]),
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )


def _bias_rule(g: Any) -> Any:
    return sum_axes(g, axis=(0, *range(2, len(g.shape))), keepdims=False)


convolution: Op = op(
    "ConvolutionBackward0",
    in_single(_convolution),
    kind="bilinear",
    batch=convolved,
    x=_input_rule,
    weight=_weight_rule,
)
convolution_biased: Op = op(
    "ConvolutionBackward0", in_single(_biased), batch=convolved, x=_input_rule, weight=_weight_rule, bias=_bias_rule
)


def _keeping(x: Any, weight: Any, bias: Any, stride: tuple, padding: tuple, dilation: tuple, groups: int) -> tuple:
    return kernels.convolution_keeping(x, weight, bias, stride=stride, padding=padding, dilation=dilation)


def _keeping_rule(
    g: Any, x: Any, weight: Any, bias: Any, extras: Any, needs: tuple, stride: tuple, padding: tuple, dilation: tuple,
    groups: int,
) -> tuple:  # fmt: skip
    geometry = {"stride": stride, "padding": padding, "dilation": dilation}
    x_shape, weight_shape = tuple(x.shape), tuple(weight.shape)
    for_input = _input_rule(g, weight, x_shape, groups=groups, **geometry) if needs[0] else None
    if plain(g, x, weight, bias):
        kept = extras[0]
        biased = bias is not None
        return for_input, *kernels.gradients_from_columns(g, kept, weight_shape, x_shape, biased=biased, **geometry)
    for_weight = _weight_rule(g, x, weight_shape, groups=groups, **geometry)
    return for_input, for_weight, None if bias is None else _bias_rule(g)


convolution_keeping: Op = fused(  # where the weight's gradient will be wanted; groups is 1 and the values are real
    "ConvolutionBackward0", _keeping, inputs=("x", "weight", "bias"), joint=_keeping_rule
)


def _cropped(out: Any, shape: tuple) -> Any:
    """A convolution may have more positions than the gradient it is the cotangent of: output padding made them."""
    if tuple(out.shape[2:]) == tuple(shape[2:]):
        return out
    return out[(slice(None), slice(None), *(slice(0, size) for size in shape[2:]))]


def _transposed_input_rule(
    u: Any, weight: Any, g_shape: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    out = convolution(u, conjugate(weight), stride=stride, padding=padding, dilation=dilation, groups=groups)
    return _cropped(out, g_shape)


def _transposed_weight_rule(
    u: Any, g: Any, weight_shape: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    return convolution_weight(
        conjugate(g),
        u,
        kernel=tuple(weight_shape[2:]),
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )


convolution_input: Op = op(
    "ConvolutionBackward0",
    in_single(_transposed),
    kind="bilinear",
    batch=convolved,
    g=_transposed_input_rule,
    weight=_transposed_weight_rule,
)
convolution_input_biased: Op = op(
    "ConvolutionBackward0",
    in_single(_transposed_biased),
    batch=convolved,
    g=_transposed_input_rule,
    weight=_transposed_weight_rule,
    bias=_bias_rule,
)


def _weight_map_left(
    v: Any, x: Any, g_shape: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    out = convolution(conjugate(x), v, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return _cropped(out, g_shape)


def _weight_map_right(
    v: Any, g: Any, x_shape: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    return convolution_input(
        conjugate(g), v, spatial=tuple(x_shape[2:]), stride=stride, padding=padding, dilation=dilation, groups=groups
    )


convolution_weight: Op = op(
    "ConvolutionBackward0",
    in_single(_weight_map),
    kind="bilinear",
    batch=convolved_weight,
    g=_weight_map_left,
    x=_weight_map_right,
)

# --- windows as columns ---


def _unfold(x: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple) -> Any:
    return columns.unfold(x, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


def _fold(x: Any, spatial: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple) -> Any:
    return columns.fold(x, spatial=spatial, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


unfold: Op = linear(
    "Im2ColBackward0",
    _unfold,
    batch=samples,
    x=lambda g, x_shape, kernel, stride, padding, dilation: fold(
        g, spatial=tuple(x_shape[2:]), kernel=kernel, stride=stride, padding=padding, dilation=dilation
    ),
)
fold: Op = linear(
    "Col2ImBackward0",
    in_single(_fold),
    inputs=("x",),
    batch=samples,
    x=lambda g, kernel, stride, padding, dilation: unfold(
        g, kernel=kernel, stride=stride, padding=padding, dilation=dilation
    ),
)

"""Activation functions of one element, and GLU. Kinks get hand-written pullbacks: they are diagonal and linear in `g`.

GELU and SiLU run as fused kernels, forward and backward; on anything but plain arrays their pullbacks are formulas.
ReLU, sigmoid and tanh are in `pointwise.py`, softmax in `reductions.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd.op import Op, elementwise, op
from ..dtypes import kind_of
from ..kernels import activations as kernels
from ..kernels import special as special_kernels
from ..kernels.order import ordered
from ..kernels.thresholds import MAYBE_BLOCKED
from .fusing import choose, drop, in_blocks, in_single, keep, limited, single, widened, zero_of
from .layouts import along
from .pointwise import sigmoid, straight
from .special import erf
from .striding import in_order

_SLOPE = math.sqrt(2 / math.pi)
_CUBIC = 0.044715

# --- smooth ---


def _gelu(x: Any, approximate: str) -> Any:
    return kernels.gelu(np.asarray(x), approximate=approximate)


def _gelu_slope(x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        t = np.tanh(_SLOPE * (x + _CUBIC * (x * x * x)))
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (_SLOPE * (1 + 3 * _CUBIC * (x * x)))
    return 0.5 * (1 + erf(x * math.sqrt(0.5))) + x * np.exp(-0.5 * (x * x)) * (1 / math.sqrt(2 * math.pi))


def _gelu_pullback(g: Any, x: Any, approximate: str) -> Any:
    if type(g) is type(x) is np.ndarray and g.shape == x.shape and g.dtype == x.dtype:
        return kernels.gelu_backward(g, x, approximate=approximate)
    return g * _gelu_slope(x, approximate)


gelu: Op = op("GeluBackward0", _gelu, kind="elementwise_pull", inputs=("x",), x=_gelu_pullback)


_complex_silu = in_single(lambda x: x / (1 + np.exp(-x)))


def _silu(x: Any) -> Any:
    x = np.asarray(x)
    return _complex_silu(x) if x.dtype.kind == "c" else kernels.silu(x)


def _silu_pullback(g: Any, x: Any) -> Any:
    if type(g) is type(x) is np.ndarray and x.dtype.kind != "c" and g.shape == x.shape and g.dtype == x.dtype:
        return kernels.silu_backward(g, x)
    s = sigmoid(x)
    slope = s * (1 + x * (1 - s))
    return g * (np.conj(slope) if kind_of(x) == "c" else slope)


silu: Op = op("SiluBackward0", _silu, kind="elementwise_pull", x=_silu_pullback)


def _softplus_pullback(g: Any, x: Any, beta: float, threshold: float) -> Any:
    if type(g) is type(x) is np.ndarray and g.shape == x.shape and g.dtype is x.dtype:
        return kernels.softplus_backward(g, x, beta, threshold)
    scaled = x * beta
    low = np.where(scaled >= threshold, threshold, scaled)  # at the threshold the slope is the curve's, and constant
    return g * np.where(scaled > threshold, 1, sigmoid(low))


softplus: Op = op("SoftplusBackward0", kernels.softplus, kind="elementwise_pull", x=_softplus_pullback)
log_sigmoid: Op = op(
    "LogSigmoidBackward0",
    in_single(lambda x: in_order(special_kernels.log_sigmoid(x))),
    kind="elementwise_pull",
    inputs=("x",),
    x=lambda g, x: g * sigmoid(-x),
    # its kernel sees to large arrays itself, and its results lie in the order of the dims
    large="nothing",
    aten="log_sigmoid_forward",
)


def _mish(x: Any) -> Any:
    return x * np.tanh(special_kernels.softplus(x))


def _mish_pullback(g: Any, x: Any) -> Any:
    g, x = single(g, x)
    t = np.tanh(softplus(x, beta=1.0, threshold=20.0))
    return g * (t + x * sigmoid(x) * (1 - t * t))


mish: Op = op("MishBackward0", ordered(in_single(_mish)), kind="elementwise_pull", x=_mish_pullback)

# --- exponential below zero ---


def _elu(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    if x.size < MAYBE_BLOCKED:
        return _elu_block(x, alpha, scale, input_scale)
    return in_blocks(_elu_block, x, alpha=alpha, scale=scale, input_scale=input_scale)


def _elu_block(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    """One of the two terms is zero."""
    zero = zero_of(x)
    below, above = np.expm1(_times(np.minimum(zero, x), input_scale)), np.maximum(zero, x)
    return _times(below, alpha * scale) + _times(above, scale)


def _times(x: Any, factor: float) -> Any:
    return x if factor == 1 else x * factor


def _elu_pullback(g: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    g, x = single(g, x)
    return in_blocks(_elu_slope_times, g, x, alpha=alpha, scale=scale, input_scale=input_scale)


def _elu_slope_times(g: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    if type(g) is np.ndarray and type(x) is np.ndarray and alpha * input_scale == 1:  # no kink: both slopes are 1 at 0
        return g * _times(np.exp(_times(np.minimum(x, zero_of(x)), input_scale)), scale)
    low = ~(x > 0)
    below = np.exp(drop(x >= 0, x) * input_scale) * (alpha * scale * input_scale)
    return choose(low, g * below, g * scale)


elu: Op = op("EluBackward0", in_single(_elu), kind="elementwise_pull", x=_elu_pullback)
celu: Op = op("CeluBackward0", in_single(_elu), kind="elementwise_pull", x=_elu_pullback)

# --- piecewise linear ---


def _leaky_relu(x: Any, slope: float) -> Any:
    wide = widened(x)
    out = _leaky_relu_block(wide, slope) if x.size < MAYBE_BLOCKED else in_blocks(_leaky_relu_block, wide, slope=slope)
    return out if out.dtype is x.dtype else out.astype(x.dtype)


def _leaky_relu_block(x: Any, slope: float) -> Any:
    return np.maximum(x, x * slope) if 0 < slope <= 1 else choose(x > 0, x, x * slope)


def _leaky_relu_pullback(g: Any, x: Any, slope: float) -> Any:
    g, x = single(g, x)
    if type(g) is np.ndarray and g.size >= MAYBE_BLOCKED:
        return in_blocks(_leaky_relu_slope_times, g, x, slope=slope)
    return _leaky_relu_slope_times(g, x, slope)


def _leaky_relu_slope_times(g: Any, x: Any, slope: float) -> Any:
    if type(g) is type(x) is np.ndarray and 0 <= slope <= 1:
        return g * np.maximum((x > 0).astype(g.dtype), slope)
    return choose(x > 0, g, g * slope)


leaky_relu: Op = op(
    "LeakyReluBackward0",
    _leaky_relu,
    kind="elementwise_pull",
    x=straight("LeakyReluBackwardBackward0", _leaky_relu_pullback),
)
rrelu: Op = op(
    "RreluWithNoiseBackward0",
    ordered(_leaky_relu, deciding=()),
    kind="elementwise_pull",
    x=straight("RreluWithNoiseBackwardBackward0", _leaky_relu_pullback),
)
rrelu_with_noise: Op = elementwise(
    "RreluWithNoiseBackward0",
    ordered(lambda x, noise: (x * noise).astype(x.dtype, copy=False), deciding=()),
    x=lambda noise: noise,
    noise=None,
)
prelu: Op = op(
    "PreluKernelBackward0",
    lambda x, weight: choose(x > 0, x, x * weight),
    kind="elementwise_pull",
    x=straight(
        "PreluKernelBackwardBackward0",
        lambda g, x, weight: choose(x > 0, g, g * weight),
        weight=lambda h, g, x: drop(x > 0, h * g),
        aten="_prelu_kernel_backward",
    ),
    weight=lambda g, x: drop(x > 0, g * x),
    autocast="short",
    aten="_prelu_kernel",
)


def _hardtanh(x: Any, low: float, high: float) -> Any:
    out = limited(x, low, high) if x.size < MAYBE_BLOCKED else in_blocks(limited, x, low=low, high=high)
    return out if out.dtype is x.dtype else out.astype(x.dtype)


def _kept_between(g: Any, x: Any, low: float, high: float) -> Any:
    return keep((x > low) & (x < high), g)


def _dropped_between(g: Any, x: Any, low: float, high: float) -> Any:
    return drop((x >= low) & (x <= high), g)


def _kept_outside(g: Any, x: Any, lambd: float) -> Any:
    return in_blocks(lambda g, x: keep((x < -lambd) | (x > lambd), g), g, x)


hardtanh: Op = op(
    "HardtanhBackward0",
    _hardtanh,
    kind="elementwise_pull",
    x=straight(
        "HardtanhBackwardBackward0",
        lambda g, x, low, high: in_blocks(_kept_between, g, x, low=low, high=high),
    ),
)
hardsigmoid: Op = op(
    "HardsigmoidBackward0",
    in_single(lambda x: limited(x + 3, 0, 6) / 6),
    kind="elementwise_pull",
    inputs=("x",),
    x=straight("HardsigmoidBackwardBackward0", lambda g, x: keep((x > -3) & (x < 3), g / 6)),
)


def _hardswish_pullback(g: Any, x: Any) -> Any:
    g, x = single(g, x)
    return drop(x <= -3, choose(x >= 3, g, g * (x / 3 + 0.5)))


hardswish: Op = op(
    "HardswishBackward0",
    in_single(lambda x: x * limited(x + 3, 0, 6) / 6),
    kind="elementwise_pull",
    inputs=("x",),
    x=_hardswish_pullback,
)
hardshrink: Op = op(
    "HardshrinkBackward0",
    lambda x, lambd: in_blocks(_dropped_between, x, x, low=x.dtype.type(-lambd), high=x.dtype.type(lambd)),
    kind="elementwise_pull",
    x=straight("HardshrinkBackwardBackward0", _kept_outside),
)
softshrink: Op = op(
    "SoftshrinkBackward0",
    in_single(lambda x, lambd: in_blocks(lambda x: np.copysign(x - limited(x, -lambd, lambd), x), x)),
    kind="elementwise_pull",
    inputs=("x",),
    x=straight("SoftshrinkBackwardBackward0", _kept_outside),
)
threshold: Op = op(
    "ThresholdBackward0",
    lambda x, limit, value: in_blocks(lambda x: choose(x <= limit, value, x), x).astype(x.dtype, copy=False),
    kind="elementwise_pull",
    x=straight("ThresholdBackwardBackward0", lambda g, x, limit: in_blocks(lambda g, x: drop(x <= limit, g), g, x)),
)

# --- gated: half of an axis decides how much of the other half passes ---


def _halves(x: Any, axis: int) -> tuple:
    middle = x.shape[axis] // 2
    lead = (slice(None),) * axis
    return x[(*lead, slice(0, middle))], x[(*lead, slice(middle, None))]


def _glu(x: Any, axis: int) -> Any:
    values, gates = _halves(x, axis)
    return values * sigmoid.forward(gates)


def _glu_pullback(g: Any, x: Any, axis: int) -> Any:
    values, gates = _halves(x, axis)
    s = sigmoid(gates)
    return np.concatenate((g * s, g * values * s * (1 - s)), axis=axis)


glu: Op = op("GluBackward0", in_single(_glu), x=_glu_pullback, batch=along("axis"))

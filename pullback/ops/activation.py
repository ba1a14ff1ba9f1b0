"""Activation functions of one element, and GLU. Kinks get hand-written pullbacks: they are diagonal and linear in `g`.

ReLU is in `piecewise.py`, sigmoid and tanh are in `pointwise.py`, softmax in `reductions.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.dtypes import kind_of
from ..core.kernel import kernel
from ..core.op import Op, elementwise, op
from ..kernels import activations as kernels
from ..kernels import special as special_kernels
from ..kernels.order import ordered
from ..kernels.thresholds import MAYBE_BLOCKED
from .fusing import choose, drop, in_blocks, in_single, keep, limited, single, widened, zero_of
from .layouts import along
from .piecewise import piecewise_rule
from .pointwise import sigmoid
from .samples import Draw, Sample, arrays, reals
from .special import erf
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array

_SLOPE = math.sqrt(2 / math.pi)
_CUBIC = 0.044715

# --- smooth ---


def _gelu(x: Array, approximate: str) -> Array:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(_SLOPE * (x + _CUBIC * (x * x * x))))
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


def _gelu_slope(x: Array, approximate: str) -> Array:
    if approximate == "tanh":
        t = np.tanh(_SLOPE * (x + _CUBIC * (x * x * x)))
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (_SLOPE * (1 + 3 * _CUBIC * (x * x)))
    return 0.5 * (1 + erf(x * math.sqrt(0.5))) + x * np.exp(-0.5 * (x * x)) * (1 / math.sqrt(2 * math.pi))


def _gelu_backward(g: Array, x: Array, approximate: str) -> Array:
    return kernels.gelu_backward(g, x, approximate=approximate) if _are_alike(g, x) else NotImplemented


def _are_alike(g: Array, x: Array) -> bool:
    """True if a cotangent has the shape and dtype of x, which the kernels of rules ask for."""
    return g.shape == x.shape and g.dtype == x.dtype


gelu: Op = op(
    "GeluBackward0",
    _gelu,
    x=lambda g, x, approximate: g * _gelu_slope(x, approximate),
    kind="elementwise_pull",
    kernel=kernel(kernels.gelu, x=_gelu_backward),
    samples=lambda draw: [*reals(approximate="none")(draw), *reals(approximate="tanh")(draw)],
)


def _silu_pullback(g: Array, x: Array) -> Array:
    s = sigmoid(x)
    slope = s * (1 + x * (1 - s))
    return g * (np.conj(slope) if kind_of(x) == "c" else slope)


silu: Op = op(
    "SiluBackward0",
    lambda x: x / (1 + np.exp(-x)),
    x=_silu_pullback,
    kind="elementwise_pull",
    kernel=kernel(
        lambda x: NotImplemented if x.dtype.kind == "c" else kernels.silu(x),
        x=lambda g, x: kernels.silu_backward(g, x) if _are_alike(g, x) else NotImplemented,
    ),
    samples=reals(),
)


def _softplus(x: Array, beta: float, threshold: float) -> Array:
    scaled = x * beta
    low = np.where(scaled > threshold, threshold, scaled)
    return np.where(scaled > threshold, x, np.log1p(np.exp(low)) / beta)


def _softplus_pullback(g: Array, x: Array, beta: float, threshold: float) -> Array:
    scaled = x * beta
    low = np.where(scaled >= threshold, threshold, scaled)  # at the threshold the slope is the curve's, and constant
    return g * np.where(scaled > threshold, 1, sigmoid(low))


def _softplus_backward(g: Array, x: Array, beta: float, threshold: float) -> Array:
    return kernels.softplus_backward(g, x, beta, threshold) if _are_alike(g, x) else NotImplemented


softplus: Op = op(
    "SoftplusBackward0",
    _softplus,
    x=_softplus_pullback,
    kind="elementwise_pull",
    kernel=kernel(kernels.softplus, x=_softplus_backward),
    samples=lambda draw: [*reals(beta=1.0, threshold=20.0)(draw), *reals(beta=2.0, threshold=1.0)(draw)],
)
log_sigmoid: Op = op(
    "LogSigmoidBackward0",
    lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
    x=lambda g, x: g * sigmoid(-x),
    kind="elementwise_pull",
    kernel=kernel(in_single(lambda x: in_order(special_kernels.log_sigmoid(x)))),
    large="nothing",  # its kernel sees to large arrays itself, and its results lie in the order of the dims
    aten="log_sigmoid_forward",
    samples=reals(),
)


def _mish_pullback(g: Array, x: Array) -> Array:
    g, x = single(g, x)
    t = np.tanh(softplus(x, beta=1.0, threshold=20.0))
    return g * (t + x * sigmoid(x) * (1 - t * t))


mish: Op = op(
    "MishBackward0",
    lambda x: x * np.tanh(_softplus(x, 1.0, 20.0)),
    x=_mish_pullback,
    kind="elementwise_pull",
    kernel=kernel(ordered(in_single(lambda x: x * np.tanh(special_kernels.softplus(x))))),
    samples=reals(),
)

# --- exponential below zero ---


def _elu(x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    if x.size < MAYBE_BLOCKED:
        return _elu_block(x, alpha, scale, input_scale)
    return in_blocks(_elu_block, x, alpha=alpha, scale=scale, input_scale=input_scale)


def _elu_block(x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    """One of the two terms is zero."""
    zero = zero_of(x)
    below, above = np.expm1(_times(np.minimum(zero, x), input_scale)), np.maximum(zero, x)
    return _times(below, alpha * scale) + _times(above, scale)


def _times(x: Array, factor: float) -> Array:
    return x if factor == 1 else x * factor


def _elu_pullback(g: Array, x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    low = ~(x > 0)
    below = np.exp(drop(x >= 0, x) * input_scale) * (alpha * scale * input_scale)
    return choose(low, g * below, g * scale)


def _elu_backward(g: Array, x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    g, x = single(g, x)
    function = _smooth_elu_pullback if alpha * input_scale == 1 else _elu_pullback
    return in_blocks(function, g, x, alpha=alpha, scale=scale, input_scale=input_scale)


def _smooth_elu_pullback(g: Array, x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    """There is no kink: both slopes are 1 at 0."""
    return g * _times(np.exp(_times(np.minimum(x, zero_of(x)), input_scale)), scale)


_ELU: dict[str, Any] = {
    "kind": "elementwise_pull",
    "x": _elu_pullback,
    "kernel": kernel(in_single(_elu), x=_elu_backward),
    "samples": lambda draw: [
        *reals(alpha=1.0, scale=1.0, input_scale=1.0)(draw), *reals(alpha=0.5, scale=2.0, input_scale=0.7)(draw)
    ],
}  # fmt: skip
elu: Op = op("EluBackward0", _elu_block, **_ELU)
celu: Op = op("CeluBackward0", _elu_block, **_ELU)

# --- piecewise linear ---


def _leaky_relu(x: Array, slope: float) -> Array:
    wide = widened(x)
    out = _leaky_relu_block(wide, slope) if x.size < MAYBE_BLOCKED else in_blocks(_leaky_relu_block, wide, slope=slope)
    return out if out.dtype is x.dtype else out.astype(x.dtype)


def _leaky_relu_block(x: Array, slope: float) -> Array:
    return np.maximum(x, x * slope) if 0 < slope <= 1 else choose(x > 0, x, x * slope)


def _leaky_relu_pullback(g: Array, x: Array, slope: float) -> Array:
    return choose(x > 0, g, g * slope)


def _leaky_relu_backward(g: Array, x: Array, slope: float) -> Array:
    g, x = single(g, x)
    function = _rising_leaky_relu_pullback if 0 <= slope <= 1 else _leaky_relu_pullback
    return in_blocks(function, g, x, slope=slope) if g.size >= MAYBE_BLOCKED else function(g, x, slope)


def _rising_leaky_relu_pullback(g: Array, x: Array, slope: float) -> Array:
    return g * np.maximum((x > 0).astype(g.dtype), slope)


def _leaky_samples(draw: Draw) -> Iterable[Sample]:
    return [*reals(slope=0.1)(draw), *reals(slope=-0.5)(draw)]


leaky_relu: Op = op(
    "LeakyReluBackward0",
    _leaky_relu_block,
    x=piecewise_rule("LeakyReluBackwardBackward0", _leaky_relu_pullback, _leaky_relu_backward),
    kind="elementwise_pull",
    kernel=kernel(_leaky_relu, x=_leaky_relu_backward),
    samples=_leaky_samples,
)
rrelu: Op = op(
    "RreluWithNoiseBackward0",
    _leaky_relu_block,
    x=piecewise_rule("RreluWithNoiseBackwardBackward0", _leaky_relu_pullback, _leaky_relu_backward),
    kind="elementwise_pull",
    kernel=kernel(ordered(_leaky_relu, deciding=()), x=_leaky_relu_backward),
    samples=_leaky_samples,
)
rrelu_with_noise: Op = elementwise(
    "RreluWithNoiseBackward0",
    ordered(lambda x, noise: (x * noise).astype(x.dtype, copy=False), deciding=()),
    x=lambda noise: noise,
    noise=None,
    samples=arrays((2, 3), (2, 3)),
)


def _prelu_pullback(g: Array, x: Array, weight: Array) -> Array:
    return choose(x > 0, g, g * weight)


prelu: Op = op(
    "PreluKernelBackward0",
    lambda x, weight: choose(x > 0, x, x * weight),
    x=piecewise_rule(
        "PreluKernelBackwardBackward0",
        _prelu_pullback,
        weight=lambda h, g, x: drop(x > 0, h * g),
        aten="_prelu_kernel_backward",
    ),
    weight=lambda g, x: drop(x > 0, g * x),
    kind="elementwise_pull",
    kernel=kernel(x=_prelu_pullback),
    autocast="short",
    aten="_prelu_kernel",
    samples=lambda draw: [((x, draw(*x.shape)), {}) for (x,), _ in reals()(draw)],
)


def _hardtanh(x: Array, low: float, high: float) -> Array:
    out = limited(x, low, high) if x.size < MAYBE_BLOCKED else in_blocks(limited, x, low=low, high=high)
    return out if out.dtype is x.dtype else out.astype(x.dtype)


def _kept_between(g: Array, x: Array, low: float, high: float) -> Array:
    return keep((x > low) & (x < high), g)


def _dropped_between(g: Array, x: Array, low: float, high: float) -> Array:
    return drop((x >= low) & (x <= high), g)


def _kept_outside(g: Array, x: Array, lambd: float) -> Array:
    return in_blocks(lambda g, x: keep((x < -lambd) | (x > lambd), g), g, x)


def _hardtanh_pullback(g: Array, x: Array, low: float, high: float) -> Array:
    return in_blocks(_kept_between, g, x, low=low, high=high)


hardtanh: Op = op(
    "HardtanhBackward0",
    _hardtanh,
    x=piecewise_rule("HardtanhBackwardBackward0", _hardtanh_pullback),
    kind="elementwise_pull",
    kernel=kernel(x=_hardtanh_pullback),
    samples=lambda draw: [(inputs, {"low": -0.5, "high": 1.0}) for inputs, _ in reals()(draw)],
)


def _hardsigmoid_pullback(g: Array, x: Array) -> Array:
    return keep((x > -3) & (x < 3), g / 6)


hardsigmoid: Op = op(
    "HardsigmoidBackward0",
    in_single(lambda x: limited(x + 3, 0, 6) / 6),
    inputs=("x",),
    x=piecewise_rule("HardsigmoidBackwardBackward0", _hardsigmoid_pullback),
    kind="elementwise_pull",
    kernel=kernel(x=_hardsigmoid_pullback),
    samples=reals(),
)


def _hardswish_pullback(g: Array, x: Array) -> Array:
    g, x = single(g, x)
    return drop(x <= -3, choose(x >= 3, g, g * (x / 3 + 0.5)))


hardswish: Op = op(
    "HardswishBackward0",
    in_single(lambda x: x * limited(x + 3, 0, 6) / 6),
    inputs=("x",),
    x=_hardswish_pullback,
    kind="elementwise_pull",
)
hardshrink: Op = op(
    "HardshrinkBackward0",
    lambda x, lambd: in_blocks(_dropped_between, x, x, low=x.dtype.type(-lambd), high=x.dtype.type(lambd)),
    x=piecewise_rule("HardshrinkBackwardBackward0", _kept_outside),
    kind="elementwise_pull",
    kernel=kernel(x=_kept_outside),
    samples=reals(lambd=0.5),
)
softshrink: Op = op(
    "SoftshrinkBackward0",
    in_single(lambda x, lambd: in_blocks(lambda x: np.copysign(x - limited(x, -lambd, lambd), x), x)),
    inputs=("x",),
    x=piecewise_rule("SoftshrinkBackwardBackward0", _kept_outside),
    kind="elementwise_pull",
    kernel=kernel(x=_kept_outside),
    samples=reals(lambd=0.5),
)


def _threshold_pullback(g: Array, x: Array, limit: float) -> Array:
    return in_blocks(lambda g, x: drop(x <= limit, g), g, x)


threshold: Op = op(
    "ThresholdBackward0",
    lambda x, limit, value: in_blocks(lambda x: choose(x <= limit, value, x), x).astype(x.dtype, copy=False),
    x=piecewise_rule("ThresholdBackwardBackward0", _threshold_pullback),
    kind="elementwise_pull",
    kernel=kernel(x=_threshold_pullback),
    samples=reals(limit=0.5, value=1.0),
)

# --- gated: half of an axis decides how much of the other half passes ---


def _halves(x: Array, axis: int) -> tuple[Array, Array]:
    middle = x.shape[axis] // 2
    lead = (slice(None),) * axis
    return x[(*lead, slice(0, middle))], x[(*lead, slice(middle, None))]


def _glu(x: Array, axis: int) -> Array:
    values, gates = _halves(x, axis)
    return values * sigmoid.forward(gates)


def _glu_pullback(g: Array, x: Array, axis: int) -> Array:
    values, gates = _halves(x, axis)
    s = sigmoid(gates)
    return np.concatenate((g * s, g * values * s * (1 - s)), axis=axis)


glu: Op = op("GluBackward0", in_single(_glu), x=_glu_pullback, batch=along("axis"))

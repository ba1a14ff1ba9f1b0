"""Losses of single elements that have an operation of their own. `reduction` is 'none', 'mean' or 'sum'.

Their operands arrive in one shape. Losses of classes are in `class_losses.py`; all others are compositions in
`nn/functional`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.quiet import quiet
from ..core.kernel import kernel
from ..core.op import Op, op
from ..kernels import activations
from ..kernels.order import ordered
from .fusing import in_blocks, in_single, is_half, limited, number_for, zero_of
from .layouts import ELEMENTWISE_LOSS
from .pairs import log_add_exp
from .pointwise import sigmoid
from .reductions import sum_all
from .samples import Draw, Sample, pairs_to_reduce

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array


def reduce_losses(losses: Array, reduction: str) -> Array:
    """Sum or mean of losses in their own dtype (half precision summed in float32)."""
    if reduction == "none":
        return losses
    kind = losses.dtype
    if is_half(kind):
        losses = losses.astype(np.float32)
    total = sum_all.forward(losses)
    if reduction == "mean":
        total = total / losses.size if losses.size else total * math.nan
    return total if total.dtype == kind else total.astype(kind)


def spread(g: Array, x: Array, reduction: str) -> Array:
    """The cotangent of each loss from that of the reduced loss."""
    return g / max(math.prod(x.shape), 1) if reduction == "mean" else g


# --- two arrays of one shape ---


def _laid_as(*deciding: int) -> Callable[..., Any]:
    """Losses that are not summed lie in memory as the operands at these places do."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        laid = ordered(function, deciding)

        @functools.wraps(function)
        def run(*arrays: Array, **params: Any) -> Array:
            return laid(*arrays, **params) if params["reduction"] == "none" else function(*arrays, **params)

        return run

    return decorate


mse: Op = op(
    "MseLossBackward0",
    _laid_as(0, 1)(quiet(lambda x, y, reduction: reduce_losses((x - y) ** 2, reduction))),
    batch=ELEMENTWISE_LOSS,
    x=lambda g, x, y, reduction: spread(g, x, reduction) * 2 * (x - y),
    y=lambda g, x, y, reduction: spread(g, x, reduction) * 2 * (y - x),
)


def _huber_losses(x: Array, y: Array, delta: float) -> Array:
    """A square up to a distance of delta, a line of the slope it has there beyond."""
    distance = np.abs(x - y)
    near = np.minimum(distance, number_for(delta, x))
    return near * (distance - near * number_for(0.5, x))


def _limited_difference_times(x: Array, y: Array, g: Array, delta: float) -> Array:
    difference = x - y
    return g * limited(difference, number_for(-delta, difference), number_for(delta, difference))


def _huber_rule(g: Array, x: Array, y: Array, delta: float, reduction: str) -> Array:
    difference = x - y
    slope = np.where(np.abs(difference) >= delta, delta * np.sign(difference), difference)
    return spread(g, x, reduction) * slope


def _huber_kernel(g: Array, x: Array, y: Array, delta: float, reduction: str) -> Array:
    return in_blocks(_limited_difference_times, x, y, spread(g, x, reduction), delta=delta)


def _scaled_down(g: Array, beta: float) -> Array:
    return g if beta == 1 else g / beta


@_laid_as(0, 1)
@in_single
def _smooth_l1(x: Array, y: Array, beta: float, reduction: str) -> Array:
    losses = in_blocks(_huber_losses, x, y, delta=beta)
    return reduce_losses(losses if beta == 1 else losses / number_for(beta, x), reduction)


smooth_l1: Op = op(
    "SmoothL1LossBackward0",
    lambda x, y, beta, reduction: reduce_losses(_huber_losses(x, y, beta) / beta, reduction),
    x=lambda g, x, y, beta, reduction: _huber_rule(_scaled_down(g, beta), x, y, beta, reduction),
    y=lambda g, x, y, beta, reduction: -_huber_rule(_scaled_down(g, beta), x, y, beta, reduction),
    kernel=kernel(
        _smooth_l1,
        x=lambda g, x, y, beta, reduction: _huber_kernel(_scaled_down(g, beta), x, y, beta, reduction),
        y=lambda g, x, y, beta, reduction: -_huber_kernel(_scaled_down(g, beta), x, y, beta, reduction),
    ),
    batch=ELEMENTWISE_LOSS,
    aten="smooth_l1_loss",
    samples=lambda draw: pairs_to_reduce(draw, {"beta": 1.0}, {"beta": 0.5}),
)


@_laid_as(0)
@in_single
def _huber(x: Array, y: Array, delta: float, reduction: str) -> Array:
    return reduce_losses(in_blocks(_huber_losses, x, y, delta=delta), reduction)


huber: Op = op(
    "HuberLossBackward0",
    lambda x, y, delta, reduction: reduce_losses(_huber_losses(x, y, delta), reduction),
    x=_huber_rule,
    y=lambda g, x, y, delta, reduction: -_huber_rule(g, x, y, delta, reduction),
    kernel=kernel(
        _huber, x=_huber_kernel, y=lambda g, x, y, delta, reduction: -_huber_kernel(g, x, y, delta, reduction)
    ),
    batch=ELEMENTWISE_LOSS,
    samples=lambda draw: pairs_to_reduce(draw, {"delta": 0.5}),
)


@_laid_as(0)
@quiet
def _soft_margin(x: Array, y: Array, reduction: str) -> Array:
    return reduce_losses(log_add_exp(zero_of(x), -y * x).astype(x.dtype, copy=False), reduction)


soft_margin: Op = op(
    "SoftMarginLossBackward0",
    _soft_margin,
    batch=ELEMENTWISE_LOSS,
    x=lambda g, x, y, reduction: -spread(g, x, reduction) * y * sigmoid(-y * x),
    y=lambda g, x, y, reduction: -spread(g, x, reduction) * x * sigmoid(-y * x),
)

# --- binary cross entropy ---


def _scaled_by(values: Array, weight: Array | None) -> Array:
    return values if weight is None else values * weight


def _clipped(x: Array) -> Array:
    return np.maximum(x, number_for(-100.0, x))


def _bce(x: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    losses = (target - number_for(1, x)) * _clipped(np.log1p(-x)) - target * _clipped(np.log(x))
    return reduce_losses(_scaled_by(losses, weight), reduction)


def _bce_pullback(g: Array, x: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    slope = (x - target) / np.maximum((number_for(1, x) - x) * x, number_for(1e-12, x))
    return spread(g, x, reduction) * _scaled_by(slope, weight)


bce: Op = op(
    "BinaryCrossEntropyBackward0",
    _laid_as(0, 1)(in_single(_bce)),
    batch=ELEMENTWISE_LOSS,
    x=_bce_pullback,
    target=lambda g, x, weight, reduction: spread(g, x, reduction) * _scaled_by(np.log(1 - x) - np.log(x), weight),
    weight=None,
)


def _bce_logits(x: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str) -> Array:
    losses = activations.bce_with_logits(np.asarray(x), np.asarray(target), pos_weight)
    return reduce_losses(_scaled_by(losses, weight), reduction)


_single_bce_logits_backward = in_single(lambda g, x, t, p: activations.bce_with_logits_backward(g, x, t, p))


def _bce_logits_backward(
    g: Array, x: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Array:
    g = _scaled_by(spread(g, x, reduction), weight)
    if g.dtype != x.dtype:
        return NotImplemented
    return _single_bce_logits_backward(np.asarray(g), np.asarray(x), np.asarray(target), pos_weight)


def _bce_logits_formula(
    x: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Array:
    below = np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0)  # -log(sigmoid(x))
    positive = below if pos_weight is None else (1 + (pos_weight - 1) * target) * below
    return reduce_losses(_scaled_by((1 - target) * x + positive, weight), reduction)


def _bce_logits_pullback(
    g: Array, x: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Array:
    g = _scaled_by(spread(g, x, reduction), weight)
    if pos_weight is None:
        return g * (sigmoid(x) - target)
    return g * ((1 - target) - (1 + (pos_weight - 1) * target) * sigmoid(-x))


def _bce_logits_target(g: Array, x: Array, weight: Array | None, pos_weight: Array | None, reduction: str) -> Array:
    g = _scaled_by(spread(g, x, reduction), weight)
    if pos_weight is None:
        return -g * x
    from .activation import log_sigmoid

    return g * (log_sigmoid(-x) - pos_weight * log_sigmoid(x))


def _bce_samples(draw: Draw) -> Iterator[Sample]:
    for (x, target), params in pairs_to_reduce(draw, {}):
        for weight in (None, np.abs(target)):
            for pos_weight in (None, np.abs(target) + 1):
                yield (x, target, weight, pos_weight), params


bce_with_logits: Op = op(
    "BinaryCrossEntropyWithLogitsBackward0",
    _bce_logits_formula,
    x=_bce_logits_pullback,
    target=_bce_logits_target,
    weight=None,
    pos_weight=None,
    kernel=kernel(_laid_as(1)(in_single(_bce_logits)), x=_bce_logits_backward),
    batch=ELEMENTWISE_LOSS,
    samples=_bce_samples,
)

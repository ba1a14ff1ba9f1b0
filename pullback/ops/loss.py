"""Losses with an operation of their own: negative log-likelihood, cross entropy, and elementwise losses with reduction.

The class losses are linear in log-probabilities: `pick_classes` and `place_classes` are each other's transposes, and
cross entropy is `pick_classes` of a log-softmax computed in one kernel. Operands of elementwise losses arrive in one
shape. `reduction` is 'none', 'mean' or 'sum'. All other losses are compositions in `nn/functional`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..arrays.mostly_zeros import Picked
from ..autograd.op import Op, fused, linear, op
from ..kernels import activations
from ..kernels import softmax as kernels
from ..kernels.large import zeros
from ..kernels.order import ordered
from ..kernels.thresholds import MOSTLY_ZEROS, WHOLE
from ..quiet import quiet
from .fusing import in_blocks, in_single, is_half, limited, number_for, plain
from .layouts import CLASSES, ELEMENTWISE_LOSS, PLACED_CLASSES
from .pairs import log_add_exp
from .pointwise import sigmoid
from .reductions import log_softmax, sum_all
from .striding import in_order


def reduce_losses(losses: Any, reduction: str) -> Any:
    """Sum or mean of losses in their own dtype (half precision summed in float32)."""
    if reduction == "none":
        return losses
    kind = losses.dtype
    if is_half(kind):
        losses = losses.astype(np.float32)
    total = sum_all.forward(losses)
    if reduction == "mean":
        total = total / losses.size if losses.size else total * math.nan
    return total if total.dtype is kind else total.astype(kind)


def spread(g: Any, x: Any, reduction: str) -> Any:
    """The cotangent of each loss from that of the reduced loss."""
    return g / max(math.prod(x.shape), 1) if reduction == "mean" else g


# --- classes: log-probabilities (n, classes, ...) and class numbers (n, ...) ---


def _class_axis(x: Any) -> int:
    return 1 if len(x.shape) > 1 else 0


def _counts(target: Any, weight: Any, ignore_index: int, dtype: Any) -> Any:
    return kernels.target_weights(target, weight, ignore_index=ignore_index, dtype=dtype)


def _divisor(target: Any, weight: Any, ignore_index: int, dtype: Any) -> float:
    """What a mean divides by: the weights of the targets that count."""
    if weight is None and _none_ignored(target, ignore_index):
        return target.size
    return float(np.add.reduce(_counts(target, weight, ignore_index, dtype), axis=None, dtype=np.float64))


def _none_ignored(target: Any, ignore_index: int) -> bool:
    """Whether it is quickly seen that every target counts."""
    return ignore_index < 0 and target.size > 0 and bool(np.minimum.reduce(target, axis=None) >= 0)


def _is_simple(shape: tuple, kind: Any, target: Any, weight: Any, ignore_index: int, smoothing: float) -> bool:
    """Whether every row of a matrix has a target that counts, all alike, and no half precision is involved."""
    return (
        weight is None
        and not smoothing
        and ignore_index < 0
        and len(shape) == 2
        and target.ndim == 1
        and kind.itemsize > 2
        and kernels.all_classes(target, shape[1])
    )


@functools.lru_cache(maxsize=64)
def _row_starts(rows: int, classes: int) -> Any:
    return np.arange(0, rows * classes, classes)


def _places(target: Any, classes: int) -> Any:
    """Where each row of a matrix has its target, counted through all rows."""
    return _row_starts(len(target), classes) + target


def _reduced_rows(losses: Any, reduction: str) -> Any:
    """`reduce_losses` of one loss a row, for at least one row."""
    if reduction == "none":
        return losses
    total = sum_all.forward(losses)
    return total / len(losses) if reduction == "mean" else total


@quiet
def _pick_classes(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float) -> Any:
    axis = _class_axis(x)
    target = np.asarray(target)
    classes = x.shape[axis]
    if _is_simple(x.shape, x.dtype, target, weight, ignore_index, smoothing):
        return -_reduced_rows(x.take(_places(target, classes)), reduction)
    kept = kernels.check_targets(target, classes, ignore_index)
    kind = np.dtype(np.float32) if is_half(x.dtype) else x.dtype
    counts = _counts(target, weight, ignore_index, kind)
    if classes == 0 or target.size == 0:
        picked = np.zeros(target.shape, kind)
    else:
        places = np.expand_dims(np.where(kept, target, 0), axis)
        picked = np.take_along_axis(x, places, axis).reshape(target.shape)
    # A log-probability of -inf that does not count must not become nan.
    losses = in_order(np.where(kept, -(picked * counts), 0).astype(kind, copy=False))
    if smoothing:
        shape = [1] * x.ndim
        shape[axis] = classes
        scaled = x if weight is None else x * weight.reshape(shape)
        smooth = np.where(kept, -np.add.reduce(scaled, axis=axis), 0)
        losses = losses * (1 - smoothing) + smooth * (smoothing / max(classes, 1))
    if reduction == "mean":
        total = np.add.reduce(losses, axis=None)
        divisor = np.add.reduce(counts, axis=None)
        return np.asarray(total / divisor).astype(x.dtype, copy=False)
    return np.asarray(reduce_losses(losses, reduction)).astype(x.dtype, copy=False)


def _place_classes(
    x: Any, target: Any, weight: Any, shape: tuple, ignore_index: int, reduction: str, smoothing: float
) -> Any:
    axis = 1 if len(shape) > 1 else 0
    target = np.asarray(target)
    out = zeros(shape, x.dtype)
    if out.size == 0:
        return out
    if _is_simple(shape, x.dtype, target, weight, ignore_index, smoothing):
        out.put(_places(target, shape[1]), -x / len(target) if reduction == "mean" else -x)
        return out
    kept = target != ignore_index
    counts = _counts(target, weight, ignore_index, out.dtype)
    if reduction == "mean":
        x = x / np.add.reduce(counts, axis=None).astype(x.dtype)
    places = np.expand_dims(np.where(kept, target, 0), axis)
    values = np.where(kept, -(x * counts), 0).astype(out.dtype, copy=False)
    if smoothing:
        values = values * (1 - smoothing)
        shares = np.expand_dims(np.where(kept, x, 0), axis) * (-smoothing / shape[axis])
        spread_shape = [1] * len(shape)
        spread_shape[axis] = shape[axis]
        out += shares if weight is None else shares * weight.reshape(spread_shape)
        values = values + np.take_along_axis(out, places, axis).reshape(target.shape)
    np.put_along_axis(out, places, np.expand_dims(values, axis), axis)
    return out


def _pick_transpose(
    g: Any, x_shape: tuple, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float
) -> Any:
    return place_classes(
        g, target, weight, shape=x_shape, ignore_index=ignore_index, reduction=reduction, smoothing=smoothing
    )


def _pick_in_engine(
    g: Any, x_shape: tuple, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float
) -> Any:
    """`_pick_transpose` without the zeros, where they are many."""
    if not plain(g, target, weight):
        return _pick_transpose(g, x_shape, target, weight, ignore_index, reduction, smoothing)
    if math.prod(x_shape) >= MOSTLY_ZEROS:
        target = np.asarray(target)
        if _is_simple(x_shape, g.dtype, target, weight, ignore_index, smoothing):
            values = -g / len(target) if reduction == "mean" else -g
            return Picked(np.broadcast_to(values, target.shape), _places(target, x_shape[1]), x_shape)
    return _place_classes(g, target, weight, x_shape, ignore_index, reduction, smoothing)


def _place_transpose(g: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float) -> Any:
    return pick_classes(g, target, weight, ignore_index=ignore_index, reduction=reduction, smoothing=smoothing)


_CLASS_LOSSES = (("NllLossBackward0", "nll_loss_forward"), ("NllLoss2DBackward0", "nll_loss2d_forward"))
pick_classes: Op
pick_classes_2d: Op
pick_classes, pick_classes_2d = (
    linear(
        name,
        _pick_classes,
        batch=CLASSES,
        x=_pick_transpose,
        target=None,
        weight=None,
        engine_rules={"x": _pick_in_engine},
        gives_arrays=False,
        aten=aten,
    )
    for name, aten in _CLASS_LOSSES
)
place_classes: Op = linear(
    "NllLossBackward0",
    _place_classes,
    batch=PLACED_CLASSES,
    x=_place_transpose,
    target=None,
    weight=None,
    aten="nll_loss_forward",
)


@quiet
def _cross_entropy(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float) -> tuple:
    target = np.asarray(target)
    if 0 < x.size <= WHOLE and _is_simple(x.shape, x.dtype, target, weight, ignore_index, smoothing):
        losses, chances = kernels.small_cross_entropy(x, _places(target, x.shape[1]))
        return _reduced_rows(losses, reduction), chances
    losses, levels = kernels.cross_entropy(x, target, weight, ignore_index=ignore_index, label_smoothing=smoothing)
    if reduction == "mean":
        if weight is None and _none_ignored(target, ignore_index):
            return reduce_losses(losses, "mean"), levels
        divisor = np.add.reduce(_counts(target, weight, ignore_index, x.dtype), axis=None)
        return np.asarray(np.add.reduce(losses, axis=None) / divisor), levels
    return reduce_losses(losses, reduction), levels


def _cross_entropy_pullback(
    g: Any, x: Any, target: Any, weight: Any, extras: Any, ignore_index: int, reduction: str, smoothing: float
) -> tuple:
    if plain(g, x, target, weight):
        if extras[0].ndim == x.ndim == 2:  # few elements: the probabilities were kept
            out = np.array(extras[0])
            places = _places(np.asarray(target), x.shape[1])
            out.put(places, out.take(places) - 1)
            out *= g / len(out) if reduction == "mean" else g[:, None] if reduction == "none" else g
            return (out,)
        if reduction == "mean":
            g = g / _divisor(np.asarray(target), weight, ignore_index, x.dtype)
        gradient = kernels.cross_entropy_backward(
            g, x, np.asarray(target), extras[0], weight, ignore_index=ignore_index, label_smoothing=smoothing
        )
        return (gradient,)
    axis = _class_axis(x)
    placed = place_classes(
        g, target, weight, shape=tuple(x.shape), ignore_index=ignore_index, reduction=reduction, smoothing=smoothing
    )
    return (placed - np.exp(log_softmax(x, axis=axis)) * np.sum(placed, axis=axis, keepdims=True),)


cross_entropy: Op
cross_entropy_2d: Op
cross_entropy, cross_entropy_2d = (
    fused(
        name,
        _cross_entropy,
        inputs=("x", "target", "weight"),
        batch=CLASSES,
        joint=_cross_entropy_pullback,
        copies_before_writes=True,
        title="cross_entropy",
        aten=aten,
    )
    for name, aten in _CLASS_LOSSES
)

# --- two arrays of one shape ---


def _laid_as(*deciding: int) -> Any:
    """Losses that are not summed lie in memory as the operands at these places do."""

    def decorate(function: Any) -> Any:
        laid = ordered(function, deciding)

        @functools.wraps(function)
        def run(*arrays: Any, **params: Any) -> Any:
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


def _huber_losses(x: Any, y: Any, delta: float) -> Any:
    """A square up to a distance of delta, a line of the slope it has there beyond."""
    distance = np.abs(x - y)
    near = np.minimum(distance, number_for(delta, x))
    return near * (distance - near * number_for(0.5, x))


def _huber_slope_times(x: Any, y: Any, g: Any, delta: float) -> Any:
    difference = x - y
    if type(difference) is np.ndarray:
        return g * limited(difference, number_for(-delta, difference), number_for(delta, difference))
    return g * np.where(np.abs(difference) >= delta, delta * np.sign(difference), difference)


@_laid_as(0, 1)
@in_single
def _smooth_l1(x: Any, y: Any, beta: float, reduction: str) -> Any:
    losses = in_blocks(_huber_losses, x, y, delta=beta)
    return reduce_losses(losses if beta == 1 else losses / number_for(beta, x), reduction)


def _smooth_l1_pullback(g: Any, x: Any, y: Any, beta: float, reduction: str) -> Any:
    g = spread(g, x, reduction)
    return in_blocks(_huber_slope_times, x, y, g if beta == 1 else g / beta, delta=beta)


smooth_l1: Op = op(
    "SmoothL1LossBackward0",
    _smooth_l1,
    batch=ELEMENTWISE_LOSS,
    x=_smooth_l1_pullback,
    y=lambda g, x, y, beta, reduction: -_smooth_l1_pullback(g, x, y, beta, reduction),
    aten="smooth_l1_loss",
)


@_laid_as(0)
@in_single
def _huber(x: Any, y: Any, delta: float, reduction: str) -> Any:
    return reduce_losses(in_blocks(_huber_losses, x, y, delta=delta), reduction)


def _huber_pullback(g: Any, x: Any, y: Any, delta: float, reduction: str) -> Any:
    return in_blocks(_huber_slope_times, x, y, spread(g, x, reduction), delta=delta)


huber: Op = op(
    "HuberLossBackward0",
    _huber,
    batch=ELEMENTWISE_LOSS,
    x=_huber_pullback,
    y=lambda g, x, y, delta, reduction: -_huber_pullback(g, x, y, delta, reduction),
)


@_laid_as(0)
@quiet
def _soft_margin(x: Any, y: Any, reduction: str) -> Any:
    return reduce_losses(log_add_exp(np.zeros((), x.dtype), -y * x).astype(x.dtype, copy=False), reduction)


soft_margin: Op = op(
    "SoftMarginLossBackward0",
    _soft_margin,
    batch=ELEMENTWISE_LOSS,
    x=lambda g, x, y, reduction: -spread(g, x, reduction) * y * sigmoid(-y * x),
    y=lambda g, x, y, reduction: -spread(g, x, reduction) * x * sigmoid(-y * x),
)

# --- binary cross entropy ---


def _scaled_by(values: Any, weight: Any) -> Any:
    return values if weight is None else values * weight


def _clipped(x: Any) -> Any:
    return np.maximum(x, number_for(-100.0, x))


def _bce(x: Any, target: Any, weight: Any, reduction: str) -> Any:
    losses = (target - number_for(1, x)) * _clipped(np.log1p(-x)) - target * _clipped(np.log(x))
    return reduce_losses(_scaled_by(losses, weight), reduction)


def _bce_pullback(g: Any, x: Any, target: Any, weight: Any, reduction: str) -> Any:
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


def _bce_logits(x: Any, target: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    losses = activations.bce_with_logits(np.asarray(x), np.asarray(target), pos_weight)
    return reduce_losses(_scaled_by(losses, weight), reduction)


_bce_logits_kernel = in_single(lambda g, x, t, p: activations.bce_with_logits_backward(g, x, t, p))


def _bce_logits_pullback(g: Any, x: Any, target: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    g = _scaled_by(spread(g, x, reduction), weight)
    if plain(g, x, target, pos_weight) and g.dtype == x.dtype:
        return _bce_logits_kernel(np.asarray(g), np.asarray(x), np.asarray(target), pos_weight)
    if pos_weight is None:
        return g * (sigmoid(x) - target)
    return g * ((1 - target) - (1 + (pos_weight - 1) * target) * sigmoid(-x))


def _bce_logits_target(g: Any, x: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    g = _scaled_by(spread(g, x, reduction), weight)
    if pos_weight is None:
        return -g * x
    from .activation import log_sigmoid

    return g * (log_sigmoid(-x) - pos_weight * log_sigmoid(x))


bce_with_logits: Op = op(
    "BinaryCrossEntropyWithLogitsBackward0",
    _laid_as(1)(in_single(_bce_logits)),
    batch=ELEMENTWISE_LOSS,
    x=_bce_logits_pullback,
    target=_bce_logits_target,
    weight=None,
    pos_weight=None,
)

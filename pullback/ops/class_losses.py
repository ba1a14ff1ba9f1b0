"""Losses of classes, from log-probabilities or scores (n, classes, ...) and the numbers of classes (n, ...).

They are linear in log-probabilities: `pick_classes` and `place_classes` are each other's transposes, and cross entropy is
`pick_classes` of a log-softmax computed in one kernel.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.quiet import quiet
from ..core.kernel import kernel
from ..core.mostly_zeros import Picked
from ..core.op import Op, fused, linear
from ..kernels import softmax as kernels
from ..kernels.large import zeros
from ..kernels.like import brought
from ..kernels.thresholds import MOSTLY_ZEROS, WHOLE
from .casting import cast
from .fusing import handing_on, is_half
from .layouts import CLASSES, PLACED_CLASSES
from .loss import reduce_losses
from .reductions import log_softmax, sum_all
from .samples import Draw, Sample
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array
    from ..core.basics.types import Shape


def _class_axis(x: Array) -> int:
    return 1 if len(x.shape) > 1 else 0


def _counts(target: Array, weight: Array | None, ignore_index: int, dtype: np.dtype) -> Array:
    return kernels.target_weights(target, weight, ignore_index=ignore_index, dtype=dtype)


def _divisor(target: Array, weight: Array | None, ignore_index: int, dtype: np.dtype) -> float:
    """The sum of the weights of all targets, by which a mean divides."""
    if weight is None and _none_ignored(target, ignore_index):
        return target.size
    return float(np.add.reduce(_counts(target, weight, ignore_index, dtype), axis=None, dtype=np.float64))


def _none_ignored(target: Array, ignore_index: int) -> bool:
    """True if one look at the smallest target shows that none is ignored."""
    return ignore_index < 0 and target.size > 0 and bool(np.minimum.reduce(target, axis=None) >= 0)


def _is_simple(
    shape: Shape, kind: np.dtype, target: Array, weight: Array | None, ignore_index: int, smoothing: float
) -> bool:
    """True if every row of a matrix has a target, none is ignored or weighted, and no half precision is involved."""
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
def _row_starts(rows: int, classes: int) -> Array:
    return np.arange(0, rows * classes, classes)


def _places(target: Array, classes: int) -> Array:
    """Where each row of a matrix has its target, counted through all rows."""
    return _row_starts(len(target), classes) + target


def _reduced_rows(losses: Array, reduction: str) -> Array:
    """`reduce_losses` of one loss a row, for at least one row."""
    if reduction == "none":
        return losses
    total = sum_all.forward(losses)
    return total / len(losses) if reduction == "mean" else total


@quiet
def _pick_classes(
    x: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, smoothing: float
) -> Array:
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
    x: Array, target: Array, weight: Array | None, shape: Shape, ignore_index: int, reduction: str, smoothing: float
) -> Array:
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


# What an operation on classes is told besides its arrays.
_chosen = handing_on("ignore_index", "reduction", "smoothing")


def _safe_target(target: Array, classes: int, ignore_index: int) -> tuple[Array, Array]:
    """Which targets count, and the targets with 0 in the place of those that do not."""
    kept = target != ignore_index
    wrong = kept & ((target < 0) | (target >= classes))
    if np.any(wrong):
        found = int(np.max(np.where(wrong, target, np.min(target))))
        raise IndexError(f"Target {found} is out of bounds. Classes are 0 to {classes - 1}.")
    return kept, np.where(kept, target, 0)


def _counts_of(kept: Array, safe: Array, weight: Array | None, dtype: np.dtype) -> Array:
    return cast(kept if weight is None else np.where(kept, weight[safe], 0), dtype=dtype)


def _along_classes(weight: Array, x: Array) -> Array:
    """The weights of classes, shaped to broadcast against the scores."""
    return weight if len(x.shape) < 3 else np.reshape(weight, (-1, *(1,) * (len(x.shape) - 2)))


def _pick_formula(
    x: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, smoothing: float
) -> Array:
    axis = _class_axis(x)
    kept, safe = _safe_target(target, x.shape[axis], ignore_index)
    counts = _counts_of(kept, safe, weight, x.dtype)
    picked = np.take_along_axis(x, np.expand_dims(safe, axis), axis)
    losses = np.where(kept, -(np.reshape(picked, tuple(target.shape)) * counts), 0)
    if smoothing:
        smooth = -np.sum(x if weight is None else x * _along_classes(weight, x), axis=axis)
        losses = losses * (1 - smoothing) + np.where(kept, smooth, 0) * (smoothing / max(x.shape[axis], 1))
    if reduction == "none":
        return losses
    return np.sum(losses) / np.sum(counts) if reduction == "mean" else np.sum(losses)


def _place_formula(
    x: Array, target: Array, weight: Array | None, shape: Shape, ignore_index: int, reduction: str, smoothing: float
) -> Array:
    axis = 1 if len(shape) > 1 else 0
    classes = shape[axis]
    kept, safe = _safe_target(target, classes, ignore_index)
    counts = _counts_of(kept, safe, weight, x.dtype)
    if reduction == "mean":
        x = x / np.sum(counts)
    numbers = np.reshape(brought(np.arange(classes), x), (-1, *(1,) * (len(shape) - axis - 1)))
    placed = np.where(numbers == np.expand_dims(safe, axis), np.expand_dims(np.where(kept, -(x * counts), 0), axis), 0)
    if not smoothing:
        return placed
    shares = np.expand_dims(np.where(kept, x, 0), axis) * (-smoothing / classes)
    return placed * (1 - smoothing) + (shares if weight is None else shares * _along_classes(weight, placed))


@_chosen
def _pick_transpose(g: Array, x_shape: Shape, target: Array, weight: Array | None, **params: Any) -> Array:
    return place_classes(g, target, weight, shape=x_shape, **params)


def _pick_in_engine(
    g: Array,
    x_shape: tuple[int, int],
    target: Array,
    weight: Array | None,
    ignore_index: int,
    reduction: str,
    smoothing: float,
) -> Array | Picked:
    """`_pick_transpose` without the zeros, where they are many."""
    if math.prod(x_shape) >= MOSTLY_ZEROS:
        target = np.asarray(target)
        if _is_simple(x_shape, g.dtype, target, weight, ignore_index, smoothing):
            values = -g / len(target) if reduction == "mean" else -g
            return Picked(np.broadcast_to(values, target.shape), _places(target, x_shape[1]), x_shape)
    return _place_classes(g, target, weight, x_shape, ignore_index, reduction, smoothing)


@_chosen
def _place_transpose(g: Array, target: Array, weight: Array | None, **params: Any) -> Array:
    return pick_classes(g, target, weight, **params)


def _class_samples(draw: Draw, shaped: bool = False) -> Iterator[Sample]:
    """Scores of classes, targets some of which are not to count, weights of classes, and all ways to sum and smooth."""
    for shape in ((5, 4), (4,), (2, 3, 4), (0, 3), (200, 60)):
        places = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
        for weight in (None, draw(shape[min(1, len(shape) - 1)], low=0.5)):
            for reduction in ("none", "mean", "sum") if 0 < shape[0] < 100 or not shaped and shape[0] else ("none",):
                for ignore_index, smoothing in ((-100, 0.0), (1, 0.0), (1, 0.1)):
                    target = draw.whole(places, shape[min(1, len(shape) - 1)])
                    if not places:
                        target *= 0
                    params = {"ignore_index": ignore_index, "reduction": reduction, "smoothing": smoothing}
                    if shaped:
                        yield (
                            (draw(*places) if reduction == "none" else draw(), target, weight),
                            {"shape": shape, **params},
                        )
                    else:
                        yield (draw(*shape), target, weight), params


_CLASS_LOSSES = (("NllLossBackward0", "nll_loss_forward"), ("NllLoss2DBackward0", "nll_loss2d_forward"))
pick_classes: Op
pick_classes_2d: Op
pick_classes, pick_classes_2d = (
    linear(
        name,
        _pick_formula,
        x=_pick_transpose,
        target=None,
        weight=None,
        kernel=kernel(_pick_classes),
        engine_rules={"x": _pick_in_engine},
        gives_arrays=False,
        batch=CLASSES,
        aten=aten,
        samples=_class_samples,
    )
    for name, aten in _CLASS_LOSSES
)
place_classes: Op = linear(
    "NllLossBackward0",
    _place_formula,
    x=_place_transpose,
    target=None,
    weight=None,
    kernel=kernel(_place_classes),
    batch=PLACED_CLASSES,
    aten="nll_loss_forward",
    samples=lambda draw: _class_samples(draw, shaped=True),
)


@quiet
def _cross_entropy(
    x: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, smoothing: float
) -> tuple[Array, Array]:
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


def _cross_entropy_backward(
    g: Array,
    x: Array,
    target: Array,
    weight: Array | None,
    extras: tuple[Any, ...],
    ignore_index: int,
    reduction: str,
    smoothing: float,
) -> tuple[Any, ...]:
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


def _cross_entropy_formula(
    x: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, smoothing: float
) -> tuple[Any, ...]:
    chances = log_softmax(x, axis=_class_axis(x))
    return (_pick_formula(chances, target, weight, ignore_index, reduction, smoothing),)


@_chosen
def _cross_entropy_pullback(g: Array, x: Array, target: Array, weight: Array | None, **params: Any) -> tuple[Any, ...]:
    axis = _class_axis(x)
    placed = place_classes(g, target, weight, shape=tuple(x.shape), **params)
    return (placed - np.exp(log_softmax(x, axis=axis)) * np.sum(placed, axis=axis, keepdims=True),)


cross_entropy: Op
cross_entropy_2d: Op
cross_entropy, cross_entropy_2d = (
    fused(
        name,
        _cross_entropy_formula,
        joint=_cross_entropy_pullback,
        inputs=("x", "target", "weight"),
        kernel=kernel(_cross_entropy, joint=_cross_entropy_backward),
        batch=CLASSES,
        copies_before_writes=True,
        title="cross_entropy",
        aten=aten,
        samples=_class_samples,
    )
    for name, aten in _CLASS_LOSSES
)

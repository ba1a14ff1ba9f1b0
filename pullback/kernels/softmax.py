"""Softmax, log-softmax and cross entropy over one axis: forward and backward, blocked and threaded.

Each works on an array seen as (outer, length, inner), with the reduced axis in the middle; the last axis is the
fast case, where sums are dot products. Half precision is computed in float32. Cross entropy keeps only the
logsumexp of a row (in float64, a number a row), and backward rebuilds the probabilities from it.
Reductions over losses, class probabilities as targets and shape checks are the caller's.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from ..core.basics.quiet import quiet
from .half import wide_type
from .memory import Scratch, empty
from .threads import PIECES, parallel_rows, prepare_broadcast
from .thresholds import SKIPPED_MAXIMUM, WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable


def _folded(x: np.ndarray, axis: int) -> np.ndarray:
    """`x` as (outer, length, inner) around `axis`; a 0-d array has one row of one element."""
    if x.ndim == 0:
        return x.reshape(1, 1, 1)
    axis = axis % x.ndim
    return x.reshape(math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]))


def _is_small(x: np.ndarray) -> bool:
    return 0 < x.size <= WHOLE and x.ndim > 0 and x.dtype.itemsize != 2


def _over_rows(block: Callable[..., None], axis: int, *arrays: np.ndarray) -> np.ndarray:
    """Run `block(*views)` over pieces of `arrays` (one shape) and a new result; rows of the last axis come as 2-d."""
    first = arrays[0]
    dtype = wide_type(first.dtype)
    arrays = tuple(a.astype(dtype, copy=False) for a in arrays)
    out = empty(first.shape, dtype)
    if out.size:
        folded = [_folded(a, axis) for a in (*arrays, out)]
        outer, length, inner = folded[0].shape
        itemsize = dtype.itemsize * (len(folded) + 1)
        if inner == 1:
            folded = [a.reshape(outer, length) for a in folded]
        if inner > 1 and outer < PIECES:
            # Few outer rows: the inner axis has the parallelism.
            width = outer * length * itemsize
            parallel_rows(lambda i, j: block(*[a[:, :, i:j] for a in folded]), inner, width, products=True)
        else:
            width = length * inner * itemsize
            parallel_rows(lambda i, j: block(*[a[i:j] for a in folded]), outer, width, products=True)
    return out.astype(first.dtype, copy=False)


@functools.lru_cache(maxsize=64)
def _ones(length: int, dtype: str) -> np.ndarray:
    return np.ones(length, dtype)


def row_sum(x: np.ndarray) -> np.ndarray:
    """Sum over axis 1, kept: a product with ones for rows of a matrix, which is faster than a reduction."""
    if x.ndim == 2:
        return x.dot(_ones(x.shape[1], x.dtype.char))[:, None]
    return np.add.reduce(x, axis=1, keepdims=True)


def _row_dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.ndim == 2:
        return np.vecdot(a, b)[:, None]
    return np.add.reduce(a * b, axis=1, keepdims=True)


def _exponentials(x: np.ndarray, out: np.ndarray, largest: float = 1e30) -> tuple[np.ndarray | None, np.ndarray]:
    """Write exp(x - shift) to `out`; return the shift of each row, None for zero, and the sums over axis 1, kept.

    Rows of moderate numbers need no shift, which saves two passes. Whether they are moderate is read off their sums:
    below 1e-3 small terms may have vanished, above `largest` digits are lost or the sum has overflowed.
    """
    prepare_broadcast(x.shape[-1])
    np.exp(x, out=out)
    total = row_sum(out)
    if np.minimum.reduce(total, axis=None) > 1e-3 and np.maximum.reduce(total, axis=None) < largest:
        return None, total
    top = np.maximum.reduce(x, axis=1, keepdims=True)
    np.subtract(x, top, out=out)
    np.exp(out, out=out)
    return top, row_sum(out)


def _small_sum(x: np.ndarray, axis: int) -> np.ndarray:
    """Sum over an axis, kept; a product with ones along the last one, which takes half as long."""
    shape = x.shape
    if axis == x.ndim - 1:
        ones = _ones(shape[-1], x.dtype.char)
        return np.matmul(x.reshape(-1, shape[-1]), ones).reshape(*shape[:-1], 1)
    return np.add.reduce(x, axis=axis, keepdims=True)


def _short_exponentials(x: np.ndarray, axis: int, largest: float) -> tuple[np.ndarray, np.ndarray] | None:
    """(exp(x), its sums) for many short rows of moderate numbers, where finding their maxima would take longest."""
    if axis != x.ndim - 1 or x.size < SKIPPED_MAXIMUM * x.shape[-1]:
        return None
    out = np.exp(x)
    total = _small_sum(out, axis)
    moderate = np.minimum.reduce(total, axis=None) > 1e-3 and np.maximum.reduce(total, axis=None) < largest
    return (out, total) if moderate else None


@quiet
def _small_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    known = _short_exponentials(x, axis, 1e30)
    if known is not None:
        out, total = known
        return np.divide(out, total, out)
    out = x - np.maximum.reduce(x, axis=axis, keepdims=True)
    np.exp(out, out)
    return np.divide(out, _small_sum(out, axis), out)


@quiet
def _small_log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    known = _short_exponentials(x, axis, 1e5)
    if known is not None:
        out, total = known
        return np.subtract(x, np.log(total, total), out)
    out = x - np.maximum.reduce(x, axis=axis, keepdims=True)
    total = _small_sum(np.exp(out), axis)
    return np.subtract(out, np.log(total, total), out)


@quiet
def _small_softmax_backward(gradient: np.ndarray, out: np.ndarray, axis: int) -> np.ndarray:
    product = gradient * out
    total = _small_sum(product, axis)
    return np.subtract(product, out * total, product)


@quiet
def _small_log_softmax_backward(gradient: np.ndarray, out: np.ndarray, axis: int) -> np.ndarray:
    chances = np.exp(out)
    np.multiply(chances, _small_sum(gradient, axis), chances)
    return np.subtract(gradient, chances, chances)


def softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
    """exp(x) / sum(exp(x)) over `axis`."""
    if _is_small(x):
        return _small_softmax(x, axis)

    def block(x: np.ndarray, out: np.ndarray) -> None:
        _, total = _exponentials(x, out)
        np.divide(out, total, out=out)

    return _over_rows(block, axis, x)


def softmax_backward(gradient: np.ndarray, out: np.ndarray, *, axis: int) -> np.ndarray:
    """Cotangent of the input from that of the output and the output."""
    if _is_small(out):
        return _small_softmax_backward(gradient, out, axis)

    def block(gradient: np.ndarray, out: np.ndarray, result: np.ndarray) -> None:
        prepare_broadcast(out.shape[-1])
        np.subtract(gradient, _row_dot(gradient, out), out=result)
        np.multiply(result, out, out=result)

    return _over_rows(block, axis, gradient, out)


def log_softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
    """x - log(sum(exp(x))) over `axis`."""
    if _is_small(x):
        return _small_log_softmax(x, axis)

    def block(x: np.ndarray, out: np.ndarray) -> None:
        # The logarithm of the sum is taken off in x's precision, so it may not be large.
        top, total = _exponentials(x, out, largest=1e5)
        if top is not None:
            x = np.subtract(x, top, out=out)
        np.subtract(x, np.log(total), out=out)

    return _over_rows(block, axis, x)


def log_softmax_backward(gradient: np.ndarray, out: np.ndarray, *, axis: int) -> np.ndarray:
    """Cotangent of the input from that of the output and the output."""
    if _is_small(out):
        return _small_log_softmax_backward(gradient, out, axis)

    def block(gradient: np.ndarray, out: np.ndarray, result: np.ndarray) -> None:
        prepare_broadcast(out.shape[-1])
        np.exp(out, out=result)
        np.multiply(result, row_sum(gradient), out=result)
        np.subtract(gradient, result, out=result)

    return _over_rows(block, axis, gradient, out)


def log_softmax_backward_picked(values: np.ndarray, places: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The same for a cotangent of `values` at `places`, one in each row of a matrix, and zeros everywhere else."""
    result = empty(out.shape, out.dtype)
    rows, columns = out.shape

    def block(start: int, stop: int) -> None:
        prepare_broadcast(columns)
        part, some = result[start:stop], slice(start, stop)
        np.exp(out[some], part)
        np.multiply(part, np.negative(values[some])[:, None], part)
        flat = result.reshape(-1)
        flat[places[some]] += values[some]

    parallel_rows(block, rows, 2 * columns * out.itemsize)
    return result


def _class_rows(x: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits as (samples, classes, inner) and targets as (samples, 1, inner); classes are axis 1, or 0 of a vector."""
    folded = _folded(x, 1 if x.ndim > 1 else 0)
    return folded, target.reshape(folded.shape[0], 1, folded.shape[2])


def _places(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the classes `chosen` (samples, 1, inner) are in logits, as indices."""
    samples, _, inner = chosen.shape
    return np.arange(samples)[:, None, None], chosen, np.arange(inner)


def check_targets(target: np.ndarray, classes: int, ignore_index: int) -> np.ndarray:
    """Boolean mask of the targets that count; raises torch's error for one that is no class."""
    kept = target != ignore_index
    if all_classes(target, classes):
        return kept
    wrong = kept & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(f"Target {int(target[wrong].flat[0])} is out of bounds. Classes are 0 to {classes - 1}.")
    return kept


def all_classes(target: np.ndarray, classes: int) -> bool:
    """True if there are targets, and each is a class."""
    if target.size == 0:
        return False
    if target.dtype.char == "l":  # negative numbers are huge without their sign
        numbers = target.view(np.uint64)
        return numbers.item(numbers.argmax()) < classes  # of few numbers, in a third of the time of `max`
    return bool(np.minimum.reduce(target, axis=None) >= 0 and np.maximum.reduce(target, axis=None) < classes)


def small_cross_entropy(x: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(losses, probabilities) of a matrix by the plain formula; `places` of the targets count through all rows."""
    shifted = x - np.maximum.reduce(x, axis=1, keepdims=True)
    out = np.exp(shifted)
    total = out.dot(_ones(x.shape[1], x.dtype.char))
    np.divide(out, total[:, None], out)
    return np.subtract(np.log(total, total), shifted.take(places), total), out


@quiet
def cross_entropy(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Losses of logits `x` (n, classes, ...) for class indices `target` (n, ...), unreduced, and the logsumexp.

    An ignored target has loss 0. Losses are weighted; a mean divides their sum by `target_weights(...)`.
    """
    logits, wanted = _class_rows(x, target)
    logits = logits.astype(wide_type(x.dtype), copy=False)
    samples, classes, inner = logits.shape
    kept = check_targets(wanted, classes, ignore_index)
    chosen = np.where(kept, wanted, 0)
    logsumexp = np.empty((samples, 1, inner), np.float64)
    scratch = Scratch(classes, logits.dtype)

    def block(start: int, stop: int) -> None:
        part = logits[start:stop]
        flat = part[:, :, 0] if inner == 1 else part
        buffer = scratch.rows(stop - start) if inner == 1 else np.empty(flat.shape, flat.dtype)
        top, total = _exponentials(flat, buffer)
        level = np.log(total, dtype=np.float64)
        if top is not None:
            level += top
        logsumexp[start:stop] = level.reshape(stop - start, 1, inner)

    losses = np.empty(logsumexp.shape, logits.dtype)
    if logits.size:
        parallel_rows(block, samples, classes * inner * logits.itemsize * 2, products=True)
        np.subtract(logsumexp, logits[_places(chosen)], losses, casting="same_kind")
    if weight is not None:
        losses *= weight.astype(logits.dtype, copy=False)[chosen]
    if label_smoothing:
        losses *= 1 - label_smoothing
        smooth = _smooth_losses(logits, logsumexp, weight) * (label_smoothing / max(classes, 1))
        losses += smooth.astype(losses.dtype, copy=False)
    losses[~kept] = 0
    return losses.reshape(target.shape).astype(x.dtype, copy=False), logsumexp.reshape(target.shape)


def _smooth_losses(logits: np.ndarray, logsumexp: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Sum over classes of weight times negative log-probability."""
    classes = logits.shape[1]
    ones = np.ones(classes) if weight is None else weight.astype(np.float64)
    # An infinite logit times a zero weight is left to be nan, as it is in torch.
    return logsumexp * ones.sum() - np.einsum("ncl,c->nl", logits, ones)[:, None]


def target_weights(target: np.ndarray, weight: np.ndarray | None, *, ignore_index: int, dtype: np.dtype) -> np.ndarray:
    """The weight of each target in a mean: that of its class, or 1; 0 where it is ignored."""
    kept = target != ignore_index
    if weight is None:
        return kept.astype(dtype)
    return np.where(kept, weight[np.where(kept, target, 0)], 0).astype(dtype, copy=False)


@quiet
def cross_entropy_backward(
    gradient: np.ndarray,
    x: np.ndarray,
    target: np.ndarray,
    logsumexp: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> np.ndarray:
    """Cotangent of the logits from that of each loss, `gradient` (of the targets' shape, or one number for all)."""
    logits, wanted = _class_rows(x, target)
    dtype = wide_type(x.dtype)
    logits = logits.astype(dtype, copy=False)
    samples, classes, inner = logits.shape
    kept = wanted != ignore_index
    chosen = np.where(kept, wanted, 0)
    scale = np.where(kept, np.broadcast_to(gradient, target.shape).reshape(wanted.shape), 0).astype(np.float64)
    class_weights = None if weight is None else weight.astype(np.float64)
    picked = scale * (1 - label_smoothing)
    if class_weights is not None:
        picked *= class_weights[chosen]
    spread = scale * (label_smoothing / max(classes, 1))
    total_weight = classes if class_weights is None else class_weights.sum()
    result = empty(x.shape, dtype)
    if result.size == 0:
        return result.astype(x.dtype, copy=False)
    out = result.reshape(logits.shape)
    levels = logsumexp.reshape(wanted.shape)
    # exp(x - shift), without a shift where all rows are moderate, else with a rounded one; what is left of the
    # logsumexp rides along with the scale.
    moderate = np.minimum.reduce(levels, axis=None) > -7 and np.maximum.reduce(levels, axis=None) < 69
    shift = np.zeros(levels.shape, dtype) if moderate else levels.astype(dtype)
    factor = ((picked + spread * total_weight) * np.exp(shift - levels)).astype(dtype)

    def block(start: int, stop: int) -> None:
        rows = slice(start, stop)
        part = out[rows]
        views = [a[:, :, 0] if inner == 1 else a for a in (logits[rows], shift[rows], factor[rows], part)]
        prepare_broadcast(views[0].shape[-1])
        shifted = views[0] if moderate else np.subtract(views[0], views[1], out=views[3])
        np.exp(shifted, out=views[3])
        np.multiply(views[3], views[2], out=views[3])
        if label_smoothing:
            part -= (spread[rows] if class_weights is None else spread[rows] * class_weights[:, None]).astype(dtype)

    parallel_rows(block, samples, classes * inner * dtype.itemsize * 2)
    out[_places(chosen)] -= picked.astype(dtype)
    if not kept.all():
        # An ignored sample gives nothing, even where its logits are infinite.
        np.copyto(out, 0, where=~kept)
    return result.astype(x.dtype, copy=False)

"""The CTC loss: forward variables over the target with blanks between its labels, and the gradient from both ends.

The recursion runs over time with all samples and positions at once. `targets` are padded rows, `inputs` and `lengths`
how much of each sample counts. The gradient is that of the log-probabilities themselves; like torch's it assumes they
come from a log-softmax (it sums to zero over classes). On plain arrays it is a kernel; on anything else a formula, so
that it has derivatives of its own, which torch's has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.quiet import quiet
from ..core.kernel import kernel
from ..core.op import Op, op
from .indexing import add_back, pick
from .samples import Draw, Sample

if TYPE_CHECKING:
    from ..core.basics.types import Number
    from ..core.basics.types import NumPyArray as Array


def _extended(targets: Array, blank: int) -> tuple[Array, Array]:
    """Labels with blanks around them (samples, 2 * longest + 1), and where a step may skip the blank before it."""
    samples, longest = targets.shape
    labels = np.full((samples, 2 * longest + 1), blank, np.int64)
    labels[:, 1::2] = targets
    skip = np.zeros(labels.shape, bool)
    skip[:, 2:] = labels[:, 2:] != labels[:, :-2]  # never at a blank, which has a blank two before it
    return labels, skip


def _shifted(x: Array, by: int) -> Array:
    out = np.full(x.shape, -np.inf, x.dtype)
    if by < x.shape[1]:
        out[:, by:] = x[:, : x.shape[1] - by]
    return out


def _log_add(*terms: Any) -> Array:
    top = np.maximum.reduce(terms)
    safe = np.where(np.isneginf(top), 0, top)
    return np.log(sum(np.exp(term - safe) for term in terms)) + safe


def _step(previous: Array, skip: Array, emission: Array) -> Array:
    two_back = np.where(skip, _shifted(previous, 2), -np.inf)
    return _log_add(previous, _shifted(previous, 1), two_back) + emission


def _alphas(x: Array, labels: Array, skip: Array) -> Array:
    """Log-probability of all prefixes: (steps, samples, positions)."""
    steps, samples, _ = x.shape
    emissions = np.take_along_axis(x, np.broadcast_to(labels, (steps, *labels.shape)), 2)
    alpha = np.full((steps, *labels.shape), -np.inf, x.dtype)
    alpha[0, :, :2] = emissions[0, :, :2]
    for t in range(1, steps):
        alpha[t] = _step(alpha[t - 1], skip, emissions[t])
    return alpha


def _ctc(x: Array, targets: Array, inputs: Array, lengths: Array, blank: int) -> tuple[Array, Array]:
    labels, skip = _extended(targets, blank)
    steps, samples, _ = x.shape
    if steps == 0 or samples == 0:
        return np.where(lengths == 0, 0, np.inf).astype(x.dtype), np.empty((steps, *labels.shape), x.dtype)
    alpha = _alphas(x, labels, skip)
    rows = np.arange(samples)
    last = np.maximum(inputs - 1, 0)
    end = alpha[last, rows, 2 * lengths]
    before = np.where(lengths > 0, alpha[last, rows, np.maximum(2 * lengths - 1, 0)], -np.inf)
    losses = -_log_add(end, before)
    losses = np.where(inputs == 0, np.where(lengths == 0, 0, np.inf), losses)
    return losses.astype(x.dtype, copy=False), alpha


def _betas(x: Array, labels: Array, skip: Array, inputs: Array, lengths: Array) -> Array:
    """Log-probability of all suffixes. Each sample starts at its own end."""
    steps, samples, _ = x.shape
    positions = labels.shape[1]
    emissions = np.take_along_axis(x, np.broadcast_to(labels, (steps, *labels.shape)), 2)
    place = np.arange(positions)
    final = (place == 2 * lengths[:, None]) | (place == 2 * lengths[:, None] - 1)
    beta = np.full((steps, samples, positions), -np.inf, x.dtype)
    reverse_skip = np.zeros(skip.shape, bool)
    reverse_skip[:, :-2] = skip[:, 2:]
    following = np.full((samples, positions), -np.inf, x.dtype)
    for t in range(steps - 1, -1, -1):
        back = following[:, ::-1]
        moved = _step(back, reverse_skip[:, ::-1], emissions[t][:, ::-1])[:, ::-1]
        starts = np.where(final, emissions[t], -np.inf)
        at_end, inside = (inputs - 1 == t)[:, None], (inputs - 1 > t)[:, None]
        following = np.where(at_end, starts, np.where(inside, moved, -np.inf))
        beta[t] = following
    return beta


def _ctc_pullback(
    g: Array, x: Array, outs: tuple[Array, ...], targets: Array, inputs: Array, lengths: Array, blank: int
) -> tuple[Any, ...]:
    steps, samples, _ = x.shape
    if steps == 0 or samples == 0:
        return (x * 0,)
    weight = g[0][:, None]
    posterior = _class_posterior(x, targets, inputs, lengths, blank)
    counted = (np.arange(steps)[:, None] < inputs)[:, :, None]
    impossible = np.isinf(outs[0])[:, None]
    gradient = np.where(counted, (np.exp(x) - posterior) * weight, 0)
    return (np.where(impossible, np.where(counted & (weight != 0), np.nan, 0), gradient),)


@quiet
def _ctc_gradient(
    g: Array, x: Array, loss: Array, alpha: Number, targets: Array, inputs: Array, lengths: Array, blank: int
) -> Array:
    labels, skip = _extended(targets, blank)
    steps, samples, classes = x.shape
    out = np.zeros(x.shape, x.dtype)
    if out.size == 0:
        return out
    beta = _betas(x, labels, skip, inputs, lengths)
    joint = alpha + beta
    log_sums = np.full(x.shape, -np.inf, x.dtype)
    rows = np.arange(samples)
    for position in range(labels.shape[1]):
        label = labels[:, position]
        used = position <= 2 * lengths
        now = log_sums[:, rows, label]
        log_sums[:, rows, label] = np.where(used, _log_add(now, joint[:, :, position]), now)
    counted = (np.arange(steps)[:, None] < inputs)[:, :, None]
    gradient = (np.exp(x) - np.exp(log_sums + np.asarray(loss)[:, None] - x)) * np.asarray(g)[:, None]
    gradient = np.where(np.isposinf(loss)[:, None] & (np.asarray(g)[:, None] == 0), 0, gradient)
    return np.where(counted, gradient, 0).astype(x.dtype, copy=False)


def _ctc_samples(draw: Draw) -> Iterator[Sample]:
    """Log-probabilities of 5 classes and targets of several lengths, for few steps, none and many."""
    for steps, samples in ((4, 2), (4, 0), (60, 30)):
        scores = draw(steps, samples, 5)
        x = (scores - np.log(np.sum(np.exp(scores), axis=2, keepdims=True))).astype(scores.dtype)
        lengths = np.arange(samples) % 3
        inputs = np.full(samples, steps) - np.arange(samples) % 2
        yield (x,), {"targets": 1 + draw.whole((samples, 2), 4), "inputs": inputs, "lengths": lengths, "blank": 0}


# --- the same as a formula -------------------------------------------------------------------------------------------

_IMPOSSIBLE = -1e30  # stands for log(0): unlike infinity it has differences, and its exponential is 0 all the same


def _moves(previous: Array, skip: Array) -> Array:
    """All ways to be in a position one step later, before anything is emitted: (samples, positions)."""
    place = np.arange(skip.shape[1])
    one_back = np.where(place >= 1, previous[:, np.maximum(place - 1, 0)], _IMPOSSIBLE)
    two_back = np.where(skip, previous[:, np.maximum(place - 2, 0)], _IMPOSSIBLE)
    return np.logaddexp(np.logaddexp(previous, one_back), two_back)


def _class_posterior(x: Array, targets: Array, inputs: Array, lengths: Array, blank: int) -> Array:
    """How probable each class is at each step, given the target: (steps, samples, classes)."""
    labels, skip = _extended(targets, blank)
    steps, samples, _ = x.shape
    rows, place = np.arange(samples), np.arange(labels.shape[1])
    labelled = (slice(None), rows[:, None], labels)
    emissions = np.maximum(pick(x, index=labelled), _IMPOSSIBLE)
    alphas = [np.where(place < 2, emissions[0], _IMPOSSIBLE)]
    for t in range(1, steps):
        alphas.append(_moves(alphas[-1], skip) + emissions[t])
    final = (place == 2 * lengths[:, None]) | (place == 2 * lengths[:, None] - 1)
    turned_skip = np.zeros(skip.shape, bool)
    turned_skip[:, 2:] = skip[:, 2:][:, ::-1]
    turned = place[::-1]
    at_end = np.where(final, emissions[0] * 0, _IMPOSSIBLE)
    following = at_end  # log-probabilities of what comes after a step
    rest = [following]
    for t in range(steps - 2, -1, -1):
        moved = _moves((following + emissions[t + 1])[:, turned], turned_skip)[:, turned]
        following = np.where((inputs - 1 > t)[:, None], moved, at_end)
        rest.append(following)
    joint = np.stack(alphas) + np.stack(rest[::-1])
    top = np.max(joint, axis=2, keepdims=True)
    weights = np.exp(joint - top)
    return add_back(weights / np.sum(weights, axis=2, keepdims=True), shape=x.shape, index=labelled)


def _ctc_backward(
    g: Array, x: Array, outs: tuple[Array, ...], targets: Array, inputs: Array, lengths: Array, blank: int
) -> tuple[Any, ...]:
    return (_ctc_gradient(g[0], x, outs[0], outs[1], targets, inputs, lengths, blank),)


ctc: Op = op(
    "CtcLossBackward0", quiet(_ctc), inputs=("x",), outputs=0, joint=_ctc_pullback, kernel=kernel(joint=_ctc_backward),
    aten="_ctc_loss", samples=_ctc_samples,
)  # fmt: skip

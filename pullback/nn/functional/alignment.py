"""The CTC loss, of sequences whose targets are not aligned with them: its arguments, and torch's complaints about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.checks import invalid_combination
from ...functional.operands import SMALLEST_TOO_LARGE
from ...ops.ctc import ctc
from ...ops.piecewise import where
from ._common import constant, layer_function, reduction_name

_CHECKING = "(while checking arguments for ctc_loss_allocate_outputs)"


@layer_function(autocast="full", passed="")
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Connectionist temporal classification: minus the log-probability of all alignments of each target sequence.

    `log_probs` has shape (length, batch, classes), class `blank` among them; `targets` has shape (batch, longest), or
    holds all targets in one vector; `input_lengths` and `target_lengths` say how much of each counts. `zero_infinity`
    makes losses of targets that cannot be aligned zero. "mean" divides by the lengths of the targets first.
    """
    name = reduction_name(reduction)
    _check_kinds(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
    batched = log_probs.ndim != 2
    scores = log_probs if batched else log_probs.unsqueeze(1)
    inputs, lengths = _whole_numbers(input_lengths, "input_lengths"), _whole_numbers(target_lengths, "target_lengths")
    _check_sizes(scores, blank, inputs, lengths)
    if scores._array.dtype.char not in "fd":
        raise NotImplementedError(
            f"\"ctc_loss_cpu\" not implemented for '{scores.dtype.type_name}'. Convert it first: log_probs.float()."
        )
    rows = _target_rows(targets._array, lengths, scores.shape[2])
    losses = apply(ctc, (scores,), {"targets": rows, "inputs": inputs, "lengths": lengths, "blank": blank})[0]
    if zero_infinity:
        zero = constant(np.asarray(0, losses._array.dtype))
        losses = where(losses == float("inf"), zero, losses)
    if name == "mean":
        divisors = np.maximum(lengths, 1).astype(losses._array.dtype)
        return (losses / constant(divisors)).mean()
    if name == "sum":
        return losses.sum()
    return losses if batched else losses.reshape(())


def _check_kinds(log_probs: Any, targets: Any, inputs: Any, lengths: Any, blank: Any, zero_infinity: Any) -> None:
    """Refuse arguments of kinds that torch has no form for: lengths are two tensors, or two sequences of ints."""
    pair = (inputs, lengths)
    alike = all(isinstance(each, Tensor) for each in pair) or all(isinstance(each, (tuple, list)) for each in pair)
    tensors = isinstance(log_probs, Tensor) and isinstance(targets, Tensor)
    whole = hasattr(blank, "__index__") and not isinstance(blank, bool)
    if not (tensors and alike and whole and isinstance(zero_infinity, bool)):
        raise invalid_combination(
            "ctc_loss", log_probs, targets, *pair, blank, 1, zero_infinity,
            wanted="expected two tensors, input_lengths and target_lengths that are both tensors or both tuples of ints, "
            "an int for blank and a bool for zero_infinity",
        )  # fmt: skip


def _whole_numbers(values: Any, name: str) -> np.ndarray:
    if isinstance(values, Tensor):
        if values._array.dtype.kind not in "iu":
            raise RuntimeError(f"{name} must be integral")
        return values._array.reshape(-1).astype(np.int64)
    for place, each in enumerate(values, 1):
        if isinstance(each, bool) or not hasattr(each, "__index__"):
            reason = f"type must be tuple of ints,but got {type(each).__name__}"
        elif not -SMALLEST_TOO_LARGE <= each.__index__() < SMALLEST_TOO_LARGE:
            reason = "Overflow when unpacking long long"
        else:
            continue
        raise TypeError(
            f"ctc_loss(): argument '{name}' failed to unpack the object at pos {place} with error \"{reason}\""
        )
    return np.array([each.__index__() for each in values], np.int64)


def _check_sizes(scores: Tensor, blank: int, inputs: np.ndarray, lengths: np.ndarray) -> None:
    if not scores.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    if scores.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {scores.ndim}-dimensional tensor for argument #1 'log_probs' "
            f"{_CHECKING}. log_probs has shape (length, batch, classes), or (length, classes)."
        )
    steps, samples, classes = scores.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range: 0 to {classes - 1}, but it is {blank}")
    for name, values in (("input_lengths", inputs), ("target_lengths", lengths)):
        if values.size != samples:
            raise RuntimeError(f"{name} must be of size batch_size, {samples}, but it has {values.size} values")
        if values.min() < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {values.min()} {_CHECKING}")
    if inputs.max() > steps:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value {inputs.max()} {_CHECKING}"
        )


def _target_rows(targets: np.ndarray, lengths: np.ndarray, classes: int) -> np.ndarray:
    """Targets as (samples, longest), from rows or from all of them end to end; what does not count is 0."""
    samples, longest = lengths.size, int(lengths.max())
    if targets.ndim == 1:
        expected = sum(lengths.tolist())
        if expected != targets.size:
            raise _wrong_size(f"{expected} at dimension 0", targets.size)
    elif targets.ndim != 2:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 'targets' {_CHECKING}"
        )
    elif targets.shape[0] != samples:
        raise _wrong_size(f"{samples} at dimension 0", targets.shape[0])
    elif targets.shape[1] < longest:
        raise _wrong_size(f"at least {longest} at dimension 1", targets.shape[1])
    counts = np.arange(longest) < lengths[:, None]
    rows = np.zeros((samples, longest), np.int64)
    rows[counts] = targets if targets.ndim == 1 else targets[:, :longest][counts]
    if rows.size and not 0 <= rows.min() <= rows.max() < classes:  # torch reads memory beside the scores
        raise IndexError(
            f"targets hold classes from {rows.min()} to {rows.max()}, but log_probs has {classes} classes: 0 to {classes - 1}"
        )
    return rows


def _wrong_size(expected: str, size: int) -> RuntimeError:
    return RuntimeError(
        f"Expected tensor to have size {expected}, but got size {size} for argument #2 'targets' {_CHECKING}"
    )

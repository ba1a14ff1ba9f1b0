"""Difference quotients for `gradcheck`: slopes of functions that read an array which is moved in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Outputs = tuple[np.ndarray, ...]


class GradcheckError(RuntimeError):
    """A gradient does not agree with what it was compared to."""


GradcheckError.__module__ = "torch.autograd.gradcheck"


def numerical_jacobians(evaluate: Callable[[], Outputs], array: np.ndarray, eps: float) -> list[np.ndarray]:
    """For each output, slopes as (part, input element, output element).

    Part 0 is by the real, 1 by the imaginary part of the input.
    """
    units = (1.0, 1j) if array.dtype.kind == "c" else (1.0,)
    parts = []
    for unit in units:
        rows = [_slopes(evaluate, array, index, eps * unit, eps) for index in np.ndindex(array.shape)]
        if rows:
            parts.append([np.stack([slope.reshape(-1) for slope in column]) for column in zip(*rows, strict=True)])
        else:
            parts.append([np.zeros((0, output.size)) for output in evaluate()])
    return [np.stack(matrices) for matrices in zip(*parts, strict=True)]


def directional(evaluate: Callable[[], Outputs], array: np.ndarray, direction: Any, eps: float) -> Outputs:
    """The slopes of all outputs along one direction."""
    return _slopes(evaluate, array, ..., eps * direction, eps)


def _slopes(evaluate: Callable[[], Outputs], array: np.ndarray, index: Any, move: Any, eps: float) -> Outputs:
    original = np.array(array[index])
    try:
        array[index] = original + move
        above = evaluate()
        array[index] = original - move
        below = evaluate()
    finally:
        array[index] = original
    for high, low in zip(above, below, strict=True):
        for fact in ("shape", "dtype"):
            if getattr(high, fact) != getattr(low, fact):
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {fact} when inputs are perturbed by eps, but "
                    f"got: {getattr(high, fact)} and {getattr(low, fact)}"
                )
    return tuple((high - low) / (2 * eps) for high, low in zip(above, below, strict=True))


def allclose(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> bool:
    """|a - b| <= atol + rtol * |b|, NaN equal to NaN."""
    return bool(np.allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=atol, equal_nan=True))

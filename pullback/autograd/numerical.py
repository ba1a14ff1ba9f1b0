"""Difference quotients for `gradcheck`: Jacobians of functions that read an array which is moved in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Step:
    """How far inputs are moved."""

    def __init__(self, eps: float) -> None:
        self.eps: float = eps


def numerical_jacobian(evaluate: Callable[[], np.ndarray], array: np.ndarray, step: Step) -> np.ndarray:
    """Slopes as (part, input element, output element): part 0 by the real, 1 by the imaginary part of the input."""
    units = (1.0, 1j) if array.dtype.kind == "c" else (1.0,)
    parts = []
    for unit in units:
        rows = []
        for index in np.ndindex(array.shape):
            rows.append(_slope(evaluate, array, index, step.eps * unit, step.eps))
        parts.append(np.stack(rows) if rows else np.zeros((0, evaluate().size)))
    return np.stack(parts)


def _slope(evaluate: Callable[[], np.ndarray], array: np.ndarray, index: tuple, move: Any, eps: float) -> np.ndarray:
    original = array[index]
    try:
        array[index] = original + move
        above = evaluate().reshape(-1)
        array[index] = original - move
        below = evaluate().reshape(-1)
    finally:
        array[index] = original
    return (above - below) / (2 * eps)


def directional(evaluate: Callable[[], np.ndarray], array: np.ndarray, direction: Any, step: Step) -> np.ndarray:
    """The slope along one direction."""
    original = np.array(array)
    try:
        array[...] = original + step.eps * direction
        above = evaluate()
        array[...] = original - step.eps * direction
        below = evaluate()
    finally:
        array[...] = original
    return (above - below) / (2 * step.eps)


def allclose(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> bool:
    """|a - b| <= atol + rtol * |b|, NaN equal to NaN."""
    return bool(np.allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=atol, equal_nan=True))

"""Aggregators that look at the entries of the Jacobian, column by column or row by row, and not just at inner products.

`GradDrop` keeps one sign in each column; `Krum` and `TrimmedMean` resist rows that an adversary sent; `ConFIG` has
the same positive cosine with every row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics.dtypes import from_numpy_dtype
from ..functional.registry import FUNCTIONS
from .aggregation import Aggregator, Weighting, blocks, preferences


def identity(purity: np.ndarray) -> np.ndarray:
    return purity


class GradDrop(Aggregator):
    """In each column, keep the positive or the negative entries; the more there is of a sign, the more often it is
    kept.

    `f` maps the share of the positive sign (0 to 1) to the probability of keeping it. `leak[i]` is the part of row i
    that always passes.
    """

    f: Callable[..., np.ndarray]
    leak: Any

    def __init__(self, f: Callable[[np.ndarray], np.ndarray] = identity, leak: Any = None) -> None:
        self.f, self.leak = f, leak

    def aggregate(self, rows: np.ndarray) -> np.ndarray:
        leak = preferences(self.leak, len(rows), 0.0)[:, None]
        drawn = FUNCTIONS["rand"](rows.shape[1], dtype=from_numpy_dtype(rows.dtype)).numpy()
        result = np.empty(rows.shape[1])
        for block in blocks(rows):
            result[block] = self._of_columns(rows[:, block], drawn[block], leak)
        return result

    def _of_columns(self, rows: np.ndarray, drawn: np.ndarray, leak: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            purity = self.f(0.5 * (1 + rows.sum(0) / np.abs(rows).sum(0)))
        kept = ((purity > drawn) & (rows > 0)) | ((purity < drawn) & (rows < 0))
        return ((leak + (1 - leak) * kept) * rows).sum(0)


class Krum(Weighting):
    """The average of the `n_selected` rows nearest to their neighbours, when `n_byzantine` rows may be hostile."""

    n_byzantine: int
    n_selected: int

    def __init__(self, n_byzantine: int, n_selected: int = 1) -> None:
        if n_byzantine < 0:
            raise ValueError(f"n_byzantine must be non-negative, but got {n_byzantine}.")
        if n_selected < 1:
            raise ValueError(f"n_selected must be a positive integer, but got {n_selected}.")
        self.n_byzantine, self.n_selected = n_byzantine, n_selected

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        needed = max(self.n_byzantine + 3, self.n_selected)
        if count < needed:
            raise ValueError(f"{self!r} needs at least {needed} rows, got {count}")
        squares = np.diagonal(gramian)
        distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * gramian, 0))
        neighbours = np.sort(distances, axis=1)[:, 1 : count - self.n_byzantine - 1]
        chosen = np.argsort(neighbours.sum(1), kind="stable")[: self.n_selected]
        weights = np.zeros(count)
        weights[chosen] = 1 / self.n_selected
        return weights


class TrimmedMean(Aggregator):
    """The average of each column without its `trim_number` largest and smallest entries."""

    def __init__(self, trim_number: int) -> None:
        if trim_number < 0:
            raise ValueError(f"trim_number must be non-negative, but got {trim_number}.")
        self.trim_number: int = trim_number

    def aggregate(self, rows: np.ndarray) -> np.ndarray:
        needed = 2 * self.trim_number + 1
        if len(rows) < needed:
            raise ValueError(f"{self!r} needs at least {needed} rows, got {len(rows)}")
        return np.sort(rows, axis=0)[self.trim_number : len(rows) - self.trim_number].mean(0)


class ConFIG(Aggregator):
    """The direction with the same positive cosine to every row, as long as the rows' projections on it together."""

    def __init__(self, pref_vector: Any = None) -> None:
        self.pref_vector: Any = pref_vector

    def aggregate(self, rows: np.ndarray) -> np.ndarray:
        wide = rows.astype(np.float64)
        lengths = np.linalg.norm(wide, axis=1, keepdims=True)
        units = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
        best = np.linalg.pinv(units) @ preferences(self.pref_vector, len(rows), 1.0)
        direction = best / max(float(np.linalg.norm(best)), 1e-12)
        return (wide @ direction).sum() * direction

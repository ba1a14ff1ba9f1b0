"""Aggregators: one gradient from several that may be in conflict.

Each is a function of the Jacobian matrix (a row for each loss), and answers with a weighted sum of its rows; the
weights depend on the Gramian only, the inner products of the rows. The names and results are those of the literature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Aggregator:
    """The weighted sum of the rows; subclasses say which weights."""

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def __call__(self, jacobian: Any) -> Any:
        rows = np.asarray(jacobian.detach().numpy() if hasattr(jacobian, "detach") else jacobian)
        wide = rows.astype(np.float64)
        result = (self.weights(wide @ wide.T) @ wide).astype(rows.dtype)
        if hasattr(jacobian, "detach"):
            from ..autograd.tape import wrap

            return wrap(result)
        return result

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"


class Sum(Aggregator):
    """All rows added up."""

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        return np.ones(len(gramian))


class Mean(Aggregator):
    """The average row."""

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        return np.full(len(gramian), 1 / max(len(gramian), 1))


class Constant(Aggregator):
    """Rows weighted by given numbers."""

    def __init__(self, weights: Sequence[float]) -> None:
        self.given = np.asarray(weights, dtype=np.float64)

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        if self.given.shape != (len(gramian),):
            raise ValueError(f"{len(gramian)} losses need as many weights, got {self.given.size}")
        return self.given


class Random(Aggregator):
    """Random weights, positive and of sum 1: the softmax of normal numbers of torch's stream."""

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        from ..functional.registry import FUNCTIONS

        drawn = np.asarray(FUNCTIONS["randn"](len(gramian)).numpy(), dtype=np.float64)
        positive = np.exp(drawn - drawn.max())
        return positive / positive.sum()


class MGDA(Aggregator):
    """The shortest vector in the convex hull of the rows (multiple-gradient descent), by Frank-Wolfe steps."""

    def __init__(self, epsilon: float = 0.001, max_iters: int = 100) -> None:
        self.epsilon, self.max_iters = epsilon, max_iters

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        alpha = np.full(len(gramian), 1 / len(gramian))
        for _ in range(self.max_iters):
            slopes = gramian @ alpha
            corner = int(np.argmin(slopes))
            here, there, between = alpha @ slopes, gramian[corner, corner], slopes[corner]
            if between >= there:
                step = 1.0
            elif between >= here:
                step = 0.0
            else:
                step = (here - between) / (here + there - 2 * between)
            alpha = (1 - step) * alpha
            alpha[corner] += step
            if step < self.epsilon:
                break
        return alpha


class IMTLG(Aggregator):
    """Impartial: the aggregate has the same projection on every row's direction."""

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        lengths = np.sqrt(np.diagonal(gramian))
        found = np.linalg.pinv(gramian) @ lengths
        total = found.sum()
        return np.zeros_like(found) if abs(total) < 1e-12 else found / total


class AlignedMTL(Aggregator):
    """Rows transformed so that all their singular values equal the smallest, then averaged."""

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        values, vectors = np.linalg.eigh(gramian)
        kept = values > values.max() * count * np.finfo(np.float64).eps if count else values > 0
        if not kept.any():
            return np.full(count, 1 / count)
        values, vectors = values[kept], vectors[:, kept]
        balance = np.sqrt(values.min()) * (vectors / np.sqrt(values)) @ vectors.T
        return balance @ np.full(count, 1 / count)


class PCGrad(Aggregator):
    """Each row loses its projections on the rows it is in conflict with, in random order; then all are added."""

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        from ..functional.registry import FUNCTIONS

        count = len(gramian)
        total = np.zeros(count)
        for i in range(count):
            own = np.zeros(count)
            own[i] = 1.0
            for j in FUNCTIONS["randperm"](count).tolist():
                if j != i:
                    overlap = gramian[j] @ own
                    if overlap < 0:
                        own[j] -= overlap / gramian[j, j]
            total += own
        return total


# --- projections on the dual cone ------------------------------------------------------------------------------------


def _normalized(gramian: np.ndarray, norm_eps: float, reg_eps: float) -> np.ndarray:
    """Scaled to trace 1 and made safely positive definite."""
    size = np.trace(gramian)
    scaled = gramian * 0 if size < norm_eps else gramian / size
    return scaled + reg_eps * np.eye(len(gramian))


def project(weights: np.ndarray, gramian: np.ndarray) -> np.ndarray:
    """The smallest v^T G v among v >= weights: non-negative least squares by active sets."""
    count = len(weights)
    linear = gramian @ weights
    extra = np.zeros(count)
    active = np.ones(count, dtype=bool)  # where v stays at its bound
    for _ in range(10 * count + 10):
        slopes = linear + gramian @ extra
        candidates = np.where(active, slopes, 0)
        worst = int(np.argmin(candidates))
        if candidates[worst] >= -1e-14:
            break
        active[worst] = False
        while True:
            free = ~active
            target = np.zeros(count)
            target[free] = np.linalg.solve(gramian[np.ix_(free, free)], -linear[free])
            if (target[free] > 0).all():
                extra = target
                break
            falling = free & (target <= 0)
            step = np.min(extra[falling] / (extra[falling] - target[falling]))
            extra = extra + step * (target - extra)
            active |= free & (extra <= 1e-15)
            extra[active] = 0
            if active.all():
                break
    return weights + extra


class DualProj(Aggregator):
    """The average row, projected on the cone of directions in conflict with none of the rows."""

    def __init__(self, norm_eps: float = 0.0001, reg_eps: float = 0.0001) -> None:
        self.norm_eps, self.reg_eps = norm_eps, reg_eps

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        return project(np.full(count, 1 / count), _normalized(gramian, self.norm_eps, self.reg_eps))


class UPGrad(Aggregator):
    """Every row projected on the cone of directions in conflict with none of the rows; then averaged."""

    def __init__(self, norm_eps: float = 0.0001, reg_eps: float = 0.0001) -> None:
        self.norm_eps, self.reg_eps = norm_eps, reg_eps

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        safe = _normalized(gramian, self.norm_eps, self.reg_eps)
        return sum((project(row, safe) for row in np.eye(count) / count), np.zeros(count))


class CAGrad(Aggregator):
    """Conflict-averse: within c times the average's length of it, the direction that serves the worst-off row best."""

    def __init__(self, c: float = 0.5, norm_eps: float = 0.0001, max_iters: int = 2000) -> None:
        if c < 0:
            raise ValueError(f"c must not be negative, got {c}")
        self.c, self.norm_eps, self.max_iters = c, norm_eps, max_iters

    def weights(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        size = np.trace(gramian)
        mean = np.full(count, 1 / count)
        if size < self.norm_eps:
            return mean
        scaled = gramian / size
        reach = self.c * np.sqrt(max(mean @ scaled @ mean, 0.0))
        w = self._worst_case(scaled, mean, reach)
        length = np.sqrt(max(w @ scaled @ w, 0.0))
        return mean + reach / length * w if length > 1e-10 else mean

    def _worst_case(self, scaled: np.ndarray, mean: np.ndarray, reach: float) -> np.ndarray:
        """The weights in the simplex that minimise w^T G m + reach * sqrt(w^T G w), by accelerated projected steps."""
        pull = scaled @ mean
        w = ahead = mean.copy()
        momentum = 1.0

        def value(v: np.ndarray) -> float:
            return float(v @ pull + reach * np.sqrt(max(v @ scaled @ v, 0.0)))

        step = 1.0
        for _ in range(self.max_iters):
            length = np.sqrt(max(ahead @ scaled @ ahead, 1e-30))
            slope = pull + reach * (scaled @ ahead) / length
            while True:
                new = simplex(ahead - step * slope)
                change = new - ahead
                if value(new) <= value(ahead) + slope @ change + change @ change / (2 * step) + 1e-15 or step < 1e-12:
                    break
                step /= 2
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead_next = new + (momentum - 1) / following * (new - w)
            if np.abs(new - w).max() < 1e-13 and np.abs(ahead_next - ahead).max() < 1e-13:
                return new
            w, ahead, momentum = new, ahead_next, following
        return w


def simplex(v: np.ndarray) -> np.ndarray:
    """The nearest point with non-negative entries of sum 1."""
    falling = np.sort(v)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.nonzero(falling > excess)[0][-1]], 0)

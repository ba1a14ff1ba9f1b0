"""Small dense optimisation problems behind the aggregators, solved in NumPy to the last digits.

There are as many unknowns as losses, so every iteration can afford a linear system. `multipliers` is an active-set
method; the others follow the minima of a logarithmic barrier by Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def project(weights: np.ndarray, gramian: np.ndarray) -> np.ndarray:
    """The smallest v^T G v among v >= weights."""
    extra = multipliers(gramian, -(gramian @ weights))
    return weights if extra is None else weights + extra


def multipliers(
    gramian: np.ndarray, bounds: np.ndarray, tolerance: float = 1e-14, dependence: float = 1e-12
) -> np.ndarray | None:
    """The m >= 0 with G m >= bounds and equality wherever m > 0; None if no m gives G m >= bounds.

    These are the multipliers of the shortest vector whose products with the rows behind the Gramian are at least the
    bounds. A dual active-set method: one violated bound after the other becomes an equality, and those whose multiplier
    reaches 0 on the way are let go. Rows that depend on others within `dependence` never become equalities with them.
    """
    count = len(gramian)
    found = np.zeros(count)
    equal: list[int] = []
    tolerance = tolerance * max(float(np.diagonal(gramian).max(initial=0.0)), np.finfo(np.float64).tiny)
    steps_left = 10 * count
    while steps_left:
        slacks = gramian @ found - bounds
        slacks[equal] = 0.0
        worst = int(np.argmin(slacks))
        if slacks[worst] >= -tolerance:
            break
        while steps_left:
            steps_left -= 1
            slack = gramian[worst] @ found - bounds[worst]
            release = np.linalg.solve(gramian[np.ix_(equal, equal)], gramian[equal, worst])
            rest = gramian[worst, worst] - gramian[worst, equal] @ release
            to_bound = -slack / rest if rest > dependence * gramian[worst, worst] else np.inf
            falling = release > 0
            to_zero = np.where(falling, found[equal] / np.where(falling, release, 1.0), np.inf)
            first = int(np.argmin(to_zero)) if equal else -1
            step = min(to_bound, to_zero[first]) if equal else to_bound
            if step == np.inf:
                return None
            found[equal] -= step * release
            found[worst] += step
            if step == to_bound:
                equal.append(worst)
                break
            found[equal[first]] = 0.0
            del equal[first]
    return found


def on_simplex(point: np.ndarray) -> np.ndarray:
    """The nearest vector that is nowhere negative and has the sum 1."""
    falling = np.sort(point)[::-1]
    levels = (np.cumsum(falling) - 1) / np.arange(1, len(point) + 1)
    return np.maximum(point - levels[np.flatnonzero(falling > levels)[-1]], 0)


def _barrier_minimum(
    start: np.ndarray, value: Callable[[np.ndarray, float], float],
    derivatives: Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]], barrier: float, last: float,
    keeps_sum: bool,
) -> np.ndarray:  # fmt: skip
    """Follow the minimum of `value(w, barrier)` while the barrier shrinks to `last`; infinite outside the domain."""
    w = start
    count = len(w)
    while True:
        for _ in range(50):
            slope, curvature = derivatives(w, barrier)
            system, target = curvature, -slope
            if keeps_sum:
                system = np.zeros((count + 1, count + 1))
                system[:count, :count] = curvature
                system[count, :count] = system[:count, count] = np.abs(np.diagonal(curvature)).max()
                target = np.append(target, 0.0)
            try:
                direction = np.linalg.solve(system, target)[:count]
            except np.linalg.LinAlgError:
                direction = np.linalg.lstsq(system, target, rcond=None)[0][:count]
            decrease = -(slope @ direction)
            if not decrease > 1e-10 * barrier:
                break
            here, step = value(w, barrier), 1.0
            while not value(w + step * direction, barrier) <= here - 0.1 * step * decrease:
                step /= 2
                if step < 1e-12:
                    break
            if step < 1e-12:  # all digits are in
                break
            w = w + step * direction
        if barrier <= last:
            return w
        barrier *= 0.1


def worst_mixture(gramian: np.ndarray, pull: np.ndarray, reach: float) -> np.ndarray:
    """The weights w >= 0 of sum 1 that minimise w . pull + reach * sqrt(w^T G w).

    The root has a kink where the mixture is 0, at which Newton steps would stop. It is rounded off as far as the
    barrier is soft.
    """
    count = len(gramian)
    if count == 1:
        return np.ones(1)

    def value(w: np.ndarray, barrier: float) -> float:
        if (w <= 0).any():
            return np.inf
        return float(w @ pull + reach * _length(w @ gramian @ w, barrier) - barrier * np.log(w).sum())

    def derivatives(w: np.ndarray, barrier: float) -> tuple[np.ndarray, np.ndarray]:
        product = gramian @ w
        length = _length(w @ product, barrier)
        slope = pull + reach * product / length - barrier / w
        curvature = reach * (gramian / length - np.outer(product, product) / length**3)
        return slope, curvature + np.diag(barrier / w**2)

    return _barrier_minimum(np.full(count, 1 / count), value, derivatives, 1e-2, 1e-12, True)


def _length(square: float, barrier: float) -> float:
    return float(np.sqrt(max(square, 0.0) + barrier**2 + 1e-30))


def shortest_mixture(gramian: np.ndarray) -> np.ndarray:
    """The weights w >= 0 of sum 1 of the shortest vector in the rows' convex hull."""
    size = np.trace(gramian)
    return worst_mixture(gramian / size if size > 0 else gramian, np.zeros(len(gramian)), 1.0)


def bargain(gramian: np.ndarray) -> np.ndarray | None:
    """The a > 0 with a_i * (G a)_i = 1 for all i; None if there is none.

    It is where a . G a / 2 - sum(log(a)) is least. Newton's method finds it in a few steps, since the rows are brought to
    one length first, which changes the problem no further.
    """
    lengths = np.sqrt(np.diagonal(gramian))
    if not lengths.all():
        return None
    scaled, count = gramian / np.outer(lengths, lengths), len(gramian)
    found = np.full(count, np.sqrt(count / max(scaled.sum(), 1e-12)))
    for _ in range(100):
        if found.max() > 1e8:  # the rows balance one another, as far as digits tell
            return None
        slope = found * (scaled @ found) - 1
        step = np.linalg.solve(found[:, None] * scaled * found + np.eye(count), -slope)
        decrease = np.sqrt(max(-(slope @ step), 0.0))
        if decrease < 1e-9:
            return found / lengths
        found = found * (1 + (step if decrease < 0.25 else step / (1 + decrease)))
    return None

"""How gamma and Dirichlet draws move with their concentrations: derivatives that keep their place in the distribution.

A draw x of concentration a has F(x; a) = u, and keeps it: dx/da = -(dF/da) / density. F is the density times a series
of positive terms; where each term is the last one times a ratio, the derivative of its logarithm is the last one's plus
the ratio's, so that the same loop sums the series and its derivative. Differences of F, which cost eight of them, are
left for gamma concentrations so large that the series is long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pullback.kernels.blocks import Kernel, by_region, run
from pullback.kernels.gamma import digamma, lgamma
from pullback.kernels.incomplete_gamma import gammainc

from .thresholds import SLOPES_AT_ONCE, SLOPES_BY_PYTHON

Step = Callable[..., tuple[Any, Any]]

_NEGLIGIBLE = 1e-17
_CHECKED_EVERY = 8
_MOST_STEPS = 20_000
_LARGE = 1000.0  # concentrations for whose series differences are faster


def _series(step: Step, *parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of terms that begin with 1, and of their derivatives.

    `step(n, *parameters)` gives the ratio of the n-th term to the one before and the derivative of its logarithm.
    """
    if parameters[0].size <= SLOPES_BY_PYTHON:
        rows = [_series_of_numbers(step, *row) for row in zip(*(values.tolist() for values in parameters), strict=True)]
        return np.array([total for total, _ in rows]), np.array([slope for _, slope in rows])
    total, slope = np.ones_like(parameters[0]), np.zeros_like(parameters[0])
    left = np.arange(total.size)
    term, growth, sum_here, slope_here = total.copy(), slope.copy(), total.copy(), slope.copy()
    for n in range(1, _MOST_STEPS):
        ratio, change = step(n, *parameters)
        term *= ratio
        growth += change
        sum_here += term
        change = term * growth
        slope_here += change
        if n % _CHECKED_EVERY:
            continue
        going = term + np.abs(change) > _NEGLIGIBLE * (sum_here + np.abs(slope_here))
        count = np.count_nonzero(going)
        if count <= left.size // 2:  # the others are done: from time to time they leave
            total[left], slope[left] = sum_here, slope_here
            if not count:
                break
            left, term, growth = left[going], term[going], growth[going]
            sum_here, slope_here = sum_here[going], slope_here[going]
            parameters = tuple(values[going] for values in parameters)
    total[left], slope[left] = sum_here, slope_here
    return total, slope


def _series_of_numbers(step: Step, *parameters: float) -> tuple[float, float]:
    """The same for one element."""
    term = total = 1.0
    growth = slope = 0.0
    for n in range(1, _MOST_STEPS):
        ratio, change = step(n, *parameters)
        term *= ratio
        growth += change
        change = term * growth
        total += term
        slope += change
        if not term + abs(change) > _NEGLIGIBLE * (total + abs(slope)):
            break
    return total, slope


def _gamma_step(n: int, a: Any, x: Any) -> tuple[Any, Any]:
    inverse = 1.0 / (a + n)
    return x * inverse, -inverse


def _gamma_by_series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    total, slope = _series(_gamma_step, a, x)
    return -x / a * (total * (np.log(x) - digamma(a + 1.0)) + slope)


def _gamma_by_differences(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """From differences of order eight in log(a)."""
    step = 0.02 / np.sqrt(1 + 0.1 * a)  # shorter for large concentrations, whose distributions are narrow
    change = np.zeros_like(x)
    for offset, weight in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)):
        change += weight * (gammainc(a * np.exp(offset * step), x) - gammainc(a * np.exp(-offset * step), x))
    return -change / (step * a) * np.exp(x + lgamma(a) - (a - 1) * np.log(x))


def _gamma(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return by_region(a, (_LARGE,), (_gamma_by_series, _gamma_by_differences), a, x)


def _lower_step(n: int, z: Any, p: Any, total: Any) -> tuple[Any, Any]:
    above, inverse = total + (n - 1), 1.0 / (p + n)
    return z * above * inverse, 1.0 / above - inverse


def _upper_step(n: int, z: Any, p: Any, total: Any) -> tuple[Any, Any]:
    above = total + (n - 1)
    return z * above / (p + n), 1.0 / above


def _from_below(x: np.ndarray, a: np.ndarray, total: np.ndarray, gap: np.ndarray) -> np.ndarray:
    value, slope = _series(_lower_step, x, a, total)
    result = -x / a * (value * (np.log(x) - 1.0 / a + gap) + slope)
    return np.where(x > 0, result, 0.0)


def _from_above(x: np.ndarray, a: np.ndarray, total: np.ndarray, gap: np.ndarray) -> np.ndarray:
    b = total - a
    value, slope = _series(_upper_step, 1.0 - x, b, total)
    return x / b * (value * (np.log(x) + gap) + slope)


def _dirichlet(x: np.ndarray, a: np.ndarray, total: np.ndarray) -> np.ndarray:
    above, below = digamma(np.concatenate((total, a))).reshape(2, -1)
    # Both series have a ratio that ends below 1/2.
    return by_region(x, (0.5,), (_from_below, _from_above), x, a, total, above - below)


gamma_slope: Kernel = partial(run, _gamma, block=SLOPES_AT_ONCE)
"""dx/da of a gamma draw x of concentration a and scale 1, given as (a, x)."""
dirichlet_slope: Kernel = partial(run, _dirichlet, block=SLOPES_AT_ONCE)
"""dx/da / (1 - x) of one share x of a Dirichlet draw, given as (x, a, sum of all concentrations)."""

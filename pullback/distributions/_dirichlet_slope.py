"""How a Dirichlet draw moves with its concentration: the implicit derivative of the beta distribution function.

The i-th share x of a Dirichlet draw has a beta distribution, and moves with its concentration a so that its place
F(x; a, b) stays the same: dx/da = -(dF/da) / density. There is no closed form of dF/da; it is taken from
differences of the distribution function, which a continued fraction gives to full precision.
"""

from __future__ import annotations

import numpy as np

from pullback.kernels.special import digamma, lgamma

_WEIGHTS = tuple(
    (sign * offset, sign * weight)
    for offset, weight in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
    for sign in (1, -1)
)
"""Central differences of order eight, in the logarithm of the concentration: offsets and weights."""

_SETTLED = 1e-15
"""Relative steps of the continued fraction that are mere rounding."""

_NEAR = 1e-7
"""So close to zero or one the leading term of the distribution function is all that counts."""


def dirichlet_slope(x: np.ndarray, alpha: np.ndarray, total: np.ndarray) -> np.ndarray:
    """-(dF/da) / density / (1 - x), for shares `x` of draws with concentration `alpha` out of `total`."""
    x, a, total = (np.asarray(values, np.float64) for values in (x, alpha, total))
    b = total - a
    inside = np.clip(x, _NEAR, 1 - _NEAR)
    # Relative steps; shorter for large concentrations, whose distributions are narrow.
    step = 0.02 / np.sqrt(1 + 0.1 * a)
    offsets, weights = (np.reshape(row, (-1, *np.ones(x.ndim, int))) for row in zip(*_WEIGHTS))
    change = np.sum(weights * _distribution_function(inside, a * np.exp(offsets * step), b), axis=0)
    with np.errstate(all="ignore"):
        log_density = (a - 1) * np.log(inside) + b * np.log1p(-inside) - _log_beta(a, b)
        slope = -change / (step * a) * np.exp(-log_density)
        gap = digamma(total) - digamma(a)
        near_zero = -x / a * (np.log(x) - 1 / a + gap)
    slope = np.where(x < _NEAR, np.where(x > 0, near_zero, 0.0), slope)
    return np.where(x > 1 - _NEAR, gap / b, slope)


def _log_beta(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _distribution_function(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The beta distribution function, from whichever tail its continued fraction converges fast in."""
    upper = x > (a + 1) / (a + b + 2)
    tail = _lower_tail(np.where(upper, 1 - x, x), np.where(upper, b, a), np.where(upper, a, b))
    return np.where(upper, 1 - tail, tail)


def _lower_tail(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Lentz's method for the continued fraction of the incomplete beta function."""
    tiny = 1e-300
    c = np.ones(np.shape(x))
    d = _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    fraction = d = 1 / d
    for m in range(1, 2000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = fraction
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d, tiny)
            c = _away_from_zero(1 + term / c, tiny)
            fraction = fraction * c * d
        if np.all(np.abs(fraction - before) <= _SETTLED * np.abs(fraction)):
            break
    return np.exp(a * np.log(x) + b * np.log1p(-x) - _log_beta(a, b)) * fraction / a


def _away_from_zero(value: np.ndarray, tiny: float) -> np.ndarray:
    return np.where(np.abs(value) < tiny, tiny, value)

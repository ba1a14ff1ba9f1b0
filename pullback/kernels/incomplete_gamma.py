"""Regularised incomplete gamma functions: gammainc (lower, P) and gammaincc (upper, Q).

Four methods share the quadrant a, x > 0, each where it converges fast and does not cancel: the power series of P, a
series of Q for small x, a continued fraction of Q, and Temme's uniform expansion around the line x = a when a is
large. Iterations run on all elements of a region until the slowest has converged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from pullback.kernels.blocks import Kernel, by_region, horner, rational, run
from pullback.kernels.error import erfcx_positive
from pullback.kernels.gamma import STIRLING, lgamma_positive

# (u - log(1 + u)) / u^2 for |u| <= 5/16, in u + 5/16.
_LOG_DEFECT = (
    (
        0.6368609222800455,
        2.34316221229869,
        3.1383845834892887,
        1.8586222142305835,
        0.46594834239238064,
        0.036909452840493226,
        2.7568868070740192e-05,
    ),
    (
        1.0,
        4.587811344730392,
        8.142094818870419,
        7.021693452433671,
        3.021339959876712,
        0.5907220124671273,
        0.03840640740483912,
    ),
)
_LOG_DEFECT_RANGE = 0.3125

# Temme's expansion is used for a above the first number and |x - a| < 0.3 a; the others say where its two sums stop.
_TEMME_SMALLEST = 40.0
_TEMME_ORDERS = 9
_TEMME_DEGREE = 20

_SERIES, _FRACTION, _TEMME, _SMALL = 0.0, 1.0, 2.0, 3.0
_EDGES = (0.5, 1.5, 2.5)
_PRECISION = 1e-17
_FRACTION_DEPTH = 100
_MOST_STEPS = 5000


def _log_defect(u: np.ndarray) -> np.ndarray:
    """``u - log(1 + u)`` without cancellation, for u > -1."""

    def near(u: np.ndarray) -> np.ndarray:
        return u * u * rational(*_LOG_DEFECT, u + _LOG_DEFECT_RANGE)

    def far(u: np.ndarray) -> np.ndarray:
        return u - np.log1p(u)

    return by_region(np.abs(u), (_LOG_DEFECT_RANGE,), (near, far), u)


def _prefactor(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``x**a * exp(-x) / gamma(a + 1)``, each part in the form that does not magnify rounding errors."""

    def small(a: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.power(x, a) * np.exp(-x) * np.exp(-lgamma_positive(a + 1.0))

    def large(a: np.ndarray, x: np.ndarray) -> np.ndarray:
        offset = (x - a) / a
        # Close to -1 the offset has lost the digits of x that its logarithm needs.
        exponent = np.where(offset < -0.75, offset - np.log(x / a), _log_defect(offset))
        inverse = 1.0 / a
        return np.exp(-a * exponent - inverse * horner(STIRLING, inverse * inverse)) / np.sqrt(2.0 * math.pi * a)

    return by_region(a, (10.0,), (small, large), a, x)


def _lower_series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    term = np.ones_like(x)
    total = np.ones_like(x)
    for step in range(1, _MOST_STEPS):
        term *= x / (a + step)
        total += term
        if (term < _PRECISION * total).all():
            break
    return total * _prefactor(a, x)


def _upper_small(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Q for x up to about one and small a, where P is close to one."""
    term = np.ones_like(x)
    total = np.zeros_like(x)
    for step in range(1, _MOST_STEPS):
        term *= -x / step
        addend = term / (a + step)
        total += addend
        if (np.abs(addend) <= _PRECISION * np.abs(total)).all():
            break
    logarithm = a * np.log(x) - lgamma_positive(a + 1.0)
    return -np.expm1(logarithm) - np.exp(logarithm) * a * total


def _upper_fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Q by Legendre's continued fraction, from the back: a fixed depth is enough for x > 1.1 and x > a."""
    offset = x - a
    result = offset + (2.0 * _FRACTION_DEPTH + 1.0)
    for step in range(_FRACTION_DEPTH, 0, -1):
        np.divide((a - step) * step, result, out=result)
        result += offset
        result += 2.0 * step - 1.0
    return a * _prefactor(a, x) / result


@cache
def _temme_tables() -> tuple[tuple[float, ...], ...]:
    """Taylor coefficients in eta of the functions that multiply 1, 1/a, 1/a^2, ... in Temme's expansion.

    With u = x / a - 1 and eta^2 / 2 = u - log(1 + u), the series of u solves u u' = eta (1 + u). The first function is
    1/u - 1/eta, and each next one is C'/eta with its pole removed by a multiple of 1/u. Exact fractions, made once.
    """
    from fractions import Fraction

    length = _TEMME_DEGREE + 2 * _TEMME_ORDERS + 2
    u = [Fraction(0), Fraction(1)]
    for n in range(2, length + 1):
        known = sum((u[i] * (n + 1 - i) * u[n + 1 - i] for i in range(2, n)), Fraction(0))
        u.append((u[n - 1] - known) / (n + 1))
    inverse = [Fraction(1)]
    for n in range(1, length):
        inverse.append(-sum((inverse[i] * u[n - i + 1] for i in range(n)), Fraction(0)))
    current = inverse[1:]
    tables = []
    for _ in range(_TEMME_ORDERS):
        tables.append(tuple(float(value) for value in current[: _TEMME_DEGREE + 1]))
        pole = current[1]
        current = [(n + 2) * current[n + 2] - pole * inverse[n + 1] for n in range(len(current) - 2)]
    return tuple(tables)


def _temme(a: np.ndarray, x: np.ndarray, upper: bool) -> np.ndarray:
    offset = (x - a) / a
    half_square = _log_defect(offset)
    eta = np.copysign(np.sqrt(2.0 * half_square), offset)
    decay = np.exp(-a * half_square)
    inverse = 1.0 / a
    correction = np.zeros_like(a)
    for table in reversed(_temme_tables()):
        correction *= inverse
        correction += horner(table, eta)
    correction *= decay / np.sqrt(2.0 * math.pi * a)
    tail = 0.5 * decay * erfcx_positive(np.sqrt(a * half_square))
    normal = np.where((eta < 0) == upper, 1.0 - tail, tail)
    return normal + correction if upper else normal - correction


def _regions(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    region = np.where((x <= 1.1) | (x < a), _SERIES, _FRACTION)
    region[(a > _TEMME_SMALLEST) & (np.abs(x - a) < 0.3 * a)] = _TEMME
    small = np.where(x <= 0.5, a < -0.4 / np.log(x), a < 1.1 * x) & (x <= 1.1)
    region[small] = _SMALL
    return region


def _with_edges(a: np.ndarray, x: np.ndarray, evaluate: Callable[..., np.ndarray], at_zero: float) -> np.ndarray:
    """Evaluate in the open quadrant and settle its boundary; ``at_zero`` is the value at x = 0."""
    result = np.full_like(x, np.nan)
    inside = np.flatnonzero((a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x))
    if inside.size:
        result[inside] = evaluate(a[inside], x[inside])
    at_infinity = 1.0 - at_zero
    result[np.isposinf(x) & ~np.isinf(a)] = at_infinity
    result[np.isposinf(a) & ~np.isinf(x)] = at_zero
    result[x == 0] = at_zero
    result[a == 0] = np.where(x[a == 0] > 0, at_infinity, np.nan)
    result[(a < 0) | (x < 0)] = np.nan
    return result


def _gammainc(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    functions = (
        _lower_series,
        lambda a, x: 1.0 - _upper_fraction(a, x),
        lambda a, x: _temme(a, x, upper=False),
        _lower_series,
    )
    return _with_edges(a, x, lambda a, x: by_region(_regions(a, x), _EDGES, functions, a, x), 0.0)


def _gammaincc(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    functions = (
        lambda a, x: 1.0 - _lower_series(a, x),
        _upper_fraction,
        lambda a, x: _temme(a, x, upper=True),
        _upper_small,
    )
    return _with_edges(a, x, lambda a, x: by_region(_regions(a, x), _EDGES, functions, a, x), 1.0)


gammainc: Kernel = partial(run, _gammainc)
"""Regularised lower incomplete gamma function P(a, x)."""
gammaincc: Kernel = partial(run, _gammaincc)
"""Regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x)."""

"""Derivatives of special functions with respect to their orders, which torch does not have: as sums of known functions.

The incomplete gamma function by its power series, whose terms are all positive; the Hurwitz zeta function by
Euler-Maclaurin summation, term by term. Sums are written with differentiable operations, so any order follows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..kernels.like import NUMPYS, brought, is_elsewhere
from .casting import cast
from .reductions import sum_axes

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array

_DOUBLE = np.dtype(np.float64)
# Of the series for P(a, x), which bounds its memory: all that matter for x near a, up to a million.
_MOST_TERMS = 20_000
_DIRECT_TERMS = 10  # of zeta's series; with the corrections below, the rest is less than a rounding error
# B(2j) / (2j)!, of the Euler-Maclaurin formula
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000,
)  # fmt: skip


def _numbers(value: Array) -> Array:
    """The plain array inside a tensor or a batch."""
    while not (isinstance(value, NUMPYS) or is_elsewhere(value)):
        if hasattr(value, "elements"):  # a spelled array
            return value.elements()
        inside = getattr(value, "_array", None)
        value = value.array if inside is None else inside
    return value


def lower_gamma_by_shape(a: Array, x: Array) -> Array:
    """The derivative of the regularized lower incomplete gamma function P(a, x) with respect to a.

    P is the sum over n of exp((a + n) log(x) - x - lgamma(a + n + 1)).
    """
    from .special import digamma, lgamma

    a, x = cast(a, dtype=_DOUBLE), cast(x, dtype=_DOUBLE)
    far = x > a + 12 * np.sqrt(np.abs(a)) + 750  # 1 - P vanishes there
    inside = (x > 0) & ~far
    x = np.where(inside, x, 1)
    shape, point = np.nan_to_num(_numbers(a)), np.nan_to_num(_numbers(x))
    reach = np.maximum(point - shape, 0) + 12 * np.sqrt(np.maximum(point, 1))
    count = min(int(np.max(reach)) + 60, _MOST_TERMS) if reach.size else 0
    order = a[..., None] + brought(np.arange(count, dtype=np.float64), shape)
    logarithm = np.log(x)[..., None]
    terms = np.exp(order * logarithm - x[..., None] - lgamma(order + 1)) * (logarithm - digamma(order + 1))
    return np.where(inside, sum_axes(terms, axis=(len(terms.shape) - 1,), keepdims=False), 0)


def zeta_by_exponent(s: Array, q: Array) -> Array:
    """The derivative of the Hurwitz zeta function with respect to its exponent, for s > 1 and q > 0; else nan."""
    s, q = cast(s, dtype=_DOUBLE), cast(q, dtype=_DOUBLE)
    defined = (s > 1) & (q > 0)
    s, q = np.where(defined, s, 2), np.where(defined, q, 1)
    base = q[..., None] + brought(np.arange(_DIRECT_TERMS, dtype=np.float64), _numbers(q))
    direct = np.log(base) * base ** -s[..., None]
    total = -sum_axes(direct, axis=(len(direct.shape) - 1,), keepdims=False)
    start = q + _DIRECT_TERMS
    logarithm, power = np.log(start), start**-s
    total = total - start * power * (logarithm + 1 / (s - 1)) / (s - 1) - 0.5 * logarithm * power
    factor, slope = s * power / start, 1 / s - logarithm
    for index, coefficient in enumerate(_BERNOULLI):
        total = total + coefficient * factor * slope
        first, second = s + (2 * index + 1), s + (2 * index + 2)
        factor, slope = factor * first * second / (start * start), slope + 1 / first + 1 / second
    return np.where(defined, total, math.nan)

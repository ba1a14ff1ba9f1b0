"""Samplers that reject and retry: Poisson and binomial, bit for bit those of torch.

How many words an element takes depends on what was drawn, so elements are drawn one after the other, in float64
Python arithmetic with the C library's functions, as torch's own scalar loops do.
Lives here: those two. Does not live here: gamma and Dirichlet (gammas.py), samplers with a fixed number of draws
(streams.py, discrete.py), argument checks and Tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .engine import Generator
from .streams import cast

_FLOAT64 = np.dtype(np.float64)
# What Stirling's formula leaves out of log(k!), for k = 0 .. 9.
_STIRLING_TAIL = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip

# ---------------------------------------------------------------------- Poisson


def poisson(generator: Generator, rate: np.ndarray) -> np.ndarray:
    """Poisson counts of the given rates, in their dtype."""
    with generator.one_double_at_a_time(2 * rate.size) as uniform:
        counts = [_one_poisson(value, uniform) for value in rate.astype(_FLOAT64).ravel().tolist()]
    return cast(np.array(counts, np.float64), rate.dtype).reshape(rate.shape)


def _one_poisson(rate: float, uniform: Callable[[], float]) -> int:
    if rate >= 10:
        return _transformed_rejection_poisson(rate, uniform)
    if rate == 0:
        return 0
    limit, count, product = math.exp(-rate), 0, uniform()
    while product > limit:
        count += 1
        product *= uniform()
    return count


def _transformed_rejection_poisson(rate: float, uniform: Callable[[], float]) -> int:
    """Hörmann's PTRS (1993)."""
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = uniform() - 0.5
        v = uniform()
        margin = 0.5 - abs(u)
        k = math.floor((2 * a / margin + b) * u + rate + 0.43)
        if margin >= 0.07 and v <= quick:
            return k
        if k < 0 or (margin < 0.013 and v > margin):
            continue
        left = math.log(v) + math.log(inverse_alpha) - math.log(a / (margin * margin) + b)
        if left <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


# ---------------------------------------------------------------------- binomial


def binomial(generator: Generator, count: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Successes among ``count`` trials of ``probability``, two arrays of one shape and dtype."""
    counts = count.astype(_FLOAT64).ravel().tolist()
    probabilities = probability.astype(_FLOAT64).ravel().tolist()
    with generator.one_double_at_a_time(4 * count.size) as uniform:
        successes = [_one_binomial(n, p, uniform) for n, p in zip(counts, probabilities)]
    return cast(np.array(successes, np.float64), count.dtype).reshape(count.shape)


def _one_binomial(count: float, probability: float, uniform: Callable[[], float]) -> float:
    if math.isnan(probability):
        return math.nan
    if count <= 0 or probability <= 0:
        return 0.0
    if probability >= 1:
        return count
    rarer = min(probability, 1.0 - probability)
    sample = _transformed_rejection_binomial if count * rarer >= 10 else _geometric_gaps
    successes = sample(count, rarer, uniform)
    return successes if probability <= 0.5 else count - successes


def _geometric_gaps(count: float, probability: float, uniform: Callable[[], float]) -> float:
    """Jump from success to success until the trials run out."""
    log_failure = math.log1p(-probability)
    trials = successes = 0.0
    while True:
        trials += math.ceil(math.log(uniform()) / log_failure)
        if trials > count:
            return successes
        successes += 1.0


def _stirling_tail(k: float) -> float:
    if k <= 9:
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _transformed_rejection_binomial(count: float, probability: float, uniform: Callable[[], float]) -> float:
    """Hörmann's BTRS (1993)."""
    deviation = math.sqrt(count * probability * (1 - probability))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * probability
    center = count * probability + 0.5
    quick = 0.92 - 4.2 / b
    odds = probability / (1 - probability)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((count + 1) * probability)
    while True:
        u = uniform() - 0.5
        v = uniform()
        margin = 0.5 - abs(u)
        k = math.floor((2 * a / margin + b) * u + center)
        if margin >= 0.07 and v <= quick:
            return float(k)
        if k < 0 or k > count:
            continue
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(count - mode)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        if math.log(v * alpha / (a / (margin * margin) + b)) <= bound:
            return float(k)

"""Samplers that reject and retry: Poisson, gamma, Dirichlet and binomial, bit for bit those of torch.

How many words an element takes depends on what was drawn, so elements are drawn one after the other, in float64
Python arithmetic with the C library's functions, as torch's own scalar loops do.
Lives here: those four. Does not live here: samplers with a fixed number of draws (streams.py,
discrete.py), argument checks and Tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .engine import Generator
from .streams import cast

_FLOAT64 = np.dtype(np.float64)
_ONE_THIRD = float(np.float32(1) / np.float32(3))
_SQUEEZE = float(np.float32(0.0331))
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


# ---------------------------------------------------------------------- gamma and its relatives


def standard_gamma(generator: Generator, concentration: np.ndarray) -> np.ndarray:
    """Gamma numbers of scale 1, in the dtype of ``concentration``, never below its smallest normal number.

    The dtype is float32 or float64: torch has no gamma numbers of half precision.
    """
    dtype = concentration.dtype
    values = _gammas(generator, concentration, dtype).astype(dtype)
    return np.maximum(values, np.finfo(dtype).tiny).reshape(concentration.shape)


def dirichlet(generator: Generator, concentration: np.ndarray) -> np.ndarray:
    """Points inside the simplex along the last axis, in the dtype of ``concentration``: no element is 0 or 1."""
    dtype = concentration.dtype
    gammas = _gammas(generator, concentration.astype(_FLOAT64), _FLOAT64).reshape(concentration.shape)
    gammas = np.maximum(gammas, np.finfo(_FLOAT64).tiny)
    total = gammas.sum(axis=-1, keepdims=True)
    points = cast(gammas / total, dtype)
    return np.clip(points, np.finfo(dtype).tiny, np.nextafter(dtype.type(1), dtype.type(0)), dtype=dtype)


def _gammas(generator: Generator, concentration: np.ndarray, dtype: np.dtype) -> np.ndarray:
    with generator.one_double_at_a_time(6 * concentration.size) as uniform:

        def normal() -> float:
            waiting = generator.cached_normal
            if waiting is not None:
                generator.cached_normal = None
                return waiting
            angle = 2.0 * math.pi * uniform()
            radius = math.sqrt(-2.0 * math.log1p(-uniform()))
            generator.cached_normal = radius * math.sin(angle)
            return radius * math.cos(angle)

        values = [_one_gamma(value, dtype.type, uniform, normal) for value in concentration.ravel()]
    return np.array(values, np.float64)


def _one_gamma(
    alpha: np.floating, scalar: type[np.floating], uniform: Callable[[], float], normal: Callable[[], float]
) -> float:
    """Marsaglia and Tsang (2000); a concentration below 1 is raised by 1 and paid for with a power of a uniform."""
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = math.pow(1 - uniform(), float(scalar(1) / alpha))
        alpha = alpha + scalar(1)
    d = float(alpha - scalar(_ONE_THIRD))
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal()
        y = 1.0 + c * x
        while y <= 0:
            x = normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1 - uniform()
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


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

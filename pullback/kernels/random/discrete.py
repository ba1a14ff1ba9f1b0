"""Random integers, permutations, masks and choices on NumPy arrays, bit for bit those of torch's CPU streams.

Each function takes a ``Generator``, draws exactly as many words as torch's kernel and returns a fresh array.
Lives here: randint, random_, randperm, Bernoulli, dropout and RReLU noise, multinomial.
Does not live here: the swaps of a shuffle (shuffling.py), continuous distributions (streams.py), rejection samplers
(rejection.py), argument checks and Tensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..thresholds import COMPARED_AT_ONCE, PERMUTED_BY_PYTHON, SWAPS_AT_ONCE
from .engine import Generator, Transform
from .shuffling import swap_in_turn
from .streams import Shape, exponential, sampled, uniform

_FLOAT32, _FLOAT64, _INT64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
_LOW_53_BITS = np.array(2**53 - 1, np.uint64)
_KINDS = 128  # transforms kept of each distribution
_INSIDE_OUT_FROM = (2**32 - 1) // 20
_NEGATIVE_SELU_LIMIT = 1.7580993408473766

# ---------------------------------------------------------------------- integers


def _largest_integer(dtype: np.dtype) -> int:
    """The end of the range of integers that the dtype holds without gaps."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    if dtype.kind == "b":
        return 1
    if dtype.kind == "f":
        return {2: 2**11, 4: 2**24, 8: 2**53}[dtype.itemsize]
    return 2**8  # bfloat16, which NumPy knows only as an extension type


def _remainder(bits: np.ndarray, span: int) -> np.ndarray:
    """bits % span; NumPy divides by a scalar with vector instructions, but takes remainders one by one."""
    divisor = bits.dtype.type(span)
    quotient = bits // divisor
    np.multiply(quotient, divisor, out=quotient)
    return np.subtract(bits, quotient, out=quotient)


def randint(generator: Generator, shape: Shape, dtype: np.dtype, low: int, high: int | None) -> np.ndarray:
    """Integers in [low, high); ``high=None`` goes up to the largest integer the dtype holds exactly."""
    if high is None:
        high = 2**63 if low == -(2**63) else _largest_integer(dtype) + 1
    return sampled(generator, shape, dtype, _integers_from(dtype, low, high), high - low >= 2**28)


@lru_cache(_KINDS)
def _integers_from(dtype: np.dtype, low: int, high: int) -> Transform:
    span = high - low

    def of_words(bits: np.ndarray) -> np.ndarray:
        values = _remainder(bits, span).astype(np.int64)
        return np.add(values, low, out=values).astype(dtype, copy=False)

    def of_pairs(bits: np.ndarray) -> np.ndarray:
        if span < 2**64:
            bits = _remainder(bits, span)
            np.add(bits, np.uint64(low % 2**64), out=bits)
        return (bits if dtype == np.uint64 else bits.view(np.int64)).astype(dtype, copy=False)

    return of_words if span < 2**28 else of_pairs


def random(generator: Generator, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Integers over the whole non-negative range of the dtype, as ``random_()`` without bounds."""
    return sampled(generator, shape, dtype, _all_integers_of(dtype), dtype.itemsize == 8)


@lru_cache(_KINDS)
def _all_integers_of(dtype: np.dtype) -> Transform:
    largest = _largest_integer(dtype)

    def transform(bits: np.ndarray) -> np.ndarray:
        if dtype.kind in "iub":
            np.bitwise_and(bits, bits.dtype.type(largest), out=bits)
        else:
            bits = _remainder(bits, largest + 1)
        return bits.astype(dtype)

    return transform


def randperm(generator: Generator, count: int, dtype: np.dtype = _INT64) -> np.ndarray:
    """A permutation of range(count) by torch's shuffle: step i swaps place i with a place drawn from [i, count)."""
    if count >= _INSIDE_OUT_FROM:
        content = np.arange(count)
        _shuffle_inside_out(generator, content)
        return content.astype(dtype, copy=False)
    if count < PERMUTED_BY_PYTHON:
        return np.array(_small_permutation(generator, count), dtype)
    content = np.arange(count, dtype=np.int32)  # half the memory to move about
    with generator.lock:
        for start in range(0, count - 1, SWAPS_AT_ONCE):
            bits = generator.bits32(min(SWAPS_AT_ONCE, count - 1 - start))
            choices = np.arange(count - start, count - start - bits.size, -1, dtype=bits.dtype)
            swap_in_turn(content[start:], np.remainder(bits, choices, out=bits))
    return content.astype(dtype, copy=False)


def _small_permutation(generator: Generator, count: int) -> list[int]:
    """The same for a few numbers, where calling NumPy would cost more than the arithmetic."""
    content = list(range(count))
    with generator.lock:
        for step, bits in enumerate(generator.bits32(max(count - 1, 0)).tolist()):
            target = step + bits % (count - step)
            content[step], content[target] = content[target], content[step]
    return content


def _shuffle_inside_out(generator: Generator, content: np.ndarray) -> None:
    """torch's other shuffle, for sizes where remainders of 32 bits would be uneven: step i targets [0, i]."""
    places = content.data
    with generator.lock:
        for start in range(0, content.size, SWAPS_AT_ONCE):
            bits = generator.bits64(min(SWAPS_AT_ONCE, content.size - start))
            targets = bits % np.arange(start + 1, start + 1 + bits.size, dtype=np.uint64)
            for step, target in enumerate(targets.tolist(), start):
                places[step] = places[target]
                places[target] = step


# ---------------------------------------------------------------------- masks


def bernoulli(generator: Generator, shape: Shape, dtype: np.dtype, p: float | np.ndarray) -> np.ndarray:
    """Ones with probability ``p``, a number or an array of ``shape`` (filled in the array's C order)."""
    if not isinstance(p, np.ndarray):
        return sampled(generator, shape, dtype, _chosen_from(dtype, p, 1.0), True)
    work = _FLOAT64 if p.dtype == _FLOAT64 else _FLOAT32
    return (uniform(generator, shape, work) < p.astype(work, copy=False)).astype(dtype, copy=False)


@lru_cache(_KINDS)
def _chosen_from(dtype: np.dtype, p: float, value: float) -> Transform:
    """``value`` with probability ``p``, else 0."""
    # k * 2**-53 < p exactly where the integer k lies below ceil(p * 2**53): no conversion to float64 is needed.
    threshold = np.uint64(math.ceil(p * 2.0**53))
    number = dtype.type(value)

    def transform(bits: np.ndarray) -> np.ndarray:
        np.bitwise_and(bits, _LOW_53_BITS, out=bits)
        chosen = (bits < threshold).astype(dtype)
        return chosen if value == 1 else np.multiply(chosen, number, out=chosen)

    return transform


def dropout_mask(generator: Generator, shape: Shape, dtype: np.dtype, p: float) -> np.ndarray:
    """The factors of dropout: 1 / (1 - p) where an element is kept, 0 where it is dropped.

    The mask is drawn in memory order; for a permuted input pass the shape of its memory and permute the mask.
    torch draws nothing when p is 0 or 1, or in evaluation: those cases belong to the caller.
    """
    return sampled(generator, shape, dtype, _chosen_from(dtype, 1.0 - p, _scale_of_kept(dtype, p)), True)


def _scale_of_kept(dtype: np.dtype, p: float) -> float:
    work = _FLOAT64 if dtype == _FLOAT64 else _FLOAT32
    return float(work.type(1) / work.type(1.0 - p))


def feature_noise_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of a mask that drops whole channels of an (N, C, ...) input."""
    return (*tuple(shape)[:2], *(1,) * (len(shape) - 2))


def alpha_dropout_noise(generator: Generator, shape: Shape, dtype: np.dtype, p: float) -> tuple[np.ndarray, np.ndarray]:
    """(scale, shift): alpha dropout of x is x * scale + shift, which keeps the mean and variance of SELU units."""
    kept = bernoulli(generator, shape, dtype, 1.0 - p)
    a = 1.0 / math.sqrt((_NEGATIVE_SELU_LIMIT * _NEGATIVE_SELU_LIMIT * p + 1.0) * (1.0 - p))
    limit = _NEGATIVE_SELU_LIMIT * a
    scalar = dtype.type
    shift = (kept - scalar(1)) * scalar(limit) + scalar(limit * p)
    return kept * scalar(a), shift


def rrelu_noise(generator: Generator, x: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """The slope of each element in training: uniform in [lower, upper) where x <= 0, else 1.

    Slopes of half precision inputs are float32: torch multiplies before it rounds.
    """
    work = _FLOAT64 if x.dtype == _FLOAT64 else _FLOAT32
    low, high = float(work.type(lower)), float(work.type(upper))
    noise = np.ones(x.shape, work)
    sloped = x <= 0
    with generator.lock:
        draws = generator.doubles(int(np.count_nonzero(sloped)))
    noise[sloped] = draws * (high - low) + low
    return noise


# ---------------------------------------------------------------------- choices


def multinomial(generator: Generator, probabilities: np.ndarray, samples: int, replacement: bool = False) -> np.ndarray:
    """Indices drawn by weight from the last axis of a one- or two-dimensional array, int64."""
    rows = probabilities.reshape(-1, probabilities.shape[-1])
    totals = np.add.reduce(rows, axis=-1, dtype=np.float64)
    # What is wrong with a weight shows in the smallest one or in a total, nan included.
    if not (np.minimum.reduce(rows, axis=None, initial=0) == 0 and np.isfinite(totals).all()):
        _refuse_weights(rows)
    if not (totals > 0).all():
        raise RuntimeError(
            "invalid multinomial distribution (sum of probabilities <= 0). "
            "At least one weight of each row must be positive."
        )
    draw = _race if samples == 1 or not replacement else _inverse_cumulative
    return draw(generator, rows, samples).reshape(*probabilities.shape[:-1], samples)


def _refuse_weights(rows: np.ndarray) -> None:
    """RuntimeError, unless it is only a total that overflows."""
    if not np.all(np.isfinite(rows) & (rows >= 0)):
        raise RuntimeError(
            "probability tensor contains either `inf`, `nan` or element < 0. "
            "Weights must be finite and not negative; look at what computed them."
        )


def _race(generator: Generator, rows: np.ndarray, samples: int) -> np.ndarray:
    """Exponential clocks: the largest weight / clock values win, so no index comes twice."""
    work = _FLOAT64 if rows.dtype == _FLOAT64 else _FLOAT32
    scores = rows / exponential(generator, rows.shape, rows.dtype)
    if samples == 1:
        return scores.astype(work, copy=False).argmax(axis=-1)[:, None]
    ranking = np.argsort(-scores.astype(work, copy=False), axis=-1, kind="stable")
    return np.ascontiguousarray(ranking[:, :samples])


def _inverse_cumulative(generator: Generator, rows: np.ndarray, samples: int) -> np.ndarray:
    work = _FLOAT64 if rows.dtype == _FLOAT64 else _FLOAT32
    cumulative: np.ndarray = np.cumsum(rows, axis=-1, dtype=work)
    cumulative = np.divide(cumulative, cumulative[:, -1:])
    cumulative[:, -1] = 1
    uniforms = uniform(generator, (len(rows), samples), _FLOAT64)
    bounds = cumulative.astype(_FLOAT64, copy=False)
    if len(rows) > 1 and uniforms.size * rows.shape[1] <= COMPARED_AT_ONCE:
        return np.count_nonzero(bounds[:, None, :] < uniforms[:, :, None], axis=-1)
    chosen = np.empty((len(rows), samples), np.int64)
    for row, draws, out in zip(bounds, uniforms, chosen):
        out[...] = np.searchsorted(row, draws, side="left")
    return chosen

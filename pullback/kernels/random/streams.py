"""Samplers on NumPy arrays whose numbers equal torch's CPU streams bit for bit.

Each function takes a ``Generator``, draws exactly as many words as torch's kernel of that name and returns a fresh
contiguous array. Half precision types (float16, bfloat16) follow torch: computed in float32 or float64, then cast.
A distribution is a function of draws, a ``Transform``; ``sampled`` applies it to the stream. The one for given
parameters is made once, as the generator keeps values by the transform that made them.
Lives here: uniform and normal numbers and what follows from them by a formula.
Does not live here: integers, masks and choices (discrete.py), samplers that reject and retry (rejection.py),
argument checks and Tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from threading import Lock

import numpy as np

from ..memory import empty
from ..threads import parallel_tasks, threads_to_share
from ..thresholds import CUT_OUT_NORMALS, CUT_OUT_SAMPLE, NORMALS_AT_ONCE, SAMPLED_AT_ONCE
from .engine import Generator, Transform, uniform_doubles
from .normals import float32_box_muller, fused_multiply_add

Shape = int | Sequence[int]
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_LOW_24_BITS, _UNIT = np.array(2**24 - 1, np.uint32), np.array(2.0**-24, np.float32)
_KINDS = 128  # transforms kept of each distribution


def size_of(shape: Shape) -> int:
    """The number of elements."""
    if isinstance(shape, int):
        return shape
    return shape[0] if len(shape) == 1 else math.prod(shape)


def cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast as C++ does: half precision types are reached through float32."""
    if values.dtype == _FLOAT64 and dtype.itemsize == 2 and dtype.kind in "fV":
        values = values.astype(_FLOAT32)
    return values.astype(dtype, copy=False)


def sampled(generator: Generator, shape: Shape, dtype: np.dtype, transform: Transform, wide: bool) -> np.ndarray:
    """A new array of values that ``transform`` makes of one draw each, in order, while nobody else draws."""
    count = size_of(shape)
    with generator.lock:
        if count <= CUT_OUT_SAMPLE:
            values = generator.few(count, transform, wide).copy()
            return values if values.shape == shape else values.reshape(shape)
        draw = generator.bits64 if wide else generator.bits32
        if count <= SAMPLED_AT_ONCE:
            return transform(draw(count)).reshape(shape)
        out = empty((shape,) if isinstance(shape, int) else tuple(shape), dtype)
        flat = out.reshape(-1)
        for start in range(0, count, SAMPLED_AT_ONCE):
            block = flat[start : start + SAMPLED_AT_ONCE]
            block[...] = transform(draw(block.size))
    return out


# ---------------------------------------------------------------------- uniform


def _units(bits: np.ndarray) -> np.ndarray:
    """Float32 uniforms in [0, 1), of 24 bits."""
    np.bitwise_and(bits, _LOW_24_BITS, out=bits)
    values = bits.view(np.int32).astype(_FLOAT32)
    return np.multiply(values, _UNIT, out=values)


def uniform(generator: Generator, shape: Shape, dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Uniform numbers in [low, high); a value that rounds up to ``high`` becomes ``low``."""
    return sampled(generator, shape, dtype, _uniform_from(dtype, low, high), dtype == _FLOAT64)


@lru_cache(_KINDS)
def _uniform_from(dtype: np.dtype, low: float, high: float) -> Transform:
    """Float64 uniforms come from two words each, float32 and half precision ones from one."""
    units, work = (uniform_doubles, _FLOAT64) if dtype == _FLOAT64 else (_units, _FLOAT32)
    start, end = work.type(low), work.type(high)
    start_value, end_value = dtype.type(start), dtype.type(end)
    unit_interval = start == 0 and end == 1
    if unit_interval and dtype == work:
        return units

    def transform(bits: np.ndarray) -> np.ndarray:
        values = units(bits)
        if not unit_interval:
            values = fused_multiply_add(values, end - start, start, work)
        values = values.astype(dtype, copy=False)
        np.copyto(values, start_value, where=values == end_value)
        return values

    return transform


# ---------------------------------------------------------------------- normal


def standard_normal(generator: Generator, shape: Shape, dtype: np.dtype, contiguous: bool = True) -> np.ndarray:
    """Normals of mean 0 and standard deviation 1; see ``normal``."""
    return normal(generator, shape, dtype, 0.0, 1.0, contiguous)


def normal(
    generator: Generator,
    shape: Shape,
    dtype: np.dtype,
    mean: float = 0.0,
    std: float = 1.0,
    contiguous: bool = True,
) -> np.ndarray:
    """Normals. ``contiguous=False`` gives what torch writes into a tensor that is not contiguous.

    Fewer than 16 values, and all values of a tensor that is not contiguous, come one pair at a time from float64
    Box-Muller and share the generator's cached normal; the others come in blocks of 16.
    """
    count = size_of(shape)
    with generator.lock:
        if count < 16 or not contiguous:
            values = _in_pairs(generator, count, dtype, mean, std)
            return values if values.shape == shape else values.reshape(shape)
        out = empty((shape,) if isinstance(shape, int) else tuple(shape), dtype)
        _fill_by_16(generator, out.reshape(-1), _sixteens_from(dtype, mean, std))
    return out


def _fill_by_16(generator: Generator, out: np.ndarray, transform: Transform) -> None:
    """Normals in blocks of 16, at least one block.

    A last block that is not full makes torch write 16 new normals over the last 16 places. By then float32 and
    float64 have drawn a uniform for every element, the half types only for the elements of full blocks.
    """
    rest = out.size % 16
    wide = out.dtype == _FLOAT64
    _fill_full_blocks(generator, out[: out.size - rest], transform, wide)
    if rest:
        if out.dtype.itemsize > 2:
            generator.take(2 * rest if wide else rest)
        _fill_full_blocks(generator, out[-16:], transform, wide)


def _fill_full_blocks(generator: Generator, out: np.ndarray, transform: Transform, wide: bool) -> None:
    if out.size <= CUT_OUT_NORMALS:
        out.reshape(-1, 16)[...] = generator.few(out.size // 16, transform, wide, 16)
        return
    draw = generator.bits64 if wide else generator.bits32
    pieces = -(-out.size // NORMALS_AT_ONCE)
    if pieces > 1:
        pieces += -pieces % threads_to_share()  # as many for each thread
    length = -(-out.size // (16 * pieces)) * 16
    starts = range(0, out.size, length)
    waiting = iter(starts)
    turn = Lock()

    def fill_next() -> None:
        # Threads draw in turn, in the order of the blocks; one draws while others transform.
        with turn:
            start = next(waiting)
            block = out[start : start + length]
            draws = draw(block.size)
        block.reshape(-1, 16)[...] = transform(draws)

    parallel_tasks(fill_next, [()] * len(starts))


@lru_cache(_KINDS)
def _sixteens_from(dtype: np.dtype, mean: float, std: float) -> Transform:
    """Rows of 16 normals from as many draws: 8 make radii and 8 make angles."""
    work, box_muller = (_FLOAT64, _box_muller) if dtype == _FLOAT64 else (_FLOAT32, float32_box_muller)
    shift, factor = work.type(mean), work.type(std)

    def transform(draws: np.ndarray) -> np.ndarray:
        normals = box_muller(draws)
        if shift != 0 or factor != 1:
            normals = fused_multiply_add(normals, factor, shift, work)
        return normals.astype(dtype, copy=False).reshape(-1, 16)

    return transform


def _box_muller(bits: np.ndarray) -> np.ndarray:
    draws = uniform_doubles(bits)
    pairs = draws.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * c_library("log", 1.0 - pairs[:, 0]))
    angle = (2.0 * math.pi) * pairs[:, 1]
    np.multiply(radius, c_library("cos", angle), out=pairs[:, 0])
    np.multiply(radius, c_library("sin", angle), out=pairs[:, 1])
    return np.add(draws, 0.0, out=draws)  # -0.0 becomes 0.0, as when a mean of zero is added


def _in_pairs(generator: Generator, count: int, dtype: np.dtype, mean: float, std: float) -> np.ndarray:
    """Normals two at a time; the second of an incomplete pair waits in the generator for the next call."""
    transform = _pairs_from(dtype, mean, std)
    waiting = generator.cached_normal if count else None
    pairs, single = divmod(count if waiting is None else count - 1, 2)
    if 4 * pairs <= CUT_OUT_SAMPLE:
        values = generator.few(pairs, transform, True, 2).reshape(-1)
    else:
        values = transform(generator.bits64(2 * pairs)).reshape(-1)
    if waiting is None and not single:
        return values.copy()
    generator.cached_normal = None
    out = np.empty(count, dtype)
    out[count - single - values.size : count - single] = values
    if waiting is not None:
        out[0] = _finished(waiting, dtype, mean, std)
    if single:
        turn, tail = generator.few(2, uniform_doubles, True).tolist()
        radius, angle = math.sqrt(-2.0 * math.log1p(-tail)), 2.0 * math.pi * turn
        out[-1] = _finished(radius * math.cos(angle), dtype, mean, std)
        generator.cached_normal = radius * math.sin(angle)
    return out


def _finished(standard: float, dtype: np.dtype, mean: float, std: float) -> float:
    """A single normal; half precision types are reached through float32."""
    value = standard * std + 0.0
    if mean:
        value = fused_multiply_add(np.array([standard]), std, mean, _FLOAT64).item()
    return float(np.float32(value)) if dtype.itemsize == 2 else value


@lru_cache(_KINDS)
def _pairs_from(dtype: np.dtype, mean: float, std: float) -> Transform:
    """Rows of two normals from two draws, computed in float64."""

    def formula(draws: np.ndarray, function: Function) -> np.ndarray:
        angle = (2.0 * math.pi) * draws[:, 0]
        radius = np.sqrt(-2.0 * function("log1p", -draws[:, 1]))
        normals = np.empty(draws.shape)
        np.multiply(radius, function("cos", angle), out=normals[:, 0])
        np.multiply(radius, function("sin", angle), out=normals[:, 1])
        return fused_multiply_add(normals.reshape(-1), std, mean, _FLOAT64).reshape(-1, 2)

    return lambda bits: _evaluate(formula, uniform_doubles(bits).reshape(-1, 2), dtype, abs(mean))


def log_normal(generator: Generator, shape: Shape, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """exp of normals, always from the pairwise float64 stream."""
    with generator.lock:
        exponents = _in_pairs(generator, size_of(shape), _FLOAT64, mean, std)
    return _evaluate(lambda x, function: function("exp", x), exponents, dtype).reshape(shape)


# ---------------------------------------------------------------------- functions of the C library


Function = Callable[[str, np.ndarray], np.ndarray]  # a function of the C library by its name


def c_library(name: str, x: np.ndarray) -> np.ndarray:
    """log, log1p, sin, cos, tan or exp with the C library's last bit, which torch's float64 samplers have."""
    if name not in _numpy_agrees:
        low, high = (-1.0, 0.0) if name == "log1p" else (0.0, 2.0 * math.pi)
        probe = np.linspace(low, high, 4099)[1:-1]
        _numpy_agrees[name] = bool(np.all(getattr(np, name)(probe) == list(map(getattr(math, name), probe.tolist()))))
    if _numpy_agrees[name]:
        return getattr(np, name)(x)
    return np.fromiter(map(getattr(math, name), x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


# NumPy's vector loops differ from the C library in the last bit on some processors; found out on first use.
_numpy_agrees: dict[str, bool] = {}


def _numpy(name: str, x: np.ndarray) -> np.ndarray:
    return getattr(np, name)(x)


def _evaluate(
    formula: Callable[[np.ndarray, Function], np.ndarray], x: np.ndarray, dtype: np.dtype, shift: float = 0.0
) -> np.ndarray:
    """formula(x) as the C library rounds it, cast to ``dtype``.

    A last bit in float64 shows in a narrower result only next to a rounding boundary of float32, or where adding
    ``shift`` has cancelled most of the value: there, and for float64 results, the C library's own functions are
    called; everywhere else NumPy's fast ones.
    """
    if dtype == _FLOAT64:
        return formula(x, c_library)
    values = formula(x, _numpy)
    distance = (values.view(np.int64) + (16 - (1 << 28))) & ((1 << 29) - 1)
    doubtful = distance <= 32
    if shift:
        doubtful |= np.abs(values) < shift
    close = np.nonzero(doubtful)[0]
    if close.size:
        values[close] = formula(x[close], c_library)
    return cast(values, dtype)


# ---------------------------------------------------------------------- inverse distribution functions


def exponential(generator: Generator, shape: Shape, dtype: np.dtype, rate: float = 1.0) -> np.ndarray:
    """Exponential numbers of the given rate."""
    return sampled(generator, shape, dtype, _exponential_from(dtype, rate), True)


@lru_cache(_KINDS)
def _exponential_from(dtype: np.dtype, rate: float) -> Transform:
    scale = -1.0 / rate
    return lambda bits: _evaluate(lambda u, function: scale * function("log1p", -u), uniform_doubles(bits), dtype)


def cauchy(generator: Generator, shape: Shape, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """Cauchy numbers."""
    return sampled(generator, shape, dtype, _cauchy_from(dtype, median, sigma), True)


@lru_cache(_KINDS)
def _cauchy_from(dtype: np.dtype, median: float, sigma: float) -> Transform:
    def formula(u: np.ndarray, function: Function) -> np.ndarray:
        return fused_multiply_add(function("tan", math.pi * (u - 0.5)), sigma, median, _FLOAT64)

    return lambda bits: _evaluate(formula, uniform_doubles(bits), dtype, abs(median))


def geometric(generator: Generator, shape: Shape, dtype: np.dtype, p: float) -> np.ndarray:
    """The number of trials of probability ``p`` (0 < p < 1) up to the first success."""
    return sampled(generator, shape, dtype, _geometric_from(dtype, p), True)


@lru_cache(_KINDS)
def _geometric_from(dtype: np.dtype, p: float) -> Transform:
    logarithm_of_failure = math.log1p(-p)

    def transform(bits: np.ndarray) -> np.ndarray:
        draws = uniform_doubles(bits)
        trials = np.log(draws) / logarithm_of_failure
        # NumPy's last bit matters only next to a whole number.
        close = np.flatnonzero(np.abs(trials - np.rint(trials)) < 1e-12 * np.abs(trials))
        if close.size:
            trials[close] = c_library("log", draws[close]) / logarithm_of_failure
        return cast(np.ceil(trials), dtype)

    return transform

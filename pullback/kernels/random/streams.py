"""Samplers on NumPy arrays whose numbers equal torch's CPU streams bit for bit.

Each function takes a ``Generator``, draws exactly as many words as torch's kernel of that name and returns a fresh
contiguous array. Half precision types (float16, bfloat16) follow torch: computed in float32 or float64, then cast.
Lives here: uniform and normal numbers and what follows from them by a formula.
Does not live here: integers, masks and choices (discrete.py), samplers that reject and retry (rejection.py),
argument checks and Tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np

from ..threads import parallel_tasks
from .engine import FEW, Generator
from .normals import few_normals, float32_box_muller, fused_multiply_add

Shape = int | Sequence[int]
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_LOW_24_BITS, _UNIT = np.array(2**24 - 1, np.uint32), np.array(2.0**-24, np.float32)
_BLOCK = 1 << 15  # values for each pass: draws and results stay in the cache
_NORMALS_AT_ONCE = 1 << 16  # for each thread


def size_of(shape: Shape) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)


def cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast as C++ does: half precision types are reached through float32."""
    if values.dtype == _FLOAT64 and dtype.itemsize == 2 and dtype.kind in "fV":
        values = values.astype(_FLOAT32)
    return values.astype(dtype, copy=False)


def in_blocks(generator: Generator, count: int, dtype: np.dtype, fill: Callable[[np.ndarray], None]) -> np.ndarray:
    """A new array that ``fill`` writes block by block, in order, while nobody else draws."""
    out = np.empty(count, dtype)
    with generator.lock:
        if count <= _BLOCK:
            fill(out)
            return out
        for start in range(0, count, _BLOCK):
            fill(out[start : start + _BLOCK])
    return out


# ---------------------------------------------------------------------- uniform


def uniforms(generator: Generator, count: int, dtype: np.dtype) -> np.ndarray:
    """Uniforms in [0, 1): float64 from two words each, float32 (for every other dtype) from one."""
    if dtype == _FLOAT64:
        return generator.few_doubles(count).copy() if 2 * count <= FEW else generator.doubles(count)
    if count <= FEW:
        return generator.few_units(count).copy()
    bits = generator.bits32(count)
    np.bitwise_and(bits, _LOW_24_BITS, out=bits)
    values = bits.view(np.int32).astype(_FLOAT32)
    return np.multiply(values, _UNIT, out=values)


def uniform(
    generator: Generator, shape: Shape, dtype: np.dtype, low: float = 0.0, high: float = 1.0
) -> np.ndarray:
    """Uniform numbers in [low, high); a value that rounds up to ``high`` becomes ``low``."""
    count = size_of(shape)
    if low == 0 and high == 1 and (dtype == _FLOAT32 or dtype == _FLOAT64) and count <= _BLOCK:
        with generator.lock:
            return uniforms(generator, count, dtype).reshape(shape)
    work = _FLOAT64 if dtype == _FLOAT64 else _FLOAT32
    start, end = work.type(low), work.type(high)
    start_value, end_value = dtype.type(start), dtype.type(end)
    unit_interval = start == 0 and end == 1

    def sample(number: int) -> np.ndarray:
        values = uniforms(generator, number, dtype)
        if not unit_interval:
            values = fused_multiply_add(values, end - start, start, work)
        if dtype != work:
            values = values.astype(dtype)
        if not (unit_interval and dtype == work):
            np.copyto(values, start_value, where=values == end_value)
        return values

    if count <= _BLOCK:
        with generator.lock:
            return sample(count).reshape(shape)

    def fill(block: np.ndarray) -> None:
        block[...] = sample(block.size)

    return in_blocks(generator, count, dtype, fill).reshape(shape)


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
    if count < 16 and mean == 0 and std == 1 and dtype.itemsize > 2:
        with generator.lock:
            return np.array(_few_paired_normals(generator, count), dtype).reshape(shape)
    if count < 16 or not contiguous:
        values = cast(fused_multiply_add(_paired_normals(generator, count), std, mean, _FLOAT64), dtype)
        return values.reshape(shape)
    work = _FLOAT64 if dtype == _FLOAT64 else _FLOAT32
    return _normals_by_16(generator, count, dtype, work, work.type(mean), work.type(std)).reshape(shape)


def _normals_by_16(
    generator: Generator, count: int, dtype: np.dtype, work: np.dtype, mean: np.floating, std: np.floating
) -> np.ndarray:
    """Normals in blocks of 16, at least one block; drawn together, then transformed in place.

    A last block that is not full makes torch write 16 new normals over the last 16 places. By then float32 and
    float64 have drawn a uniform for every element, the half types only for the elements of full blocks.
    """
    rest = count % 16
    wide = work == _FLOAT64
    draw = generator.doubles if wide else generator.bits32
    with generator.lock:
        values = _full_blocks_of_16(generator, count - rest, wide)
        if rest:
            if dtype == work:
                draw(rest)
            values = np.concatenate((values[: count - 16], _full_blocks_of_16(generator, 16, wide)))
    if mean != 0 or std != 1:
        for start in range(0, count, _BLOCK):
            block = values[start : start + _BLOCK]
            block[...] = fused_multiply_add(block, std, mean, work)
    return values.astype(dtype, copy=False)


def _full_blocks_of_16(generator: Generator, count: int, wide: bool) -> np.ndarray:
    """Standard normals, float64 if ``wide``, else float32."""
    if not wide and count <= FEW:
        return few_normals(generator, count)
    draw, transform = (generator.doubles, _box_muller) if wide else (generator.bits32, float32_box_muller)
    if count <= _NORMALS_AT_ONCE:
        draws = draw(count)
        transform(draws)
        return draws if wide else draws.view(np.float32)
    draws = np.empty(count, np.float64 if wide else np.uint32)
    starts = iter(range(0, count, _NORMALS_AT_ONCE))
    turn = Lock()

    def fill_next() -> None:
        # Threads draw in turn, in the order of the blocks; one draws while others transform.
        with turn:
            start = next(starts)
            block = draws[start : start + _NORMALS_AT_ONCE]
            block[...] = draw(block.size)
        transform(block)

    parallel_tasks(fill_next, [()] * -(-count // _NORMALS_AT_ONCE))
    return draws if wide else draws.view(np.float32)


def _box_muller(draws: np.ndarray) -> None:
    """Turn uniforms into normals in place: of each 16, 8 make radii and 8 make angles."""
    pairs = draws.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * _c_library("log", 1.0 - pairs[:, 0]))
    angle = (2.0 * math.pi) * pairs[:, 1]
    np.multiply(radius, _c_library("cos", angle), out=pairs[:, 0])
    np.multiply(radius, _c_library("sin", angle), out=pairs[:, 1])
    np.add(draws, 0.0, out=draws)  # -0.0 becomes 0.0, as when a mean of zero is added


def _paired_normals(generator: Generator, count: int) -> np.ndarray:
    """Standard normals, float64; the second of an incomplete pair waits in the generator for the next call."""
    with generator.lock:
        if count < 32:
            return np.array(_few_paired_normals(generator, count), _FLOAT64)
        first = [] if generator.cached_normal is None else [generator.cached_normal]
        generator.cached_normal = None
        missing = count - len(first)
        values = _paired_box_muller(generator.doubles(missing + missing % 2))
        if missing % 2:
            generator.cached_normal = float(values[-1])
    return np.concatenate((first, values[:missing]))


def _few_paired_normals(generator: Generator, count: int) -> list[float]:
    """The same for a handful, where calling NumPy would cost more than the arithmetic."""
    values: list[float] = []
    if count and generator.cached_normal is not None:
        values.append(generator.cached_normal)
        generator.cached_normal = None
    missing = count - len(values)
    draws = generator.few_doubles(missing + missing % 2).tolist()
    for turn, tail in zip(draws[0::2], draws[1::2]):
        angle = 2.0 * math.pi * turn
        radius = math.sqrt(-2.0 * math.log1p(-tail))
        # Adding zero makes 0.0 of -0.0, as adding a mean of zero does.
        values += (radius * math.cos(angle) + 0.0, radius * math.sin(angle) + 0.0)
    if missing % 2:
        generator.cached_normal = values.pop()
    return values


def _paired_box_muller(draws: np.ndarray) -> np.ndarray:
    angle = (2.0 * math.pi) * draws[0::2]
    radius = np.sqrt(-2.0 * _c_library("log1p", -draws[1::2]))
    values = np.empty(draws.size)
    np.multiply(radius, _c_library("cos", angle), out=values[0::2])
    np.multiply(radius, _c_library("sin", angle), out=values[1::2])
    return values


def log_normal(
    generator: Generator, shape: Shape, dtype: np.dtype, mean: float = 1.0, std: float = 2.0
) -> np.ndarray:
    """exp of normals, always from the pairwise float64 stream."""
    exponents = fused_multiply_add(_paired_normals(generator, size_of(shape)), std, mean, _FLOAT64)
    return _evaluate(lambda x, function: function("exp", x), exponents, dtype).reshape(shape)


# ---------------------------------------------------------------------- functions of the C library


def _c_library(name: str, x: np.ndarray) -> np.ndarray:
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


def _evaluate(
    formula: Callable[[np.ndarray, Callable[[str, np.ndarray], np.ndarray]], np.ndarray],
    x: np.ndarray,
    dtype: np.dtype,
) -> np.ndarray:
    """formula(x) as the C library rounds it, cast to ``dtype``.

    A last bit in float64 shows in a narrower result only next to a rounding boundary of float32: there, and for
    float64 results, the C library's own functions are called; everywhere else NumPy's fast ones.
    """
    if dtype == _FLOAT64:
        return formula(x, _c_library)
    values = formula(x, lambda name, argument: getattr(np, name)(argument))
    distance = (values.view(np.int64) + (16 - (1 << 28))) & ((1 << 29) - 1)
    close = np.flatnonzero(distance <= 32)
    if close.size:
        values[close] = formula(x[close], _c_library)
    return cast(values, dtype)


# ---------------------------------------------------------------------- inverse distribution functions


def exponential(generator: Generator, shape: Shape, dtype: np.dtype, rate: float = 1.0) -> np.ndarray:
    """Exponential numbers of the given rate."""
    scale = -1.0 / rate

    def fill(block: np.ndarray) -> None:
        uniforms = generator.doubles(block.size)
        block[...] = _evaluate(lambda u, function: scale * function("log1p", -u), uniforms, dtype)

    return in_blocks(generator, size_of(shape), dtype, fill).reshape(shape)


def cauchy(
    generator: Generator, shape: Shape, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0
) -> np.ndarray:
    """Cauchy numbers."""

    def formula(u: np.ndarray, function: Callable[[str, np.ndarray], np.ndarray]) -> np.ndarray:
        return fused_multiply_add(function("tan", math.pi * (u - 0.5)), sigma, median, _FLOAT64)

    def fill(block: np.ndarray) -> None:
        block[...] = _evaluate(formula, generator.doubles(block.size), dtype)

    return in_blocks(generator, size_of(shape), dtype, fill).reshape(shape)


def geometric(generator: Generator, shape: Shape, dtype: np.dtype, p: float) -> np.ndarray:
    """The number of trials of probability ``p`` (0 < p < 1) up to the first success."""
    logarithm_of_failure = math.log1p(-p)

    def fill(block: np.ndarray) -> None:
        draws = generator.doubles(block.size)
        trials = np.log(draws) / logarithm_of_failure
        # NumPy's last bit matters only next to a whole number.
        close = np.flatnonzero(np.abs(trials - np.rint(trials)) < 1e-12 * np.abs(trials))
        if close.size:
            trials[close] = _c_library("log", draws[close]) / logarithm_of_failure
        block[...] = cast(np.ceil(trials), dtype)

    return in_blocks(generator, size_of(shape), dtype, fill).reshape(shape)

"""Float32 Box-Muller exactly as torch's vectorised CPU kernel computes it.

torch evaluates log, sin and cos of float32 normals with short polynomials in fused multiply-adds, not with the
C library, so bit-equal samples need the same polynomials with a single rounding for each fused step. NumPy has no
fused multiply-add: here a step is taken in float64, where a product of two float32 numbers is exact, and rounded
once to float32; or, in the logarithm, as half of a complex product, which NumPy fuses where the processor can.
Inputs are 24-bit integers, so the polynomials were checked on all 2**24 of them.
Lives here: that arithmetic, block by block in buffers that stay in the cache, and exact fused multiply-adds for
whole arrays. Does not live here: drawing bits and choosing which normal algorithm applies.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from ...core.basics.quiet import restore, silence, warning_settings
from ..thresholds import PAIRS_PER_BLOCK

Number = float | np.floating

_FLOAT32 = np.dtype(np.float32)
_EIGHT_WORDS = np.dtype("V32")  # moves eight 4-byte values at once


def _float32(*values: float) -> tuple[np.ndarray, ...]:
    """Constants as zero-dimensional arrays, which NumPy's functions take faster than scalars."""
    return tuple(np.array(value, np.float32) for value in values)


def _float64(*values: float) -> tuple[np.ndarray, ...]:
    """Float32 constants in float64 arrays."""
    return tuple(np.array(np.float32(value), np.float64) for value in values)


def _int32(*values: int) -> tuple[np.ndarray, ...]:
    return tuple(np.array(value, np.int32) for value in values)


def _column(*values: float) -> np.ndarray:
    """Float32 constants as a column, one for each row of a pair of arrays."""
    return np.array([[np.float32(value)] for value in values], np.float64)


def _on_grid(constants: np.ndarray, *exponents: int) -> tuple[np.ndarray, np.ndarray]:
    """(constants + grid, grid): adding one and subtracting the other adds a constant and rounds to float32.

    The grid 1.5 * 2**(exponent + 29) has float32's spacing for sums of magnitude [2**exponent, 2**(exponent + 1)).
    """
    grid = np.array([[1.5 * 2.0 ** (exponent + 29)] for exponent in exponents])
    return constants + grid, grid


_LOG_COEFFICIENTS = _float64(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LOG_START = np.array(complex(_LOG_COEFFICIENTS[1], _LOG_COEFFICIENTS[0]), np.complex64)
_LOG_STEPS = _float32(*map(float, _LOG_COEFFICIENTS[2:]))
_LOG2_HIGH, _LOG2_LOW = _float32(0.693359375, -2.12194440e-4)
# Of the cosine and of the sine, in this order.
_LEADING = _column(2.443315711809948e-5, -1.9515295891e-4)
_SECOND = _on_grid(_column(-1.388731625493765e-3, 8.3321608736e-3), -10, -7)
_THIRD = _on_grid(_column(4.166664568298827e-2, -1.6666654611e-1), -5, -3)
_LAST = _column(-0.5, 1.0)
# pi/2 in torch's three parts, but 2**-24 has gone from the last to the second: so each multiple is exact in float32.
_HALF_PI = _float32(
    1.5703125, 4.837512969970703125e-4 + 2.0**-24, 2 * float(np.float32(3.77489497744594108e-8)) - 2.0**-24
)
(_ANGLE_PER_UNIT,) = _float32(2.0 * np.pi * 2.0**-24)
_ZERO, _HALF, _ONE, _MINUS_TWO = _float32(0, 0.5, 1, -2)
_SQRT_HALF, _SQRT_HALF_TO_ONE, _MANTISSA, _LOW_24_BITS, _TWO_TO_24 = _int32(
    0x3F3504F3, 0x3F800000 - 0x3F3504F3 - ((127 + 24) << 23), 0x7FFFFF, 2**24 - 1, 2**24
)  # 127: the exponent of 1 as it is stored; 24: of k in k * 2**-24
_EIGHTH_TURN, _INT_2, _INT_22, _INT_23, _INT_30, _INT_31 = _int32(2**21, 2, 22, 23, 30, 31)

_HALF_LAST_BIT, _FLOAT32_BITS = np.array(1 << 28), np.array(-(1 << 29))


class _Workspace:
    """Scratch arrays that one thread reuses for every block; pairs hold a cosine's row and a sine's row."""

    def __init__(self) -> None:
        self.float64 = _aligned(2, np.float64)
        self.factors = _aligned(2, np.float64)
        self.float32 = _aligned(4, np.float32)
        self.bits = _aligned(1, np.int32)[0]
        self.units = _aligned(2, np.int32)  # and results, once the units are read
        self.factor = _aligned(1, np.complex64)[0]
        self.factor.imag = 1
        self.sum = self.factors[0].view(np.complex64)


def _aligned(rows: int, dtype: type) -> np.ndarray:
    """Rows that start on cache lines: vector loops that straddle two lines take up to twice the time."""
    size = rows * PAIRS_PER_BLOCK * np.dtype(dtype).itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(rows, PAIRS_PER_BLOCK)


_thread = threading.local()


def float32_box_muller(bits: np.ndarray) -> np.ndarray:
    """Turn 32-bit draws (contiguous uint32, a multiple of 16) into float32 normals, in the same memory.

    Of each 16 draws, 8 make radii and 8 make angles. Below, results go to the last argument, and copies are assignments:
    that is quicker than names of arguments and `copyto`, and threads wait for each other between NumPy's functions.
    """
    work = _workspace()
    groups = bits.view(_EIGHT_WORDS).reshape(-1, 2)
    rows = PAIRS_PER_BLOCK // 8
    for start in range(0, len(groups), rows):
        block = groups[start : start + rows].T
        units = work.units[:, : 8 * block.shape[1]]
        units.view(_EIGHT_WORDS)[...] = block
        np.bitwise_and(units, _LOW_24_BITS, units)
        np.subtract(_TWO_TO_24, units[0], units[0])  # 1 - u, never zero
        radius = _radius(units[0], work)
        normals = _cosine_and_sine(units[1], work)
        np.multiply(normals, radius, normals)
        if radius.min() == 0:
            np.add(normals, _ZERO, normals)  # -0.0 becomes 0.0, as when a mean of zero is added
        block[...] = normals.view(_EIGHT_WORDS)
    return bits.view(np.float32)


def _workspace() -> _Workspace:
    work = getattr(_thread, "workspace", None)
    if work is None:
        work = _thread.workspace = _Workspace()
    return work


def _round_to_float32(bits: np.ndarray) -> None:
    """Round float64 values to float32, as bits: drop 29 of 52. That halves go away from zero changes no result here."""
    np.add(bits, _HALF_LAST_BIT, bits)
    np.bitwise_and(bits, _FLOAT32_BITS, bits)


def _radius(units: np.ndarray, work: _Workspace) -> np.ndarray:
    """sqrt(-2 log(k * 2**-24)) for int32 k in [1, 2**24]."""
    n = units.size
    mantissa, exponent, square = work.float32[:3, :n]
    bits = work.bits[:n]
    rounded = bits.view(np.float32)
    # Split into 2**exponent * (1 + x) with x in [sqrt(1/2) - 1, sqrt(2) - 1); all of it is exact.
    mantissa[...] = units
    np.add(mantissa.view(np.int32), _SQRT_HALF_TO_ONE, bits)
    np.right_shift(bits, _INT_23, mantissa.view(np.int32))
    exponent[...] = mantissa.view(np.int32)
    np.bitwise_and(bits, _MANTISSA, bits)
    np.add(bits, _SQRT_HALF, bits)
    np.subtract(rounded, _ONE, mantissa)
    np.multiply(mantissa, mantissa, square)
    polynomial = _fused_polynomial if complex_products_fuse(_FLOAT32) else _wide_polynomial
    tail = polynomial(mantissa, exponent, square, work)
    # From here every product is exact in float32, so plain float32 steps equal the fused ones.
    np.multiply(square, _HALF, square)
    np.subtract(tail, square, rounded)
    np.add(mantissa, rounded, mantissa)
    np.multiply(exponent, _LOG2_HIGH, exponent)
    np.add(exponent, mantissa, mantissa)
    np.multiply(mantissa, _MINUS_TWO, mantissa)
    return np.sqrt(mantissa, mantissa)


def _fused_polynomial(x: np.ndarray, exponent: np.ndarray, square: np.ndarray, work: _Workspace) -> np.ndarray:
    """The difference between log(1 + x) and x - x^2 / 2, plus the low part of exponent * log 2.

    The imaginary part of (x + i)(c + p i) is x p + c, rounded once; its real part is not wanted.
    """
    factor, total = work.factor[: x.size], work.sum[: x.size]
    factor.real[...] = x
    np.multiply(factor, _LOG_START, total)
    real, result = total.real, total.imag
    for coefficient in _LOG_STEPS:
        real[...] = coefficient
        np.multiply(factor, total, total)
    factor.real[...] = square
    np.multiply(result, x, result)
    np.multiply(exponent, _LOG2_LOW, real)
    np.multiply(factor, total, total)
    return result


def _wide_polynomial(mantissa: np.ndarray, exponent: np.ndarray, square: np.ndarray, work: _Workspace) -> np.ndarray:
    """The same in float64."""
    wide, x = work.float64[:, : mantissa.size]
    rounded = work.bits[: mantissa.size].view(np.float32)
    x[...] = mantissa
    np.multiply(x, _LOG_COEFFICIENTS[0], wide)
    wide_bits = wide.view(np.int64)
    for coefficient in _LOG_COEFFICIENTS[1:-1]:
        np.add(wide, coefficient, wide)
        _round_to_float32(wide_bits)
        np.multiply(wide, x, wide)
    np.add(wide, _LOG_COEFFICIENTS[-1], wide)
    rounded[...] = wide
    np.multiply(rounded, mantissa, rounded)
    wide[...] = rounded
    x[...] = square
    np.multiply(wide, x, wide)
    np.multiply(exponent, _LOG2_LOW, rounded)
    x[...] = rounded
    np.add(wide, x, wide)
    rounded[...] = wide
    return rounded


def _cosine_and_sine(units: np.ndarray, work: _Workspace) -> np.ndarray:
    """Rows of cos and sin of the float32 angle 2 pi k 2**-24 for int32 k in [0, 2**24)."""
    n = units.size
    x, square, part = work.float32[1:, :n]
    results, wide, factors = work.units.view(np.float32)[:, :n], work.float64[:, :n], work.factors[:, :n]
    wide_square, wide_x = factors
    quadrant = work.bits[:n]
    x[...] = units
    np.multiply(x, _ANGLE_PER_UNIT, x)
    np.add(units, _EIGHTH_TURN, quadrant)
    np.right_shift(quadrant, _INT_22, quadrant)
    # Take quadrant * pi/2 away in three parts; only the last subtraction rounds.
    square[...] = quadrant
    for half_pi in _HALF_PI:
        np.multiply(square, half_pi, part)
        np.subtract(x, part, x)
    np.multiply(x, x, square)
    wide_x[...] = x
    wide_square[...] = square
    # Both polynomials at once: cos = 1 + (p - 1/2) x^2 and sin = (p + 1) x, with p of degree 2 in x^2, times x^2.
    np.multiply(wide_square, _LEADING, wide)
    _add_on_grid(wide, *_SECOND)
    np.multiply(wide, wide_square, wide)
    _add_on_grid(wide, *_THIRD)
    np.multiply(wide, wide_square, wide)
    _round_to_float32(wide.view(np.int64))
    np.add(wide, _LAST, wide)
    np.multiply(wide, factors, wide)
    results[...] = wide
    np.add(results[0], _ONE, results[0])
    _rotate(results.view(np.int32), quadrant, square.view(np.int32), part.view(np.int32))
    return results


def _add_on_grid(wide: np.ndarray, constant_and_grid: np.ndarray, grid: np.ndarray) -> None:
    """wide + constant rounded to float32, where all the sums of a row share one exponent; see ``_on_grid``."""
    np.add(wide, constant_and_grid, wide)
    np.subtract(wide, grid, wide)


def _rotate(results: np.ndarray, quadrant: np.ndarray, swap: np.ndarray, sign: np.ndarray) -> None:
    """Swap and negate, as bits, the cosine and sine of the reduced angle; the quadrants are 0 to 4."""
    cosine, sine = results
    np.left_shift(quadrant, _INT_31, sign)  # the sign bit, set in quadrants 1 and 3
    np.right_shift(sign, _INT_31, swap)  # all bits there
    np.bitwise_xor(sine, sign, sine)  # cos(x + pi/2) = -sin(x), while sin(x + pi/2) = cos(x)
    np.bitwise_xor(sine, cosine, sign)
    np.bitwise_and(sign, swap, swap)
    np.bitwise_and(quadrant, _INT_2, sign)
    np.left_shift(sign, _INT_30, sign)  # the sign bit, set in quadrants 2 and 3: for both
    np.bitwise_xor(swap, sign, swap)
    np.bitwise_xor(results, swap, results)


def fused_multiply_add(a: np.ndarray, b: Number, c: Number, dtype: np.dtype) -> np.ndarray:
    """a * b + c with a single rounding, for one-dimensional ``a``; ``b`` and ``c`` are already of the dtype."""
    if c == 0 and b == 1:
        return a + dtype.type(0)
    if c == 0 and math.isfinite(b):
        return a * dtype.type(b) + dtype.type(0)
    if complex_products_fuse(dtype):
        return _complex_product(a, b, c, dtype)
    return (_fused_float64 if dtype == np.float64 else _fused_float32)(a, b, c)


def complex_products_fuse(dtype: np.dtype) -> bool:
    """True if NumPy multiplies complex numbers with fused multiply-adds, which this processor then has."""
    if dtype not in _complex_product_fuses:
        emulated = _fused_float64 if dtype == np.float64 else _fused_float32
        probe = np.sqrt(np.arange(2, 700), dtype=dtype) % dtype.type(1)
        _complex_product_fuses[dtype] = all(
            np.array_equal(emulated(part, dtype.type(0.7), dtype.type(0.3)), _complex_product(part, 0.7, 0.3, dtype))
            for part in (probe, *(probe[n * n : n * n + n] for n in range(1, 20)))
        )
    return _complex_product_fuses[dtype]


# Found out on first use for each dtype.
_complex_product_fuses: dict[np.dtype, bool] = {}


def _complex_product(a: np.ndarray, b: Number, c: Number, dtype: np.dtype) -> np.ndarray:
    """a * b + c as the imaginary part of (b + i)(c + a i): NumPy rounds 1 * c, exact, and then the sum once."""
    # NumPy treats one number alone apart, without fusing: there are always two.
    pairs = np.full(max(a.size, 2), c, np.complex128 if dtype == np.float64 else np.complex64)
    pairs.imag[: a.size] = a
    factor = pairs.dtype.type(complex(b, 1))
    settings = warning_settings()
    try:
        silence()
        np.multiply(factor, pairs, out=pairs)
    finally:
        restore(settings)
    return pairs.imag[: a.size].copy()


def _fused_float32(a: np.ndarray, b: Number, c: Number) -> np.ndarray:
    total = a.astype(np.float64)
    np.multiply(total, b, out=total)  # exact: 24 bits times 24 bits
    np.add(total, c, out=total)
    # Rounding twice goes wrong only where the float64 sum landed exactly half way between two float32 numbers.
    halfway = np.flatnonzero((total.view(np.int64) & ((1 << 29) - 1)) == (1 << 28))
    if halfway.size:
        total[halfway] = _round_to_odd_sum(a[halfway] * np.float64(b), np.float64(c))
    return total.astype(np.float32)


def _fused_float64(a: np.ndarray, b: Number, c: Number) -> np.ndarray:
    """Boldo and Melquiond's emulation: the product and two sums without error, one addition rounded to odd."""
    high = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(np.float64(b))
    low = a_low * b_low - (((high - a_high * b_high) - a_low * b_high) - a_high * b_low)
    sum_high, sum_low = _two_sum(np.float64(c), low)
    total_high, total_low = _two_sum(high, sum_high)
    return total_high + _round_to_odd_sum(sum_low, total_low)


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum and its exact error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _split(a: Any) -> tuple[Any, Any]:
    """Two halves of 26 bits whose products are exact."""
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


def _round_to_odd_sum(a: Any, b: Any) -> np.ndarray:
    """a + b where an inexact sum takes the neighbour with an odd last bit, so that a later rounding is right."""
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    inexact_even = (error != 0) & ((bits & 1) == 0)
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact_even, bits + step, bits).view(np.float64)

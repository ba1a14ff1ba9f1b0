"""Half precision to single and back, exactly as NumPy's casts round, in a few passes over whole arrays.

NumPy converts float16 one number at a time, which takes longer than any arithmetic on them. Numbers of both types are
moved about as integers here; infinities and nan, which are rare, are left to NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .memory import empty
from .threads import parallel_rows

_INFINITY = 0x7C00  # the bits of float16
_SCALE = np.float32(2.0**112)  # from an exponent of 5 bits, in the place of one of 8, to what it means
_EXPONENT, _SIZE = 0x7F800000, 0x7FFFFFFF  # parts of the bits of float32
_BEYOND = 0x47800000  # 65536: what is as large becomes infinite
_LEAST_EXPONENT = 113 << 23  # 2**-14, below which numbers lie on one grid
_TO_LAST_BIT = 13 << 23  # 2**13 times as large, a number's last bit is that of half precision
_BIAS = 126 << 10


def wide_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that numbers of a type are computed and summed in: float32 for half precision, itself for all others."""
    return np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else dtype


def widened(x: np.ndarray) -> np.ndarray:
    """float16 numbers, in order, as float32."""
    bits = x.view(np.int16)
    wide = bits.astype(np.int32)
    np.left_shift(wide, 13, out=wide)
    np.bitwise_and(wide, -0x70002000, out=wide)  # the sign was extended: one of its copies stays
    result = wide.view(np.float32)
    np.multiply(result, _SCALE, out=result)
    size = np.bitwise_and(bits, 0x7FFF)
    if x.size and size.max() >= _INFINITY:
        special = size >= _INFINITY
        result[special] = x[special]
    return result


def narrowed(x: np.ndarray) -> np.ndarray:
    """float32 numbers, in order, as float16: the nearest, or of two the one whose last bit is zero."""
    bits = x.view(np.int32)
    size = np.bitwise_and(bits, _SIZE)
    largest = size.max(initial=0)
    np.minimum(size, _BEYOND, out=size)
    # Added to a number 2**13 times as large as its exponent, it is rounded to the bits that are to stay.
    large = np.bitwise_and(size, _EXPONENT)
    np.maximum(large, _LEAST_EXPONENT, out=large)
    np.add(large, _TO_LAST_BIT, out=large)
    total = size.view(np.float32)
    np.add(total, large.view(np.float32), out=total)
    np.subtract(size, large, out=size)
    np.right_shift(large, 13, out=large)
    np.add(size, large, out=size)
    np.subtract(size, _BIAS, out=size)
    np.right_shift(bits, 16, out=large)
    np.bitwise_and(large, 0x8000, out=large)
    np.bitwise_or(size, large, out=size)
    result = size.astype(np.int16).view(np.float16)
    if largest > _EXPONENT:
        special = np.isnan(x)
        result[special] = x[special]
    return result


def converted(x: np.ndarray) -> np.ndarray:
    """A large array of float16, in order, as float32, or the other way round."""
    convert, dtype = (widened, np.float32) if x.dtype == np.float16 else (narrowed, np.float16)
    out = empty(x.shape, np.dtype(dtype))
    source, target = x.reshape(-1), out.reshape(-1)

    def block(start: int, stop: int) -> None:
        target[start:stop] = convert(source[start:stop])

    parallel_rows(block, len(source), 8, block_bytes=1 << 18, inline_bytes=1 << 18)
    return out

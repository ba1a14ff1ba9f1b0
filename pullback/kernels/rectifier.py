"""max(x, 0) and its gradient on large arrays: one trip through memory, on all threads.

The gradient is masked by its bits. Multiplying by 0 or 1 would turn infinities into nan, and `np.where` branches on
each element, which takes ten times as long where signs are irregular.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .memory import empty
from .order import ordered
from .threads import parallel_elements

# The ufunc behind `np.clip`, without what that does in Python first; should NumPy move it, `np.clip` does the same.
clip: Any = getattr(import_module("numpy._core.umath"), "clip", np.clip)

BITS: dict[np.dtype, np.dtype] = {np.dtype(f"f{size}"): np.dtype(f"i{size}") for size in (2, 4, 8)}
"""Types that are handled, and integers of the same size."""

_INFINITY = {char: np.array(np.inf, char) for char in "fd"}
_NEGATIVE_NAN = -1024  # below zero and above this, the bits of half precision are those of nan


def positive_part(x: np.ndarray, zero: Any, out: np.ndarray | None = None) -> np.ndarray:
    """max(x, 0) of float32 or float64, with -0 where x is.

    `np.maximum` takes the second of two zeros, and with a number for an operand four times as long as this.
    """
    return clip(x, zero, _INFINITY[x.dtype.char], out)


@ordered
def rectified(x: np.ndarray) -> np.ndarray:
    """max(x, 0), nan where x is."""
    out = empty(x.shape, x.dtype)
    maximum = _maximum_of_half if x.itemsize == 2 else lambda values, result: positive_part(values, 0, result)
    parallel_elements(maximum, [x], [out], temporaries=0, long_calls=True)
    return out


def _maximum_of_half(x: np.ndarray, out: np.ndarray) -> None:
    """By the bits: as integers numbers below zero are below zero too, and NumPy's maximum takes fifty times as long."""
    bits, result = x.view(np.int16), out.view(np.int16)
    np.maximum(bits, 0, out=result)
    lost = (bits < 0) & (bits > _NEGATIVE_NAN)
    if lost.any():
        result[lost] = bits[lost]


def rectified_backward(gradient: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The gradient where the result is not 0 (it may be nan), 0 elsewhere."""
    kind = BITS[gradient.dtype]
    result = empty(gradient.shape, gradient.dtype)

    def chain(gradient: np.ndarray, out: np.ndarray, result: np.ndarray) -> None:
        if out.itemsize == 2:
            passing = np.not_equal(out.view(kind), 0)  # a result is never below zero
        else:
            stopped = np.less_equal(out, 0)
            passing = np.logical_not(stopped, out=stopped)
        bits = result.view(kind)
        np.copyto(bits, passing)
        np.multiply(bits, gradient.view(kind), out=bits)

    parallel_elements(chain, [gradient, out], [result])
    return result

"""max(x, 0) and its gradient on large arrays: one trip through memory, on all threads.

The gradient is masked by its bits. Multiplying by 0 or 1 would turn infinities into nan, and `np.where` branches on
each element, which takes ten times as long where signs are irregular.
"""

from __future__ import annotations

import numpy as np

from .memory import empty
from .threads import parallel_elements

LARGE = 1 << 15
"""Elements from which the kernels here are worth calling."""

BITS: dict[np.dtype, np.dtype] = {np.dtype(np.float32): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.int64)}
"""Types that are handled, and integers of the same size."""


def rectified(x: np.ndarray) -> np.ndarray:
    """max(x, 0), nan where x is."""
    out = empty(x.shape, x.dtype)
    parallel_elements(lambda values, result: np.maximum(values, 0, out=result), [x], [out], temporaries=0)
    return out


def rectified_backward(gradient: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The gradient where the result is not 0 (it may be nan), 0 elsewhere."""
    kind = BITS[gradient.dtype]
    result = empty(gradient.shape, gradient.dtype)

    def chain(gradient: np.ndarray, out: np.ndarray, result: np.ndarray) -> None:
        stopped = np.less_equal(out, 0)
        passing = np.logical_not(stopped, out=stopped)
        bits = result.view(kind)
        np.copyto(bits, passing)
        np.multiply(bits, gradient.view(kind), out=bits)

    parallel_elements(chain, [gradient, out], [result])
    return result

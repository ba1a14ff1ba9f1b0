"""Norms over images: what batch norm and group norm do to the rows of (samples x channels, positions), on all threads.

A row is one channel of one sample. Forward takes moments of each row (one trip through memory), the caller combines
them to statistics of channels or groups, and each row is then multiplied and shifted (a second trip); backward likewise.
Everything of the size of a row count is left to the caller. Sums are by `dot` and `vecdot`, which let threads run.
"""

from __future__ import annotations

import numpy as np

from .memory import Scratch, empty
from .threads import parallel_rows, prepare_broadcast
from .thresholds import WHOLE


def as_rows(x: np.ndarray) -> np.ndarray:
    """An array (n, channels, ...) as (n x channels, positions)."""
    return x.reshape(x.shape[0] * x.shape[1], -1)


def suits(x: np.ndarray) -> bool:
    """True if an array is large enough for these kernels, with rows that are more than single numbers."""
    return x.size > WHOLE and x.ndim > 2 and x.size > x.shape[0] * x.shape[1]


def moments(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(mean, sum of squared deviations) of each row."""
    count, length = rows.shape
    mean, squares = np.empty(count, rows.dtype), np.empty(count, rows.dtype)
    ones, scratch = np.ones(length, rows.dtype), Scratch(length, rows.dtype)

    def block(start: int, stop: int) -> None:
        prepare_broadcast(length)
        part, centre = rows[start:stop], mean[start:stop]
        np.divide(part.dot(ones), length, centre)
        deviations = np.subtract(part, centre[:, None], scratch.rows(stop - start))
        np.vecdot(deviations, deviations, out=squares[start:stop])

    parallel_rows(block, count, 3 * length * rows.itemsize, products=True)
    return mean, squares


def scaled(x: np.ndarray, factor: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
    """Each row times its factor, plus its offset."""
    rows = as_rows(x)
    result = empty(x.shape, x.dtype)
    out = result.reshape(rows.shape)

    def block(start: int, stop: int) -> None:
        prepare_broadcast(rows.shape[1])
        part = np.multiply(rows[start:stop], factor[start:stop, None], out[start:stop])
        if offset is not None:
            np.add(part, offset[start:stop, None], part)

    parallel_rows(block, len(rows), 3 * rows.shape[1] * rows.itemsize)
    return result


def sums(gradient: np.ndarray, x: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums over each row of the cotangent, and of its products with the input, centred."""
    rows, upstream = as_rows(x), as_rows(gradient)
    count, length = rows.shape
    totals, products = np.empty(count, rows.dtype), np.empty(count, rows.dtype)
    ones, scratch = np.ones(length, rows.dtype), Scratch(length, rows.dtype)

    def block(start: int, stop: int) -> None:
        prepare_broadcast(length)
        part = upstream[start:stop]
        part.dot(ones, totals[start:stop])
        deviations = np.subtract(rows[start:stop], centre[start:stop, None], scratch.rows(stop - start))
        np.vecdot(part, deviations, out=products[start:stop])

    parallel_rows(block, count, 4 * length * rows.itemsize, products=True)
    return totals, products


def combined(
    gradient: np.ndarray, factor: np.ndarray, x: np.ndarray, slope: np.ndarray, offset: np.ndarray
) -> np.ndarray:
    """Each row of the cotangent times its factor, plus the input's times its slope, plus its offset."""
    rows, upstream = as_rows(x), as_rows(gradient)
    result = empty(x.shape, x.dtype)
    out, scratch = result.reshape(rows.shape), Scratch(rows.shape[1], rows.dtype)

    def block(start: int, stop: int) -> None:
        prepare_broadcast(rows.shape[1])
        part = np.multiply(upstream[start:stop], factor[start:stop, None], out[start:stop])
        other = np.multiply(rows[start:stop], slope[start:stop, None], scratch.rows(stop - start))
        np.add(other, offset[start:stop, None], other)
        np.add(part, other, part)

    parallel_rows(block, len(rows), 5 * rows.shape[1] * rows.itemsize)
    return result

"""Distances between all points of two sets, of order 1 and 2, from differences: one coordinate after the other.

Points are rows. For each coordinate the differences of a block of points with all others fill an array that stays in
the cache, instead of one array of all differences in all coordinates.
"""

from __future__ import annotations

import numpy as np

from .threads import parallel_rows, prepare_broadcast

_BLOCK_BYTES = 1 << 20


def _take_signs(x: np.ndarray) -> None:
    """1, 0 and -1 in the place of numbers: cut off far beyond, which NumPy does four times as fast as `sign`."""
    largest = np.finfo(x.dtype).max
    for _ in range(2):  # once would leave the smallest numbers below 1
        np.multiply(x, largest, out=x)
    np.maximum(x, -1, out=x)
    np.minimum(x, 1, out=x)


def distances(a: np.ndarray, b: np.ndarray, order: float) -> np.ndarray:
    """Distances (n, m) between points (n, d) and points (m, d)."""
    out = np.zeros((len(a), len(b)), a.dtype)
    columns, others = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)

    def block(start: int, stop: int) -> None:
        prepare_broadcast(len(b))
        total = out[start:stop]
        part = np.empty_like(total)
        for column, other in zip(columns[:, start:stop], others, strict=True):
            np.subtract(column[:, None], other, out=part)
            np.multiply(part, part, out=part) if order == 2 else np.abs(part, out=part)
            total += part
        if order == 2:
            np.sqrt(total, out=total)

    parallel_rows(block, len(a), 2 * len(b) * a.itemsize, block_bytes=_BLOCK_BYTES, inline_bytes=_BLOCK_BYTES)
    return out


def distances_backward(g: np.ndarray, a: np.ndarray, b: np.ndarray, out: np.ndarray, order: float) -> np.ndarray:
    """What moves points `a` (n, d), from the cotangents (n, m) of their distances to `b`. Points that meet do not move."""
    columns, others = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    moved = np.empty_like(columns)

    def block(start: int, stop: int) -> None:
        prepare_broadcast(len(b))
        pull = np.ascontiguousarray(g[start:stop])
        if order == 2:
            length = np.ascontiguousarray(out[start:stop])
            met = length == 0
            pull = pull / (length + met) * ~met
        part = np.empty_like(pull)
        for column, other, result in zip(columns[:, start:stop], others, moved[:, start:stop], strict=True):
            np.subtract(column[:, None], other, out=part)
            if order == 1:
                _take_signs(part)
            result[...] = np.vecdot(part, pull)

    parallel_rows(block, len(a), 3 * len(b) * a.itemsize, block_bytes=_BLOCK_BYTES, inline_bytes=_BLOCK_BYTES)
    return np.ascontiguousarray(moved.T)

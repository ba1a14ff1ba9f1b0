"""Distances between all points of two sets or of one, of order 1 and 2, from differences: one coordinate after another.

Points are rows; pairs of one set are those above the diagonal of the matrix of all. For each coordinate the differences
of a block of points with all others fill an array that stays in the cache, instead of one array of all differences in
all coordinates.
"""

from __future__ import annotations

import math

import numpy as np

from .threads import parallel_rows, parallel_tasks, prepare_broadcast
from .thresholds import DISTANCE_BYTES, DISTANCE_ROWS


def _take_signs(x: np.ndarray) -> None:
    """1, 0 and -1 in the place of numbers: cut off far beyond, which NumPy does four times as fast as `sign`."""
    largest = np.finfo(x.dtype).max
    for _ in range(2):  # once would leave the smallest numbers below 1
        np.multiply(x, largest, out=x)
    np.maximum(x, -1, out=x)
    np.minimum(x, 1, out=x)


def _sum_up(columns: np.ndarray, others: np.ndarray, order: float, total: np.ndarray) -> None:
    """Distances, in the place of zeros, between points whose coordinates are rows."""
    prepare_broadcast(others.shape[1])
    part = np.empty_like(total)
    for column, other in zip(columns, others, strict=True):
        np.subtract(column[:, None], other, out=part)
        np.multiply(part, part, out=part) if order == 2 else np.abs(part, out=part)
        total += part
    if order == 2:
        np.sqrt(total, out=total)


def distances(a: np.ndarray, b: np.ndarray, order: float) -> np.ndarray:
    """Distances (n, m) between points (n, d) and points (m, d)."""
    out = np.zeros((len(a), len(b)), a.dtype)
    columns, others = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)

    def block(start: int, stop: int) -> None:
        _sum_up(columns[:, start:stop], others, order, out[start:stop])

    parallel_rows(block, len(a), 2 * len(b) * a.itemsize, block_bytes=DISTANCE_BYTES, inline_bytes=DISTANCE_BYTES)
    return out


def pair_distances(points: np.ndarray, order: float) -> np.ndarray:
    """Distances of all pairs of points (n, d), in the order of the first and then of the second."""
    n = len(points)
    out = np.empty(n * (n - 1) // 2, points.dtype)
    columns = np.ascontiguousarray(points.T)

    def block(start: int, stop: int) -> None:
        total = np.zeros((stop - start, n - start), points.dtype)
        _sum_up(columns[:, start:stop], columns[:, start:], order, total)
        for row in range(start, stop):
            place = row * (2 * n - row - 1) // 2
            out[place : place + n - row - 1] = total[row - start, row - start + 1 :]

    parallel_tasks(block, [(start, min(start + DISTANCE_ROWS, n)) for start in range(0, n, DISTANCE_ROWS)])
    return out


def _pulls(g: np.ndarray, out: np.ndarray, order: float) -> np.ndarray:
    """Cotangents over what differences are divided by. Points that meet do not move."""
    if order == 1:
        return np.ascontiguousarray(g)
    met = out == 0
    return g / (out + met) * ~met


def _move(columns: np.ndarray, others: np.ndarray, pull: np.ndarray, order: float, moved: np.ndarray) -> None:
    prepare_broadcast(others.shape[1])
    part = np.empty_like(pull)
    for column, other, result in zip(columns, others, moved, strict=True):
        np.subtract(column[:, None], other, out=part)
        if order == 1:
            _take_signs(part)
        result[...] = np.vecdot(part, pull)


def distances_backward(g: np.ndarray, a: np.ndarray, b: np.ndarray, out: np.ndarray, order: float) -> np.ndarray:
    """The gradient of points `a` (n, d), from the cotangents (n, m) of their distances to `b`."""
    columns, others = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    moved = np.empty_like(columns)

    def block(start: int, stop: int) -> None:
        pull = _pulls(np.ascontiguousarray(g[start:stop]), np.ascontiguousarray(out[start:stop]), order)
        _move(columns[:, start:stop], others, pull, order, moved[:, start:stop])

    parallel_rows(block, len(a), 3 * len(b) * a.itemsize, block_bytes=DISTANCE_BYTES, inline_bytes=DISTANCE_BYTES)
    return np.ascontiguousarray(moved.T)


def pair_distances_backward(g: np.ndarray, points: np.ndarray, out: np.ndarray, order: float) -> np.ndarray:
    """The gradient of points (n, d), from the cotangents of the distances of all pairs."""
    columns = np.ascontiguousarray(points.T)
    moved = np.empty_like(columns)
    pull = symmetric(_pulls(g, out, order))

    def block(start: int, stop: int) -> None:
        _move(columns[:, start:stop], columns, pull[start:stop], order, moved[:, start:stop])

    n = len(points)
    parallel_rows(block, n, 2 * n * points.itemsize, block_bytes=DISTANCE_BYTES, inline_bytes=DISTANCE_BYTES)
    return np.ascontiguousarray(moved.T)


def symmetric(values: np.ndarray) -> np.ndarray:
    """The symmetric matrix with these numbers above the diagonal, row after row, and zeros on it."""
    n = (1 + math.isqrt(1 + 8 * values.shape[-1])) // 2
    matrix = np.zeros((*values.shape[:-1], n, n), values.dtype)
    place = 0
    for row in range(n - 1):
        matrix[..., row, row + 1 :] = values[..., place : place + n - row - 1]
        place += n - row - 1
    return matrix + np.swapaxes(matrix, -1, -2)

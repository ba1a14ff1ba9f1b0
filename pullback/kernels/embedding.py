"""Adding rows at indices: the transpose of a row lookup, and the backward pass of embedding tables.

Indices are sorted (two radix passes of 16 bits), then each round adds the next row of every index that has one left;
the few indices that repeat very often are summed by a reduction each. `numpy.add.at` would be ten times slower.
"""

from __future__ import annotations

import math

import numpy as np

from .large import zeros
from .thresholds import ADDED_UNSORTED


def stable_order(indices: np.ndarray, bound: int) -> np.ndarray:
    """Stable argsort of non-negative integers below `bound`; 16-bit keys are what NumPy sorts by radix."""
    if bound <= 1 << 16:
        return np.argsort(indices.astype(np.uint16), kind="stable")
    if bound > 1 << 32:
        return np.argsort(indices, kind="stable")
    order = np.argsort((indices & 0xFFFF).astype(np.uint16), kind="stable")
    high = (indices >> 16).astype(np.uint16)
    return order[np.argsort(high[order], kind="stable")]


def scatter_add_rows(indices: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """Array of `size` rows where row i is the sum of `rows[k]` over all k with `indices[k] == i`."""
    if rows.size <= ADDED_UNSORTED:
        # Too few to sort.
        out = np.zeros((size, *rows.shape[1:]), rows.dtype)
        np.add.at(out, indices, rows)
        return out
    out = zeros((size, *rows.shape[1:]), rows.dtype)
    order = stable_order(indices, size)
    ordered = indices[order]
    starts = np.concatenate(([0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1))
    counts = np.diff(starts, append=indices.size)
    repeated = np.flatnonzero(counts > 1)
    if 2 * repeated.size < starts.size:
        # Most rows have their place to themselves: all are put there, and the others' sums go over them.
        out[indices] = rows
        starts, counts = starts[repeated], counts[repeated]
    if starts.size:
        out[ordered[starts]] = _sums_of_groups(rows, order, starts, counts)
    return out


def _sums_of_groups(rows: np.ndarray, order: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums of `rows[order[start : start + count]]` for each group."""
    sums = rows[order[starts]]
    live = np.flatnonzero(counts > 1)
    most = int(counts.max())
    taken = 1
    # A round costs about as much as three reductions, and the rounds left are as many as the commonest index has rows.
    while live.size > 3 * (most - taken):
        sums[live] += rows[order[starts[live] + taken]]
        taken += 1
        live = live[counts[live] > taken]
    for group in live.tolist():
        start = int(starts[group])
        rest = rows[order[start + taken : start + int(counts[group])]]
        sums[group] += np.add.reduce(rest, axis=0)
    return sums


def embedding_backward(
    gradient: np.ndarray,
    indices: np.ndarray,
    *,
    size: int,
    padding_index: int | None = None,
    scale_by_frequency: bool = False,
) -> np.ndarray:
    """Cotangent (size, width) of a table from that of its looked-up rows (*indices.shape, width)."""
    width = gradient.shape[-1]
    flat = indices.reshape(-1)
    dtype = gradient.dtype
    rows = gradient.reshape(math.prod(indices.shape), width)
    if dtype == np.float16:
        rows = rows.astype(np.float32)
    out = scatter_add_rows(flat, rows, size)
    if scale_by_frequency:
        counts = np.bincount(flat, minlength=size)
        out /= np.maximum(counts, 1).astype(out.dtype)[:, None]
    if padding_index is not None:
        out[padding_index] = 0
    return out.astype(dtype, copy=False)

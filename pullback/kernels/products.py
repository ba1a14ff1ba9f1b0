"""Products of matrices, spread over our threads rather than those of BLAS.

BLAS spends as long on sharing a small product among its threads as on computing it, and OpenBLAS's threads go on
spinning for milliseconds after each product, on the cores where ours are to work on what comes next. Here small
products stay on one thread; a large one is cut, and a batch of small ones dealt out, so that each thread computes whole
products.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .memory import empty, keep_freed_memory
from .threads import get_num_threads, parallel_rows, parallel_tasks, single_threaded_blas

FEW = 1 << 12
"""Elements of both factors up to which BLAS stays on one thread by itself, or nearly."""

FEW_FOR_A_VECTOR = 1 << 16
"""The same where a factor is a vector: the product takes less time than holding BLAS to one thread."""

NARROW = 32
"""Columns of a product that is long and narrow."""

SHARED_NARROW_PRODUCT = 1 << 21
"""Multiply-adds from which a narrow product is quicker on BLAS's own threads than on one."""

SMALL_PRODUCT = 1_000_000
"""Multiply-adds up to which OpenBLAS multiplies operands as they lie, without packing them."""

LARGE_PRODUCT = 1 << 24
"""Multiply-adds from which one product is cut."""

LARGE_SUM = 1 << 20
"""Elements from which sums over rows are cut."""

RUN = 1 << 10
"""Elements that a product with ones sums as exactly as pairwise summation."""

THREADED_PRODUCTS = 1 << 22
"""Multiply-adds from which waking a thread pays."""

WHOLE_PRODUCT = 1 << 23
"""Multiply-adds of one product that BLAS shares well among its own threads."""


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a @ b` for a matrix or a vector on either side."""
    few = FEW if a.ndim > 1 < b.ndim else FEW_FOR_A_VECTOR
    if a.size + b.size <= few or a.dtype != b.dtype or a.dtype.kind not in "fc" or a.shape[-1] != b.shape[0]:
        return a.dot(b)
    keep_freed_memory()
    threads = get_num_threads()
    if a.ndim == b.ndim == 2 and b.shape[1] <= NARROW and threads > 1 and a.size * b.shape[1] >= SHARED_NARROW_PRODUCT:
        return a.dot(b)
    if a.ndim < 2 or b.ndim < 2 or threads < 2 or a.size * b.shape[1] < LARGE_PRODUCT or not single_threaded_blas.known():
        with single_threaded_blas:
            return _narrow_product(a, b) if a.ndim == b.ndim == 2 and b.shape[1] <= NARROW else a.dot(b)
    rows, columns = a.shape[0], b.shape[1]
    out = empty((rows, columns), a.dtype)
    by_rows = rows >= columns
    # One piece for each thread: BLAS packs its operands anew for each, and twice as many cost a tenth more.
    step = -(-max(rows, columns) // threads // 16) * 16

    def piece(start: int) -> None:
        part = slice(start, start + step)
        if by_rows:
            np.matmul(a[part], b, out[part])  # `dot` would copy part of a transposed matrix
        else:
            np.matmul(a, b[:, part], out[:, part])

    parallel_tasks(piece, [(start,) for start in range(0, max(rows, columns), step)], products=True)
    return out


def _narrow_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a @ b` for few columns, as a classifier has them: cut by rows until BLAS need not pack its operands."""
    rows, columns = a.shape[0], b.shape[1]
    pieces = -(-a.size * columns // SMALL_PRODUCT)
    if pieces < 2 or rows < 32 * pieces or not a.flags.c_contiguous:
        return a.dot(b)
    out = np.empty((rows, columns), a.dtype)
    step = -(-rows // pieces)
    for start in range(0, rows, step):
        a[start : start + step].dot(b, out[start : start + step])
    return out


def sum_of_rows(x: Any, ones: np.ndarray) -> np.ndarray:
    """`ones @ x`, the sum over the first axis of a matrix."""
    if x.size <= FEW:
        return ones.dot(x)
    threads = get_num_threads()
    if x.size < LARGE_SUM or threads < 2:
        with single_threaded_blas:
            return ones.dot(x)
    step = -(-len(x) // threads)
    parts = {start: x[start : start + step] for start in range(0, len(x), step)}

    def piece(start: int) -> None:
        parts[start] = ones[: len(parts[start])].dot(parts[start])

    parallel_tasks(piece, [(start,) for start in parts], products=True)
    return functools.reduce(np.add, parts.values())


def row_products(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The dot product of each row of `a` with that of `b`."""
    return np.vecdot(a, b, out=out)


def total(x: np.ndarray) -> np.generic:
    """The sum of all elements of a contiguous array, pairwise but for runs that are short enough to be as exact."""
    flat = x.reshape(-1)
    whole = len(flat) // RUN
    runs = flat[: whole * RUN].reshape(whole, RUN)
    sums, ones = np.empty(whole, x.dtype), np.ones(RUN, x.dtype)
    parallel_rows(lambda start, stop: runs[start:stop].dot(ones, sums[start:stop]), whole, RUN * x.itemsize, products=True)
    return np.add.reduce(sums) + np.add.reduce(flat[whole * RUN :])


def batched_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a @ b` for arrays of three or more axes."""
    lead = a.shape[:-2]
    one = a.shape[-2] * a.shape[-1] * b.shape[-1]
    count = math.prod(lead)
    threads = get_num_threads()
    if lead != b.shape[:-2] or threads < 2 or count < 2 or one >= WHOLE_PRODUCT or one * count < THREADED_PRODUCTS:
        return np.matmul(a, b)
    # The first axis that has work for all threads; slices of it are views.
    axis = next((axis for axis, size in enumerate(lead) if size >= threads), None)
    if axis is None:
        return np.matmul(a, b)
    out = np.empty((*lead, a.shape[-2], b.shape[-1]), np.result_type(a, b))
    before = (slice(None),) * axis
    step = -(-lead[axis] // threads)

    def piece(start: int) -> None:
        part = (*before, slice(start, start + step))
        np.matmul(a[part], b[part], out=out[part])

    parallel_tasks(piece, [(start,) for start in range(0, lead[axis], step)], products=True)
    return out

"""Products of matrices, spread over our threads rather than those of BLAS.

BLAS spends as long on sharing a small product among its threads as on computing it, and OpenBLAS's threads go on
spinning for milliseconds after each product, on the cores where ours are to work on what comes next. Here small
products stay on one thread; a large one is cut, and a batch of small ones dealt out, so that each thread computes whole
products. Where there are more cores than our threads can use, BLAS's are in nobody's way and take the large products.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .memory import empty, keep_freed_memory
from .threads import (
    PIECES,
    parallel_rows,
    parallel_tasks,
    shares,
    single_threaded_blas,
    threads_to_share,
    threads_worth,
)
from .thresholds import (
    ELEMENT_COST,
    EXACT_RUN,
    LARGE_NARROW_PRODUCT,
    LARGE_PRODUCT,
    NARROW_COLUMNS,
    POOLED_BYTES,
    PRODUCT_ON_ONE_THREAD,
    SHARED_NARROW_PRODUCT,
    SHARED_ROW_SUMS,
    UNPACKED_PRODUCT,
    UNSHARED_PRODUCT,
    VECTOR_PRODUCT_ON_ONE_THREAD,
    WOKEN_PRODUCTS,
)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a @ b` for a matrix or a vector on either side."""
    size = a.size + b.size
    if (
        size <= PRODUCT_ON_ONE_THREAD
        or type(a) is not np.ndarray
        or a.dtype != b.dtype
        or a.dtype.kind not in "fc"
        or a.shape[-1] != b.shape[0]
    ):
        return a.dot(b)
    if size <= VECTOR_PRODUCT_ON_ONE_THREAD and (a.ndim < 2 or b.ndim < 2):
        return a.dot(b)
    keep_freed_memory()
    if a.ndim < 2 or b.ndim < 2:
        with single_threaded_blas:
            return a.dot(b)
    if a.shape[0] <= NARROW_COLUMNS or b.shape[1] <= NARROW_COLUMNS:
        out = _narrow_product(a, b)
        if out is not None:
            return out
    if not _is_large(a, b):
        shape = a.shape[0], b.shape[1]
        with single_threaded_blas:
            if shape[0] * shape[1] * a.itemsize < POOLED_BYTES:
                return a.dot(b)
            return np.matmul(a, b, empty(shape, a.dtype))  # `dot` fills the result with zeros first
    threads = threads_worth(a.size * b.shape[1], WOKEN_PRODUCTS, None)
    own_threads = single_threaded_blas.threads_for(threads)
    if own_threads is not None:
        with own_threads:
            return np.matmul(a, b, empty((a.shape[0], b.shape[1]), a.dtype))
    # No more pieces than needed: BLAS packs its operands anew for each.
    out, piece, pieces = _cut_product(a, b, PIECES)
    parallel_tasks(piece, pieces, products=True, threads=threads)
    return out


def matrix_times_vector(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a @ b` for a matrix and a vector of one type."""
    return a.dot(b) if a.size < VECTOR_PRODUCT_ON_ONE_THREAD else product(a, b)


def _is_large(a: np.ndarray, b: np.ndarray) -> bool:
    """True if a product of matrices takes so long that it is cut: on one thread, too, as bits depend on the cut."""
    result = a.shape[0] * b.shape[1]
    work = result * a.shape[1] + ELEMENT_COST * (result + a.size + b.size)
    return work >= LARGE_PRODUCT and single_threaded_blas.known()


def _cut_product(
    a: np.ndarray, b: np.ndarray, pieces: int
) -> tuple[np.ndarray, Callable[[int, int], None], list[tuple[int, int]]]:
    """(result, a function that computes one piece of it, what to call it with)."""
    (rows, inner), columns = a.shape, b.shape[1]
    out = empty((rows, columns), a.dtype)

    def some_rows(start: int, stop: int) -> None:
        np.matmul(a[start:stop], b, out[start:stop])  # `dot` would copy part of a transposed matrix

    def some_columns(start: int, stop: int) -> None:
        np.matmul(a, b[:, start:stop], out[:, start:stop])

    if rows >= columns:
        return out, some_rows, shares(rows, pieces, WOKEN_PRODUCTS // max(inner * columns, 1), 16)
    return out, some_columns, shares(columns, pieces, WOKEN_PRODUCTS // max(inner * rows, 1), 16)


def _narrow_product(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """`a @ b` for few rows or columns, as a classifier has them: cut until BLAS need not pack its operands.

    A tall result is cut by rows; a sum over many rows of both factors, as a weight's gradient is, into such sums. None
    where neither helps.
    """
    rows, inner, columns = *a.shape, b.shape[1]
    work = rows * inner * columns
    if work <= UNPACKED_PRODUCT:
        return None
    large = work >= LARGE_NARROW_PRODUCT
    if not large and work >= SHARED_NARROW_PRODUCT and single_threaded_blas.is_not_needed():
        return a.dot(b)
    pieces = PIECES if large else 1
    step = UNPACKED_PRODUCT // (inner * columns)
    if columns <= NARROW_COLUMNS and step >= 32 and a.flags.c_contiguous:
        out = np.empty((rows, columns), a.dtype)

        def fill(start: int, stop: int) -> None:
            for part in _parts(start, stop, step):
                a[part].dot(b, out[part])

        _shared(fill, rows, pieces)
        return out
    step = UNPACKED_PRODUCT // (rows * columns)
    if not large or step < 32 or not a.flags.f_contiguous or not b.flags.c_contiguous:
        return None
    sums: dict[int, np.ndarray] = {}

    def gather(start: int, stop: int) -> None:
        first, *others = _parts(start, stop, step)
        total = sums[start] = a[:, first].dot(b[first])
        for part in others:
            np.add(total, a[:, part].dot(b[part]), total)

    _shared(gather, inner, pieces)
    return functools.reduce(np.add, (sums[start] for start in sorted(sums)))


def _parts(start: int, stop: int, longest: int) -> list[slice]:
    """A range in slices of equal length: a short last one would run at a fraction of the speed."""
    step = -(-(stop - start) // -(-(stop - start) // longest))
    return [slice(first, min(first + step, stop)) for first in range(start, stop, step)]


def _shared(function: Callable[[int, int], None], length: int, pieces: int) -> None:
    """Call `function(start, stop)` for ranges of equal length."""
    parallel_tasks(function, shares(length, pieces, 0), products=True)


def are_worth_a_thread(*matrices: np.ndarray) -> bool:
    """True if each of two products, of these three matrices two by two, should have a thread to itself."""
    work = math.sqrt(
        math.prod([matrix.size for matrix in matrices])
    )  # the square of the multiply-adds, if there are three
    return len(matrices) == 3 and work >= WOKEN_PRODUCTS and threads_to_share() == 2


def sum_of_rows(x: Any, ones: np.ndarray) -> np.ndarray:
    """`ones @ x`, the sum over the first axis of a matrix."""
    if x.size <= PRODUCT_ON_ONE_THREAD:
        return ones.dot(x)
    if x.size < SHARED_ROW_SUMS:
        with single_threaded_blas:
            return ones.dot(x)
    step = -(-len(x) // PIECES)
    parts = {start: x[start : start + step] for start in range(0, len(x), step)}

    def piece(start: int) -> None:
        parts[start] = ones[: len(parts[start])].dot(parts[start])

    parallel_tasks(piece, [(start,) for start in parts], products=True)
    return functools.reduce(np.add, parts.values())


def total(x: np.ndarray) -> np.generic:
    """The sum of all elements of a contiguous array, pairwise but for runs that are short enough to be as exact."""
    flat = x.reshape(-1)
    whole = len(flat) // EXACT_RUN
    runs = flat[: whole * EXACT_RUN].reshape(whole, EXACT_RUN)
    sums, ones = np.empty(whole, x.dtype), np.ones(EXACT_RUN, x.dtype)
    parallel_rows(
        lambda start, stop: runs[start:stop].dot(ones, sums[start:stop]), whole, EXACT_RUN * x.itemsize, products=True
    )
    return np.add.reduce(sums) + np.add.reduce(flat[whole * EXACT_RUN :])


def batched_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a @ b` for arrays of three or more axes."""
    one = a.shape[-2] * a.shape[-1] * b.shape[-1]
    if one <= UNSHARED_PRODUCT and a.size * b.shape[-1] < WOKEN_PRODUCTS and b.size * a.shape[-2] < WOKEN_PRODUCTS:
        return np.matmul(a, b, order="C")
    lead = a.shape[:-2]
    if lead != b.shape[:-2]:
        lead = np.broadcast_shapes(lead, b.shape[:-2])
        a, b = np.broadcast_to(a, (*lead, *a.shape[-2:])), np.broadcast_to(b, (*lead, *b.shape[-2:]))
    count = math.prod(lead)
    if count == 1:
        return product(a.reshape(a.shape[-2:]), b.reshape(b.shape[-2:])).reshape(*lead, a.shape[-2], b.shape[-1])
    threads = threads_worth(one * count, WOKEN_PRODUCTS, None)
    if one * count <= WOKEN_PRODUCTS or not single_threaded_blas.known():
        with single_threaded_blas:
            return np.matmul(a, b, order="C")
    out = empty((*lead, a.shape[-2], b.shape[-1]), np.result_type(a, b))

    def piece(*part: Any) -> None:
        np.matmul(a[part], b[part[: len(lead)]], out[part])

    parallel_tasks(piece, _batch_pieces(lead, a.shape[-2], threads, one), products=True, threads=threads)
    return out


def _batch_pieces(lead: tuple[int, ...], rows: int, threads: int, work: int) -> list[tuple[Any, ...]]:
    """Slices of a batch of matrices; of single matrices by rows, in a number that the shape decides, if they are few."""
    # The first axis that has work for all threads; slices of it are views.
    axis = next((axis for axis, size in enumerate(lead) if size % PIECES == 0 or size >= 4 * PIECES), None)
    if axis is not None:
        before, each = (slice(None),) * axis, work * math.prod(lead) // lead[axis]
        return [
            (*before, slice(*part)) for part in shares(lead[axis], max(threads, PIECES), WOKEN_PRODUCTS // max(each, 1))
        ]
    count = math.prod(lead)
    step = rows if count % PIECES == 0 or count >= 4 * PIECES else -(-rows // PIECES)
    return [(*index, slice(start, start + step)) for index in np.ndindex(*lead) for start in range(0, rows, step)]

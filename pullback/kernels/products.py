"""Products of many small matrices, spread over threads.

`np.matmul` multiplies the matrices of a batch one after another, and BLAS spends as long on sharing a small product
among its threads as on computing it. Here each thread takes part of the batch and computes whole products.
"""

from __future__ import annotations

import math

import numpy as np

from .threads import get_num_threads, parallel_tasks

THREADED_PRODUCTS = 1 << 22
"""Multiply-adds from which waking a thread pays."""

WHOLE_PRODUCT = 1 << 23
"""Multiply-adds of one product that BLAS shares well among its own threads."""


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

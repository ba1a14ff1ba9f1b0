"""Elementwise functions on large arrays: block by block, on all threads; zeros likewise.

A function of several ufuncs makes a trip through memory for each of them. Run on blocks that fit the cache it makes one,
and NumPy releases the interpreter lock, so blocks run on all cores. `by_blocks` does this for any elementwise function;
the tape and the engine call it for large operands of operations that allow it (`Op.blocked`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy import ndarray

from ..quiet import quiet
from .memory import empty, keep_freed_memory
from .threads import INLINE_BYTES, parallel_rows, prepare_broadcast

CLEARED_BYTES = 1 << 22
"""Memory of this size is cleared by several threads."""

UFUNCS: dict[Any, Any] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.neg: np.negative,
}
"""Operators that stand for one ufunc, which can write its result where it belongs."""


def by_blocks(function: Callable[..., Any], *arrays: Any, into: ndarray | None = None) -> Any:
    """`function(*arrays)` for an elementwise function of real or complex arrays, numbers and broadcast rows.

    Arrays of the full shape are cut into blocks; smaller ones must broadcast along the first axis and are given whole.
    The result may be written `into` one of the arrays: a block is read before it is written.
    """
    keep_freed_memory()
    full = max((a for a in arrays if type(a) is ndarray), key=attrgetter("size"))
    shape = full.shape
    if full.nbytes * (len(arrays) + 2) <= INLINE_BYTES:
        return in_one_piece(function, *arrays)
    cut = [type(a) is ndarray and a.shape == shape for a in arrays]
    flat = all(a.flags.c_contiguous if is_cut else not isinstance(a, ndarray) or a.ndim == 0 for a, is_cut in zip(arrays, cut))
    if not flat and any(isinstance(a, ndarray) and not is_cut and _spans_rows(a, shape) for a, is_cut in zip(arrays, cut)):
        return function(*arrays)
    if flat:
        arrays = tuple(a.reshape(-1) if is_cut else a for a, is_cut in zip(arrays, cut))
        shape = (full.size,)
    rows = shape[0]

    def piece(start: int, stop: int) -> Any:
        return function(*[a[start:stop] if is_cut else a for a, is_cut in zip(arrays, cut)])

    sample = piece(0, 1)  # the type of the result is the function's business
    if not isinstance(sample, ndarray) or sample.shape != (1, *shape[1:]):
        return function(*arrays).reshape(full.shape)
    if into is not None and into.shape == full.shape and into.dtype == sample.dtype and into.flags.carray:
        result = into
    else:
        result = empty(full.shape, sample.dtype)
    out = result.reshape(shape)
    ufunc = UFUNCS.get(function, function)
    direct = isinstance(ufunc, np.ufunc)

    def block(start: int, stop: int) -> None:
        if not flat:
            prepare_broadcast(shape[-1])
        if direct:
            ufunc(*[a[start:stop] if is_cut else a for a, is_cut in zip(arrays, cut)], out[start:stop])
        else:
            out[start:stop] = piece(start, stop)

    width = (len(arrays) + 2) * out.itemsize * (full.size // rows)
    parallel_rows(block, rows, width)
    return result


def zeros(shape: tuple[int, ...], dtype: np.dtype) -> ndarray:
    """Like `np.zeros`; large memory is the pool's, cleared by all threads."""
    size = math.prod(shape) * dtype.itemsize
    if size < CLEARED_BYTES:
        return np.zeros(shape, dtype)
    out = empty(shape, dtype)
    flat = out.reshape(-1)
    parallel_rows(lambda start, stop: flat[start:stop].fill(0), len(flat), dtype.itemsize, block_bytes=CLEARED_BYTES)
    return out


@quiet
def in_one_piece(function: Callable[..., Any], *arrays: Any) -> Any:
    """`function(*arrays)` without warnings, as blocks run."""
    return function(*arrays)


def _spans_rows(array: ndarray, shape: tuple[int, ...]) -> bool:
    """Whether a smaller array has a first axis of its own, so that it cannot be given whole to each block."""
    return array.ndim == len(shape) and array.shape[0] != 1

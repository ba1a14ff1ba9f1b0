"""Elementwise functions on large arrays: block by block, on all threads; zeros likewise.

A function of several ufuncs makes a trip through memory for each of them. Run on blocks that fit the cache it makes one,
and NumPy releases the interpreter lock, so blocks run on all cores. `by_blocks` does this for any elementwise function;
the tape and the engine call it for large operands of operations that allow it (`Op.blocked`).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy import ndarray

from ..core.basics.quiet import quiet
from .half import narrowed, widened
from .memory import empty, keep_freed_memory
from .order import in_common_order
from .threads import parallel_rows, prepare_broadcast
from .thresholds import BLOCK_BYTES, CLEARED_BYTES, HALF_BLOCK_BYTES, SMALL_UFUNC_BYTES

UFUNCS: dict[Any, Any] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.neg: np.negative,
}
"""Operators that stand for one ufunc, which can write its result where it belongs."""


_SLOW_IN_HALF = {np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.minimum}
"""Ufuncs that convert numbers of half precision one by one; others have vector loops for them."""


def _in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of half precision whose arrays are widened, and whose result is rounded once, at the end."""

    def wide(*arrays: Any) -> Any:
        result = function(*[widened(a) if type(a) is ndarray and a.dtype == np.float16 else a for a in arrays])
        return narrowed(result) if type(result) is ndarray and result.dtype == np.float32 else result

    return wide


def by_blocks(function: Callable[..., Any], *arrays: Any, into: ndarray | None = None) -> Any:
    """`function(*arrays)` for an elementwise function of real or complex arrays, numbers and broadcast rows.

    Arrays of the full shape are cut into blocks; smaller ones must broadcast along the first axis and are given whole.
    The result may be written `into` one of the arrays: a block is read before it is written.
    """
    keep_freed_memory()
    full = max((a for a in arrays if type(a) is ndarray), key=attrgetter("size"))
    if into is None and not full.flags.c_contiguous:
        return in_common_order(functools.partial(_by_blocks, function), arrays, {})
    return _by_blocks(function, *arrays, into=into)


def _by_blocks(function: Callable[..., Any], *arrays: Any, into: ndarray | None = None) -> Any:
    full = max((a for a in arrays if type(a) is ndarray), key=attrgetter("size"))
    ufunc = UFUNCS.get(function, function)
    block_bytes = BLOCK_BYTES
    if full.dtype == np.float16 and (ufunc in _SLOW_IN_HALF or not isinstance(ufunc, np.ufunc)):
        function, ufunc, block_bytes = _in_single(ufunc), None, HALF_BLOCK_BYTES
    direct = isinstance(ufunc, np.ufunc)
    small = SMALL_UFUNC_BYTES if direct else SMALL_UFUNC_BYTES // 2
    if full.nbytes * (len(arrays) + 2) <= small:
        return in_one_piece(function, *arrays)
    cut = [type(a) is ndarray and a.shape == full.shape for a in arrays]
    folded = _folded(arrays, cut, full.shape)
    if folded is None:
        return in_one_piece(function, *arrays)
    parts, shape = folded

    def piece(start: int, stop: int) -> Any:
        return function(*[a[start:stop] if is_cut else a for a, is_cut in zip(parts, cut)])

    sample = in_one_piece(piece, 0, 0)  # the type of the result is the function's business
    if not isinstance(sample, ndarray) or sample.shape != (0, *shape[1:]):
        return in_one_piece(function, *arrays)
    if into is not None and into.shape == full.shape and into.dtype == sample.dtype and into.flags.carray:
        result = into
    else:
        result = empty(full.shape, sample.dtype)
    out = result.reshape(shape)

    def block(start: int, stop: int) -> None:
        if len(shape) > 1:
            prepare_broadcast(shape[-1])
        if direct:
            ufunc(*[a[start:stop] if is_cut else a for a, is_cut in zip(parts, cut)], out[start:stop])
        else:
            out[start:stop] = piece(start, stop)

    width = (len(arrays) + 2) * out.itemsize * (full.size // shape[0])
    inline_bytes = min(small, block_bytes)
    parallel_rows(block, shape[0], width, inline_bytes=inline_bytes, block_bytes=block_bytes, long_calls=direct)
    return result


def _folded(
    arrays: tuple[Any, ...], cut: list[bool], shape: tuple[int, ...]
) -> tuple[list[Any], tuple[int, ...]] | None:
    """The arrays with all axes as one along which none is broadcast against another, and the shape of the full ones.

    None where a smaller array has a first axis of its own, so that it cannot be given whole to each block.
    """
    ndim = len(shape)
    others = [a for a, is_cut in zip(arrays, cut) if not is_cut and isinstance(a, ndarray) and a.ndim]
    # Axes at the end along which smaller arrays differ; all before them are one to us.
    kept = max((a.ndim - next((i for i, size in enumerate(a.shape) if size > 1), a.ndim) for a in others), default=0)
    if kept >= ndim:
        return None
    if not all(a.flags.c_contiguous for a, is_cut in zip(arrays, cut) if is_cut):
        return list(arrays), shape
    rows = math.prod(shape[: ndim - kept])
    parts = [
        a.reshape(rows, *shape[ndim - kept :]) if is_cut
        else a.reshape(a.shape[max(a.ndim - kept, 0) :]) if isinstance(a, ndarray) and a.ndim
        else a
        for a, is_cut in zip(arrays, cut)
    ]  # fmt: skip
    return parts, (rows, *shape[ndim - kept :])


def zeros(shape: tuple[int, ...], dtype: np.dtype) -> ndarray:
    """Like `np.zeros`; large memory is the pool's, cleared by all threads."""
    size = math.prod(shape) * dtype.itemsize
    if size < CLEARED_BYTES:
        return np.zeros(shape, dtype)
    out = empty(shape, dtype)
    flat = out.reshape(-1)
    parallel_rows(
        lambda start, stop: flat[start:stop].fill(0),
        len(flat),
        dtype.itemsize,
        block_bytes=CLEARED_BYTES,
        long_calls=True,
    )
    return out


@quiet
def in_one_piece(function: Callable[..., Any], *arrays: Any) -> Any:
    """`function(*arrays)` without warnings, as blocks run."""
    return function(*arrays)

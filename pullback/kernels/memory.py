"""Memory of large arrays: kept by the process for the next array, and beginning with a cache line.

The C library gives memory back to the system when an array dies, and the next one is mapped and zeroed page by page: on
a training step of a few hundred kilobytes that takes as long as the arithmetic. Two things help. `keep_freed_memory`
tells the C library, once, to hold on to what was freed; that concerns the whole process, so it waits for the first
large operation. `empty` lends the results of large kernels memory from a pool, which takes it back when the array and
all its views are gone. Both keep a bounded amount, and the environment variable PULLBACK_KEEP_MEMORY=0 forbids both.
"""

from __future__ import annotations

import math
import mmap
import os
import weakref
from threading import get_ident
from typing import Any

import numpy as np

from .order import empty_like as in_its_order
from .thresholds import LARGEST_MALLOC, POOLED_BYTES

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's names for them in mallopt
_settled = False
_loans: dict[int, Any] = {}  # by their identity: a reference to an array cannot be hashed
_idle: dict[int, list[Memory]] = {}


class Memory(mmap.mmap):
    """Memory of the pool: the `base` of an array that has it on loan."""


class _Loan(weakref.ref):
    """A reference to an array that knows its memory."""

    __slots__ = ("memory",)
    memory: Memory


def most_kept() -> int:
    """How many unused bytes the pool, and the C library at the end of its heap, may hold: 512 MiB, less on small machines."""
    global _most_kept
    if _most_kept is None:
        _most_kept = 0 if os.environ.get("PULLBACK_KEEP_MEMORY", "1") == "0" else 1 << 29
        try:
            _most_kept = min(_most_kept, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 32)
        except (AttributeError, OSError, ValueError):
            pass  # a system that does not tell
    return _most_kept


_most_kept: int | None = None


def keep_freed_memory() -> None:
    """Have freed memory reused instead of returned, where the C library is glibc; later calls do nothing."""
    global _settled
    if _settled:
        return
    _settled = True
    if not most_kept():
        return
    try:
        import ctypes

        library: Any = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 - the numbers mean something else to other C libraries
        library.mallopt(_MMAP_THRESHOLD, LARGEST_MALLOC)
        library.mallopt(_TRIM_THRESHOLD, most_kept())
    except (ImportError, AttributeError, OSError, TypeError):
        pass  # another C library: slower, not wrong


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An empty array that begins with a cache line: a loop that writes to another place than it reads is twice as fast."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


class Scratch:
    """Rows for the blocks of one kernel call to work in, the same ones for all blocks of a thread."""

    __slots__ = ("arrays", "columns", "dtype")

    def __init__(self, columns: int, dtype: np.dtype) -> None:
        self.columns: int = columns
        self.dtype: np.dtype = dtype
        self.arrays: dict[int, np.ndarray] = {}

    def rows(self, count: int) -> np.ndarray:
        """`count` uninitialized rows, aligned."""
        array = self.arrays.get(get_ident())
        if array is None or len(array) < count:
            array = self.arrays[get_ident()] = aligned((count, self.columns), self.dtype)
        return array if len(array) == count else array[:count]


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array for a result, uninitialized; a large one has memory of the pool until it and its views are gone."""
    size = math.prod(shape) * dtype.itemsize
    if size < POOLED_BYTES or not most_kept():
        return np.empty(shape, dtype)
    # Eight sizes for each power of two: arrays of nearly the same size can follow each other.
    unit = 1 << (size.bit_length() - 4)
    room = -(-size // unit) * unit
    try:
        memory = _idle[room].pop()
    except (KeyError, IndexError):
        memory = _fetch(room)
    array = np.ndarray(shape, dtype, memory)
    loan = _Loan(array, _take_back)
    loan.memory = memory
    _loans[id(loan)] = loan
    return array


def _fetch(room: int) -> Memory:
    """New memory from the system, in large pages where it offers them."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return Memory(-1, room)
    try:
        memory = Memory(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):
        raise MemoryError(f"Unable to allocate {room / 2**30:.3g} GiB for the result of an operation") from None
    if room >= 1 << 22 and hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass  # a kernel without them
    return memory


def is_own(array: Any) -> bool:
    """True if an array is no view of another one: it owns its memory, or has it from the pool."""
    return array.base is None or type(array.base) is Memory


def empty_like(array: np.ndarray) -> np.ndarray:
    """`empty` of an array's shape and type, in its memory order."""
    if array.nbytes < POOLED_BYTES or not array.flags.c_contiguous:
        return in_its_order(array)
    return empty(array.shape, array.dtype)


def _take_back(loan: _Loan) -> None:
    del _loans[id(loan)]
    memory = loan.memory
    room = len(memory)
    if room > most_kept():
        return
    if sum(size * len(parts) for size, parts in list(_idle.items())) + room > most_kept():
        _idle.clear()  # sizes that are not in use any more must not keep the others out
    _idle.setdefault(room, []).append(memory)

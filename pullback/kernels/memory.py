"""Memory of large arrays: kept by the process for the next array, and aligned where kernels work on it.

The C library gives memory back to the system when an array dies, and the next one is mapped and zeroed page by page: on
a training step of a few hundred kilobytes that takes as long as the arithmetic. `keep_freed_memory` tells it, once, to
hold on to what was freed. It concerns the whole process, so it waits for the first large operation, and the environment
variable PULLBACK_KEEP_MEMORY=0 forbids it. `aligned` makes arrays for kernels to work in.
"""

from __future__ import annotations

import math
import os

import numpy as np

LARGEST_KEPT = 1 << 25
"""Arrays above 32 MiB always go back to the system: glibc refuses to keep larger ones, and they must not pile up."""

MOST_KEPT = 1 << 30
"""The C library keeps at most this much free memory at the end of its heap, or a sixteenth of the machine's."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's names for them in mallopt
_settled = False


def keep_freed_memory() -> None:
    """Have freed memory reused instead of returned, where the C library is glibc; later calls do nothing."""
    global _settled
    if _settled:
        return
    _settled = True
    if os.environ.get("PULLBACK_KEEP_MEMORY", "1") == "0":
        return
    try:
        import ctypes

        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 - other C libraries have a mallopt that means something else
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        library.mallopt(_MMAP_THRESHOLD, LARGEST_KEPT)
        library.mallopt(_TRIM_THRESHOLD, max(min(MOST_KEPT, memory // 16), LARGEST_KEPT))
    except (ImportError, AttributeError, OSError, TypeError, ValueError):
        pass  # another C library: slower, not wrong


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An empty array that begins with a cache line.

    NumPy's do not, and a loop that writes a third array takes twice as long then. It does not own its memory, so it is
    good for what stays inside a kernel.
    """
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


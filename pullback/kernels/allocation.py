"""How the C library keeps the memory of freed arrays.

glibc hands freed memory back to the system early, and a training step that frees and takes the same arrays again then
spends up to a third of its time on page faults. Kept in the process, the memory is reused as it is.
"""

from __future__ import annotations

import os

KEPT_BYTES = 1 << 28
"""Freed memory at the end of the heap that stays with the process."""

HEAP_BYTES = 1 << 25
"""Arrays up to this size come from the heap; glibc accepts no more. Larger ones are mapped and unmapped each time."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h


def keep_freed_memory() -> bool:
    """Tell the C library to keep freed memory for the next step; whether it listened.

    Libraries without `mallopt` (macOS, Windows, musl) are left alone, and so are settings made in the environment.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return False
    try:
        import ctypes

        mallopt = ctypes.CDLL(None).mallopt
    except (ImportError, OSError, TypeError, AttributeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, HEAP_BYTES) and mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))

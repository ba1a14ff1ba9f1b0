"""`torch.backends.openmp`: not there; threads are Python's and BLAS's own."""

from __future__ import annotations


def is_available() -> bool:
    return False

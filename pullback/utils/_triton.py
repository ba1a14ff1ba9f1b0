"""`torch.utils._triton`: questions about a compiler of GPU kernels, which is not used here."""

from __future__ import annotations


def has_triton() -> bool:
    """False: kernels cannot be compiled for a GPU here."""
    return False


def has_triton_package() -> bool:
    """False: the compiler would not be used if it were installed."""
    return False

"""`torch.utils._triton`: questions about a compiler of GPU kernels, which is not used here."""

from __future__ import annotations


def has_triton() -> bool:
    """Whether kernels can be compiled for a GPU: no."""
    return False


def has_triton_package() -> bool:
    """Whether the compiler would be used if it were installed: no."""
    return False

"""`torch.backends.mps`: Apple's GPU, which this library does not use."""

from __future__ import annotations


def is_built() -> bool:
    return False


def is_available() -> bool:
    """Whether Apple's GPU can be used: no."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    return False


is_macos_or_newer = is_macos13_or_newer

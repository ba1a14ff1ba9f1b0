"""`torch.backends.mps`: Apple's GPU, which this library does not use."""

from __future__ import annotations


def is_built() -> bool:
    return False


def is_available() -> bool:
    """False: there is no GPU of Apple's to use."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    return False


is_macos_or_newer = is_macos13_or_newer

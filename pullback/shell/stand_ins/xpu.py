"""`torch.xpu` where there is none."""

from __future__ import annotations


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def empty_cache() -> None:
    """There is no cache to empty."""


def synchronize() -> None:
    """Nothing runs in the background."""


def manual_seed(seed: int) -> None:
    """Accepted: there is no GPU generator to seed."""

"""`torch.mps`, which is not there either: what programs ask of it gets the answers of `torch.xpu`."""

from __future__ import annotations

from .xpu import device_count, empty_cache, is_available, manual_seed, synchronize

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]

"""The old names of mixed precision on the CPU."""

from __future__ import annotations

from pullback.amp import older

__all__ = ["GradScaler", "autocast"]


class autocast(older.autocast):
    """`torch.amp.autocast("cpu", ...)`."""

    _own_device: str = "cpu"


class GradScaler(older.GradScaler):
    """`torch.amp.GradScaler("cpu", ...)`."""

    _own_device: str = "cpu"

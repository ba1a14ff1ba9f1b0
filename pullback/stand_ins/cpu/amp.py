"""The old names of mixed precision on the CPU."""

from __future__ import annotations

from typing import Any

from pullback.amp import GradScaler as _GradScaler
from pullback.amp import autocast as _autocast
from pullback.notices import warn_user

__all__ = ["GradScaler", "autocast"]


def _renamed(name: str) -> None:
    warn_user(
        f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cpu', args...)` instead.",
        FutureWarning,
    )


class autocast(_autocast):
    """`torch.amp.autocast("cpu", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        _renamed("autocast")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """`torch.amp.GradScaler("cpu", ...)`."""

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        _renamed("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)

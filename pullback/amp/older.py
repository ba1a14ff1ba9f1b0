"""Mixed precision under its old names, `torch.cpu.amp` and `torch.cuda.amp`: a subclass says for which device."""

from __future__ import annotations

from typing import Any

from ..core.basics.notices import warn_user
from .autocast_mode import autocast as _autocast
from .grad_scaler import GradScaler as _GradScaler


def _renamed(name: str, device: str) -> None:
    warn_user(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device}', args...)` instead.",
        FutureWarning,
    )


class autocast(_autocast):
    """`torch.amp.autocast` for one device."""

    _own_device: str

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        _renamed("autocast", self._own_device)
        super().__init__(self._own_device, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """`torch.amp.GradScaler` for one device."""

    _own_device: str

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        _renamed("GradScaler", self._own_device)
        super().__init__(self._own_device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

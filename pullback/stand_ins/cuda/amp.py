"""The old names of mixed precision on GPUs: `autocast` and `GradScaler`, disabled with a warning here."""

from __future__ import annotations

from typing import Any

from pullback.amp import GradScaler as _GradScaler
from pullback.amp import autocast as _autocast
from pullback.amp import custom_bwd as _custom_bwd
from pullback.amp import custom_fwd as _custom_fwd
from pullback.notices import warn_user

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _renamed(name: str) -> None:
    warn_user(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
        FutureWarning,
    )


class autocast(_autocast):
    """`torch.amp.autocast("cuda", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        _renamed("autocast")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """`torch.amp.GradScaler("cuda", ...)`."""

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        _renamed("GradScaler")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`torch.amp.custom_fwd` for GPUs."""
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`torch.amp.custom_bwd` for GPUs."""
    return _custom_bwd(bwd, device_type="cuda")

"""The old names of mixed precision on GPUs: `autocast` and `GradScaler`, disabled with a warning here."""

from __future__ import annotations

from typing import Any

from pullback.amp import custom_bwd as _custom_bwd
from pullback.amp import custom_fwd as _custom_fwd
from pullback.amp import older

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(older.autocast):
    """`torch.amp.autocast("cuda", ...)`."""

    _own_device: str = "cuda"


class GradScaler(older.GradScaler):
    """`torch.amp.GradScaler("cuda", ...)`."""

    _own_device: str = "cuda"


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`torch.amp.custom_fwd` for GPUs."""
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`torch.amp.custom_bwd` for GPUs."""
    return _custom_bwd(bwd, device_type="cuda")

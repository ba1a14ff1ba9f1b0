"""`torch.accelerator` where there is none: programs ask here first and then choose the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def is_available() -> bool:
    """False: there is no accelerator to use."""
    return False


def device_count() -> int:
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """The accelerator's device: None, since there is none."""
    return None


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        "Cannot access accelerator device when none is available. Pullback computes on the CPU: guard this call with "
        "`if torch.accelerator.is_available():`."
    )


current_device_idx: Callable[..., Any]
current_device_index: Callable[..., Any]
set_device_idx: Callable[..., Any]
set_device_index = set_device_idx = current_device_index = current_device_idx = _refuse
current_stream: Callable[..., Any]
synchronize: Callable[..., Any]
set_stream = current_stream = synchronize = _refuse


def empty_cache() -> None:
    """There is no cache to empty."""

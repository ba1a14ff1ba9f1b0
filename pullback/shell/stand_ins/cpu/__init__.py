"""`torch.cpu`: the questions device-independent programs ask of an accelerator, answered for the processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core.basics.on_demand import names_on_demand


def is_available() -> bool:
    """True: the CPU can always be used."""
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device: Any) -> None:
    """Accepted: there is one."""


def synchronize(device: Any = None) -> None:
    """Nothing runs in the background."""


def is_initialized() -> bool:
    return True


names_on_demand(__name__, modules=("amp",))

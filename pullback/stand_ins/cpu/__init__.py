"""`torch.cpu`: the questions device-independent programs ask of an accelerator, answered for the processor."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether the CPU can be used: always."""
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


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module(f"{__name__}.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)

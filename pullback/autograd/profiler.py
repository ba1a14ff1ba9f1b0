"""The older home of the profiler: `torch.autograd.profiler.profile` and `record_function`.

What was recorded is in `profiler_util.py`. Markers for other vendors' profilers are accepted and mark nothing.
"""

from __future__ import annotations

from typing import Any

from ..core.mode import current_mode
from ..profiler import kineto_available, record_function
from ..profiler import profile as _profile
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg

__all__ = [
    "EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "kineto_available", "profile",
    "record_function",
]  # fmt: skip


class profile(_profile):
    """`torch.profiler.profile` with the older arguments."""

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        super().__init__(enabled=enabled, **options)


class emit_nvtx:
    """Accepted for compatibility: there is no GPU timeline to mark."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled: bool = enabled

    def __enter__(self) -> emit_nvtx:
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        return None


emit_itt = emit_nvtx


def _profiler_enabled() -> bool:
    """True if operations are being timed."""
    return current_mode().profiler is not None

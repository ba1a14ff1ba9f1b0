"""The older home of the profiler: `torch.autograd.profiler.profile` and `record_function`."""

from __future__ import annotations

from typing import Any

from ..profiler import profile as _profile
from ..profiler import record_function

__all__ = ["profile", "record_function"]


class profile(_profile):
    """`torch.profiler.profile` with the older arguments."""

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        super().__init__(enabled=enabled, **options)

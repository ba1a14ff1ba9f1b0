"""`torch.utils.deterministic`: whether memory that has not been written is filled, in programs that ask for determinism."""

from __future__ import annotations

import sys
from types import ModuleType

from ..core.basics.unwritten import settings


class _Deterministic(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """True if `empty` and its relatives give NaN, the largest integer or True under `use_deterministic_algorithms`."""
        return settings.fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        settings.fill = mode


sys.modules[__name__].__class__ = _Deterministic

"""Everything about GPUs that test files ask: there are none."""

from __future__ import annotations

from typing import Any

from .common_utils import _does_nothing


def _get_torch_cuda_version() -> tuple[int, int]:
    return (0, 0)


def __getattr__(name: str) -> Any:
    if name.isupper() or name.startswith(("TEST_", "SM", "PLATFORM_", "CDNA", "IS_")):
        return False
    return _does_nothing

"""`torch.optim.functional`: one step of each optimizer as a function of lists of tensors."""

from __future__ import annotations

from typing import Any

from . import _functional

__all__ = list(_functional._HOMES)


def __getattr__(name: str) -> Any:
    return getattr(_functional, name)

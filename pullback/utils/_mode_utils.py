"""`torch.utils._mode_utils`: leaving interception of operations for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..shell.dispatch_subclasses import DisableTorchDispatch

__all__ = ["all_same_mode", "no_dispatch"]


def no_dispatch() -> Any:
    """Inside, operations run as they are, whichever modes are on and whatever classes tensors are of."""
    return DisableTorchDispatch()


def all_same_mode(modes: Sequence[Any]) -> bool:
    """True if these modes are one and the same."""
    return all(mode == modes[0] for mode in modes)

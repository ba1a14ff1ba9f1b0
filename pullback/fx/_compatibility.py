"""`torch.fx._compatibility`: a mark on functions, which changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compatibility"]


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that returns what it is given."""
    return lambda marked: marked

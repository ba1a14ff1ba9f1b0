"""`torch._subclasses`: what code asks to find out whether it is being traced. It never is."""

from __future__ import annotations

from typing import Any

__all__ = ["FakeTensor", "is_fake"]


class FakeTensor:
    """The type of tensors under torch's tracer; no object here is of it."""


def is_fake(x: Any) -> bool:
    """False: no tensor belongs to a tracer here."""
    return False

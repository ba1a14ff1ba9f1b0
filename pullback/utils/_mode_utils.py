"""`torch.utils._mode_utils`: leaving interception of operations. Nothing intercepts them here, so nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_dispatch"]


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Run operations as they are, which they always are."""
    yield

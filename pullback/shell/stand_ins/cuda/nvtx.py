"""`torch.cuda.nvtx`: marks for a GPU's profiler. There is none, so nothing is marked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def range_push(msg: str) -> int:
    """Open a range."""
    return 0


def range_pop() -> int:
    """Close the range opened last."""
    return 0


def range_start(msg: str) -> int:
    """Open a range that another thread may close."""
    return 0


def range_end(range_id: int) -> None:
    """Close a range by its number."""


def mark(msg: str) -> None:
    """Mark a moment."""


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range, as a context or a decorator."""
    yield

"""`torch.utils._mode_utils`: leaving interception of operations. Nothing intercepts them here, so nothing is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["all_same_mode", "no_dispatch"]


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Run operations as they are, which they always are."""
    yield


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether these modes are one and the same."""
    return all(mode == modes[0] for mode in modes)

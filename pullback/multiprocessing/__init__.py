"""`torch.multiprocessing`: Python's `multiprocessing`. Tensors travel by value; sharing strategies are accepted.

`spawn` starts several processes with their number as first argument, as torch's does. Processes that are forked share
the tensors moved by `share_memory_()` (`sharing.py`); those that are spawned get copies.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
import multiprocessing.connection  # torch loads it, and programs reach it through `multiprocessing`
from multiprocessing import *  # noqa: F403
from typing import Any

from ..core.basics.on_demand import names_on_demand
from .spawn import ProcessContext, ProcessExitedException, ProcessRaisedException, spawn, start_processes

__all__ = [
    *_multiprocessing.__all__, "ProcessContext", "ProcessExitedException", "ProcessRaisedException",
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
]  # fmt: skip

_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The names torch knows on Linux."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The strategy that was set last."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted: tensors travel by value."""
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"invalid strategy {new_strategy!r}: use one of {sorted(get_all_sharing_strategies())}")
    _strategy = new_strategy


names_on_demand(__name__, made=lambda name: getattr(_multiprocessing, name, None))

"""`torch.profiler`: how long operations take, by name, in a table, and as a trace for a browser.

Times are wall-clock times of the forward operations on the CPU. Memory, stacks and GPU activity are not measured;
asking for them is accepted.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from ..autograd.profiler_util import EventList
from . import itt as itt
from ._recorder import profile, record_function

__all__ = [
    "EventList", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(enum.Enum):
    """The devices that can be measured; here only the CPU is."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3


class ProfilerAction(enum.Enum):
    """The actions that a schedule can name for a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """False: torch's tracing library is not there; times are taken here."""
    return False


def supported_activities() -> set[ProfilerActivity]:
    """The activities that are measured."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Which steps of a loop are recorded: after `wait` and `warmup` steps, `active` ones, over and over."""

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first - (wait if skip_first_wait else 0)  # the first cycle without its wait
        length = wait + warmup + active
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        position = step % length
        if position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if position < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """An `on_trace_ready` that writes a trace file into a folder."""

    def handle(profiler: profile) -> None:
        import os
        import time

        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{os.uname().nodename}_{os.getpid()}"
        profiler.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return handle

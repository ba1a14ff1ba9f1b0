"""`profile` and `record_function`: they stand in the tape's mode and are told about each operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from time import perf_counter
from typing import Any

import numpy as np

from ..autograd.profiler_util import EventList, FunctionEvent
from ..core.mode import current_mode, set_mode
from ..kernels.memory import is_own


class profile:
    """Time the operations of a `with` block, or of the steps that a schedule picks.

    `schedule` (see `schedule`) is a function of the step's number, and `step()` ends a step;
    `on_trace_ready(profile)` is called after each part that was recorded. `record_shapes` and `profile_memory` note
    shapes and bytes of operations. Results: `key_averages().table()`, `events()`, `export_chrome_trace(path)`. The
    other arguments are accepted.
    """

    def __init__(
        self, activities: Any = None, schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None, record_shapes: bool = False,
        profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
        enabled: bool = True, **others: Any,
    ) -> None:  # fmt: skip
        self._schedule: Callable[[int], Any] | None = schedule
        self._on_trace_ready: Callable[[profile], Any] | None = on_trace_ready
        self._enabled: bool = enabled
        self._record_shapes: bool = record_shapes
        self._profile_memory: bool = profile_memory
        self._events: list[FunctionEvent] = []
        self.step_num: int = 0

    # --- the tape's side ---

    @contextmanager
    def operation(self, op: Any, inputs: tuple[Any, ...]) -> Iterator[FunctionEvent]:
        """Called by the tape around each operation."""
        from ..shell.torch_names.aten import profiled_names

        shapes = [list(getattr(value, "shape", ())) for value in inputs] if self._record_shapes else None
        *around, name = profiled_names(op, inputs)
        with ExitStack() as blocks:
            for outer in around:
                blocks.enter_context(self.block(f"aten::{outer}", shapes))
            yield blocks.enter_context(self.block(f"aten::{name}", shapes))

    @contextmanager
    def node(self, name: str) -> Iterator[FunctionEvent]:
        """Called by the engine around each node of a backward pass."""
        with self.block(f"autograd::engine::evaluate_function: {name}"), self.block(name) as event:
            yield event

    def note_results(self, event: FunctionEvent, results: Any) -> None:
        """Count the memory an operation's results took (views take none)."""
        if self._profile_memory:
            event.self_cpu_memory_usage += _bytes_of(results)

    @contextmanager
    def block(self, name: str, shapes: list[Any] | None = None) -> Iterator[FunctionEvent]:
        start = perf_counter() * 1e6
        event = FunctionEvent(len(self._events), name, get_ident(), start, start, input_shapes=shapes)
        self._events.append(event)
        try:
            yield event
        finally:
            event.time_range.end = perf_counter() * 1e6

    # --- the program's side ---

    def _action(self) -> str:
        return "RECORD" if self._schedule is None else self._schedule(self.step_num).name

    def _record(self, on: bool) -> None:
        set_mode(current_mode().replace(profiler=self if on and self._enabled else None))

    def start(self) -> None:
        """Begin."""
        self._record(self._action().startswith("RECORD"))

    def stop(self) -> None:
        """End; a trace that is ready is handed over."""
        recording = current_mode().profiler is self
        self._record(False)
        if recording and self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.stop()

    def step(self) -> None:
        """Tell the schedule that one step of the loop is over."""
        before = self._action()
        self.step_num += 1
        after = self._action()
        if before == "RECORD_AND_SAVE":
            self._record(False)
            if self._on_trace_ready is not None:
                self._on_trace_ready(self)
        if after.startswith("RECORD") and not before == "RECORD":
            self._events.clear()
        self._record(after.startswith("RECORD"))

    def events(self) -> EventList:
        """Every event, in the order in which they began."""
        events = EventList(self._events)
        for event in events:
            event.cpu_children, event.cpu_parent = [], None
        events._populate_cpu_children()
        return events

    function_events: Any = property(events)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Sums by name."""
        return self.events().key_averages(group_by_input_shape)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events together, in microseconds."""
        return self.events().self_cpu_time_total

    def total_average(self) -> Any:
        """All events as one sum."""
        return self.events().total_average()

    def table(self, **options: Any) -> str:
        return self.events().table(**options)

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for a browser's trace viewer."""
        self.events().export_chrome_trace(path)


def _bytes_of(results: Any) -> int:
    if isinstance(results, (tuple, list)):
        return sum(_bytes_of(result) for result in results)
    array = getattr(results, "_array", results)
    return array.nbytes if isinstance(array, (np.ndarray, np.generic)) and is_own(array) else 0


class record_function:
    """A named block in the profile; also a decorator."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name: str = name
        self._block: Any = None

    def __enter__(self) -> record_function:
        profiler = current_mode().profiler
        if profiler is not None:
            self._block = profiler.block(self.name)
            self._block.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._block is not None:
            self._block.__exit__(*exc)
            self._block = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return wrapped

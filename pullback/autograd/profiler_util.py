"""The records of a profiler: single events, sums of them by name, and torch's table of both.

Times are in microseconds. How events are recorded is in `pullback.profiler`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


def _format_time(time_us: float) -> str:
    """A time with a unit that suits it."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    return f"{time_us / 1e3:.3f}ms" if time_us >= 1e3 else f"{time_us:.3f}us"


def _format_memory(size: int) -> str:
    for unit, name in ((1 << 30, "Gb"), (1 << 20, "Mb"), (1 << 10, "Kb")):
        if size >= unit:
            return f"{size / unit:.2f} {name}"
    return f"{size} b"


class Interval:
    """From when to when."""

    __slots__ = ("start", "end")

    def __init__(self, start: float, end: float) -> None:
        self.start: float = start
        self.end: float = end

    def elapsed_us(self) -> float:
        """The length, in microseconds."""
        return self.end - self.start


class _Times:
    """Averages of what an event, or several of one name, took. Only the CPU is measured."""

    count: int
    cpu_time_total: float
    cuda_time: float
    cuda_time_total: float
    device_time: float
    device_time_total: float
    self_device_time_total: float
    device_time_total = self_device_time_total = device_time = cuda_time = cuda_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0
    flops: int = 0

    @property
    def cpu_time(self) -> float:
        """The mean time of one event."""
        return self.cpu_time_total / self.count if self.count else 0.0


class FunctionEvent(_Times):
    """One timed operation or block."""

    key: str

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, end_us: float, overload_name: str | None = None,
        fwd_thread: int | None = None, input_shapes: list[Any] | None = None, stack: list[Any] | None = None,
        scope: int = 0, sequence_nr: int = -1, node_id: int = -1, is_async: bool = False,
        is_user_annotation: bool = False, **others: Any,
    ) -> None:  # fmt: skip
        self.id: int = id
        self.name = self.key = name
        self.overload_name: str = overload_name or ""
        self.thread: int = thread
        self.fwd_thread: int | None = fwd_thread
        self.time_range: Interval = Interval(start_us, end_us)
        self.input_shapes: list[Any] = input_shapes if input_shapes is not None else []
        self.stack: list[Any] = stack or []
        self.scope: int = scope
        self.sequence_nr: int = sequence_nr
        self.node_id: int = node_id
        self.is_async: bool = is_async
        self.is_user_annotation: bool = is_user_annotation
        self.count: int = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.self_cpu_memory_usage: int = 0  # bytes of the results; only with profile_memory=True

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes taken by the results of this event and of the events inside."""
        return self.self_cpu_memory_usage + sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Time from start to end, in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """The time from start to end less that of the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} "
            f"cpu_time={_format_time(self.cpu_time_total)} input_shapes={self.input_shapes}>"
        )


class FunctionEventAvg(_Times):
    """All events of one name."""

    def __init__(self) -> None:
        self.key: str = ""
        self.count: int = 0
        self.cpu_time_total: float = 0.0
        self.self_cpu_time_total: float = 0.0
        self.cpu_memory_usage: int = 0
        self.self_cpu_memory_usage: int = 0
        self.input_shapes: list[Any] = []
        self.node_id: int = 0
        self.is_async: bool = False
        self.cpu_children: list[Any] = []
        self.cpu_parent: FunctionEvent | None = None

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Count another event, or the events of another sum, in."""
        if not self.key:
            self.key, self.input_shapes, self.cpu_parent = other.key, other.input_shapes, other.cpu_parent
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.count += other.count
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={_format_time(self.self_cpu_time_total)} "
            f"cpu_time={_format_time(self.cpu_time)} input_shapes={self.input_shapes}>"
        )


class EventList(list[Any]):
    """A list of events or of sums that prints as a table."""

    def __init__(self, events: Iterable[Any] = (), **options: Any) -> None:
        super().__init__(events)

    @property
    def self_cpu_time_total(self) -> float:
        """Time spent in all events themselves, in microseconds."""
        return sum(item.self_cpu_time_total for item in self)

    def _populate_cpu_children(self) -> None:
        """Find out which events of a thread lie within which."""
        by_thread: dict[int, list[FunctionEvent]] = {}
        for event in self:
            if not event.is_async:
                by_thread.setdefault(event.thread, []).append(event)
        for events in by_thread.values():
            open_events: list[FunctionEvent] = []
            for event in sorted(events, key=lambda event: (event.time_range.start, -event.time_range.end)):
                span = event.time_range
                while open_events:
                    outer = open_events[-1].time_range
                    if span.start < outer.end and span.end <= outer.end:
                        open_events[-1].cpu_children.append(event)
                        event.cpu_parent = open_events[-1]
                        break
                    open_events.pop()
                open_events.append(event)

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The sums by name (and shapes of the inputs), in order of first appearance."""
        found: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            key = (event.key, str(event.input_shapes) if group_by_input_shapes else "")
            found.setdefault(key, FunctionEventAvg()).add(event)
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """All events as one sum."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
        top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The events as text, longest first if `sort_by` names a time."""
        rows = [item for item in self if not (top_level_events_only and item.cpu_parent is not None)]
        if sort_by is not None:
            rows.sort(key=lambda item: getattr(item, sort_by, 0.0), reverse=True)
        rows = rows[:row_limit] if row_limit >= 0 else rows
        total = self.self_cpu_time_total or 1.0
        width = max([4, *(len(item.key) for item in rows)])
        memory = any(item.cpu_memory_usage for item in rows)
        titles: tuple[str, ...] = ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg")
        titles += ("CPU Mem", "Self CPU Mem", "# of Calls") if memory else ("# of Calls",)
        rule = "-" * width + "  " + "  ".join("-" * 12 for _ in titles)
        lines = [header] if header else []
        lines += [rule, f"{'Name':>{width}}  " + "  ".join(f"{title:>12}" for title in titles), rule]
        for item in rows:
            used = (_format_memory(item.cpu_memory_usage), _format_memory(item.self_cpu_memory_usage)) if memory else ()
            cells = (
                f"{item.self_cpu_time_total / total:.2%}", _format_time(item.self_cpu_time_total),
                f"{item.cpu_time_total / total:.2%}", _format_time(item.cpu_time_total),
                _format_time(item.cpu_time), *used, item.count,
            )  # fmt: skip
            lines.append(f"{item.key:>{width}}  " + "  ".join(f"{cell:>12}" for cell in cells))
        lines += [rule, f"Self CPU time total: {_format_time(self.self_cpu_time_total)}"]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for a browser's trace viewer."""
        import json

        events = [
            {
                "name": event.name, "ph": "X", "ts": event.time_range.start, "dur": event.cpu_time_total, "pid": 0,
                "tid": event.thread, "cat": "cpu_op",
                "args": {"Input Dims": event.input_shapes, "Bytes": event.self_cpu_memory_usage},
            }
            for event in self
        ]  # fmt: skip
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)

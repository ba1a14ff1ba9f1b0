"""What a profiler recorded: single events, and sums by name with torch's table of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Event(NamedTuple):
    """One timed operation or block; times in microseconds."""

    name: str
    start: float
    duration: float
    depth: int
    self_time: float


class Average:
    """All events of one name."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        """The mean time of one event."""
        return self.cpu_time_total / self.count if self.count else 0.0

    cuda_time = device_time = cuda_time_total = device_time_total = 0.0
    cpu_memory_usage = self_cpu_memory_usage = 0


def _readable(microseconds: float) -> str:
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"


class EventList(list[Any]):
    """A list of averages that prints as a table."""

    @property
    def self_cpu_time_total(self) -> float:
        return sum(item.self_cpu_time_total for item in self)

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, top_level_events_only: bool = False, header: str | None = None,
        time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The averages as text, longest first if `sort_by` names a time."""
        rows = list(self)
        if sort_by is not None:
            rows.sort(key=lambda item: getattr(item, sort_by, 0.0), reverse=True)
        rows = rows[:row_limit] if row_limit >= 0 else rows
        total = self.self_cpu_time_total or 1.0
        width = max([4, *(len(item.key) for item in rows)])
        titles = ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")
        rule = "-" * width + "  " + "  ".join("-" * 12 for _ in titles)
        lines = [header] if header else []
        lines += [rule, f"{'Name':>{width}}  " + "  ".join(f"{title:>12}" for title in titles), rule]
        for item in rows:
            cells = (
                f"{item.self_cpu_time_total / total:.2%}", _readable(item.self_cpu_time_total),
                f"{item.cpu_time_total / total:.2%}", _readable(item.cpu_time_total),
                _readable(item.cpu_time), item.count,
            )  # fmt: skip
            lines.append(f"{item.key:>{width}}  " + "  ".join(f"{cell:>12}" for cell in cells))
        lines += [rule, f"Self CPU time total: {_readable(self.self_cpu_time_total)}"]
        return "\n".join(lines)

    __str__ = table


def averages(events: Iterable[Event]) -> EventList:
    """The sums of events by name, in order of first appearance."""
    found: dict[str, Average] = {}
    for event in events:
        item = found.setdefault(event.name, Average(event.name))
        item.count += 1
        item.cpu_time_total += event.duration
        item.self_cpu_time_total += event.self_time
    return EventList(found.values())

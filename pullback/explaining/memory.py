"""`memory(loss)`: what a graph keeps alive, largest first.

Values are counted once however many operations saved them; views count as the memory they look at. Parameters and other
leaves are told apart, as they live on without the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.node import FREED
from ..core.roots import root_of
from ..core.tensor import Anchor
from .collect import Collection, array_of, saved_values, tensors_of, title_of
from .names import gather, line_of
from .records import Line, bytes_text, shape_text


@dataclass(slots=True)
class Entry:
    """One piece of memory and the first operation that keeps it."""

    operation: str
    tensor: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    line: Line | None
    leaf: bool  # also alive without the graph
    holders: int  # how many operations keep it
    module: str = ""


class MemoryReport:
    """The findings of `memory`: `entries`, largest first, and totals in bytes."""

    def __init__(self, entries: list[Entry], operations: int, freed: int) -> None:
        self.entries: list[Entry] = entries
        self.operations: int = operations
        self.freed: int = freed  # operations whose saved values are gone already
        self.total: int = sum(entry.bytes for entry in entries if not entry.leaf)
        self.leaves: int = sum(entry.bytes for entry in entries if entry.leaf)

    def by_operation(self) -> dict[str, int]:
        """Bytes kept by each kind of operation, largest first; leaves not counted."""
        sums: dict[str, int] = {}
        for entry in self.entries:
            if not entry.leaf:
                sums[entry.operation] = sums.get(entry.operation, 0) + entry.bytes
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def table(self, rows: int = 20) -> str:
        """The largest entries as text."""
        lines = [
            f"The graph keeps {bytes_text(self.total)} for its backward pass ({self.operations} operations), and "
            f"refers to {bytes_text(self.leaves)} of leaves."
        ]
        if self.freed:
            lines.append(f"{self.freed} operations have been freed by a backward pass already.")
        lines += ["", f"{'bytes':>10}  {'kept by':<22}{'tensor':<26}{'shape':<20}{'dtype':<10}where"]
        for entry in self.entries[:rows]:
            where = entry.line.place() if entry.line else entry.module
            by = entry.operation + (f" (+{entry.holders - 1})" if entry.holders > 1 else "")
            tensor = entry.tensor + (" (leaf)" if entry.leaf else "")
            row = f"{bytes_text(entry.bytes):>10}  {by[:21]:<22}{tensor[:25]:<26}"
            lines.append(f"{row}{shape_text(entry.shape):<20}{entry.dtype:<10}{where}".rstrip())
        if len(self.entries) > rows:
            rest = sum(entry.bytes for entry in self.entries[rows:])
            lines.append(f"{bytes_text(rest):>10}  in {len(self.entries) - rows} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.table())}</pre>"

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<MemoryReport: {bytes_text(self.total)} in {len(self.entries)} tensors>"


def memory(loss: Any, *, model: Any = None) -> MemoryReport:
    """List what the graph of a tensor (or several) keeps alive: operation, tensor, bytes and line, largest first."""
    outputs = tensors_of(loss)
    names = gather(model, None)
    roots = [root_of(output, position, None) for position, output in enumerate(outputs)]
    collection = Collection(roots, names)
    found: dict[int, Entry] = {}
    last_holder: dict[int, Any] = {}
    freed = 0
    for node in collection.nodes:
        if node.saved is FREED:
            freed += 1
            continue
        for name, value in saved_values(node):
            array = array_of(value)
            if array is None or array.nbytes == 0:
                continue
            owner = _owner(array)
            entry = found.get(id(owner))
            if entry is None:
                found[id(owner)] = _entry(node, name, value, array, owner, names)
            else:
                entry.holders += last_holder[id(owner)] is not node
                entry.leaf = entry.leaf or isinstance(value, Anchor)
            last_holder[id(owner)] = node
    entries = sorted(found.values(), key=lambda entry: -entry.bytes)
    return MemoryReport(entries, len(collection.nodes), freed)


def _entry(node: Any, name: str, value: Any, array: Any, owner: Any, names: Any) -> Entry:
    """Describe a value that a node saved as `name`, in memory that no node before it was seen to keep."""
    leaf = isinstance(value, Anchor)
    shown = (names.leaf(value) if leaf else _result_name(names, value)) or name
    module = (node.notes or {}).get("metadata", {}).get("module", "")
    size = int(owner.nbytes)
    return Entry(title_of(node), shown, tuple(array.shape), str(array.dtype), size, line_of(node), leaf, 1, module)


def _result_name(names: Any, value: Any) -> str | None:
    node = getattr(value, "_node", None)
    return None if node is None else names.results.get((id(node), value._output_nr))


def _owner(array: Any) -> Any:
    """The array that owns the memory."""
    while isinstance(array, np.ndarray) and isinstance(array.base, (np.ndarray, np.generic)):
        array = array.base
    return array

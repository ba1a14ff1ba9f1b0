"""`Storage`: the life of one piece of memory that several tensors may look at.

It counts writes (`version`, torch's version counter) and remembers when the last was. A tensor gets one
when its memory is first shared or written; until then its version is 0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref as weak_reference

if TYPE_CHECKING:
    from weakref import ReferenceType

    from ..node import Node
    from ..tensor import Tensor

next_order: Callable[..., int] = count(1).__next__  # one clock for nodes and writes: what came after what


class Clock:
    """When anything was last written in place: nodes recorded later need no check."""

    __slots__ = ("last_write",)  # an object, because Python takes ten times as long to set an attribute of a class

    def __init__(self) -> None:
        self.last_write: int = 0


clock = Clock()


class Storage:
    """Counters that all tensors on the same memory share."""

    # Defaults of the class: every view makes sure that there is a storage, and few of these are ever written.
    version: int = 0
    written: int = 0  # when it was last written, on the clock that numbers nodes
    recent: deque[int] | None = None  # times of the last few writes, for error messages
    writer: str | None = None  # in anomaly mode: the line that last wrote here
    readers: list[ReferenceType[Node]] | None = (
        None  # weak references to nodes that get a copy of what they saved before a write
    )

    def bump(self) -> None:
        """Count a write. This comes first: Ctrl-C may end the write, or what would follow it."""
        self.version += 1
        self.written = clock.last_write = order = next_order()
        if self.recent is None:
            self.recent = deque(maxlen=32)
        self.recent.append(order)

    def take_back(self) -> None:
        """Count the last write no longer: nothing was written, since the operands do not go together."""
        times: Any = self.recent
        times.pop()
        self.version -= 1
        self.written = times[-1] if times else 0

    def version_at(self, order: int) -> int:
        """The version a node recorded at that time saw (as far back as is remembered)."""
        return self.version - sum(time > order for time in self.recent or ())


def bump_all(tensors: Sequence[Tensor]) -> None:
    """Count one write on the memory of each tensor, all at one time; those of inference mode are not counted."""
    clock.last_write = order = next_order()
    for tensor in tensors:
        if not tensor._inference:
            storage = tensor._storage or storage_of(tensor)
            storage.version += 1
            storage.written = order
            if storage.recent is None:
                storage.recent = deque(maxlen=32)
            storage.recent.append(order)


def storage_of(tensor: Any) -> Storage:
    """The counters of a tensor's memory, made when first needed."""
    storage = tensor._storage
    if storage is None:
        storage = tensor._storage = Storage()
        twin = tensor._anchor if tensor._owner is None else tensor._owner()
        if twin is not None:  # a leaf and its anchor count together
            twin._storage = storage
        node = tensor._node
        if node is not None and node.plan.keeps_output:
            if node.output_storages is None:
                node.output_storages = {}
            storage = tensor._storage = node.output_storages.setdefault(tensor._output_nr, storage)
            if node.plan.op.rare.copies_before_writes:
                add_reader(storage, node)
    return storage


def add_reader(storage: Storage, node: Node) -> None:
    """Let a node have a copy of what it saved here before the next write."""
    readers = storage.readers
    if readers is None:
        readers = storage.readers = []
    elif len(readers) > 7 and not len(readers) & len(readers) - 1:  # at 8, 16, 32, ...: forget nodes that are gone
        readers[:] = [reference for reference in readers if reference() is not None]
    readers.append(weak_reference(node))

"""Writing to saved tensors without spoiling the backward pass: `allow_mutation_on_saved_tensors`.

Inside, a saved tensor is packed as a handle on its memory. Before that memory is written, the value is copied into the
handle, once for each version that a graph still needs; a value that is never written is never copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np

from ..core.tape import wrap
from ..core.tensor import Tensor

if TYPE_CHECKING:
    from ..core.basics.types import Array


class Handle:
    """A saved tensor, as graphs hold it."""

    def __init__(self, tensor: Tensor, context: MutationContext) -> None:
        self.tensor: Tensor = tensor
        self.context: MutationContext = context


class MutationContext:
    """The tensors saved inside one `with` block, and the copies made of them."""

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple[int, int], Handle] = WeakValueDictionary()
        self.by_memory: dict[int, WeakSet[Handle]] = {}
        self.open: bool = True

    def pack(self, tensor: Tensor) -> Handle:
        """The handle of a tensor at its present version; the same tensor saved twice has one."""
        array = tensor._array
        key = (id(array), 0 if tensor._storage is None else tensor._storage.version)
        handle = self.tid_to_weakhandle.get(key)
        if handle is None or handle in self.cloned:
            handle = self.tid_to_weakhandle[key] = Handle(tensor, self)
            self.by_memory.setdefault(id(owner_of(array)), WeakSet()).add(handle)
        return handle

    def unpack(self, handle: Handle) -> Tensor:
        if handle.context is not self or not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return self.cloned.get(handle, handle.tensor)

    def before_write(self, tensor: Tensor) -> None:
        """Copy what graphs need of memory that is about to change."""
        memory = owner_of(tensor._array)
        for handle in list(self.by_memory.pop(id(memory), ())):
            # An in-place operation that saved its own input has moved that to memory of its own.
            if handle not in self.cloned and owner_of(handle.tensor._array) is memory:
                self.cloned[handle] = wrap(np.array(handle.tensor._array))

    def clear(self) -> None:
        self.open = False
        self.cloned.clear()
        self.by_memory.clear()
        self.tid_to_weakhandle.clear()


def owner_of(array: Array) -> Array:
    """The array whose memory a view looks at."""
    while isinstance(getattr(array, "base", None), np.ndarray):
        array = array.base
    return array


class Active:
    """The context that is open now, if any: there is at most one."""

    context: MutationContext | None = None


def keep_saved(tensor: Tensor) -> None:
    """Called before a tensor is written: what open graphs saved of its memory is copied."""
    if Active.context is not None:
        Active.context.before_write(tensor)

"""The attributes that programs attach to tensors: `tensor.__dict__` shows these, and hides the tensor's own fields.

Subclasses carry their attributes from one tensor to the next by it (`result.__dict__ = source.__dict__.copy()`), and copies
and pickles take them along. The dictionary below, with everything in it, is `fields(tensor)` of `core/tensor.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from .tensor import Tensor, fields

# Fields without a default on the class; those with one are known by it.
_FIELDS = frozenset({"_array", "_idle_hooks", "_metadata", "_accumulator"})


def is_field(name: str) -> bool:
    """Return True if a name in that dictionary is a field of the tensor's own. A program may have put one before a method."""
    return name in _FIELDS or hasattr(Tensor, name) and (name[0] == "_" or not callable(getattr(Tensor, name)))


class Attributes(MutableMapping[str, object]):
    """A live view of what a program has attached to one tensor."""

    __slots__ = ("_fields",)

    def __init__(self, fields: dict[str, object]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> object:
        if is_field(name):
            raise KeyError(name)
        return self._fields[name]

    def __setitem__(self, name: str, value: object) -> None:
        self._fields[name] = value

    def __delitem__(self, name: str) -> None:
        if is_field(name):
            raise KeyError(name)
        del self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in self._fields if not is_field(name)])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def replace(self, attached: Mapping[str, object]) -> None:
        """Exchange them all for others."""
        attached = dict(attached)  # it may be this very view
        self.clear()
        self.update(attached)

    def copy(self) -> dict[str, object]:
        """A dictionary of them."""
        return dict(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, object]) -> dict[str, object]:
        from copy import deepcopy

        return deepcopy(dict(self), memo)

    def __reduce__(self) -> tuple[type, tuple[dict[str, object]]]:
        return dict, (dict(self),)

    def __repr__(self) -> str:
        return repr(dict(self))


def guard(cls: type) -> None:
    """The same for a subclass with other classes before Tensor, whose `__dict__` would be the whole dictionary."""
    read: Any = cls.__getattribute__
    write: Any = cls.__setattr__

    def __getattribute__(self: Tensor, name: str) -> object:
        return Attributes(fields(self)) if name == "__dict__" else read(self, name)

    def __setattr__(self: Any, name: str, value: object) -> None:
        if name == "__dict__":
            self.__dict__.replace(value)
        else:
            write(self, name, value)

    cls.__getattribute__ = __getattribute__  # type: ignore[assignment]
    cls.__setattr__ = __setattr__  # type: ignore[assignment]

"""`torch.utils.weak`: dictionaries that forget keys that are not referenced any more, compared by identity."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to another one if both are to the same object."""

    __slots__ = ("_id",)

    _id: int

    def __new__(cls, key: Any, callback: Any = None) -> WeakIdRef:
        self = super().__new__(cls, key, callback)
        self._id = id(key)
        return self

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WeakIdRef) and self._id == other._id


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A mapping from objects, by identity; an entry goes when its key does."""

    def __init__(self, dict: Any = None, ref_type: type[Any] = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type: type[Any] = ref_type
        if dict is not None:
            self.update(dict)

    def __setitem__(self, key: Any, value: Any) -> None:
        data = self.data
        self.data[self.ref_type(key, lambda reference: data.pop(reference, None))] = value

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        return self.ref_type(key) in self.data

    def __iter__(self) -> Iterator[Any]:
        return (key for key in [reference() for reference in self.data] if key is not None)

    def __len__(self) -> int:
        return len(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary
TensorWeakRef = WeakIdRef

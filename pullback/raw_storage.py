"""The memory under a tensor as torch shows it: `x.untyped_storage()` (bytes) and the older `x.storage()` (elements).

Both are windows onto the array that owns the memory; nothing is copied. Version counters live in `storage.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .device import cpu, device
from .dtypes import dtype, from_numpy_dtype
from .ops.striding import owner_of
from .tensor import Tensor


class UntypedStorage:
    """A piece of memory in bytes."""

    def __init__(self, source: Any = 0) -> None:
        if isinstance(source, int):
            source = np.zeros(source, np.uint8)
        self._owner: np.ndarray = source

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """A file's bytes, read as they are needed; written back only if `shared`."""
        return cls(np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,) if nbytes else None))

    def untyped(self) -> UntypedStorage:
        return self

    @property
    def device(self) -> device:
        return cpu

    @property
    def is_cuda(self) -> bool:
        return False

    def __dlpack__(self, **options: Any) -> Any:
        return self._bytes().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._owner.__array_interface__["data"][0]

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._owner.nbytes

    size = nbytes
    __len__ = nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + 8 + self.nbytes()  # torch's has a pointer more, and summaries add these up

    def element_size(self) -> int:
        return 1

    def _bytes(self) -> np.ndarray:
        return self._owner.ravel(order="K").view(np.uint8)

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self._bytes().tolist()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return UntypedStorage(self._bytes()[index])
        return int(self._bytes()[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bytes()[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def clone(self) -> UntypedStorage:
        """A copy of the memory."""
        return UntypedStorage(self._owner.copy(order="K"))

    def cpu(self) -> UntypedStorage:
        return self

    def is_shared(self) -> bool:
        return False

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def resizable(self) -> bool:
        return False

    def resize_(self, size: int) -> None:
        """Memory that belongs to NumPy arrays keeps its size."""
        if size != self.nbytes():
            raise RuntimeError("Trying to resize storage that is not resizable: the memory belongs to a NumPy array.")

    def __repr__(self) -> str:
        lines = "\n".join(f" {value}" for value in self.tolist())
        return f"{lines}\n[torch.storage.UntypedStorage(device=cpu) of size {self.nbytes()}]"


class TypedStorage:
    """A piece of memory in elements of one dtype."""

    def __init__(self, *, wrap_storage: UntypedStorage, dtype: dtype, _internal: bool = False) -> None:
        self._untyped_storage: UntypedStorage = wrap_storage
        self.dtype: Any = dtype

    def untyped(self) -> UntypedStorage:
        return self._untyped_storage

    def _elements(self) -> np.ndarray:
        return self._untyped_storage._bytes().view(self.dtype.numpy)

    @property
    def device(self) -> device:
        return cpu

    @property
    def is_cuda(self) -> bool:
        return False

    def data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        return self.dtype.itemsize

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def tolist(self) -> list[Any]:
        return self._elements().tolist()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        lines = "\n".join(f" {value}" for value in self.tolist())
        return f"{lines}\n[torch.storage.TypedStorage(dtype={self.dtype!r}, device=cpu) of size {self.size()}]"


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory this tensor looks at, in bytes."""
    return UntypedStorage(owner_of(self.memory()))


def storage(self: Tensor) -> TypedStorage:
    """The memory this tensor looks at, in elements."""
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=from_numpy_dtype(self._array.dtype))


def is_storage(obj: Any, /) -> bool:
    """Whether an object is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))

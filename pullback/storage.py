"""The memory under a tensor as torch shows it: `x.untyped_storage()` (bytes) and the older `x.storage()` (elements).

Both are windows onto the array that owns the memory; nothing is copied, and one piece of memory has one window as long
as somebody holds it. `torch.FloatStorage` and the others make typed storages and answer `isinstance` by dtype. Memory
that tensors look at keeps its size. Version counters live in `core/basics/storage.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np

from .core.basics import dtypes
from .core.basics.device import cpu, device, place_of
from .core.basics.dtypes import as_dtype, default_dtype, from_numpy_dtype
from .core.basics.notices import warn_user
from .core.basics.on_demand import names_on_demand
from .core.tensor import Tensor
from .ops.striding import address, copied_owner, owner_of

# By the identity of the owner, which they hold.
_windows: WeakValueDictionary[int, UntypedStorage] = WeakValueDictionary()
_DTYPES: dict[str, dtypes.dtype] = {
    f"{kind.type_name}Storage": kind
    for kind in (
        dtypes.float64, dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.int64, dtypes.int32, dtypes.int16,
        dtypes.int8, dtypes.uint8, dtypes.bool_, dtypes.complex128, dtypes.complex64,
    )
}  # fmt: skip


class _StorageBase:
    """The base of storages of both kinds; `_elements` are the values that a kind shows."""

    is_cuda: bool = False
    is_hpu: bool = False
    is_sparse: bool = False
    filename: str | None = None

    def untyped(self) -> UntypedStorage:
        """The memory in bytes."""
        raise NotImplementedError

    def _elements(self) -> np.ndarray:
        raise NotImplementedError

    def as_array(self, kind: dtypes.dtype) -> np.ndarray:
        """The memory as elements of a dtype; RuntimeError for one that is not its own."""
        raise NotImplementedError

    def _like(self, memory: UntypedStorage) -> Any:
        """Other memory, shown as this one shows its own."""
        raise NotImplementedError

    @property
    def device(self) -> device:
        """Where the memory is."""
        return self.untyped()._device

    @property
    def _cdata(self) -> int:
        return id(self.untyped()._owner)

    def get_device(self) -> int:
        return -1

    def data_ptr(self) -> int:
        """The address of the first byte."""
        storage = self.untyped()
        return 0 if storage.is_meta else address(storage._owner)

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.untyped()._owner.nbytes

    def element_size(self) -> int:
        """Bytes for each element."""
        return 1

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.element_size()

    def __len__(self) -> int:
        return self.size()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._elements().tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def _position(self, index: Any) -> int:
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if not -self.size() <= index < self.size():
            raise IndexError(f"index {index} out of range for storage of size {self.size()}")
        return index

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index if isinstance(index, slice) else self._position(index)] = value

    def fill_(self, value: Any) -> Any:
        """Write one value everywhere."""
        if not self.untyped().is_meta:
            self._elements()[...] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Copy the bytes of another storage."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        if not self.untyped().is_meta:
            self.untyped()._bytes()[...] = source.untyped()._bytes()
        return self

    def clone(self) -> Any:
        """A copy of the memory."""
        storage = self.untyped()
        owner = storage._owner if storage.is_meta else storage._owner.copy(order="K")
        return self._like(UntypedStorage._around(owner, storage._device))

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        """A copy; what looks at the same memory, tensors too, looks at the same copy of it."""
        storage = self.untyped()
        return self._like(UntypedStorage._around(copied_owner(storage._owner, memo), storage._device))

    def __reduce__(self) -> tuple[Any, ...]:
        kind = self.dtype if isinstance(self, TypedStorage) else None
        return _restored, (self.untyped()._bytes().tobytes(), kind)

    def cpu(self) -> Any:
        """The storage itself."""
        if self.untyped().is_meta:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> NoReturn:
        raise RuntimeError("Torch not compiled with CUDA enabled: storages are in the memory of the CPU here.")

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """The storage on a device: itself, or an outline of it."""
        if place_of(device) == self.device:
            return self
        return self._like(UntypedStorage(self.nbytes(), device=device)) if place_of(device) is not cpu else self.cpu()

    def is_shared(self) -> bool:
        """True if forked processes share the memory, or others through a file."""
        import mmap

        owner = owner_of(self.untyped()._owner)
        return isinstance(owner.base, mmap.mmap) and getattr(owner, "mode", "") != "c"

    def share_memory_(self) -> Any:
        return self

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def pin_memory(self, device: Any = None) -> NoReturn:
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def _new_shared(self, size: int, *, device: Any = None) -> Any:
        """Another storage of so many elements, in memory that forked processes share: for batches of loaders."""
        return self._like(_shared(size * self.element_size(), device))

    def resizable(self) -> bool:
        """True if `resize_` can change the size: no tensor looks at the memory."""
        storage = self.untyped()
        return storage.is_meta or storage._owner.flags.owndata and sys.getrefcount(storage._owner) <= 2

    def _converted(self, kind: dtypes.dtype) -> TypedStorage:
        return _typed(self._elements().astype(kind._numpy), kind)

    def __repr__(self) -> str:
        values = "..." if self.untyped().is_meta else "\n".join(f" {value}" for value in self.tolist()) or " "
        kind = f"dtype={self.dtype!r}, " if isinstance(self, TypedStorage) else ""
        name = type(self).__name__
        return f"{values}\n[torch.storage.{name}({kind}device={self.device}) of size {self.size()}]"


class UntypedStorage(_StorageBase):
    """A piece of memory in bytes."""

    _owner: np.ndarray
    _device: device

    def __init__(self, source: Any = 0, *, device: Any = None) -> None:
        self._device = cpu if device is None else place_of(device)
        if isinstance(source, int):
            if source < 0:
                raise RuntimeError(f"A storage cannot have a negative number of bytes: {source}.")
            self._show(_outline(source) if self.is_meta else np.zeros(source, np.uint8))
            return
        if not isinstance(source, Sequence):
            raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type(source).__name__}")
        for item in source:
            if not isinstance(item, int):
                raise RuntimeError(
                    f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(source).__name__}), "
                    f"but one of the items was of type {type(item).__name__} instead of int"
                )
        self._show(np.array([item & 255 for item in source], np.uint8))

    @classmethod
    def _around(cls, owner: np.ndarray, place: device = cpu) -> UntypedStorage:
        """The window onto an array's memory."""
        found = _windows.get(id(owner))
        if found is None or found._owner is not owner:  # a window that was resized has left its first array
            found = cls.__new__(cls)
            found._device = place
            found._show(owner)
        return found

    def _show(self, owner: np.ndarray) -> None:
        self._owner = owner
        _windows[id(owner)] = self

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = None) -> UntypedStorage:  # type: ignore[override]
        """So many bytes in memory that forked processes share."""
        return _shared(size, device)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """A file's bytes, read as they are needed; written back only if `shared`."""
        memory = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,) if nbytes else None)
        return cls._around(memory)

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: Any = None
    ) -> UntypedStorage:
        """A copy of the bytes of an object, each element of `dtype` in this machine's order."""
        size = 1 if dtype is None else as_dtype(dtype).itemsize
        if size > 1 and byte_order not in ("native", "little", "big"):
            if byte_order is None:
                raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        content = np.frombuffer(buffer, np.uint8, -1, offset)
        if count < 0 and content.nbytes % size:
            raise ValueError(f"buffer size ({content.nbytes}) must be a multiple of element size ({size})")
        if count * size > content.nbytes:
            raise ValueError(
                f"buffer has only {content.nbytes // size} elements after offset {offset}, but {count} asked"
            )
        storage = cls._around(content[: count * size if count >= 0 else None].copy())
        if byte_order not in (None, "native", sys.byteorder):
            storage.byteswap(dtype)
        return storage

    @property
    def is_meta(self) -> bool:
        """True if this has a size but no memory, as on the device "meta"."""
        return self._device.type == "meta"

    def untyped(self) -> UntypedStorage:
        return self

    def _like(self, memory: UntypedStorage) -> UntypedStorage:
        return memory

    def _bytes(self) -> np.ndarray:
        if self.is_meta:
            raise NotImplementedError("Not available for 'meta' device type")
        return self._owner.ravel(order="K").view(np.uint8)

    _elements = _bytes

    def as_array(self, kind: dtypes.dtype) -> np.ndarray:
        return self._bytes()[: self.nbytes() - self.nbytes() % kind.itemsize].view(kind._numpy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._bytes().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + 8 + self.nbytes()  # torch's has a pointer more, and summaries add these up

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return int(self._bytes()[self._position(index)])
        if index.step not in (None, 1):
            raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
        return self._around(self._bytes()[index], self._device)

    def new(self) -> UntypedStorage:
        """A storage without any bytes."""
        return UntypedStorage()

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of this class; or, given the name of another, the bytes as numbers of its kind."""
        return "torch.storage.UntypedStorage" if dtype is None else self._converted(_dtype_of(dtype))

    def byteswap(self, dtype: Any) -> None:
        """Reverse the bytes of each element, or of each half of a complex one."""
        kind = as_dtype(dtype)._numpy
        size = kind.itemsize // (2 if kind.kind == "c" else 1)
        if self.nbytes() % kind.itemsize:
            raise RuntimeError(f"the length of data is not a multiple of {kind.itemsize}")
        if size > 1:
            self._bytes().view(f"u{size}").byteswap(inplace=True)

    def resize_(self, size: int) -> UntypedStorage:
        """Change the number of bytes, where no tensor looks at them."""
        if not isinstance(size, int):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        if size == self.nbytes():
            return self
        if not self.resizable():
            raise RuntimeError(
                "Trying to resize storage that is not resizable: the memory belongs to a NumPy array that tensors "
                "look at. Make a tensor of the other size and copy what is needed."
            )
        larger = UntypedStorage(size, device=self._device)._owner
        if not self.is_meta:
            kept = self._bytes()[:size]
            larger[: kept.size] = kept
        self._show(larger)
        return self


class TypedStorage(_StorageBase):
    """A piece of memory in elements of one dtype."""

    dtype: Any
    _untyped_storage: UntypedStorage

    def __init__(
        self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: bool = False
    ) -> None:
        if not _internal:
            _warn_of_removal()
        if wrap_storage is not None:
            if args:
                raise _invalid(RuntimeError, "No positional arguments should be given when using 'wrap_storage'")
            if dtype is None:
                raise _invalid(RuntimeError, "Argument 'dtype' must be specified")
            if not isinstance(dtype, dtypes.dtype):
                raise _invalid(TypeError, f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
            if device is not None:
                raise _invalid(RuntimeError, "Argument 'device' should not be specified when 'wrap_storage' is given")
            if not isinstance(wrap_storage, UntypedStorage):
                raise _invalid(
                    TypeError, f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
                )
            self._untyped_storage, self.dtype = wrap_storage, dtype
            return
        self.dtype = kind = default_dtype() if dtype is None else as_dtype(dtype)
        if len(args) > 1:
            raise _invalid(RuntimeError, "Too many positional arguments")
        source = args[0] if args else 0
        if isinstance(source, (int, np.integer)):
            self._untyped_storage = UntypedStorage(int(source) * kind.itemsize, device=device)
        elif isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
            self._untyped_storage = UntypedStorage._around(np.array(source, copy=None, ndmin=1).astype(kind._numpy))
        elif isinstance(source, str):
            raise TypeError("new(): invalid data type 'str'")
        else:
            raise _invalid(TypeError, f"Argument type not recognized: {type(source)}")

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> TypedStorage:
        """A file's elements, read as they are needed; written back only if `shared`."""
        kind = getattr(cls, "dtype", None) or default_dtype()
        memory = UntypedStorage.from_file(filename, shared, size * kind.itemsize)
        return TypedStorage(wrap_storage=memory, dtype=kind, _internal=True)

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """A copy of the bytes of an object; see `UntypedStorage.from_buffer`."""
        kind = as_dtype(kwargs.pop("dtype", None) or getattr(cls, "dtype", None) or default_dtype())
        return TypedStorage(
            wrap_storage=UntypedStorage.from_buffer(*args, dtype=kind, **kwargs), dtype=kind, _internal=True
        )

    def untyped(self) -> UntypedStorage:
        return self._untyped_storage

    def _elements(self) -> np.ndarray:
        return self._untyped_storage._bytes().view(self.dtype._numpy)

    def _like(self, memory: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=memory, dtype=self.dtype, _internal=True)

    def element_size(self) -> int:
        return self.dtype.itemsize

    def as_array(self, kind: dtypes.dtype) -> np.ndarray:
        if kind is not self.dtype:
            raise RuntimeError(
                f"Expected a Storage of type {kind.type_name} or an UntypedStorage, but got type {self.dtype.type_name} "
                "for argument 1 'storage'"
            )
        return self._elements()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[self._position(index)].item()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the class of this dtype; or, given the name of another, the elements as numbers of its kind."""
        return f"torch.{self.pickle_storage_type()}" if dtype is None else self._converted(_dtype_of(dtype))

    def pickle_storage_type(self) -> str:
        """The name of the class of this dtype, as files have it."""
        return f"{self.dtype.type_name}Storage"

    def resize_(self, size: int) -> None:
        """Change the number of elements, where no tensor looks at them."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)


class _LegacyType(type):
    """The type of `torch.FloatStorage` and the others: what they make is a `TypedStorage`."""

    dtype: dtypes.dtype

    def __call__(cls, *args: Any, wrap_storage: Any = None, **kwargs: Any) -> TypedStorage:
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        for name in ("dtype", "device"):
            if name in kwargs:
                raise _invalid(RuntimeError, f"Keyword argument '{name}' cannot be specified", cls)
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and (cls is _LegacyStorage or instance.dtype is cls.dtype)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


class _LegacyStorage(TypedStorage, metaclass=_LegacyType):
    """The class above `torch.FloatStorage` and the others."""

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = None) -> TypedStorage:  # type: ignore[override]
        """So many elements in memory that forked processes share."""
        return TypedStorage(_internal=True, dtype=cls.dtype)._new_shared(size, device=device)


def _shared(count: int, place: Any) -> UntypedStorage:
    from .multiprocessing.sharing import shared_bytes

    if place is not None and place_of(place) is not cpu:
        raise NotImplementedError(f"_new_shared() of a storage is for the memory of the CPU, not for {place}.")
    return UntypedStorage._around(shared_bytes(count))


_made: dict[str, Any] = {}


def _legacy_type(name: str) -> Any:
    """`FloatStorage` and the others, made when they are first asked for."""
    if name == "Storage":
        name = f"{default_dtype().type_name}Storage"
    if name not in _DTYPES:
        return None
    if name not in _made:
        _made[name] = _LegacyType(name, (_LegacyStorage,), {"dtype": _DTYPES[name], "__module__": "torch"})
    return _made[name]


names_on_demand(__name__, made=_legacy_type)
_has_warned = False


def _warn_of_removal() -> None:
    """Say once that typed storages will go."""
    global _has_warned
    if not _has_warned:
        _has_warned = True
        warn_user(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
            "class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
            "directly, use tensor.untyped_storage() instead of tensor.storage()"
        )


def _invalid(error: type[Exception], reason: str, kind: Any = None) -> Exception:
    place = "TypedStorage.__init__" if kind is None else f"{kind}.__new__"
    return error(f"{place} received an invalid combination of arguments. {reason}")


def _outline(size: int) -> np.ndarray:
    return np.broadcast_to(np.zeros((), np.uint8), (size,))


def _dtype_of(kind: Any) -> dtypes.dtype:
    """The dtype of `torch.FloatStorage` or of its name."""
    name = kind.rpartition(".")[2] if isinstance(kind, str) else getattr(kind, "__name__", "")
    if name not in _DTYPES:
        raise ValueError(f"invalid type: {kind!r}")
    return _DTYPES[name]


def _dtype_to_storage_type_map() -> dict[dtypes.dtype, str]:
    """The names of storages by their dtype."""
    return {kind: name for name, kind in _DTYPES.items()}


def _typed(array: np.ndarray, kind: dtypes.dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=UntypedStorage._around(array), dtype=kind, _internal=True)


def _restored(content: bytes, kind: dtypes.dtype | None) -> Any:
    """A storage from its pickle."""
    array = np.frombuffer(content, np.uint8).copy()
    return UntypedStorage._around(array) if kind is None else _typed(array, kind)


def _conversion(kind: dtypes.dtype) -> Any:
    def convert(self: _StorageBase) -> TypedStorage:
        return self._converted(kind)

    convert.__doc__ = f"A copy with the elements as {kind}."
    return convert


for _name, _kind in {
    "double": dtypes.float64, "float": dtypes.float32, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64, "int": dtypes.int32, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool_, "complex_double": dtypes.complex128, "complex_float": dtypes.complex64,
}.items():  # fmt: skip
    setattr(_StorageBase, _name, _conversion(_kind))


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory this tensor looks at, in bytes."""
    if self.is_meta:
        return UntypedStorage(self.numel() * self.element_size(), device=self.device)
    return UntypedStorage._around(owner_of(self.memory()))


def storage(self: Tensor) -> TypedStorage:
    """The memory this tensor looks at, in elements."""
    _warn_of_removal()
    return typed_storage(self)


def typed_storage(self: Tensor) -> TypedStorage:
    """The same for ourselves, without a warning."""
    kind = from_numpy_dtype(self._array.dtype)
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=kind, _internal=True)


def storage_type(self: Tensor) -> Any:
    """The class of storages of this tensor's dtype."""
    return _legacy_type(f"{self.dtype.type_name}Storage")


def is_storage(obj: Any, /) -> bool:
    """True if an object is a storage."""
    return isinstance(obj, _StorageBase)


def _load_from_bytes(content: bytes) -> Any:
    """Load a file of `torch.save` in memory, as the pickles of torch's storages ask for it."""
    import io

    from .serialization import load

    return load(io.BytesIO(content), weights_only=False)

"""Checkpoints to a file: a small pickler (protocol 2) and the records around it.

Tensors, sizes, devices and dtypes are written under torch's names, so that torch reads the file; plain data
are written directly and any other object the way `pickle` would, through `__reduce_ex__`. Each storage is
written once, however many tensors view it.
"""

from __future__ import annotations

import contextlib
import importlib
import struct
import sys
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pickle import PicklingError
from typing import Any

import numpy as np

from . import bridge
from .archive import ArchiveWriter
from .dtypes import STORAGE_CLASSES, numpy_dtype

_BATCH = 1000  # items for each APPENDS or SETITEMS, as the standard pickler does


class Global:
    """A global to be written by name, without importing it: torch's names for what we have under others."""

    __slots__ = ("module", "name")
    module: str
    name: str

    def __init__(self, path: str) -> None:
        self.module, self.name = path.split(" ")


class StorageReference:
    """A storage, in the place where the pickle refers to it."""

    __slots__ = ("identifier",)

    def __init__(self, *identifier: Any) -> None:
        self.identifier: tuple[Any, ...] = ("storage", *identifier)


class Storages:
    """The distinct storages of the tensors met so far, in order."""

    def __init__(self, is_legacy: bool = False) -> None:
        self.is_legacy: bool = is_legacy  # for the format before 1.6, which knows storages by their dtype only
        self.arrays: list[np.ndarray] = []
        self.counts: list[int] = []
        self._known: dict[tuple[int, int], tuple[str, str]] = {}

    def reduce_tensor(self, tensor: Any) -> tuple[Global, tuple[Any, ...]]:
        """The call that rebuilds `tensor`."""
        sparse = bridge.parts_of_sparse(tensor)
        if sparse is not None:
            return Global("torch._utils _rebuild_sparse_tensor"), sparse
        meta = bridge.parts_of_meta(tensor)
        if meta is not None:
            return Global("torch._utils _rebuild_meta_tensor_no_storage"), meta
        wrapper = bridge.parts_of_wrapper(tensor)
        if wrapper is not None:
            form, held = wrapper
            arguments: tuple[Any, ...] = (Global("torch._utils _rebuild_wrapper_subclass"), form[0], form, held)
            return Global("torch._tensor _rebuild_from_type_v2"), arguments
        parts = bridge.parts_of_tensor(tensor)
        storage, is_typed = self.reference(parts.storage, parts.dtype)
        if self.is_legacy and not is_typed:
            raise RuntimeError(
                f"The file format before torch 1.6 cannot hold a tensor of {parts.dtype} here: it has no such storages, "
                "or another tensor views the same memory as another dtype. Leave _use_new_zipfile_serialization out."
            )
        kind = bridge.class_to_keep(tensor)
        requires_grad = parts.requires_grad and not (parts.is_parameter and kind is None)
        view = (storage, parts.offset, parts.size, parts.stride, requires_grad)
        if is_typed:
            rebuild = Call(Global("torch._utils _rebuild_tensor_v2"), (*view, OrderedDict()))
        else:
            rebuild = Call(
                Global("torch._utils _rebuild_tensor_v3"), (*view, OrderedDict(), Global(f"torch {parts.dtype}"))
            )
        attached = parts.attributes
        if kind is not None:
            arguments = (rebuild.function, kind, rebuild.arguments, attached)
            return Global("torch._tensor _rebuild_from_type_v2"), arguments
        if parts.is_parameter:
            name, state = ("_rebuild_parameter_with_state", (attached,)) if attached else ("_rebuild_parameter", ())
            return Global(f"torch._utils {name}"), (rebuild, parts.requires_grad, OrderedDict(), *state)
        if attached:
            arguments = (rebuild.function, Global("torch Tensor"), rebuild.arguments, attached)
            return Global("torch._tensor _rebuild_from_type_v2"), arguments
        return rebuild.function, rebuild.arguments

    def reduce_storage(self, data: np.ndarray, dtype: str) -> StorageReference:
        """Return the reference that a file holds in place of a storage that is saved itself."""
        storage, is_typed = self.reference(data, dtype)
        if not is_typed:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types: a storage of "
                f"{dtype}. Save tensors instead of storages."
            )
        return storage

    def reference(self, data: np.ndarray, dtype: str) -> tuple[StorageReference, bool]:
        """Return the reference to a storage, and True if the file knows it by this dtype (else by its bytes)."""
        address = data.__array_interface__["data"][0]
        identity = (address, data.nbytes) if data.nbytes else (-1 - len(self.arrays), 0)
        key, known_as = self._known.setdefault(identity, (str(len(self.arrays)), dtype))
        is_typed = known_as == dtype and dtype in STORAGE_CLASSES
        count, kind = data.nbytes, Global("torch.storage UntypedStorage")
        if is_typed:
            count //= numpy_dtype(dtype).itemsize
            kind = Global(f"torch {STORAGE_CLASSES[dtype]}")
        if int(key) == len(self.arrays):
            self.arrays.append(data)
            self.counts.append(count)
        return StorageReference(kind, key, "cpu", count, *((None,) if self.is_legacy else ())), is_typed


class Call:
    """A call inside a pickle: `function(*arguments)`."""

    __slots__ = ("function", "arguments")

    def __init__(self, function: Global, arguments: tuple[Any, ...]) -> None:
        self.function: Global = function
        self.arguments: tuple[Any, ...] = arguments


class Pickler:
    """Writes one object as a pickle of protocol 2 to the bytearray `out`."""

    def __init__(self, storages: Storages) -> None:
        self.out: bytearray = bytearray(b"\x80\x02")
        self.storages: Storages = storages
        # The objects are kept with their numbers: a freed object's id could come back as another's.
        self.memo: dict[int, tuple[int, Any]] = {}
        self.globals: dict[tuple[str, str], int] = {}

    def dump(self, value: Any) -> bytearray:
        """The finished pickle of `value`."""
        self.save(value)
        self.out += b"."
        return self.out

    def save(self, value: Any) -> None:
        """Append the opcodes that make `value`."""
        known = self.memo.get(id(value))
        if known is not None:
            self._get(known[0])
            return
        special = _WRITERS.get(type(value))
        if special is not None:
            special(self, value)
        elif isinstance(value, type) or type(value) in _FUNCTIONS:
            self._importable(value)
        elif bridge.is_tensor(value):
            self._call(*self.storages.reduce_tensor(value))
            self._remember(value)
        else:
            storage, spelled = bridge.parts_of_storage(value), bridge.reduce_value(value)
            if storage is not None:
                self.save(self.storages.reduce_storage(*storage))
            elif spelled is None:
                self._reduce(value)
            elif spelled[1] is None:
                self._global(Global(spelled[0]))
            else:
                self._call(Global(spelled[0]), spelled[1])
                self._remember(value)

    def _put(self) -> int:
        number = len(self.memo) + len(self.globals)
        self.out += b"q" + bytes((number,)) if number < 256 else b"r" + struct.pack("<I", number)
        return number

    def _get(self, number: int) -> None:
        self.out += b"h" + bytes((number,)) if number < 256 else b"j" + struct.pack("<I", number)

    def _remember(self, value: Any) -> None:
        self.memo[id(value)] = self._put(), value

    def _global(self, value: Global) -> None:
        path = (value.module, value.name)
        if path in self.globals:
            self._get(self.globals[path])
            return
        self.out += b"c" + value.module.encode() + b"\n" + value.name.encode() + b"\n"
        self.globals[path] = self._put()

    def _importable(self, value: Any) -> None:
        """A class or function, which the reader imports by its name."""
        name = getattr(value, "__qualname__", None) or value.__name__
        module = getattr(value, "__module__", None) or "builtins"
        home = _imported(module)
        found: Any = home
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not value:
            advice = "Save a state_dict() instead, or define it by its name at the top level of a module."
            if "<locals>" in name:
                raise AttributeError(f"Can't pickle local object {name!r}. {advice}")
            raise PicklingError(f"Can't pickle {value!r}: attribute lookup {name} on {module} failed. {advice}")
        if "." in name:
            outer, _, last = name.rpartition(".")
            parent = home
            for part in outer.split("."):
                parent = getattr(parent, part)
            self._call(Global("builtins getattr"), (parent, last))
        else:
            self._global(Global(f"{module} {name}"))

    def _call(self, function: Any, arguments: tuple[Any, ...]) -> None:
        self.save(function)
        self.save(arguments)
        self.out += b"R"

    def _reduce(self, value: Any) -> None:
        """Any other object, in the words of its own `__reduce_ex__`."""
        import copyreg

        reducer = copyreg.dispatch_table.get(type(value))
        reduced = value.__reduce_ex__(2) if reducer is None else reducer(value)
        if isinstance(reduced, str):
            self._global(Global(f"{value.__module__} {reduced}"))
            return
        function, arguments, state, items, pairs, setter = (*reduced, None, None, None, None)[:6]
        if setter is not None:
            raise TypeError(f"Can't pickle {type(value).__name__} objects: they use a state setter.")
        if getattr(function, "__name__", "") == "__newobj__":
            self.save(arguments[0])
            self.save(tuple(arguments[1:]))
            self.out += b"\x81"
        else:
            self._call(function, tuple(arguments))
        if id(value) in self.memo:  # it was reached again through its own arguments
            self.out += b"0"
            self._get(self.memo[id(value)][0])
        else:
            self._remember(value)
        if items is not None:
            self._items(items)
        if pairs is not None:
            self._pairs(pairs)
        if state is not None:
            self.save(state)
            self.out += b"b"

    def _items(self, items: Iterable[Any]) -> None:
        for batch in _batches(items):
            self.out += b"("
            for item in batch:
                self.save(item)
            self.out += b"e"

    def _pairs(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        for batch in _batches(pairs):
            self.out += b"("
            for key, value in batch:
                self.save(key)
                self.save(value)
            self.out += b"u"

    def _integer(self, value: int) -> None:
        if 0 <= value < 256:
            self.out += b"K" + bytes((value,))
        elif 0 <= value < 65536:
            self.out += b"M" + struct.pack("<H", value)
        elif -(2**31) <= value < 2**31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            self.out += b"\x8a" + bytes((len(data),)) if len(data) < 256 else b"\x8b" + struct.pack("<i", len(data))
            self.out += data

    def _text(self, value: str) -> None:
        data = value.encode("utf-8", "surrogatepass")
        self.out += b"X" + struct.pack("<I", len(data)) + data
        self._remember(value)

    def _bytes(self, value: bytes) -> None:
        self._call(Global("_codecs encode"), (value.decode("latin1"), "latin1"))
        self._remember(value)

    def _bytearray(self, value: bytearray) -> None:
        self._call(Global("builtins bytearray"), (bytes(value),))
        self._remember(value)

    def _tuple(self, value: tuple[Any, ...]) -> None:
        if not value:
            self.out += b")"
            return
        if len(value) > 3:
            self.out += b"("
        for item in value:
            self.save(item)
        if id(value) in self.memo:  # the tuple contains a container that contains the tuple
            self.out += b"1" if len(value) > 3 else b"0" * len(value)
            self._get(self.memo[id(value)][0])
            return
        self.out += b"t" if len(value) > 3 else (b"\x85", b"\x86", b"\x87")[len(value) - 1]
        self._remember(value)

    def _list(self, value: list[Any]) -> None:
        self.out += b"]"
        self._remember(value)
        self._items(value)

    def _dict(self, value: dict[Any, Any]) -> None:
        self.out += b"}"
        self._remember(value)
        self._pairs(value.items())

    def _set(self, value: set[Any] | frozenset[Any]) -> None:
        self._call(Global(f"builtins {type(value).__name__}"), (list(value),))
        self._remember(value)

    def _storage(self, value: StorageReference) -> None:
        self.save(value.identifier)
        self.out += b"Q"


def _batches(items: Iterable[Any]) -> Iterable[list[Any]]:
    from itertools import islice

    iterator = iter(items)
    while batch := list(islice(iterator, _BATCH)):
        yield batch


def _append(code: bytes) -> Callable[[Pickler, Any], None]:
    def write(pickler: Pickler, value: Any) -> None:
        pickler.out += code

    return write


_FUNCTIONS = frozenset((type(_batches), type(len)))
_WRITERS: dict[type[Any], Callable[[Pickler, Any], None]] = {
    type(None): _append(b"N"),
    bool: lambda pickler, value: pickler.out.append(0x88 if value else 0x89),
    int: Pickler._integer,
    float: lambda pickler, value: pickler.out.extend(b"G" + struct.pack(">d", value)),
    complex: lambda pickler, value: pickler._call(Global("builtins complex"), (value.real, value.imag)),
    str: Pickler._text,
    bytes: Pickler._bytes,
    bytearray: Pickler._bytearray,
    tuple: Pickler._tuple,
    list: Pickler._list,
    dict: Pickler._dict,
    set: Pickler._set,
    frozenset: Pickler._set,
    slice: lambda pickler, value: pickler._call(Global("builtins slice"), (value.start, value.stop, value.step)),
    Global: Pickler._global,
    StorageReference: Pickler._storage,
    Call: lambda pickler, value: pickler._call(value.function, value.arguments),
}


def _imported(module: str) -> Any:
    """The module of a class; under the alias a class may name one of torch's that is not imported yet."""
    if module not in sys.modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    return sys.modules.get(module)


def write_checkpoint(
    value: Any, write: Callable[[Any], Any], pickle: Callable[[Any, Storages], Any] | None = None
) -> None:
    """Write `value` as a checkpoint archive, by our pickler or another."""
    storages = Storages()
    pickled = pickle(value, storages) if pickle else Pickler(storages).dump(value)
    archive = ArchiveWriter(write)
    archive.add("data.pkl", pickled)
    archive.add("byteorder", sys.byteorder.encode())
    for key, array in enumerate(storages.arrays):
        archive.add(f"data/{key}", array.data)
    archive.add("version", b"3\n")
    checksums = b"".join(record.name + struct.pack("<I", record.crc) for record in archive.records)
    archive.add(".data/serialization_id", b"%020d%020d" % (zlib.crc32(checksums), zlib.adler32(checksums)))
    archive.finish()

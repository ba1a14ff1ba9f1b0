"""Checkpoints from a file: recognising the format, finding storages, running the pickle.

Reads the zip archives of torch 1.6 and later, and the plain pickle streams that came before. Nothing in a file
can make this module execute code; the general unpickler for trusted files is in `general`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import bridge
from .archive import ArchiveReader
from .constructors import Resolver
from .dtypes import numpy_dtype
from .errors import CheckpointError, TruncatedCheckpointError
from .interpreter import Interpreter
from .legacy import MAGIC, PROTOCOL
from .options import get_default_load_endianness
from .rebuild import Storage, StorageType
from .source import MappedSource, Source

Place = Callable[[np.ndarray, str], Any]


class Loader:
    """One load: where storages come from and where they go. `unpickle` is replaced for trusted files."""

    def __init__(self, source: Source, map_location: Any, encoding: str = "utf-8") -> None:
        self.source: Source = source
        self.encoding: str = encoding  # of text that Python 2 wrote
        self.place: Any = location_mapper(map_location)
        self.storages: dict[str, Storage] = {}
        self.shown: dict[str, Any] = {}  # the same storages, as programs see them
        self.is_swapped: bool = False

    def load(self) -> Any:
        """The object in the file."""
        if self.source.size == 0:
            raise TruncatedCheckpointError("Ran out of input: the file is empty.")
        try:
            return self._load_any()
        finally:
            for storage in self.shown.values():
                del storage._loaded  # else it would keep the file open

    def _load_any(self) -> Any:
        if self.source.read(0, min(4, self.source.size)) == b"PK\x03\x04":
            return self._load_archive()
        if self.source.size > 262 and self.source.read(257, 5) == b"ustar":
            raise CheckpointError(
                "The file is a tar archive, the format of torch 0.1. Load it with a torch of version 1 or later and "
                "save it again."
            )
        return self._load_legacy()

    def unpickle(self, data: bytes, position: int, storage: Callable[[tuple[Any, ...]], Any]) -> tuple[Any, int]:
        """The object pickled at `position`, and the position behind it."""
        interpreter = Interpreter(data, Resolver(), storage, position, self.encoding, self.source.size)
        try:
            return interpreter.run(), interpreter.position
        except CheckpointError as error:
            error.args = (f"Weights only load failed. {error}",)
            raise

    def _load_archive(self) -> Any:
        archive = ArchiveReader(self.source)
        if "constants.pkl" in archive:
            raise CheckpointError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``: the file holds "
                "a compiled program, not a checkpoint. Save the module's state_dict() with torch.save instead."
            )
        if "byteorder" in archive:
            order = archive.read("byteorder")
            if order not in (b"little", b"big"):
                raise CheckpointError(f"Unknown endianness type: {order[:20]!r}")
            self.is_swapped = order.decode() != sys.byteorder
        elif (assumed := get_default_load_endianness()) is not None and assumed.name != "NATIVE":
            self.is_swapped = assumed.name.lower() != sys.byteorder
        is_mapped = isinstance(self.source, MappedSource)
        seen = {"byteorder", "data.pkl"}

        def storage(identifier: tuple[Any, ...]) -> Any:
            kind, key, location, count = _storage_fields(identifier, 5)
            name = f"data/{key}"
            size = _byte_count(kind, count)
            if archive.size_of(name) != size:
                raise CheckpointError(
                    f"The checkpoint is damaged: record {name} has {archive.size_of(name)} bytes instead of {size}."
                )
            if key not in self.storages:
                # Verifying a mapped file would read all of it, which is what mapping avoids.
                data = archive.array(name, verify=not is_mapped)
                self._add(key, data, kind, location)
                seen.add(name)
            return self.shown[key]

        result, _ = self.unpickle(archive.read("data.pkl"), 0, storage)
        if archive.is_ours and not is_mapped:
            for name in archive.unread(seen):
                archive.read(name)
        return result

    def _load_legacy(self) -> Any:
        # The beginning alone says whether it is worth while to read a file that may be huge.
        magic, position = self.unpickle(self.source.read(0, min(self.source.size, 1 << 20)), 0, _no_storage)
        if magic != MAGIC or type(magic) is not int:
            raise CheckpointError("Invalid magic number; corrupt file?")
        data = self.source.read(0, self.source.size)
        protocol, position = self.unpickle(data, position, _no_storage)
        if protocol != PROTOCOL or type(protocol) is not int:
            raise CheckpointError(f"Invalid protocol version: {protocol!r:.50}")
        system, position = self.unpickle(data, position, _no_storage)
        little = system.get("little_endian", True) if type(system) is dict else True
        self.is_swapped = bool(little) != (sys.byteorder == "little")
        budget = len(data)
        self.place = _in_place(self.place)

        def storage(identifier: tuple[Any, ...]) -> Any:
            nonlocal budget
            if len(identifier) == 4 and _plain_text(identifier[0]) == "module":  # a class of layers, with its source
                return identifier[1]
            kind, key, location, count = _storage_fields(identifier, 6)
            if identifier[5] is not None:
                raise CheckpointError("The checkpoint holds views of storages as torch 0.4 wrote them: not supported.")
            if key not in self.storages:
                # The data come later in the file; until then only its length is known to be enough.
                budget -= _byte_count(kind, count)
                if budget < 0:
                    raise TruncatedCheckpointError("The checkpoint is truncated: its storages exceed the file.")
                empty = np.zeros(_byte_count(kind, count), np.uint8)
                self._add(key, empty, kind, location)
            return self.shown[key]

        result, position = self.unpickle(data, position, storage)
        keys, position = self.unpickle(data, position, _no_storage)
        position = self._fill_legacy(data, position, keys)
        self.source.file.seek(self.source.start + position)  # something else may follow in the same file
        return result

    def _fill_legacy(self, data: bytes, position: int, keys: Any) -> int:
        """Give the storages their elements; the position behind them."""
        keys = [_plain_text(key) for key in keys] if type(keys) is list else ()
        if sorted(map(str, keys)) != sorted(self.storages):
            raise CheckpointError("The checkpoint is damaged: its list of storages does not match its tensors.")
        is_big = self.is_swapped == (sys.byteorder == "little")
        for key in keys:
            target = self.storages[key]
            if position + 8 > len(data):
                raise TruncatedCheckpointError("The checkpoint is truncated: a storage is missing.")
            count = int(np.frombuffer(data, ">u8" if is_big else "<u8", 1, position)[0])
            position += 8
            if count * numpy_dtype(target.dtype).itemsize != target.data.nbytes:
                raise CheckpointError("The checkpoint is damaged: a storage has the wrong length.")
            if position + target.data.nbytes > len(data):
                raise TruncatedCheckpointError("The checkpoint is truncated: a storage ends too early.")
            target.fill(np.frombuffer(data, np.uint8, target.data.nbytes, position))
            position += target.data.nbytes
        return position

    def _add(self, key: str, data: np.ndarray, kind: StorageType, location: str) -> None:
        storage = Storage(data, kind.dtype, partial(_placed, self.place, location), self.is_swapped)
        self.storages[key], self.shown[key] = storage, storage.shown()


def _placed(place: Place, location: str, array: np.ndarray) -> Any:
    """`place` for a storage, which must not refer to the loader that refers to it."""
    return place(array, location)


def _no_storage(identifier: tuple[Any, ...]) -> Any:
    raise CheckpointError("The checkpoint is malformed: a tensor stands where none belongs.")


def _storage_fields(identifier: tuple[Any, ...], length: int) -> tuple[StorageType, str, str, int]:
    if len(identifier) != length:
        raise CheckpointError("The checkpoint is malformed: a storage is described by the wrong number of values.")
    kind, key, location, count = map(_plain_text, identifier[1:5])
    if type(kind) is not StorageType or type(key) is not str or type(location) is not str or type(count) is not int:
        raise CheckpointError("The checkpoint is malformed, or holds a kind of storage that is not supported.")
    return kind, key, location, count


def _plain_text(value: Any) -> Any:
    """Text, where a file of Python 2 is read as bytes."""
    return value.decode("ascii", "replace") if type(value) is bytes else value


def _byte_count(kind: StorageType, count: int) -> int:
    return max(count, 0) * numpy_dtype(kind.dtype).itemsize


def location_mapper(map_location: Any) -> Place:
    """A function that puts an array where `map_location` wants what was saved on a device."""
    if map_location is None:
        return lambda array, location: _restore(array, location)
    if isinstance(map_location, dict):
        return lambda array, location: _restore(array, str(map_location.get(location, location)))
    if isinstance(map_location, bytes):
        map_location = map_location.decode()
    if isinstance(map_location, str) or not callable(map_location):
        if not isinstance(map_location, str) and not hasattr(map_location, "type"):
            raise TypeError(f"'{type(map_location).__name__}' object is not callable: map_location must be a device, "
                            "the name of one, a dictionary or a function")  # fmt: skip
        return lambda array, location: _restore(array, str(map_location))

    def place(array: np.ndarray, location: str) -> Any:
        storage = bridge.visible_storage(bridge.storage_from_array(array, "cpu")).untyped()
        try:
            result = map_location(storage, location)
            return _restore(array, location) if result is None else _given_storage(result, array.dtype)
        except Exception as error:
            error.of_program = True  # type: ignore[attr-defined]  # the file is not to blame
            raise

    return place


def _given_storage(result: Any, dtype: np.dtype) -> Any:
    try:
        return bridge.elements_of_storage(result, dtype)
    except AttributeError:
        raise TypeError(
            "TypedStorage.__init__ received an invalid combination of arguments: the function map_location gave "
            f"{type(result).__name__}, and has to give a storage, or None for the default"
        ) from None


def _in_place(place: Place) -> Place:
    """`place`, for data that arrive later: the array must be used as it is, not copied to another device."""

    def check(array: np.ndarray, location: str) -> Any:
        storage = place(array, location)
        if array.size and not bridge.shares_memory(storage, array):
            raise CheckpointError(
                "Files of torch before 1.6 can only be loaded to the CPU: pass map_location='cpu' and move the "
                "tensors afterwards."
            )
        return storage

    return check


def _restore(array: np.ndarray, location: str) -> Any:
    kind = location.partition(":")[0]
    if kind not in ("cpu", "cuda", "mps", "xpu", "meta"):
        raise CheckpointError(f"don't know how to restore data location of a storage (tagged with {location[:50]})")
    if kind != "cpu" and not bridge.is_available(kind):
        raise CheckpointError(
            f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is False. "
            "If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    return bridge.storage_from_array(array, "cpu" if kind == "cpu" else location)

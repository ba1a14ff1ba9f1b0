"""Settings of `load`, and questions about a checkpoint before it is loaded.

How files are mapped, and the byte order of files that do not say theirs. Checksums are always written: they are how a
damaged file is noticed.
"""

from __future__ import annotations

import mmap
import os
from enum import Enum
from typing import IO, Any

from .errors import CheckpointError


class LoadEndianness(Enum):
    """The byte order of a checkpoint that does not name it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_PRIVATE = getattr(mmap, "MAP_PRIVATE", 2)  # Windows has neither name
_SHARED = getattr(mmap, "MAP_SHARED", 1)

_endianness: LoadEndianness | None = None
_mmap_flags: int = _PRIVATE
_crc32: bool = True


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed of files that do not say theirs; None means little."""
    return _endianness


class skip_data:
    """In torch, a context in which `save` leaves the bytes of tensors out; here entering it is refused."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors: bool = materialize_fake_tensors

    def __enter__(self) -> Any:
        raise NotImplementedError("skip_data is not here: files are written with the elements of their tensors.")

    def __exit__(self, *error: Any) -> None:
        return None


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[int, ...], error_if_malformed: bool = True
) -> bool:
    """True if a package (a pickler such as dill) is at least of this version."""
    try:
        found = tuple(int(part) for part in module.__version__.split(".")[: len(req_version_tuple)])
    except Exception as error:
        message = f"'{module.__name__}' module version string is malformed '{module.__version__}'"
        if error_if_malformed:
            raise RuntimeError(message) from error
        return False
    return found >= req_version_tuple


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Choose the byte order assumed of files that do not say theirs."""
    global _endianness
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness: a LoadEndianness or None")
    _endianness = endianness


def get_default_mmap_options() -> int:
    """How `load(mmap=True)` maps files: `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`."""
    return _mmap_flags


class set_default_mmap_options:
    """Choose whether writes to mapped tensors reach the file (`mmap.MAP_SHARED`); as a context, for a while."""

    def __init__(self, flags: int) -> None:
        global _mmap_flags
        if flags not in (_PRIVATE, _SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags}"
            )
        self.before: int = _mmap_flags
        _mmap_flags = flags

    def __enter__(self) -> None:
        """The choice is made already."""

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        global _mmap_flags
        _mmap_flags = self.before


def maps_are_shared() -> bool:
    """True if writes to mapped tensors reach the file."""
    return _mmap_flags == _SHARED


def get_crc32_options() -> bool:
    """Return what `set_crc32_options` was last told."""
    return _crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Accepted: files get their checksums in any case."""
    global _crc32
    _crc32 = bool(compute_crc32)


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """The classes and functions a file names that `load` would refuse as things are. Nothing of the file is run."""
    from .archive import ArchiveReader
    from .constructors import Resolver
    from .source import Source

    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    source = Source(f)
    if source.size < 4 or source.read(0, 4) != b"PK\x03\x04":
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    resolver = Resolver()
    return [path for path in _globals_of(ArchiveReader(source).read("data.pkl")) if not resolver.knows(path)]


def _globals_of(pickled: bytes) -> list[str]:
    """All globals a pickle names, each once, by `module.name`."""
    from pickletools import genops

    found: dict[str, None] = {}
    texts: list[Any] = []
    try:
        operations = list(genops(pickled))
    except (ValueError, IndexError) as error:
        raise CheckpointError(f"The pickle in the checkpoint is malformed: {error}") from error
    for operation, argument, _ in operations:
        if operation.name == "GLOBAL":
            found[str(argument).replace(" ", ".", 1)] = None
        elif operation.name == "STACK_GLOBAL":
            found[".".join(map(str, texts[-2:]))] = None
        elif isinstance(argument, str):
            texts.append(argument)
    return list(found)

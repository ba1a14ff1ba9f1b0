"""Checkpoints: `save` and `load`, in torch's file format, and the list of classes a file may name.

`load` runs no code from a file: pickles are read by an interpreter that can only make data (`interpreter`,
`constructors`). `save` replaces files all at once and writes checksums that cover every bit. The formats live
in `archive`, `reader`, `writer` and `safetensors`; tensors are met in `bridge` alone. Submodules are imported
when first needed.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any

from ..core.basics.notices import warn_user
from ..core.basics.on_demand import names_on_demand

if TYPE_CHECKING:
    from .constructors import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
    from .errors import CheckpointError

DEFAULT_PROTOCOL: int = 2  # of the pickles in checkpoints
MAP_LOCATION = Any  # a name libraries import for their annotations

__all__ = [
    "CheckpointError",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]

_NAMES_IN = {
    ".errors": "CheckpointError SourceChangeWarning TruncatedCheckpointError",
    ".constructors": "add_safe_globals clear_safe_globals get_safe_globals safe_globals",
    ".options": "LoadEndianness get_crc32_options get_default_load_endianness get_default_mmap_options "
    "get_unsafe_globals_in_checkpoint set_crc32_options check_module_version_greater_or_equal skip_data "
    "set_default_load_endianness set_default_mmap_options",
}

FileLike = str | os.PathLike[str] | IO[bytes]


names_on_demand(__name__, names=_NAMES_IN)


def save(
    obj: object,
    f: FileLike,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write `obj` (tensors, containers, state dicts, picklable objects) to a path or a file object.

    At a path, the old file is replaced in one step once the new one is complete and on disk. The archive is of the zip
    kind, which every torch since 1.6 reads, or of the kind before (which has no checksums); its pickle is of protocol 2.
    With a `pickle_module` such as dill or cloudpickle, that module's pickler writes it, for Pullback alone to read.
    """
    pickled = None
    if pickle_module is not None and getattr(pickle_module, "__name__", "") not in ("pickle", "_pickle"):
        from .other_picklers import pickler_of

        pickled = pickler_of(pickle_module, pickle_protocol)
    if _use_new_zipfile_serialization:
        from .writer import write_checkpoint as write
    else:
        from .legacy import write_legacy_checkpoint as write
    if isinstance(f, (str, os.PathLike)):
        from .atomic import replace_file

        replace_file(f, lambda file: write(obj, file.write, pickled))
    elif hasattr(f, "write"):
        write(obj, f.write, pickled)
        if hasattr(f, "flush"):
            f.flush()  # the file may be read by its name before it is closed
    else:
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")


def load(
    f: FileLike,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save` (ours or torch's) wrote to a path or a file object.

    Unless `weights_only=False` (or a `pickle_module`) is given, only data, tensors and classes passed to
    `add_safe_globals` can come out, and no code from the file can run. Checksums are verified, except of tensors
    with `mmap=True`, which are read from disk when first used.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warn_user("pickle_load_args only works if `weights_only=False`.")
    if not isinstance(f, (str, os.PathLike)):
        if mmap:
            raise ValueError("f must be a file path in order to use the mmap argument")
        return _load_open(f, map_location, pickle_module, weights_only, False, pickle_load_args)
    if os.fspath(f).endswith(".safetensors"):
        from .safetensors import load_file

        return load_file(f, "cpu" if map_location is None else map_location)
    from .options import maps_are_shared
    from .source import refuse_streams

    refuse_streams(f)
    with open(f, "r+b" if mmap and maps_are_shared() else "rb") as file:
        return _load_open(file, map_location, pickle_module, weights_only, bool(mmap), pickle_load_args)


def _load_open(
    file: IO[bytes],
    map_location: Any,
    pickle_module: Any,
    weights_only: bool,
    is_mapped: bool,
    arguments: dict[str, Any],
) -> Any:
    from .options import maps_are_shared
    from .reader import Loader
    from .source import MappedSource, Source

    if not hasattr(file, "seek"):
        raise AttributeError(
            f"'{type(file).__name__}' object has no attribute 'seek'. You can only torch.load from a file that is "
            "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
        )
    source = MappedSource(file, maps_are_shared()) if is_mapped else Source(file)
    if weights_only:
        return Loader(source, map_location, arguments.get("encoding", "utf-8")).load()
    if pickle_module is None:
        import pickle as pickle_module
    from .general import GeneralLoader

    return GeneralLoader(source, map_location, pickle_module, arguments).load()

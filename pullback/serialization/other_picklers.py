"""Checkpoints whose pickle is written by a module of the caller's choice (`pickle_module=dill`, `cloudpickle`).

Such modules pickle what the pickler of `writer` refuses: functions defined anywhere, local classes. They meet tensors,
storages and dtypes in the form that `writer` gives them; names of torch in it are looked up when the file is read, so
these files are read by Pullback only, with `weights_only=False`.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import lru_cache
from typing import IO, Any

from . import bridge
from .constructors import known_global
from .interpreter import Allowance, Constructor
from .writer import Call, Global, StorageReference, Storages


def pickler_of(pickle_module: Any, protocol: int) -> Callable[[Any, Storages], bytes]:
    """A function that pickles an object with `pickle_module` and leaves its storages in the file's."""
    standard: Any = getattr(pickle_module, "Pickler", None)
    if standard is None:
        raise ValueError(
            f"save() cannot use {pickle_module!r} as pickle_module: it has no Pickler. Leave pickle_module out, or give "
            "a module like pickle, dill or cloudpickle."
        )

    def dump(value: Any, storages: Storages) -> bytes:
        file = io.BytesIO()
        _derived(standard)(storages, file, protocol=protocol).dump(value)
        return file.getvalue()

    return dump


@lru_cache(8)
def _derived(standard: Any) -> Any:
    """A pickler derived from another; a class made for each file would wait for the garbage collector with all it knows."""

    class Pickler(standard):
        def __init__(self, storages: Storages, file: IO[bytes], **arguments: Any) -> None:
            super().__init__(file, **arguments)
            self.storages = storages

        def persistent_id(self, obj: Any) -> Any:
            return obj.identifier if type(obj) is StorageReference else None

        def reducer_override(self, obj: Any) -> Any:
            reduced = _reduced(obj, self.storages)
            if reduced is not NotImplemented or not hasattr(standard, "reducer_override"):
                return reduced
            return super().reducer_override(obj)

    return Pickler


def _reduced(value: Any, storages: Storages) -> Any:
    """How a value that files know by torch's names is made again; NotImplemented for all others."""
    if isinstance(value, Global):
        return named, (value.module, value.name)
    if isinstance(value, Call):
        return called, (value.function, value.arguments)
    if bridge.is_tensor(value):
        return called, storages.reduce_tensor(value)
    storage = bridge.parts_of_storage(value)
    if storage is not None:
        return itself, (storages.reduce_storage(*storage),)
    spelled = bridge.reduce_value(value)
    if spelled is None:
        return NotImplemented
    return _reduced(Global(spelled[0]) if spelled[1] is None else Call(Global(spelled[0]), spelled[1]), storages)


def named(module: str, name: str) -> Any:
    """Return the object that torch calls `module.name`."""
    known = known_global(module, name)
    return bridge.find_class(module, name) if known is None else known


def called(function: Any, arguments: tuple[Any, ...]) -> Any:
    """The result of a function of torch's."""
    if isinstance(function, Constructor):
        return function.make(arguments, Allowance(float("inf")))
    return function(*arguments)


def itself(value: Any) -> Any:
    """A storage, which the reader has found."""
    return value

"""Loading with `weights_only=False`: the standard unpickler, for files whose author is trusted.

A pickle may run any program. This module is imported only when the caller has asked for it by name; globals
of torch resolve to their counterparts here, all others are imported as the file asks.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import lru_cache
from typing import IO, Any

from . import bridge
from .constructors import known_global
from .errors import CheckpointError
from .interpreter import Allowance, Constructor
from .reader import Loader
from .source import Source


class GeneralLoader(Loader):
    """Reads with `pickle_module.Unpickler` in place of the interpreter."""

    def __init__(self, source: Source, map_location: Any, pickle_module: Any, arguments: dict[str, Any]) -> None:
        super().__init__(source, map_location)
        self.pickle_module: Any = pickle_module
        self.arguments: dict[str, Any] = {"encoding": "utf-8", **arguments}

    def unpickle(self, data: bytes, position: int, storage: Callable[[tuple[Any, ...]], Any]) -> tuple[Any, int]:
        """The object pickled at `position`, and the position behind it."""
        file = io.BytesIO(data)
        file.seek(position)
        try:
            return _unpickler_of(self.pickle_module.Unpickler)(storage, file, **self.arguments).load(), file.tell()
        except (ImportError, AttributeError) as error:
            raise CheckpointError(f"The checkpoint needs a class or function that is missing: {error}") from error


@lru_cache(8)
def _unpickler_of(standard: Any) -> Any:
    """An unpickler derived from another; a class made for each load would wait for the garbage collector with all it knows."""

    class Unpickler(standard):
        def __init__(self, storage: Callable[[tuple[Any, ...]], Any], file: IO[bytes], **arguments: Any) -> None:
            super().__init__(file, **arguments)
            self.storage = storage

        def find_class(self, module: str, name: str) -> Any:
            if module != "torch" and not module.startswith("torch."):
                return super().find_class(module, name)
            known = known_global(module, name)
            if known is None:
                return bridge.find_class(module, name)
            return _Callable(known) if isinstance(known, Constructor) else known

        def persistent_load(self, identifier: Any) -> Any:
            return self.storage(identifier)

    return Unpickler


class _Callable:
    """A constructor of the table in the form the standard unpickler calls."""

    __slots__ = ("name", "constructor")

    def __init__(self, constructor: Constructor) -> None:
        self.name: str = constructor.name
        self.constructor: Constructor = constructor

    def __call__(self, *arguments: Any) -> Any:
        return self.constructor.make(arguments, Allowance(float("inf")))

"""`torch._dynamo`: settings of a compiler that is not here. They are kept as they are set, and `reset` does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from pullback.nn.modules.module import Module

from .compiler import allow_in_graph, disable, is_compiling, reset

__all__ = ["OptimizedModule", "allow_in_graph", "config", "disable", "is_compiling", "optimize", "reset"]


@contextmanager
def _patch(*args: Any, **settings: Any) -> Iterator[None]:
    """Settings for the length of a block, or of a decorated function. They are not read."""
    yield


config = SimpleNamespace(patch=_patch, verbose=False, suppress_errors=False, cache_size_limit=8, recompile_limit=8)


class OptimizedModule(Module):
    """The result of `compile` for a module: the module under the name `_orig_mod`, which checkpoints of it have, too.

    Whatever is read, set or deleted is the module's own, apart from registries and hooks.
    """

    _orig_mod: Module

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self.__dict__["_own"] = frozenset({*self.__dict__, "_orig_mod"} - {"training"})
        self._orig_mod = mod

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)

    @property
    def training(self) -> bool:  # type: ignore[override]
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        self._orig_mod.training = value

    def __len__(self) -> int:
        if hasattr(self._orig_mod, "__len__"):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __bool__(self) -> bool:
        return True

    @staticmethod
    def dynamo_ctx(function: Any) -> Any:
        """Compile another function as this module is compiled: return it as it is."""
        return function

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._own or name == "training":
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._own:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that returns the function as it is."""
    return lambda function: function


def is_dynamo_supported() -> bool:
    """True: what `torch.compile` returns runs here, as it is written."""
    return True


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Accepted: shapes are never frozen."""


mark_static = maybe_mark_dynamic = mark_dynamic


def assume_constant_result(fn: Any) -> Any:
    """The function as it is."""
    return fn


nonstrict_trace = assume_constant_result


def graph_break(msg: str = "") -> None:
    """Accepted: there is no graph to break."""

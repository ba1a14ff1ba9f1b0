"""`DispatchKey`, `DispatchKeySet` and the guard that excludes some: names only. Nothing is dispatched by key here."""

from __future__ import annotations

from typing import Any


class _KeyNames(type):
    def __getattr__(cls, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return name


class DispatchKey(metaclass=_KeyNames):
    """`DispatchKey.AutocastCPU` is its name."""


class _ConvBackend(metaclass=_KeyNames):
    """`_ConvBackend.Empty` is its name: there is one way to convolve."""


class DispatchKeySet:
    """A set of keys."""

    def __init__(self, key: Any) -> None:
        self.keys: frozenset[Any] = key if isinstance(key, frozenset) else frozenset({key})

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.keys | other.keys)

    def has(self, key: Any) -> bool:
        """True if the set has this key."""
        return key in self.keys


class _ExcludeDispatchKeyGuard:
    """Accepted as a context; it changes nothing."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self.keys: DispatchKeySet = keys

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: Any) -> None:
        return None

"""Names in graphs: how functions and types are spelled, as torch spells them, and what a new node may be called.

Functions of the library are written by the name they have in torch, though they are defined in other files here.
"""

from __future__ import annotations

import builtins
import keyword
import re
from types import FunctionType, GenericAlias, ModuleType
from typing import Any

from ..shell.torch_names.passed_arguments import torch_name_of

_NOT_IN_NAMES = re.compile("[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)$")
_RESERVED = frozenset({"inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"})


class Namespace:
    """Hands out names that are valid in Python, hide nothing built in, and are not taken yet."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._used: set[str] = set()
        self._last: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """A name like this one; the same again for an object that has one."""
        if obj is not None and _hashable(obj) and obj in self._names:
            return self._names[obj]
        candidate = _NOT_IN_NAMES.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        stem, number = candidate, None
        numbered = _NUMBERED.match(candidate)
        if numbered is not None:
            stem, number = numbered[1], int(numbered[2])
        if candidate in self._used or number is None and self._is_taken_by_python(candidate, obj):
            number = self._last.get(stem, number or 0) + 1
            candidate = f"{stem}_{number}"
        while candidate in self._used or self._is_taken_by_python(candidate, obj):
            number = (number or 0) + 1
            candidate = f"{stem}_{number}"
        self._used.add(candidate)
        self._last[stem] = max(number or 0, self._last.get(stem, 0))
        if obj is not None and _hashable(obj):
            self._names[obj] = candidate
        return candidate

    def _is_taken_by_python(self, name: str, obj: Any) -> bool:
        if keyword.iskeyword(name) or name in _RESERVED and obj is None:
            return True
        return name in vars(builtins) and vars(builtins)[name] is not obj


def _hashable(obj: Any) -> bool:
    try:
        hash(obj)
    except TypeError:
        return False
    return True


def snake_case(name: str) -> str:
    """`CamelCase` as `camel_case`."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def name_for_target(target: Any) -> str:
    """Return the name of a node that calls this, before a number is added."""
    if isinstance(target, str):
        text = target.strip("_") if target.startswith("__") and target.endswith("__") else target
    else:
        text = (torch_name_of(target) or target.__name__).rpartition(".")[2]
    return snake_case(text.replace(".", "_"))


def home_of(obj: Any) -> str:
    """The module that an object says it is from; ours by torch's name."""
    module = getattr(obj, "__module__", None) or ""
    if module.partition(".")[0] == "pullback":
        import pullback

        if vars(pullback).get(obj.__name__) is obj:
            return "torch"
        return "torch" + module.removeprefix("pullback")
    return module


def qualified_name(func: Any) -> str:
    """The dotted name of a function or class."""
    found = torch_name_of(func)
    if found is not None:
        return found
    name = getattr(func, "__qualname__", None) or getattr(func, "__name__", None) or type(func).__name__
    if getattr(builtins, name, None) is func:
        return name
    if name.endswith("<lambda>"):
        name = "_lambda_"
    return f"{home_of(func)}.{name}"


def type_name(kind: Any) -> str:
    """A type as annotations write it."""
    if kind is ...:
        return "..."
    if isinstance(kind, (FunctionType, ModuleType)):
        return kind.__name__
    if isinstance(kind, type) and not isinstance(kind, GenericAlias):
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{home_of(kind)}.{kind.__qualname__}"
    return re.sub(r"pullback[\w.]*\.(\w+)", r"torch.\1", repr(kind))

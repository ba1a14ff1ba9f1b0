"""Functions that a trace does not look into: they write a call of themselves down instead.

`wrap` marks them; a tracer replaces them while it runs, and puts them back.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from typing import Any

from .node import map_aggregate
from .proxy import Proxy

# Names that modules marked: (their globals, the name), once each.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Mark a global function of the calling module (or its name): traces call it, and do not look into it."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


class ProxyableClassMeta(type):
    """A metaclass: making an object of the class from proxies is a step of the graph."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return super().__call__(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


def _find_proxy(*values: Any) -> Proxy | None:
    found: list[Proxy] = []
    map_aggregate(values, lambda each: found.append(each) if isinstance(each, Proxy) else None)
    return found[0] if found else None


def _left_alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes a call of itself down if a proxy is among its arguments."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    wrapped.__dict__["__fx_original__"] = function
    return wrapped


class Patches:
    """Values put in other places while a trace runs."""

    _ABSENT = object()

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []
        self._seen: set[int] = set()

    def item(self, table: dict[str, Any], name: str, value: Any) -> None:
        """Put a value into a dictionary."""
        before = table.get(name, self._ABSENT)
        self._undo.append(lambda: table.pop(name) if before is self._ABSENT else table.update({name: before}))
        table[name] = value

    def attribute(self, owner: type, name: str, value: Any) -> None:
        """Give a class another method."""
        before = vars(owner)[name]
        self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, value)

    def leave_wrapped_alone(self) -> None:
        """Let functions that were marked write themselves down."""
        for (_, name), table in list(_wrapped_fns_to_patch.items()):
            original = table.get(name, getattr(builtins, name, None))
            if original is not None and not hasattr(original, "__fx_original__"):
                self.item(table, name, _left_alone(original))

    def leave_alone(self, table: dict[str, Any], functions: set[int]) -> None:
        """Let functions of a module (given by their ids) write themselves down, under whatever name it has them."""
        if id(table) not in self._seen:
            self._seen.add(id(table))
            for name, value in list(table.items()):
                if name[:1] != "_" and callable(value) and id(value) in functions:
                    self.item(table, name, _left_alone(value))

    def undo(self) -> None:
        """Put everything back."""
        while self._undo:
            self._undo.pop()()

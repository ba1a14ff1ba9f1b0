"""Functions that a trace does not look into: they write a call of themselves down instead.

`wrap` marks them; a tracer replaces them while it runs, and puts them back. Packages with a tracer of their own use the
names with an underscore as well.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from ..shell.torch_function import while_everything_asks
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


class _Patcher:
    """A context in which functions ask their arguments, and others stand in the place of some; then all is as before."""

    _ABSENT = object()

    def __init__(self) -> None:
        self._undo = ExitStack()
        self.visited: set[int] = set()

    def __enter__(self) -> _Patcher:
        self._undo.enter_context(while_everything_asks())
        return self

    def __exit__(self, *error: Any) -> None:
        self._undo.close()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Put a function into the globals of a module, unless (with `deduplicate`) one is there already."""
        before = frame_dict.get(name, self._ABSENT)
        if deduplicate and hasattr(before, "__fx_original__"):
            return
        put_back = frame_dict.pop if before is self._ABSENT else frame_dict.__setitem__
        self._undo.callback(put_back, name, *([] if before is self._ABSENT else [before]))
        frame_dict[name] = new_fn

    def patch_method(self, cls: type, name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Give a class another method."""
        self._undo.callback(setattr, cls, name, vars(cls)[name])
        setattr(cls, name, new_fn)


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Let functions that were marked write themselves down."""
    for (_, name), table in list(_wrapped_fns_to_patch.items()):
        original = table.get(name, getattr(builtins, name, None))
        if original is not None:
            patcher.patch(table, name, _left_alone(original))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Let functions that a module has (given by their ids) write themselves down, under whatever name it has them."""
    if id(frame_dict) not in patcher.visited:
        patcher.visited.add(id(frame_dict))
        for name, value in list(frame_dict.items()):
            if name[:1] != "_" and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _left_alone(value))

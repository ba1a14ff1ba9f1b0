"""`torch._dynamo`: settings of a compiler that is not here. They are kept as they are set, and `reset` does nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .compiler import allow_in_graph, disable, is_compiling, reset

__all__ = ["OptimizedModule", "allow_in_graph", "config", "disable", "is_compiling", "optimize", "reset"]

config = SimpleNamespace(verbose=False, suppress_errors=False, cache_size_limit=8, recompile_limit=8)


class OptimizedModule:
    """The type of compiled modules in torch; no object here is of it."""


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that returns the function as it is."""
    return lambda function: function


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Accepted: shapes are never frozen."""


mark_static = maybe_mark_dynamic = mark_dynamic


def assume_constant_result(fn: Any) -> Any:
    """The function as it is."""
    return fn


nonstrict_trace = assume_constant_result


def graph_break(msg: str = "") -> None:
    """Accepted: there is no graph to break."""

"""`torch.fx`: programs are not captured as graphs here. The names exist so that libraries which mention them load.

`wrap` marks functions for a tracer and returns them as they are; tracing raises an error that says so.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "symbolic_trace", "wrap"]


def _refuse() -> NoReturn:
    raise NotImplementedError(
        "torch.fx captures programs as graphs, which Pullback does not do. Call the module itself; hooks "
        "(register_forward_hook) show what flows through it."
    )


def wrap(fn_or_name: Any) -> Any:
    """The function, unchanged."""
    return fn_or_name


def symbolic_trace(root: Any, concrete_args: Any = None) -> NoReturn:
    """Graphs are not captured."""
    _refuse()


class _Unsupported:
    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse()


class Node(_Unsupported):
    """One operation of a captured graph."""


class Graph(_Unsupported):
    """A captured graph."""


class GraphModule(_Unsupported):
    """A module made of a captured graph."""


class Proxy(_Unsupported):
    """Stands for a value while a graph is captured."""


class Tracer(_Unsupported):
    """Captures graphs."""


class Interpreter(_Unsupported):
    """Runs graphs."""


class Transformer(_Unsupported):
    """Rewrites graphs."""

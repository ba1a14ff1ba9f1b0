"""`torch._jit_internal`: what packages import from there for TorchScript: types, marks, functions with a switch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035 (imported by these names)

from .jit import Attribute, _overload, _overload_method, export, ignore, is_scripting, script_if_tracing, unused

__all__ = [
    "Any", "Attribute", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "Final", "List", "Optional",
    "Tuple", "Union", "boolean_dispatch", "boolean_dispatched", "export", "ignore", "is_scripting", "script_if_tracing",
    "unused", "_copy_to_script_wrapper", "_overload", "_overload_method",
]  # fmt: skip

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = Union  # of one type: a number or a list of numbers
boolean_dispatched: dict[Callable[..., Any], dict[str, Any]] = {}  # what was made of which functions


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any], if_false: Callable[..., Any],
    module_name: str, func_name: str,
) -> Callable[..., Any]:  # fmt: skip
    """One function of two: a true or false argument, by name or by place, says which is called."""

    def function(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs[arg_name] if arg_name in kwargs else args[arg_index] if arg_index < len(args) else default
        return (if_true if chosen else if_false)(*args, **kwargs)

    function.__doc__ = if_true.__doc__ or if_false.__doc__
    function.__module__, function.__name__ = module_name, func_name
    boolean_dispatched[function] = {
        "if_true": if_true, "if_false": if_false, "index": arg_index, "default": default, "arg_name": arg_name,
    }  # fmt: skip
    return function


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is."""
    return fn

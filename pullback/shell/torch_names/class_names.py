"""Classes, and functions, that say they are torch's while `torch` means Pullback: `print(type(layer))`, `layer.__module__`.

Modes that see every function tell those of `torch.nn.init` by their `__module__`. A function belongs to the public module
it is written in; a class to the one it is found in: files with an underscore are ours alone, and the few that are found
in `torch` itself (`torch.Size`, `torch.dtype`) belong to it.
"""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

_before: dict[Any, str] = {}  # what to say again when the alias is gone


def claim_classes(module: ModuleType, torch_name: str) -> None:
    """Let the classes that are found in this module, and live there or in a private file, say so by torch's name."""
    if torch_name.rpartition(".")[2].startswith("_"):
        return
    for name, value in list(vars(module).items()):
        claim_class(name, value, module.__name__, torch_name)


def claim_class(name: str, value: object, place: str, torch_name: str) -> None:
    """The same for one name of a module, as one that is loaded when it is asked for; other values stay as they are."""
    if isinstance(value, FunctionType) and value.__module__ == place and not name.startswith("_"):
        _before[value] = place
        value.__module__ = torch_name
    elif isinstance(value, type) and not name.startswith("_") and _is_found_at(value.__module__, place):
        home = _before[value] = value.__module__
        if home != place:
            _look_up_hints(value, home)
        _move(value, torch_name)


def _move(kind: Any, module: str) -> None:
    """Let a class (or a function) say that it is of another module. Its line stays known, which Python 3.13 would forget."""
    line = vars(kind).get("__firstlineno__")
    kind.__module__ = module
    if line is not None:
        kind.__firstlineno__ = line  # type: ignore[attr-defined]


def _look_up_hints(kind: type, home: str) -> None:
    """Look up the names in the annotations of a class while it says where: `typing` asks the module that a class names."""
    hints = vars(kind).get("__annotations__", {})
    for name, hint in hints.items():
        if isinstance(hint, str):
            hints[name] = eval(hint, vars(sys.modules[home]))


def _is_found_at(home: str, place: str) -> bool:
    if home == place:
        return True
    parent, _, file = home.rpartition(".")
    if place == "pullback":  # in `core` are modules that torch has not
        return parent == place or home.startswith("pullback.core.")
    return file.startswith("_") and parent.startswith("pullback.")


def restore_classes() -> None:
    """Take all of that back."""
    for value, module in _before.items():
        _move(value, module)
    _before.clear()

"""Names that are loaded when somebody first asks for them, so that other programs do not wait for what is behind them.

A module with such names says `names_on_demand(__name__, ...)`, and that is all there is to it; `import_place` finds
the same place for those that keep it themselves. Where the functions of tensors are is written in `functional/names.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any


def import_place(place: str) -> Any:
    """Import a module of the package and return one of its attributes, both given as "module:name"."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"pullback.{module}"), name)


def homes_of_names(names: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Each name's module and its name there, of the names in modules."""
    pairs = [(home, each.partition(":")) for home, row in names.items() for each in row.split()]
    return {name: (home, name_there or name) for home, (name, _, name_there) in pairs}


def names_on_demand(
    module: str,
    *,
    modules: Iterable[str] = (),
    names: Mapping[str, str] = MappingProxyType({}),
    made: Callable[[str], Any] | None = None,
    shown: str | None = None,
) -> None:
    """Give a module a `__getattr__`: `modules` are below it, `names` are those in each of some other modules, in a row.

    These are `.relative` to this package or not; a name that is another one there is written `name:there`. `made`
    gives what is to be made of any further name, every time it is asked for, and None for those that are not known.
    All others are errors that say what is nearest; `shown` is what they call the module, torch's name for it unless given.
    """
    homes: dict[str, tuple[str, str]] = {}  # the module of each name, and its name there

    def find(name: str) -> Any:
        if names and not homes:
            homes.update(homes_of_names(names))
        if name in homes:
            home, name_there = homes[name]
            value = getattr(import_module(home, module), name_there)
        elif name in modules:
            value = import_module(f".{name}", module)
        elif name.startswith("__"):  # what the import system asks, perhaps before the module is complete
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        elif made is not None and (value := made(name)) is not None:
            return value
        else:
            from ...shell.torch_names.lookup import missing_attribute

            raise missing_attribute(shown or f"torch{module.removeprefix('pullback')}", name)
        setattr(sys.modules[module], name, value)
        return value

    # Not by `def __getattr__` in the module: type checkers would take every misspelled name for one of these.
    vars(sys.modules[module])["__getattr__"] = find

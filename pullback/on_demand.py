"""Names that a module loads when somebody first asks for them, so that other programs do not wait for it.

`__getattr__ = names_on_demand(__name__, ...)` in a module is all there is to it; names of the package itself are in
`torch_names/lazy.py`, functions of tensors in `functional/late.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def names_on_demand(
    module: str, *, modules: Iterable[str] = (), names: Mapping[str, str] | None = None, shown: str | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of a module: `modules` are below it, `names` are kept where the mapping says.

    A name's place is a module, `.relative` to this package or not, with ":name" if it has another name there. All other
    names are errors that say what is nearest; `shown` is what they call the module, torch's name for it unless given.
    """
    modules, homes = frozenset(modules), names or {}

    def find(name: str) -> Any:
        import importlib

        if name in homes:
            home, _, other_name = homes[name].partition(":")
            value = getattr(importlib.import_module(home, module), other_name or name)
        elif name in modules:
            value = importlib.import_module(f".{name}", module)
        else:
            from .torch_names.lookup import missing_attribute

            raise missing_attribute(shown or f"torch{module.removeprefix('pullback')}", name)
        setattr(sys.modules[module], name, value)
        return value

    return find

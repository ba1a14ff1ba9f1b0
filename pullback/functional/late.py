"""Families of functions that are imported when one of their names is first used, and the table of those names.

`import pullback` loads the families every program uses; the rest is known by name only (`names.py`). Run this module to
write that table again after announcing a new function; a test fails while it is out of date.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

# Loaded with the package.
EARLY: frozenset[Any] = frozenset(
    {
        "arithmetic", "comparison", "copying", "creation", "division", "elementary", "from_data", "indexing", "joining",
        "matmul", "methods", "ranges", "reductions", "runtime", "shape", "shape_in_place", "splitting", "tensor_facts",
        "writing",
    }
)  # fmt: skip
_NOT_FAMILIES = frozenset({"__init__", "late", "meta", "names", "operands", "registry"})


def late_modules() -> list[str]:
    """Every family that is not loaded with the package."""
    found = {path.stem for path in Path(__file__).parent.glob("*.py")}
    return sorted(found - EARLY - _NOT_FAMILIES)


def tables() -> dict[str, dict[str, str]]:
    """Names and their modules, found by importing all families."""
    import importlib

    from . import registry

    kinds = {"FUNCTIONS": registry.FUNCTIONS, "METHODS": registry.METHODS, "IN_PLACE": registry.IN_PLACE}
    modules = late_modules()
    early = {kind: {name for name, f in table.items() if _home(f, modules) is None} for kind, table in kinds.items()}
    homes: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    for module in modules:
        before = {kind: set(table) for kind, table in kinds.items()}
        importlib.import_module(f"{__package__}.{module}")
        for kind, table in kinds.items():
            for name, function in table.items():
                home = _home(function, modules)
                if home is not None:
                    homes[kind][name] = home
                elif name not in before[kind] and name not in early[kind]:
                    homes[kind][name] = module
    return homes


def _home(function: object, modules: list[str]) -> str | None:
    """The late module a function was written in, if it is one."""
    while hasattr(function, "__wrapped__"):  # what surrounds it says under which name programs know it
        function = function.__wrapped__
    module = getattr(function, "__module__", "") or ""
    name = module.removeprefix(f"{__package__}.")
    return name if name in modules else None


def text() -> str:
    """The source of `names.py`."""
    lines = [
        '"""The names that each late-loaded module of `functional/` announces. '
        'Written by `python -m pullback.functional.late`."""',
    ]
    for kind, homes in tables().items():
        lines += ["", f"{kind}: dict[str, str] = {{"]
        for home in sorted(set(homes.values())):
            names = " ".join(sorted(name for name in homes if homes[name] == home))
            line = f'    "{home}": "{names}",'
            rows = textwrap.wrap(names, 120, initial_indent=" " * 8, subsequent_indent=" " * 8)
            lines += [line] if len(line) <= 120 else [f'    "{home}": """', *rows, '    """,']
        lines.append("}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("names.py").write_text(text())

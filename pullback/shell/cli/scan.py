"""Which torch names a Python file or notebook uses, found in its syntax tree; nothing is imported or run.

Follows `import torch.x as y`, `from torch.x import y`, plain renames (`F = torch.nn.functional`) and attribute chains. Other
packages that are imported are found as well.
Methods are reported where the text says what they are asked of (`receivers`); the rest cannot be known without running.
"""

from __future__ import annotations

import ast
import json
import os
import re
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from . import read_program
from .receivers import asked_of_receivers

_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist"}
_TRANSPARENT_CELL_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")


class Use(NamedTuple):
    """One use of a torch name; `place` is file:line, or file:cell:line in a notebook."""

    name: str
    place: str


class Unreadable(NamedTuple):
    """A file or notebook cell that is not valid Python."""

    place: str
    reason: str


def source_files(path: str) -> Iterator[str]:
    """The Python files and notebooks under `path`, or `path` itself if it is a file; in a stable order."""
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS and not name.startswith("."))
        for name in sorted(files):
            if name.endswith((".py", ".ipynb")) and os.path.isfile(os.path.join(folder, name)):  # no pipe, no dead link
                yield os.path.join(folder, name)


def scan_file(path: str) -> tuple[list[Use], list[Unreadable]]:
    """The torch names one file uses, and the parts of it that could not be read."""
    with open(path, "rb") as file:
        content = read_program(file)
    if path.endswith(".ipynb"):
        return _scan_notebook(content, path)
    try:
        return _scan_tree(_parse(content), path, {}), []
    except (SyntaxError, ValueError, RecursionError) as error:
        return [], [Unreadable(f"{path}:{getattr(error, 'lineno', None) or 1}", _reason(error))]


def _reason(error: Exception) -> str:
    return str(getattr(error, "msg", None) or error or type(error).__name__)


def _parse(source: bytes | str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the scanned program (invalid escapes), not about us
        return ast.parse(source)


def _scan_notebook(content: bytes, path: str) -> tuple[list[Use], list[Unreadable]]:
    try:
        cells = json.loads(content)["cells"]
    except (ValueError, KeyError, TypeError) as error:
        return [], [Unreadable(path, f"not a notebook of format 4: {error!r}")]
    uses: list[Use] = []
    unreadable: list[Unreadable] = []
    names: dict[str, str] = {}  # a cell sees what the cells before it imported
    for number, cell in enumerate(cells, 1):
        if cell.get("cell_type") != "code":
            continue
        place = f"{path}:cell{number}"
        try:
            tree = _parse(_without_magics("".join(cell.get("source", ""))))
        except (SyntaxError, ValueError, RecursionError) as error:
            unreadable.append(Unreadable(f"{place}:{getattr(error, 'lineno', None) or 1}", _reason(error)))
        else:
            uses += _scan_tree(tree, place, names)
    return uses, unreadable


def _without_magics(source: str) -> str:
    """The cell as plain Python, line for line: IPython's commands become `pass`."""
    if source.startswith("%%") and not source.startswith(_TRANSPARENT_CELL_MAGICS):
        return ""
    return re.sub(r"(?m)^([ \t]*)(?:[%!?].*|[\w.]+\?{1,2}[ \t]*)$", r"\1pass", source)


def _is_torch(module: str | None) -> bool:
    return module is not None and (module == "torch" or module.startswith("torch."))


def _scan_tree(tree: ast.Module, place: str, names: dict[str, str]) -> list[Use]:
    """Collect what the tree binds to torch into `names`, then every use of it."""
    uses: list[Use] = _packages(tree, place)
    from_imports: set[str] = set()
    stored: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                if _is_torch(item.name):
                    uses.append(Use(item.name, f"{place}:{node.lineno}"))
                    names[item.asname or "torch"] = item.name if item.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _is_torch(node.module):
            for item in node.names:
                name = str(node.module) if item.name == "*" else f"{node.module}.{item.name}"
                uses.append(Use(name, f"{place}:{node.lineno}"))
                if item.name != "*":
                    names[item.asname or item.name] = name
                    from_imports.add(item.asname or item.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored.add(node.id)
        elif isinstance(node, ast.arg):
            stored.add(node.arg)
    # `from torch import tensor` and later `tensor = load()`: what hangs on that name need not be torch's.
    for name in from_imports & stored:
        del names[name]
    _collect_renames(tree, names)
    visitor = _ChainVisitor(names)
    visitor.visit(tree)
    asked = asked_of_receivers(tree, lambda node: _dotted(node, names))
    uses += [Use(name, f"{place}:{line}") for name, line in (*visitor.found, *asked)]
    return uses


def _packages(tree: ast.Module, place: str) -> list[Use]:
    """The other packages that are imported whatever happens: not those a `try` or a question stands before."""
    found: list[Use] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found += [Use(item.name.partition(".")[0], f"{place}:{node.lineno}") for item in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append(Use(str(node.module).partition(".")[0], f"{place}:{node.lineno}"))
        elif not isinstance(node, (ast.Try, ast.If, ast.FunctionDef, ast.AsyncFunctionDef)):
            waiting += ast.iter_child_nodes(node)
    return [use for use in reversed(found) if use.name != "torch"]


def _collect_renames(tree: ast.Module, names: dict[str, str]) -> None:
    """`F = torch.nn.functional`: only dotted lower-case targets can be modules worth following."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            chain = _dotted(node.value, names)
            if chain is not None and isinstance(node.value, ast.Attribute) and _is_module_name(chain):
                names.setdefault(node.targets[0].id, chain)


def _is_module_name(dotted: str) -> bool:
    from types import ModuleType

    from ..torch_names.lookup import find_torch_name, has_torch_name

    return has_torch_name(dotted) and isinstance(find_torch_name(dotted), ModuleType)


def _dotted(node: ast.AST, names: dict[str, str]) -> str | None:
    """The full torch name of `a.b.c` if `a` is bound to torch, else None."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return None
    return ".".join([names[node.id], *reversed(attributes)])


class _ChainVisitor(ast.NodeVisitor):
    """Records each longest attribute chain that starts at a torch name."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names: dict[str, str] = names
        self.found: list[tuple[str, int]] = []

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = _dotted(node, self.names)
        if name is None:
            self.generic_visit(node)
        elif isinstance(node.ctx, ast.Load):
            self.found.append((name, node.lineno))

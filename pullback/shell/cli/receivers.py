"""Which attributes a program asks of tensors and modules, as far as its text says what they are asked of.

A name holds a tensor where everything that its scope binds to it is one: the result of a torch function or method that is
annotated so, arithmetic on tensors, an argument annotated as Tensor. It holds a module where everything is a call of the same
class of `torch.nn`. All else is unknown and nothing is said of it; nor of names that the program sets or writes in quotes
(`hasattr(x, "name")`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..torch_names.lookup import find_torch_name, has_torch_name

TENSOR = "torch.Tensor"
_SAME = {"T", "H", "mT", "mH", "data", "real", "imag"}  # attributes of tensors that are tensors
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
           ast.GeneratorExp)  # fmt: skip
_UNKNOWN = object()


def asked_of_receivers(tree: ast.Module, dotted: Any) -> Iterator[tuple[str, int]]:
    """(name, line) of attributes: `torch.Tensor.relu`. `dotted` gives the torch name of an expression, if it has one."""
    own = _names_of_its_own(tree)
    waiting: list[_Scope] = [_Scope(tree, None, dotted)]
    while waiting:
        scope = waiting.pop()
        for node in scope.nodes:
            if isinstance(node, _SCOPES):
                waiting.append(_Scope(node, scope, dotted))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                kind, name = scope.kind_of(node.func.value), node.func.attr
                if kind is not None and name not in own and (kind == TENSOR or has_torch_name(kind)):
                    yield f"{kind}.{name}", node.func.lineno


def _names_of_its_own(tree: ast.Module) -> set[str]:
    """Attributes that the program sets itself, defines in a class, or has in quotes."""
    own: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            own.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            own.add(node.value)
    return own


class _Scope:
    """A module, class, function or comprehension: its nodes without those of scopes inside, and what it binds."""

    def __init__(self, root: ast.AST, outer: _Scope | None, dotted: Any) -> None:
        self.root: ast.AST = root
        self.outer: _Scope | None = outer.outer if outer is not None and isinstance(outer.root, ast.ClassDef) else outer
        self.dotted: Any = dotted
        self.nodes: list[ast.AST] = []
        self.bound: dict[str, list[Any]] = {}
        self.looking: set[str] = set()
        waiting: list[ast.AST] = list(ast.iter_child_nodes(root))
        while waiting:
            node = waiting.pop()
            self.nodes.append(node)
            if not isinstance(node, _SCOPES):
                waiting += ast.iter_child_nodes(node)
        for node in self.nodes:
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._bind(target.id, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            self._bind(node.target.id, node.value)
        elif isinstance(node, ast.arg):
            is_tensor = node.annotation is not None and self.dotted(node.annotation) == TENSOR
            self._bind(node.arg, TENSOR if is_tensor else _UNKNOWN)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            scope: _Scope | None = self
            while scope is not None:  # the scope that has the name: it is bound from here too
                for name in node.names:
                    scope._bind(name, _UNKNOWN)
                scope = scope.outer
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bind(node.name, _UNKNOWN)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for item in node.names:
                self._bind((item.asname or item.name).partition(".")[0], _UNKNOWN)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            self._bind(node.name, _UNKNOWN)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.bound.setdefault(node.id, []).append(None)  # counted; `_settled` compares with what has a value

    def _bind(self, name: str, value: Any) -> None:
        self.bound.setdefault(name, []).append(value)

    def _settled(self, name: str) -> list[Any] | None:
        """All values that are bound to the name, None if one is not known."""
        values = self.bound[name]
        given = [value for value in values if value is not None]
        stores = len(values) - len(given)
        named = sum(isinstance(value, ast.AST) for value in given)
        return given if stores == named and _UNKNOWN not in given else None

    def kind_of(self, node: ast.AST) -> str | None:
        """ "torch.Tensor", the class of `torch.nn` that the expression is an instance of, or None."""
        if isinstance(node, ast.Name):
            return self._kind_of_name(node.id)
        if isinstance(node, ast.Call):
            return self._kind_of_call(node.func)
        if isinstance(node, ast.BinOp):
            sides = [self.kind_of(side) for side in (node.left, node.right)]
            numbers = [isinstance(side, ast.Constant) for side in (node.left, node.right)]
            return (
                TENSOR
                if all(k == TENSOR or n for k, n in zip(sides, numbers, strict=True)) and TENSOR in sides
                else None
            )
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self.kind_of(node.operand)
        if isinstance(node, ast.Subscript) or isinstance(node, ast.Attribute) and node.attr in _SAME:
            return TENSOR if self.kind_of(node.value) == TENSOR else None
        return None

    def _kind_of_name(self, name: str) -> str | None:
        scope: _Scope | None = self
        while scope is not None and name not in scope.bound:
            scope = scope.outer
        values = scope._settled(name) if scope is not None else None
        if scope is None or not values or name in scope.looking:
            return None
        scope.looking.add(name)  # `x = x.relu()` is a tensor if the others are
        try:
            kinds = {
                value if value == TENSOR else scope.kind_of(value) for value in values if not _is_made_of(value, name)
            }
        finally:
            scope.looking.discard(name)
        if len(kinds) != 1 or any(_is_made_of(value, name) and not scope._stays(value, name) for value in values):
            return None
        return kinds.pop()

    def _stays(self, value: ast.AST, name: str) -> bool:
        """True if `x.relu()` is a tensor, given that x is one."""
        known, self.bound[name] = self.bound[name], [TENSOR]
        try:
            return self.kind_of(value) == TENSOR
        finally:
            self.bound[name] = known

    def _kind_of_call(self, function: ast.AST) -> str | None:
        name = self.dotted(function)
        if name is not None and not (isinstance(function, ast.Name) and self._is_rebound(function.id)):
            found = find_torch_name(name) if has_torch_name(name) else None
            if isinstance(found, type):
                return _kind_of_class(name, found)
            return TENSOR if _gives_tensor(found) else None
        if isinstance(function, ast.Attribute) and self.kind_of(function.value) == TENSOR:
            method = f"{TENSOR}.{function.attr}"
            return TENSOR if has_torch_name(method) and _gives_tensor(find_torch_name(method)) else None
        return None

    def _is_rebound(self, name: str) -> bool:
        scope: _Scope | None = self
        while scope is not None and name not in scope.bound:
            scope = scope.outer
        return scope is not None and any(isinstance(value, ast.AST) for value in scope.bound[name])


def _is_made_of(value: Any, name: str) -> bool:
    return isinstance(value, ast.AST) and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value))


def _gives_tensor(function: Any) -> bool:
    return getattr(function, "__annotations__", {}).get("return") == "Tensor"


def _kind_of_class(name: str, found: type) -> str | None:
    """Tensors, and modules whose attributes are all their own: containers find their parts by name."""
    from ... import Tensor, nn

    if issubclass(found, Tensor):
        return TENSOR if found in (Tensor, nn.Parameter) else None
    own = vars(found).get("__getattr__") is None and not issubclass(
        found, (nn.Sequential, nn.ModuleDict, nn.ParameterDict)
    )
    return name if issubclass(found, nn.Module) and found is not nn.Module and own else None

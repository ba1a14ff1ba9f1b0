"""Graphs written out as Python source, and the names that source needs.

The text is torch's: one statement for each node, which lets go of the values that are used there for the last time.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from enum import Enum
from types import UnionType
from typing import TYPE_CHECKING, Any, NamedTuple

from .naming import Namespace, qualified_name, type_name
from .node import Node, map_arg

if TYPE_CHECKING:
    from .graph import Graph

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<",
    "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "matmul": "@", "eq": "==", "ne": "!=", "lt": "<", "gt": ">",
    "le": "<=", "ge": ">=",
}  # fmt: skip
UNARY = {"pos": "+", "neg": "-", "invert": "~"}
_IN_PLACE = {
    f"i{name.rstrip('_')}": f"{sign}="
    for name, sign in BINARY.items()
    if name not in ("eq", "ne", "lt", "gt", "le", "ge")
}


class PythonCode(NamedTuple):
    """Source, and what its global names stand for."""

    src: str
    globals: dict[str, Any]


class _TorchNames:
    """The `torch` of generated code: the objects written by dotted names, then whatever the library has there."""

    def __init__(self, home: Any) -> None:
        self._home = home

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, name)


class _Globals:
    """Collects the objects that source mentions, and names them."""

    def __init__(self, namespace: Namespace) -> None:
        import pullback

        from ..core.basics.device import device
        from ..utils import _pytree
        from . import trees

        self.namespace = namespace
        self.torch = _TorchNames(pullback)
        self.named: dict[str, Any] = {
            "inf": math.inf, "nan": math.nan, "NoneType": type(None), "torch": self.torch, "device": device,
            "pytree": _pytree, "fx_pytree": trees,
        }  # fmt: skip
        self.wrapped: list[str] = []

    def add(self, hint: str, obj: Any) -> str:
        """The name by which the source mentions an object."""
        if hint.startswith("torch."):
            place: Any = self.torch
            *path, last = hint.split(".")[1:]
            for part in path:
                place = vars(place).setdefault(part, _TorchNames(getattr(place, part, None)))
            vars(place)[last] = obj
            return hint
        if getattr(builtins, hint, None) is obj:
            return hint
        name = self.namespace.create_name(hint, obj)
        self.named[name] = obj
        return name

    def type_annotation(self, kind: Any) -> str:
        """A type, as it is written in the source."""
        if isinstance(kind, UnionType):
            return "|".join(self.type_annotation(each) for each in kind.__args__)
        if kind == ():
            return "()"
        if kind is type(None):
            return "NoneType"
        arguments = getattr(kind, "__args__", None)
        if not hasattr(kind, "__origin__"):
            return self.add(type_name(kind), kind)
        text = repr(kind).partition("[")[0]
        if arguments and type(None) in arguments and text == "typing.Optional":
            text = "typing.Union"
        origin = self.add(text, _looked_up(text, kind))
        return f"{origin}[{','.join(map(self.type_annotation, arguments))}]" if arguments else origin


def _looked_up(text: str, kind: Any) -> Any:
    import typing

    return getattr(typing, text.removeprefix("typing."), kind.__origin__)


def _attribute_path(base: str, target: str) -> str:
    """`self.layer.weight`, with `getattr` for parts that are no identifiers."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class CodeGen:
    """Writes a graph as a function. Subclasses may change its first line, its output, and how it takes arguments."""

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name: str = "forward"
        self._as_source: Callable[[Any], str] = repr

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The first line."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The last line."""
        return f"return {self._as_source(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """Arguments of the function as values of the placeholders."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The value of the output node as the function's result."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """More names that the source may use."""
        return []

    def _gen_python_code(
        self, graph: Graph, root_module: str, namespace: Namespace, verbose: bool = False
    ) -> PythonCode:
        names = _Globals(namespace)
        names.named.update(self.additional_globals())
        writer = _Writer(graph, root_module, names, verbose)
        self._as_source = writer.value
        body = writer.statements(self)
        self._as_source = repr
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        head = self.gen_fn_def(writer.parameters, writer.returns)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in names.wrapped)
        lines = "".join(body).lstrip("\n").split("\n")
        while lines and not lines[-1].strip():
            lines.pop()
        text = "\n".join(f"    {line}" if line else "" for line in lines or ["pass"])
        return PythonCode(f"\n{wraps}\n\n{head}\n{text}\n    ", names.named)


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """For each node, those whose values are not needed after it."""
    seen: set[Node] = set()
    last: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):

        def note(used: Node, node: Node = node) -> Node:
            if used not in seen:
                seen.add(used)
                last.setdefault(node, []).append(used)
            return used

        map_arg(node.args, note)
        map_arg(node.kwargs, note)
    return last


class _Writer:
    """Writes the statements of one graph."""

    def __init__(self, graph: Graph, root: str, names: _Globals, verbose: bool) -> None:
        self.graph, self.root, self.names, self.verbose = graph, root, names, verbose
        self.parameters: list[str] = []
        self.returns = ""
        self.trace: str | None = None
        self.last_uses = last_uses(graph)

    def statements(self, codegen: CodeGen) -> list[str]:
        """Each node's lines."""
        return [self.comment(node) + self.line(node, codegen) for node in self.graph.nodes]

    def comment(self, node: Node) -> str:
        """Where the node was recorded, if that is asked for and is not where the one before was."""
        if not self.verbose or node.op in ("placeholder", "output"):
            return ""
        before, self.trace = self.trace, node.stack_trace or ""
        if self.trace == before:
            return ""
        if not self.trace:
            return "\n# No stacktrace found for following nodes\n"
        at, code = ([line.strip() for line in self.trace.strip().split("\n")][-2:] + [""])[:2]
        parts = [part.strip() for part in at.removeprefix("File ").split(",")]
        where = f"{parts[0].strip(chr(34))}:{parts[1].removeprefix('line ')} in {parts[2].removeprefix('in ')}"
        return f"\n# File: {where}, code: {code}\n"

    def line(self, node: Node, codegen: CodeGen) -> str:
        typed = "" if node.type is None else f" : {self.names.type_annotation(node.type)}"
        if node.op == "placeholder":
            default = f" = {self.value(node.args[0])}" if node.args else ""
            self.parameters.append(f"{node.target}{typed}{default}")
            plain = str(node.target).lstrip("*")
            return "" if plain == repr(node) else f"{node!r} = {plain}\n"
        if node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.names.type_annotation(node.type)}"
            return codegen.generate_output(node.args[0])
        name = f"{node!r}{typed}"
        return self.call(node, name) + self.letting_go(node) + "\n"

    def letting_go(self, node: Node) -> str:
        done = [*self.last_uses.get(node, [])] + ([] if node.users else [node])
        return f";  {' = '.join([repr(each) for each in done] + ['None'])}" if done else ""

    def call(self, node: Node, name: str) -> str:
        target: Any = node.target
        if node.op == "get_attr":
            return f"{name} = {_attribute_path(self.root, target)}"
        if node.op == "call_module":
            return f"{name} = {_attribute_path(self.root, target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            owner = f"{self.value(node.args[0])}"
            return f"{name} = {_attribute_path(owner, target)}({self.arguments(node.args[1:], node.kwargs)})"
        return self.function(node, name, target)

    def function(self, node: Node, name: str, target: Any) -> str:
        short = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator":
            operands = [self.value(each) for each in node.args]
            if short in BINARY and len(operands) == 2:
                return f"{name} = {operands[0]} {BINARY[short]} {operands[1]}"
            if short in UNARY and len(operands) == 1:
                return f"{name} = {UNARY[short]}{operands[0]}"
            if short in _IN_PLACE:
                return f"{operands[0]} {_IN_PLACE[short]} {operands[1]};  {name} = {operands[0]}"
            if short == "getitem" and len(operands) == 2:
                return f"{name} = {operands[0]}[{operands[1]}]"
        if target is getattr and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{name} = {_attribute_path(self.value(node.args[0]), node.args[1])}"
        called = self.names.add(qualified_name(target), target)
        if node.meta.get("is_wrapped") and called not in self.names.wrapped:
            self.names.wrapped.append(called)
        return f"{name} = {called}({self.arguments(node.args, node.kwargs)})"

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        given = [self.value(each) for each in args]
        return ", ".join(given + [f"{name} = {self.value(each)}" for name, each in kwargs.items()])

    def value(self, value: Any) -> str:
        """A value as source."""
        if isinstance(value, tuple):
            items = ", ".join(map(self.value, value)) + ("," if len(value) == 1 else "")
            kind = self.names.add(qualified_name(type(value)), type(value)) if hasattr(value, "_fields") else ""
            return f"{kind}({items})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(each)}" for key, each in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self.value(value.start)}, {self.value(value.stop)}, {self.value(value.step)})"
        if isinstance(value, Enum):
            return f"{self.names.add(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, type) or callable(value) and hasattr(value, "__qualname__"):
            return self.names.add(qualified_name(value), value)
        return repr(value)

"""`Graph`: a program as a list of nodes, which can be looked at, changed, checked and written out as Python.

Tracing programs into graphs is `_symbolic_trace.py`; a graph that can be called is a `GraphModule`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.basics.notices import warn_user
from .codegen import CodeGen, PythonCode
from .naming import Namespace as _Namespace
from .naming import name_for_target
from .naming import snake_case as _snake_case
from .node import Argument, Node, Target, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode", "_Namespace", "_snake_case"]
_Args = tuple[Argument, ...] | None
_Kwargs = dict[str, Argument] | None


class _node_list:
    """The nodes of a graph, in the order in which they run; it stays valid while nodes are inserted and erased."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class _InsertPoint:
    """Where new nodes go, from now until the end of a `with` statement."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before, graph._insert = graph._insert, insert

    def __enter__(self) -> None:
        """It holds already."""

    def __exit__(self, *error: Any) -> None:
        self.graph._insert = self.before


class Graph:
    """A list of nodes, and a place in it where new ones go (the end, unless `inserting_before` says otherwise)."""

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._codegen = CodeGen()
        self._tracer_cls = tracer_cls
        self.owning_module = owning_module
        self._origin = ""  # where the program that was traced is written

    @property
    def nodes(self) -> _node_list:
        """All nodes; `reversed(graph.nodes)` runs from the last to the first."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The node that returns."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, or those of them with this target."""
        if op == "call_function" and target is None:
            raise AssertionError("target is required for call_function")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    # -- adding nodes --------------------------------------------------------------------------------------------

    def create_node(
        self, op: str, target: Target, args: _Args = None, kwargs: _Kwargs = None, name: str | None = None, type_expr: Any = None
    ) -> Node:  # fmt: skip
        """Add a node at the place of insertion. Its name is like the given one, or like its target's."""
        named = self._graph_namespace.create_name(name_for_target(target) if name is None else name)
        node = Node(self, named, op, target, args or (), kwargs or {}, type_expr)
        self._insert(node)
        self._len += 1
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input; `...` means that it has no default."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module that owns the graph."""
        more = ", GraphModule.add_parameter to add the necessary Parameter, or nn.Module.register_buffer to add the necessary "
        self._expect("get_attr", qualified_name, more + "buffer")
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: _Args = None, kwargs: _Kwargs = None, type_expr: Any = None) -> Node:
        """A call of a submodule."""
        self._expect("call_module", module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def _expect(self, kind: str, path: str, more: str = "") -> None:
        """Warn if the module that owns the graph does not have what a new node mentions."""
        if self.owning_module is not None and not _has_path(self.owning_module, path):
            warn_user(
                f"Attempted to insert a {kind} Node with no underlying reference in the owning GraphModule! Call "
                f"GraphModule.add_submodule to add the necessary submodule{more}"
            )

    def call_method(self, method_name: str, args: _Args = None, kwargs: _Kwargs = None, type_expr: Any = None) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: _Args = None, kwargs: _Kwargs = None, type_expr: Any = None,
        name: str | None = None,
    ) -> Node:  # fmt: skip
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """The node that returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    # -- where they go -------------------------------------------------------------------------------------------

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """A context in which new nodes go before this one (None: to the beginning)."""
        if n is None:
            return self.inserting_after(self._root)
        self._check_own(n)
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """A context in which new nodes go after this one (None: to the end), so the last one comes first."""
        if n is None:
            return self.inserting_before(self._root)
        self._check_own(n)
        return _InsertPoint(self, n.append)

    def _check_own(self, node: Node) -> None:
        if node.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")

    # -- copying and removing ------------------------------------------------------------------------------------

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """Add a copy of a node, which may be another graph's; `arg_transform` says what becomes of its arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = dict(node.meta)
        return copied

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Add copies of the nodes of another graph that are not in `val_map`; what that graph returns."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        from copy import deepcopy

        copied = Graph(tracer_cls=self._tracer_cls)
        copied._origin = self._origin
        copied._codegen = deepcopy(self._codegen, memo)
        memo = {} if memo is None else memo
        memo[id(self)] = copied
        nodes: dict[Node, Node] = {}
        for node in self.nodes:
            nodes[node] = memo[id(node)] = copied.node_copy(node, nodes.__getitem__)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        places = {node: number for number, node in enumerate(self.nodes)}

        def placed(arg: Any) -> Any:
            return map_arg(arg, lambda node: _Place(places[node]))

        rows = [
            (n.op, n.target, placed(n.args), placed(n.kwargs), n.name, n.type, "is_wrapped" in n.meta)
            for n in self.nodes
        ]  # the rest of `meta` may be anything
        return _rebuilt, (rows, self._tracer_cls, self._codegen)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node without users."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warn_user(f"erase_node({to_erase}) on an already erased node")
            return
        to_erase._unlink()
        to_erase._erased = True  # it keeps its neighbours, so that a loop over the nodes finds its way
        to_erase._take((), {})
        self._len -= 1

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove nodes without users that do nothing else; return True if there were any."""
        self.lint()
        kept = is_impure_node if is_impure_node is not None else Node.is_impure
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not kept(node):
                self.erase_node(node)
        return self._len < before

    # -- checks and text -----------------------------------------------------------------------------------------

    def lint(self) -> None:
        """Check that nodes come before their users, have names of their own, and that their attributes exist."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for arg in node.all_input_nodes:
                if arg.graph is not self:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an argument! "
                        "If you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() "
                        f"to remap values\n{self}"
                    )
                if arg not in seen:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check that Nodes "
                        f"in the graph are topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._check_path(node)

    def _check_path(self, node: Node) -> None:
        """Check that the attribute or submodule that a node mentions exists."""
        from ..nn import Module

        value, parts = self.owning_module, str(node.target).split(".")
        for number, part in enumerate(parts):
            if not hasattr(value, part):
                where = ".".join(parts[:number])
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} of {where}"
                )
            value = getattr(value, part)
        if node.op == "call_module" and not isinstance(value, Module):
            raise RuntimeError(f"Node {node} target {node.target} {node.target} of  does not reference an nn.Module")

    def python_code(self, root_module: str, *, verbose: bool = False, **kwargs: Any) -> PythonCode:
        """The graph as the source of a function; `root_module` is the name by which it calls the module."""
        namespace = _Namespace()
        before = {node: node._repr_fn for node in self.nodes}
        for node in self.nodes:
            node._repr_fn = lambda node: namespace.create_name(node.name, node)
        try:
            return self._codegen._gen_python_code(self, root_module, namespace, verbose)
        finally:
            for node, repr_fn in before.items():
                node._repr_fn = repr_fn

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let another object write the source."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """Arguments of the function as values of the placeholders."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The value of the output node as the function's result."""
        return self._codegen.process_outputs(out)

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Let a function change the list of statements; in a `with` statement, only there."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextmanager
        def changed() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return changed()

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [[node.op, node.name, node.target, node.args, node.kwargs] for node in self.nodes]
        print(_table(["opcode", "name", "target", "args", "kwargs"], [[str(cell) for cell in row] for row in rows]))

    def __str__(self) -> str:
        lines = [node.format_node() for node in self.nodes]
        return "\n    ".join(["graph():", *[line for line in lines if line]])


class _Place(int):
    """Stands for a node in a pickle: its number."""


def _rebuilt(rows: Iterable[tuple[Any, ...]], tracer_cls: Any, codegen: CodeGen) -> Graph:
    from .node import map_aggregate

    graph = Graph(tracer_cls=tracer_cls)
    graph._codegen = codegen
    nodes: list[Node] = []

    def back(arg: Any) -> Any:
        return map_aggregate(arg, lambda each: nodes[each] if isinstance(each, _Place) else each)

    for op, target, args, kwargs, name, kind, is_wrapped in rows:
        nodes.append(graph.create_node(op, target, back(args), back(kwargs), name, kind))
        if is_wrapped:
            nodes[-1].meta["is_wrapped"] = True
    return graph


def _has_path(module: Any, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def _table(head: list[str], rows: list[list[str]]) -> str:
    """Columns as wide as their widest cell, with a line under the head."""
    widths = [max(len(title) + 2, *map(len, column)) for title, *column in zip(head, *rows)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)

"""`Interpreter` runs a graph node by node, and `Transformer` writes another one; subclasses change what nodes mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..nn.modules.module import Module
from ..shell.torch_function import while_everything_asks
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module. Each kind of node is a method, which subclasses may replace."""

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module: Any = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph  # type: ignore[assignment]
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            from .codegen import last_uses

            self.user_to_last_uses = last_uses(self.graph)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The value of the graph for these arguments; nodes in `initial_env` have theirs already."""
        self.env = dict(initial_env or {})
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                self._name_node(error, node)
                raise
            for done in self.user_to_last_uses.get(node, []):
                self.env.pop(done, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def _name_node(self, error: Exception, node: Node) -> None:
        """Say in an error at which node it happened."""
        if self.extra_traceback and "While executing" not in str(error):
            text = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
            message = f"{error.args[0]}\n\n{text}" if error.args else text
            error.args = (message, *error.args[1:])
            if isinstance(error, KeyError):
                error.args = (message,)

    def boxed_run(self, args_list: list[Any]) -> Any:
        """The value of the graph for a list of arguments, which is emptied, so that they can be freed."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument, or the default."""
        name = str(target)
        if name.startswith("*"):
            return list(self.args_iter)
        missing = object()
        value = next(self.args_iter, missing)
        if value is not missing:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {name}, but one was not passed in!")

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of the graph."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """The attribute of a dotted name."""
        value = self.module
        parts = target.split(".")
        for number, part in enumerate(parts):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: number + 1])}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with values for nodes."""
        return self.map_nodes_to_values(n.args, n), dict(self.map_nodes_to_values(n.kwargs, n))

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """An argument with values for nodes."""

        def value_of(arg: Node) -> Any:
            if arg not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {arg}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[arg]

        return map_arg(args, value_of)


class _TransformerTracer(Tracer):
    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self.graph = graph
        self.root = root

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


class Transformer(Interpreter):
    """Runs a graph on proxies, so that another graph comes out: what the methods of a subclass return."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """An input of the new graph."""
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(str(target), default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """An attribute, looked up in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a submodule in the new graph."""
        return self.tracer.call_module(self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs)

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def run_node(self, n: Node) -> Any:
        """Run a node, and hand what was known of it on to the new nodes that this makes."""
        first = self.new_graph._root.prev
        result = super().run_node(n)
        node = first.next
        while node is not self.new_graph._root:
            node.meta = {**n.meta, **node.meta}
            node = node.next
        return result

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        with while_everything_asks():
            result = self.run(enable_io_processing=False)
        if result is not None:
            returned = map_aggregate(result, lambda each: each.node if isinstance(each, Proxy) else each)
            old = self.graph.output_node()
            self.new_graph.output(returned, old.type).meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)

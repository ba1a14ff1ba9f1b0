"""`Node`: one step of a graph, linked to the steps before and after it, and what its arguments are made of.

How nodes and their targets are written out is here and in `naming.py`; the list they form is `Graph`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .immutable_collections import immutable_dict, immutable_list
from .naming import qualified_name as _get_qualified_name
from .naming import type_name as _type_repr

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
_legal_ops = frozenset({"placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"})
_side_effectful_functions: set[Any] = set()


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of this function when dead code is removed."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Apply a function to everything inside lists, tuples, dictionaries and slices, which become immutable ones."""
    if isinstance(a, tuple):
        items = [map_aggregate(each, fn) for each in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Apply a function to every node inside an argument."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """An argument as graphs print it: nodes have a percent sign, text has no quotes."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, (list, tuple)):
        shown = [_format_arg(each) for number, each in enumerate(arg) if number < max_list_len]
        items = ", ".join(shown) + (f", ...[total_len={len(arg)}]" if len(arg) > len(shown) else "")
        if isinstance(arg, list):
            return f"[{items}]"
        return f"({items},)" if len(arg) == 1 else f"({items})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """One step: an input (`placeholder`), an attribute, a call, or the `output` of a graph."""

    def __init__(
        self, graph: Graph, name: str, op: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:  # fmt: skip
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        wanted, fits = ("Callable", callable(target)) if op == "call_function" else ("str", isinstance(target, str))
        if not fits:
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {_type_repr(type(target))} "
                f"but a {wanted} is expected"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._prev: Node = self
        self._next: Node = self
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._take(args, kwargs)

    def _take(self, args: Any, kwargs: Any) -> None:
        """Have these arguments from now on, and be a user of the nodes in them."""
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args = tuple(map_arg(tuple(args), use))
        self._kwargs = map_arg(dict(kwargs), use)

    @property
    def args(self) -> tuple[Any, ...]:
        """Positional arguments: values and nodes. Assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._take(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """Arguments given by name. Assign a new dictionary to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._take(self._args, kwargs)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert a positional argument before another."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set one argument given by name."""
        self.kwargs = {**self.kwargs, key: arg}

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """Where in the program this step was recorded, if the tracer kept it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    # -- the list of nodes ---------------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The step after this one; after the last comes the root, which ends the list."""
        return self._next

    @property
    def prev(self) -> Node:
        """The step before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node to the place right before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is not x:
            x._unlink()
            x._prev, x._next = self._prev, self
            self._prev._next = self._prev = x

    def append(self, x: Node) -> None:
        """Move a node to the place right after this one."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    # -- users ---------------------------------------------------------------------------------------------------

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *,
        propagate_meta: bool = False,
    ) -> list[Node]:  # fmt: skip
        """Let the users of this node (those that the callback agrees to) use another one; the users that changed."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                                     "replace_with already has .meta keys")  # fmt: skip
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node wherever one node is used among the arguments."""

        def other(node: Node) -> Node:
            return new_input if node is old_input else node

        self._take(map_arg(self._args, other), map_arg(self._kwargs, other))

    def is_impure(self, impure_random: bool = True) -> bool:
        """True if the step does something besides its result, so that it stays though no other step uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            random = impure_random and self.target in _random_functions()
            return random or self.target in _always_kept() or self.target in _side_effectful_functions
        if self.op == "call_module" and self.graph.owning_module is not None:
            return bool(getattr(self.graph.owning_module.get_submodule(str(self.target)), "_is_impure", False))
        return False

    # -- text ----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn is not None else self.name

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, self)

    def _pretty_print_target(self, target: Any) -> str:
        home = getattr(target, "__module__", None)
        if isinstance(target, str):
            return target
        if home == "_operator":
            return f"operator.{target.__name__}"
        return f"builtins.{target.__name__}" if home == "builtins" else _get_qualified_name(target)

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None
    ) -> str | None:
        """The step as one line of the printed graph; placeholders only add to `placeholder_names` if it is given."""
        typed = "" if self.type is None else f"{_type_repr(self.type)} "
        target = self._pretty_print_target(self.target)
        head = f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={target}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(self.target + (f" : {_type_repr(self.type)} " if self.type else ""))  # type: ignore[operator]
                return None
            return head + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return head
        if self.op == "output":
            if self.type is not None and maybe_return_typename is not None:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        return f"{head}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"


def _always_kept() -> set[Any]:
    import pullback

    return {pullback._assert, pullback._assert_async, operator.setitem, operator.delitem}


def _random_functions() -> set[Any]:
    import pullback

    names = "rand rand_like randn randn_like randint randint_like randperm normal bernoulli multinomial poisson"
    return {getattr(pullback, name) for name in names.split()}

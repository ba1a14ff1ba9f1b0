"""Graphs of functions whose arguments or results are nested: code that takes them apart and puts them together.

In torch a part of this is `torch.fx._pytree`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..utils import _pytree as pytree
from .codegen import CodeGen

_parts: dict[type, Callable[[Any, Any], list[Any]]] = {
    dict: lambda tree, spec: [tree[key] for key in spec.context],
    list: lambda tree, spec: [tree[number] for number in range(len(spec.children()))],
    tuple: lambda tree, spec: [tree[number] for number in range(len(spec.children()))],
}


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: Callable[[Any, Any], list[Any]], *args: Any) -> None:
    """Say how an object of a class is taken apart when it is known how it is nested, even if it is a proxy."""
    _parts[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: Any, spec: Any) -> list[Any]:
    """The leaves of a tree that is nested as the spec says; a proxy is asked for its parts."""
    if spec.is_leaf():
        return [pytree]
    take_apart = _parts[tuple if spec.type == "namedtuple" else spec.type]
    return [
        leaf for part, each in zip(take_apart(pytree, spec), spec.children()) for leaf in tree_flatten_spec(part, each)
    ]


class PyTreeInfo(NamedTuple):
    """Names of the arguments, and how they and the result are nested."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class PyTreeCodeGen(CodeGen):
    """Writes a function of nested arguments."""

    def __init__(self, pytree_info: PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *args: Any) -> Any:
        """The leaves of the arguments."""
        return tree_flatten_spec(list(args), self.pytree_info.in_spec)

    def process_outputs(self, outputs: Any) -> Any:
        """The result, put together."""
        return (
            outputs if self.pytree_info.out_spec is None else pytree.tree_unflatten(outputs, self.pytree_info.out_spec)
        )

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The first line, and one that takes the arguments apart."""
        own = self.pytree_info.orig_args
        head = super().gen_fn_def([*own], maybe_return_annotation)
        leaves = [name.partition(":")[0].partition("=")[0].strip() for name in free_vars]
        if own[:1] == ["self"]:
            leaves.insert(0, "self")
        if not leaves:
            return head
        return f"{head}\n    {', '.join(leaves)}, = fx_pytree.tree_flatten_spec([{', '.join(own)}], self._in_spec)"

    def generate_output(self, output_args: Any) -> str:
        """The last line, which puts the result together."""
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({self._as_source(output_args)}, self._out_spec)"

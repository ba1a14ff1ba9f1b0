"""`GraphModule`: a module whose `forward` is written from a graph, and written anew when the graph has changed."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .codegen import PythonCode
from .graph import Graph
from .trees import PyTreeCodeGen

__all__ = ["GraphModule"]

_numbers = itertools.count()


def _forward_from(code: PythonCode, origin: str) -> Callable[..., Any]:
    """The function that source defines; tracebacks show its lines."""
    name = f"<eval_with_key>.{next(_numbers)}{origin}"
    linecache.cache[name] = len(code.src), None, code.src.splitlines(keepends=True), name
    names = dict(code.globals)
    exec(compile(code.src, name, "exec"), names)  # the text that the graph was written as
    return names["forward"]


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Give a module the attribute that another has under a dotted name."""
    found, here = from_module, to_module
    for part in target.split("."):
        found, here = getattr(found, part), getattr(here, part, None)
        if here is found:
            return  # it has it, or the submodule that has it
    _assign_attr(found, to_module, target)


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Give a module an attribute under a dotted name, with modules on the way as needed; plain tensors are buffers."""
    *prefix, name = target.split(".")
    for part in prefix:
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    if isinstance(from_obj, Tensor) and not isinstance(from_obj, Parameter):
        to_module.register_buffer(name, from_obj)
    else:
        setattr(to_module, name, from_obj)


class GraphModule(Module):
    """A module made of a graph, and of the submodules, parameters and buffers (of a module, or in a dict) it mentions."""

    _code: str
    _graph: Graph

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # A class of its own for each: they have different `forward`s.
        base = next(each for each in cls.__mro__ if not each.__dict__.get("_is_one_of_a_kind"))
        return object.__new__(type(base.__name__, (base,), {"_is_one_of_a_kind": True, "__module__": base.__module__}))

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        paths = {str(node.target): node for node in graph.nodes if node.op in ("get_attr", "call_module")}
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for path in paths:
                _copy_attr(root, self, path)
        elif isinstance(root, dict):
            for path, node in paths.items():
                if path not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {path} but that target was not provided in ``root``!"
                    )
            for path in sorted(paths, key=lambda path: path.count(".")):
                _assign_attr(root[path], self, path)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self.meta: dict[str, Any] = {}

    @property
    def graph(self) -> Graph:
        """The graph; assigning another one recompiles."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Write `forward` anew: after every change of the graph."""
        codegen = self._graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        code = self._graph.python_code("self")
        self._code = code.src
        type(self).forward = _forward_from(code, self._graph._origin)  # type: ignore[method-assign]
        return code

    # -- submodules ----------------------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Install a module under a dotted name; False if something that is no module is in the way."""
        *prefix, name = target.split(".")
        place: Any = self
        for part in prefix:
            if not hasattr(place, part):
                setattr(place, part, Module())
            place = getattr(place, part)
            if not isinstance(place, Module):
                return False
        place.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module of a dotted name; False if there is none."""
        path, _, name = target.rpartition(".")
        try:
            parent = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(parent, name, None), Module):
            return False
        delattr(parent, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the graph does not mention."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
            if node.op == "call_module":
                inside = self.get_submodule(str(node.target)).named_modules()
                used.update(f"{node.target}.{name}" for name, _ in inside if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # -- copies --------------------------------------------------------------------------------------------------

    def __copy__(self) -> GraphModule:
        copied = GraphModule(self, self._graph)
        copied.meta = self.meta
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        from copy import deepcopy

        copied = memo[id(self)] = GraphModule.__new__(type(self).__mro__[1])
        state = {name: value for name, value in self.__dict__.items() if name != "_graph"}
        return _revived(copied, "GraphModule", deepcopy(state, memo), deepcopy(self._graph, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in self.__getstate__().items() if name != "_graph"}
        return _revived, (type(self).__mro__[1], type(self).__name__, state, self._graph)

    # -- text ----------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
                       colored: bool = False, **kwargs: Any) -> str:  # fmt: skip
        """The source of this module and of those inside it that are made of graphs; printed, unless told not to."""
        text = self._readable(type(self).__name__)
        if print_output:
            print(text)
        return text

    def _readable(self, name: str) -> str:
        body = self._graph.python_code("self", verbose=True).src.strip("\n").rstrip(" ")
        own = "\n".join(f"    {line}" if line else line for line in body.split("\n"))
        inner = [child._readable(name) for name, child in self.named_children() if isinstance(child, GraphModule)]
        parts = [f"class {name}(torch.nn.Module):\n{own}"]
        parts += ["\n".join(f"    {line}" if line else line for line in text.split("\n")) for text in inner]
        return "\n".join(parts)

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__repr__(), self._code, hint])


def _revived(kind: Any, name: str, state: dict[str, Any], graph: Graph) -> GraphModule:
    """A module of a class (or the given one), with these attributes and this graph."""
    module = GraphModule.__new__(kind) if isinstance(kind, type) else kind
    type(module).__name__ = name
    module.__dict__.update(state)
    module.graph = graph
    return module

"""`Proxy`: stands for a value while a program is traced, and writes down what is done to it.

`TracerBase` is what turns operations into nodes; which modules are looked into and which functions are left alone is
said by `Tracer` in `_symbolic_trace.py`.
"""

from __future__ import annotations

import operator
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from .codegen import BINARY, UNARY
from .graph import Graph
from .node import Argument, Node, Target, map_aggregate

if TYPE_CHECKING:
    from ..nn import Parameter

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """A program asks for a value that is not known while it is traced."""


@cache
def _plain_types() -> tuple[type, ...]:
    from enum import Enum

    from ..core.basics.device import device
    from ..core.basics.dtypes import dtype
    from ..core.basics.layout import layout, memory_format
    from ..core.tensor import Tensor

    return (str, int, float, bool, complex, type(None), type(...), Enum, dtype, device, layout, memory_format, Tensor)


class TracerBase:
    """Writes operations on proxies into a graph."""

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    module_stack: OrderedDict[str, tuple[str, Any]]
    num_calls: dict[str, int]

    def create_node(
        self, kind: str, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Argument], name: str | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Add a node; subclasses see every one of them here."""
        if kind == "call_function" and self.check_mutable_operations:
            self._refuse_out(target, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if getattr(self, "module_stack", None):
            node.meta["nn_module_stack"] = OrderedDict(self.module_stack)
        if self.record_stack_traces:
            node.stack_trace = _users_stack()
        return node

    def _refuse_out(self, target: Any, kwargs: dict[str, Any]) -> None:
        name = getattr(target, "__name__", "")
        in_place = name.endswith("_") and not name.endswith("__") and target not in vars(operator).values()
        if kwargs.get("out") is not None or in_place:
            kind = f"aten::{name}{'' if in_place else '.out'}"
            raise RuntimeError(
                f"Tried to trace mutable operation {kind}. FX only supports functional code, so operations that mutate "
                "operands in-place (e.g. via `out` arguments) are not supported"
            )

    def proxy(self, node: Node) -> Proxy:
        """The object that stands for a node's value."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
        type_expr: Any = None, proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:  # fmt: skip
        """Add a node for an operation on values and proxies; the proxy of its result."""
        given: Any = self.create_arg(args)
        by_name: Any = self.create_arg(kwargs)
        node = self.create_node(kind, target, given, by_name, name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """A value as the argument of a node: proxies become their nodes."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return type(a)(*[self.create_arg(each) for each in a])
        if isinstance(a, (tuple, list)):
            return type(a)([self.create_arg(each) for each in a])
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, (Node, *_plain_types())):
            return a
        if hasattr(type(a), "__dataclass_fields__"):
            fields = {name: self.create_arg(getattr(a, name)) for name in type(a).__dataclass_fields__}
            return self.create_node("call_function", type(a), (), fields)
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        key = self.create_arg(key)

        def refuse(part: Any) -> Any:
            if isinstance(part, Node):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")
            return part

        map_aggregate(key, refuse)
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """Refuse `if proxy:`, since the value is not known while tracing."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Refuse `for x in proxy:`, since the length is not known while tracing."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types "
            "of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """Record a call of `proxy.keys()`."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """The tracer of proxies that are made by hand: it adds to their graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


def _users_stack() -> str:
    """The lines of the program that are being run, without those of the library."""
    import os
    import traceback

    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    frames = traceback.extract_stack(sys._getframe(2))
    return "".join(traceback.format_list([each for each in frames if not each.filename.startswith(home)])).strip()


def _instruction(frame: FrameType) -> Any:
    """The instruction a frame is at."""
    import dis

    return next(each for each in dis.get_instructions(frame.f_code) if each.offset == frame.f_lasti)


class Proxy:
    """Stands for the value of a node: operators, methods and functions of it become nodes, too."""

    node: Node
    tracer: TracerBase

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        from ..shell.torch_function import ensure_everything_asks

        ensure_everything_asks()
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        import copy

        copied = object.__new__(type(self))
        memo[id(self)] = copied
        for name, value in self.__dict__.items():
            copied.__dict__[name] = copy.deepcopy(value, memo)
        return copied

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        here = _instruction(sys._getframe(1))
        if here.opname == "UNPACK_SEQUENCE":  # `a, b = proxy` says how many there are
            return (self[number] for number in range(here.argval))  # type: ignore[index]
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Return the keys for `**proxy`, as the tracer has them."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Proxy:
        from ..overrides import is_tensor_method_or_property

        tracers: dict[TracerBase, None] = {}

        def look(value: Any) -> Any:
            if isinstance(value, cls):
                tracers[value.tracer] = None
            return value

        kwargs = kwargs or {}
        map_aggregate((args, kwargs), look)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        (tracer,) = tracers
        if is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """`proxy.name`, which becomes a node when it is used as a value, and a method call when it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that looks the attribute up: written when somebody asks for it."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter whose shape is known, so that programs may branch on it."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Parameter) -> None:
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The shape of the parameter."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return self.param.ndim

    def size(self, *args: Any) -> Any:
        """Its shape, or the size of one dimension."""
        return self.param.size(*args)

    def dim(self) -> int:
        """The number of its dimensions."""
        return self.param.dim()

    def numel(self) -> int:
        """The number of its elements."""
        return self.param.numel()

    nelement = numel


def _operator(target: Callable[..., Any], reflected: bool) -> Callable[..., Any]:
    def operate(*args: Any) -> Any:
        self = args[0]
        return self.tracer.create_proxy("call_function", target, args[::-1] if reflected else args, {})

    return operate


for _name in (*BINARY, *UNARY, "getitem", "abs"):
    _plain = _name.rstrip("_")
    setattr(Proxy, f"__{_plain}__", _operator(getattr(operator, _name), False))
    if _name in BINARY and _name not in ("eq", "ne", "lt", "gt", "le", "ge"):
        setattr(Proxy, f"__r{_plain}__", _operator(getattr(operator, _name), True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]

"""Tracing: a function or module is run on proxies, and what it does becomes a graph.

`Tracer` says what is looked into; functions marked with `wrap` (see `patching.py`) are not. While a trace runs, modules
are replaced by others that write themselves down.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from ..core.basics.notices import warn_user
from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..utils import _pytree as pytree
from ._compatibility import compatibility as compatibility
from .graph import Graph
from .node import Argument
from .patching import ProxyableClassMeta, _autowrap_check, _patch_wrapped_functions, _Patcher, wrap
from .proxy import ParameterProxy, Proxy, TracerBase
from .trees import PyTreeCodeGen, PyTreeInfo

__all__ = [
    "PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace",
    "wrap",
]  # fmt: skip
_orig_module_call: Callable[..., Any] = Module.__call__
_orig_module_getattr: Callable[..., Any] = Module.__getattr__
_NOT_INSTALLED = "module is not installed as a submodule"

_depth = [0]


def is_fx_tracing() -> bool:
    """True while a trace is running."""
    return _depth[0] > 0


is_fx_symbolic_tracing = is_fx_tracing


class PHBase:
    """Stands, inside `concrete_args`, for an argument that stays one."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A `PH` whose attributes are given to the node."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


def _assert_is_none(value: Any, msg: str) -> None:
    assert value is None, msg


class Tracer(TracerBase):
    """Turns modules and functions into graphs. Subclasses say which modules are leaves, and what calls become."""

    def __init__(
        self, autowrap_modules: tuple[ModuleType, ...] = (math,), autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        functions = [
            f for module in autowrap_modules for name, f in vars(module).items() if name[0] != "_" and callable(f)
        ]
        self._autowrap_function_ids = {id(f) for f in (*functions, *autowrap_functions)}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.root: Module = Module()
        self.submodule_paths: dict[Module, str] | None = None
        self.tensor_attrs: dict[Any, str] = {}
        self.module_stack = OrderedDict()
        self.num_calls = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        from copy import copy, deepcopy

        copied = memo[id(self)] = object.__new__(type(self))
        for name, value in vars(self).items():  # modules such as `math` are not copied
            copied.__dict__[name] = copy(value) if name == "_autowrap_search" else deepcopy(value, memo)
        return copied

    # -- what subclasses change ----------------------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """True if a module is called as a whole: the library's own are, except `Sequential`."""
        from ..nn import Sequential

        ours = type(m).__module__.startswith(("pullback.nn", "torch.nn"))
        return ours and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The dotted name of a submodule."""
        paths = self.submodule_paths
        name = self._name_of(mod) if paths is None else paths.get(mod)
        if name is None:
            raise NameError(_NOT_INSTALLED)
        return name

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Trace the call of a submodule: one node for a leaf, else what its `forward` does."""
        path = self.path_of_module(m)
        count = self.num_calls.get(path, 0)
        self.num_calls[path] = count + 1
        key = f"{path}@{count}" if count else path
        self.module_stack[key] = path, type(m)
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.popitem()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Return the value of a module's attribute in the trace: a parameter becomes a proxy, one for each."""
        buffer = self.proxy_buffer_attributes and isinstance(attr_val, Tensor)
        name = self._name_of(attr_val) if isinstance(attr_val, Parameter) or buffer else None
        if name is None:
            return attr_val
        if name not in parameter_proxy_cache:
            how: dict[str, Any] = {}
            shaped = self.param_shapes_constant and isinstance(attr_val, Parameter)
            # a subclass may have a create_proxy of before there was this argument
            if shaped and "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
                how["proxy_factory_fn"] = functools.partial(ParameterProxy, self, name=name, param=attr_val)
            parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, **how)
        return parameter_proxy_cache[name]

    def _name_of(self, value: Any) -> str | None:
        """The name by which the root has a parameter, buffer or module; None if it has not."""
        if isinstance(value, Module):
            named: Any = self.root.named_modules()
        else:
            named = self.root.named_parameters() if isinstance(value, Parameter) else self.root.named_buffers()
        return next((name for name, each in named if each is value), None)

    def create_arg(self, a: Any) -> Argument:
        """A value as the argument of a node: tensors become attributes, named tuples calls."""
        if isinstance(a, (Module, Tensor)):
            return self._attribute_node(a)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(each) for each in a), {})
        if isinstance(type(a), ProxyableClassMeta):
            return self.create_node("get_attr", self._keep(f"_{type(a).__name__}_constant_", a), (), {})
        return super().create_arg(a)

    def _attribute_node(self, a: Any) -> Argument:
        name = self._name_of(a)
        if name is None and isinstance(a, (Parameter, Module)):
            what = "parameter is not a member of this module" if isinstance(a, Parameter) else _NOT_INSTALLED
            raise NameError(what)
        if name is None:
            name = self.tensor_attrs.get(a)
        if name is None:
            name = self.tensor_attrs[a] = self._keep("_tensor_constant", a)
        return self.create_node("get_attr", name, (), {})

    def _keep(self, prefix: str, value: Any) -> str:
        """Make a value an attribute of the root; its name."""
        name = self.get_fresh_qualname(prefix)
        setattr(self.root, name, value)
        return name

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name for an attribute that the root does not have."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    # -- arguments -----------------------------------------------------------------------------------------------

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The function to run, and placeholders for its arguments; those in `concrete_args` have a value."""
        looked_at: Any = inspect.unwrap(root_fn)
        code = looked_at.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        args: list[Any] = []
        if is_module:
            if not count:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
        plain = names[len(args) : count]
        if isinstance(concrete_args, tuple):
            if len(plain) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(plain)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(plain, concrete_args))
        args.extend(self._placeholder(name, concrete_args or {}, looked_at) for name in plain)
        stars = [(inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")]
        starred = [star for flag, star in stars if code.co_flags & flag]
        for place, star in enumerate(starred, count):
            args.append(self._placeholder(star + names[place], {}, looked_at))
        if code.co_kwonlyargcount or starred:
            root_fn = _all_positional(looked_at, len(args))
        flat, spec = pytree.tree_flatten(tuple(args))
        if all(each.is_leaf() for each in spec.children()):
            return root_fn, args
        self.graph.set_codegen(PyTreeCodeGen(PyTreeInfo(names[:count], spec, None)))
        return self._flattening(root_fn, spec), flat

    def _flattening(self, function: Callable[..., Any], spec: Any) -> Callable[..., Any]:
        """A function of the leaves of the arguments, which returns the leaves of the result."""

        def flat(*leaves: Any) -> Any:
            result, out_spec = pytree.tree_flatten(function(*pytree.tree_unflatten(list(leaves), spec)))
            codegen: Any = self.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return result

        return flat

    def _placeholder(self, name: str, concrete: dict[str, Any], function: Any) -> Any:
        default: tuple[Any, ...] = ()
        if not name.startswith("*"):
            parameter = inspect.signature(function).parameters[name]
            default = () if parameter.default is parameter.empty else (parameter.default,)
        if name not in concrete:
            return self.create_proxy("placeholder", name, default, {}, type_expr=_annotation(function, name))
        number = 0

        def each(value: Any) -> Any:
            nonlocal number
            number += 1
            proxy = self.create_proxy("placeholder", f"{name}_{number}", default, {})
            if isinstance(value, PHBase):
                for key in vars(value).keys() - vars(proxy.node).keys():
                    setattr(proxy.node, key, vars(value)[key])
                return proxy
            self._check_value(name, proxy, value)
            return value

        return pytree.tree_map(each, concrete[name])

    def _check_value(self, name: str, proxy: Proxy, value: Any) -> None:
        """Let the graph check that an argument is what it was taken to be."""
        import pullback

        text = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, text), {})
        elif isinstance(value, (str, int, float, complex, pullback.dtype, pullback.device)):
            pullback._assert(proxy == value, text)
        else:
            warn_user(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to "
                "the user to make sure that your inputs match the inputs you specialized the function with."
            )

    # -- the trace -----------------------------------------------------------------------------------------------

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of what a module or function does."""
        function: Any = root
        self.root = Module()
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            function = getattr(type(root), self.traced_func_name)
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        if not isinstance(function, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(function)}")
        self.graph = Graph(tracer_cls=type(self))
        code = function.__code__
        self.graph._origin = f" from {code.co_filename}:{code.co_firstlineno} in {code.co_name}"
        self.tensor_attrs = dict(_tensor_attributes(self.root))
        self.module_stack = OrderedDict()
        self.num_calls = {}
        with _Patcher() as patcher:
            called, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
            self._patch(patcher, function.__globals__)
            _depth[0] += 1
            try:
                result = self.create_arg(called(*args))
            finally:
                _depth[0] -= 1
        self.create_node("output", "output", (result,), {}, type_expr=_annotation(called, "return"))
        self.submodule_paths = None
        return self.graph

    def _patch(self, patcher: _Patcher, function_globals: dict[str, Any]) -> None:
        """Let modules, and functions that are left alone, write themselves down."""
        cache: dict[str, Any] = {}

        @functools.wraps(_orig_module_call)
        def called(mod: Module, *args: Any, **kwargs: Any) -> Any:
            _autowrap_check(
                patcher, getattr(getattr(mod, "forward", mod), "__globals__", {}), self._autowrap_function_ids
            )
            return self.call_module(mod, functools.partial(_orig_module_call, mod), args, kwargs)

        def looked_up(mod: Module, name: str) -> Any:
            return self.getattr(name, _orig_module_getattr(mod, name), cache)

        patcher.patch_method(Module, "__getattr__", looked_up, deduplicate=False)
        patcher.patch_method(Module, "__call__", called, deduplicate=False)
        _patch_wrapped_functions(patcher)
        for table in (function_globals, *map(vars, self._autowrap_search)):
            _autowrap_check(patcher, table, self._autowrap_function_ids)


def _annotation(function: Any, name: str) -> Any:
    """How a program annotates an argument; of the library's own annotations, those that name tensors."""
    found = getattr(function, "__annotations__", {}).get(name)
    if getattr(function, "__module__", None) is not None and function.__module__.startswith("pullback."):
        return Tensor if found == "Tensor" else None
    return found


def _all_positional(function: Any, count: int) -> Callable[..., Any]:
    """The function with all its arguments by position, the starred ones too: a proxy stands for all of them."""
    flags = function.__code__.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    code = function.__code__.replace(co_flags=flags, co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0)
    return FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


def _tensor_attributes(module: Module, prefix: str = "") -> Iterator[tuple[Tensor, str]]:
    """Tensors that are plain attributes of modules, by name."""
    for name, value in vars(module).items():
        if isinstance(value, Tensor):
            yield value, prefix + name
    for name, child in module.named_children():
        yield from _tensor_attributes(child, f"{prefix}{name}.")


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Any:
    """A `GraphModule` that does what a module or function does, with its steps laid open."""
    from .graph_module import GraphModule

    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)

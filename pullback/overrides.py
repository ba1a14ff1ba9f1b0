"""`torch.overrides`: how libraries talk about objects that take operations over by a `__torch_function__`.

The mechanism (who is asked, when, and at what cost) is `shell/torch_function.py`; these are the names programs use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, wraps
from types import FunctionType
from typing import Any

from .core.grad_mode import enable_grad
from .core.tensor import Tensor
from .functional.gate import FACTS
from .shell.torch_function import ask, make_everything_ask, refuse, settings, takers_among

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions", "get_testing_overrides", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property",
    "resolve_name", "wrap_torch_function",
]  # fmt: skip


def is_tensor_like(inp: Any) -> bool:
    """True if an object is a Tensor or has a `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """True if a `__torch_function__` takes over: that of a mode, or of one of the arguments."""
    if not isinstance(relevant_args, (tuple, list)):
        raise TypeError(f"expected a sequence (got {type(relevant_args).__name__}): the arguments, as in (x, y)")
    return bool(settings.modes or settings.subclasses and takers_among(relevant_args))


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` for one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` for arguments given one by one."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Ask the arguments that take over, subclasses first, until one of them answers."""
    takers = takers_among(relevant_args) if settings.subclasses else []
    result = ask(public_api, takers, args, kwargs)
    if result is NotImplemented:
        raise refuse(public_api, takers)
    return result


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function so that arguments can take over; `dispatcher` names those that are asked."""

    def decorate(function: Callable) -> Callable:
        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


class TorchFunctionMode:
    """A context in which every function is handed to `__torch_function__` of the mode, whatever its arguments are.

    Inside that method the mode is off: what it calls goes to the next outer mode, or is simply done.
    """

    inner: Any = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError("A TorchFunctionMode says in its __torch_function__ what becomes of a call.")

    def __enter__(self) -> TorchFunctionMode:
        make_everything_ask()
        settings.modes = (*settings.modes, self)
        return self

    def __exit__(self, *error: Any) -> None:
        settings.modes = settings.modes[:-1]

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """A mode to enter."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TorchFunctionMode | None:
    return settings.modes[-1] if settings.modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return list(settings.modes)


def enable_reentrant_dispatch() -> Any:
    """Inside a `__torch_dispatch__`, a context in which operations are recorded; classes are asked there, anyway."""
    return enable_grad()


# --- names ---


def public_functions() -> Iterator[tuple[str, Any]]:
    """Every function of the library that tensors can be passed to, with its torch name; late families are loaded."""
    import pullback

    from . import fft, linalg, special
    from .functional import late, registry
    from .nn import functional

    for family in late.late_modules():
        registry.load(family)
    yield from ((f"torch.{name}", value) for name, value in registry.FUNCTIONS.items())
    yield from ((f"torch.{name}", value) for name, value in vars(pullback).items() if not name.startswith("_"))
    for module, torch_name in ((functional, "nn.functional"), (linalg, "linalg"), (special, "special"), (fft, "fft")):
        yield from ((f"torch.{torch_name}.{name}", getattr(module, name)) for name in module.__all__)
    members = ((f"torch.Tensor.{name}", value) for name, value in list(vars(Tensor).items()) if name[0] != "_")
    yield from members


@cache
def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose result stays a plain tensor: gradients, and the base of a view."""
    return {vars(Tensor)[name].__get__ for name in ("_base", "grad")}


@cache
def get_ignored_functions() -> set[Callable[..., Any]]:
    """Functions that call no `__torch_function__`: they are given no tensors, or make tensors of whatever they are given."""
    functions = [each for name, each in public_functions() if not name.startswith("torch.Tensor.")]
    ignored = {
        each
        for each in functions
        if isinstance(each, FunctionType)
        and (each not in FACTS or not FACTS[each].tensors or FACTS[each].asks != "arguments")
    }
    return ignored | {Tensor.as_subclass}


@cache
def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that ask their arguments, by namespace."""
    from .shell.torch_names.lookup import find_torch_name

    found: dict[Any, dict[Any, None]] = {}
    for name, function in public_functions():
        if isinstance(function, FunctionType) and function not in get_ignored_functions():
            found.setdefault(find_torch_name(name.rpartition(".")[0]), {})[function] = None
    attributes = [member for name, member in vars(Tensor).items() if isinstance(member, property) and name[0] != "_"]
    found[Tensor].update({member.__get__: None for member in attributes})
    return {namespace: list(functions) for namespace, functions in found.items()}


@cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that asks its arguments, one with the same parameters that returns -1."""
    import inspect

    def stand_in_for(function: Callable[..., Any]) -> Callable[..., Any]:
        def stand_in(*args: Any, **kwargs: Any) -> int:
            return -1

        signature = (
            inspect.signature(function) if isinstance(function, FunctionType) else inspect.signature(is_tensor_like)
        )
        stand_in.__signature__ = signature  # type: ignore[attr-defined]
        return stand_in

    return {each: stand_in_for(each) for functions in get_overridable_functions().values() for each in functions}


@cache
def _names() -> dict[Any, str]:
    names: dict[Any, str] = {}
    for name, function in public_functions():
        if isinstance(function, FunctionType):
            names.setdefault(function, name)
    for name, member in vars(Tensor).items():
        if isinstance(member, property):
            names[member.__get__] = f"torch.Tensor.{name}.__get__"
            names[member.__set__] = f"torch.Tensor.{name}.__set__"
        elif isinstance(member, FunctionType):
            names.setdefault(member, f"torch.Tensor.{name}")
    return names


def resolve_name(f: Any) -> str | None:
    """The dotted torch name of a function, None if it has none."""
    return _names().get(f)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """True if a function is a method or an attribute of Tensor."""
    return getattr(func, "__name__", "") in ("__get__", "__set__") or func in vars(Tensor).values()

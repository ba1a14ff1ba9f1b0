"""`torch.overrides`: what libraries ask about objects that behave like tensors.

Objects with a `__torch_function__` of their own are recognised, and functions written for it can hand over to them.
The functions of this library do not look for it: it would cost every call on plain tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .tensor import Tensor


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a Tensor or has a `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def _has_own(value: Any) -> bool:
    return (
        not isinstance(value, type)
        and type(value).__module__ != Tensor.__module__
        and (getattr(type(value), "__torch_function__", None) is not None)
    )


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments wants to take over."""
    return any(_has_own(value) for value in relevant_args)


def has_torch_function_unary(arg: Any) -> bool:
    return _has_own(arg)


def has_torch_function_variadic(*args: Any) -> bool:
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Ask the arguments that want to take over, subclasses first, until one of them answers."""
    takers: list[Any] = []
    for value in relevant_args:
        if _has_own(value) and type(value) not in map(type, takers):
            place = next((i for i, other in enumerate(takers) if isinstance(value, type(other))), len(takers))
            takers.insert(place, value)
    types = tuple(map(type, takers))
    for taker in takers:
        result = type(taker).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation found for '{public_api.__name__}' on types that implement __torch_function__: {list(types)}"
    )


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function so that arguments with a `__torch_function__` can take over."""
    import functools

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def resolve_name(f: Any) -> str | None:
    """The dotted torch name of a function."""
    module = getattr(f, "__module__", "") or ""
    return f"torch{module.removeprefix('pullback')}.{f.__name__}" if hasattr(f, "__name__") else None


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions of the package and of Tensor."""
    import pullback

    from .functional.registry import FUNCTIONS

    methods = [value for name, value in vars(Tensor).items() if callable(value) and not name.startswith("_")]
    return {pullback: list(FUNCTIONS.values()), Tensor: methods}

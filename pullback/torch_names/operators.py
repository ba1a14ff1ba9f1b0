"""`torch.ops`: operators by the names of torch's compiled core, `torch.ops.aten.add`, and those of `torch.library`.

Under the `torch` alias this module is `torch.ops`; `pullback.ops` are Pullback's own operations, another thing.
A name of `aten` stands for the torch function, method or `linalg_`/`fft_`/`special_` function of that name; its
overloads (`add.Tensor`, `add.default`) are one and the same function. Compiled libraries cannot be loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

loaded_libraries: set[str] = set()


class Operator:
    """One operator: call it, or one of its overloads."""

    def __init__(self, namespace: str, name: str, function: Callable[..., Any], overload: str = "") -> None:
        self.namespace: str = namespace
        self.overload: str = overload
        self.function: Callable[..., Any] = function
        self.__name__: str = f"{name}.{overload}" if overload else name
        self.__module__: str = f"torch.ops.{namespace}"
        self.__doc__ = function.__doc__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if "self" in kwargs:  # the core calls its first argument so
            return self.function(kwargs.pop("self"), *args, **kwargs)
        return self.function(*args, **kwargs)

    def __getattr__(self, overload: str) -> Operator:
        if overload.startswith("_") or self.overload:
            raise AttributeError(f"operator {self} has no attribute {overload!r}")
        found = Operator(self.namespace, self.__name__, self.function, overload)
        self.__dict__[overload] = found  # the same object each time: programs compare operators
        return found

    def overloads(self) -> list[str]:
        """The names of the overloads: one stands for all."""
        return ["default"]

    def name(self) -> str:
        """`namespace::operator`."""
        return f"{self.namespace}::{self.__name__.removesuffix('.default')}"

    def __repr__(self) -> str:
        return f"{self.namespace}.{self.__name__}"


class OperatorNamespace(ModuleType):
    """`torch.ops.<name>`: operators as attributes, found when they are first asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self._own_name: str = name

    def __getattr__(self, name: str) -> Operator:
        function = None if name.startswith("__") or self._own_name not in ("aten", "prims") else find_function(name)
        if function is None:
            raise AttributeError(
                f"'_OpNamespace' '{self._own_name}' object has no attribute '{name}'. "
                "Operators of compiled extensions are not here; torch.library.custom_op makes one in Python."
            )
        return put(self._own_name, name, function)


_FAMILIES = {"linalg_": "linalg", "fft_": "fft", "special_": "special"}
_RENAMED = {
    "_unsafe_view": "view", "_to_copy": "to", "alias": "detach", "_reshape_alias": "reshape", "_conj": "conj",
    "_local_scalar_dense": "item", "_pin_memory": "pin_memory", "_is_all_true": "all", "_is_any_true": "any",
    "lift_fresh": "detach",
}  # fmt: skip


def slice_of(x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """`x[start:end:step]` along one dim."""
    return x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)]


def index_of(x: Any, indices: Any) -> Any:
    """`x[indices]`; None stands for a whole dim."""
    return x[tuple(slice(None) if index is None else index for index in indices)]


_WRITTEN_OUT: dict[str, Callable[..., Any]] = {"slice": slice_of, "index": index_of}


def _mentioned(name: str) -> Callable[..., Any]:
    """Stands for a private operator of torch's core: programs have them as keys of tables, and rarely call them."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.ops.aten.{name} belongs to torch's C++ core and is not in Pullback. Call the public function instead."
        )

    return function


def find_function(name: str) -> Callable[..., Any] | None:
    """The function that an operator of torch's core is here, None if there is none of its name and arguments."""
    import importlib

    import pullback

    name = _RENAMED.get(name, name)
    if name in _WRITTEN_OUT:
        return _WRITTEN_OUT[name]
    for prefix, family in _FAMILIES.items():
        if name.startswith(prefix):
            return getattr(importlib.import_module(f"pullback.{family}"), name.removeprefix(prefix), None)
    private = name.startswith("_")  # what our own classes call so is something else
    function = None if private else getattr(pullback.Tensor, name, None) or getattr(pullback, name, None)
    if function is None and not private:
        function = getattr(importlib.import_module("pullback.nn.functional"), name, None)
        if "reduction" in getattr(getattr(function, "__code__", None), "co_varnames", ()):
            return None  # the core wants a number there
    if callable(function) and not isinstance(function, type):
        return function
    return _mentioned(name) if name.startswith(("_", "sym_")) else None


def namespace(name: str) -> OperatorNamespace:
    """The namespace of this name, made when it is first asked for."""
    found = globals().get(name)
    if not isinstance(found, OperatorNamespace):
        found = globals()[name] = OperatorNamespace(name)
    return found


def put(space: str, name: str, function: Callable[..., Any]) -> Operator:
    """Make the operator `torch.ops.<space>.<name>` of a function."""
    operator = Operator(space, name, function)
    setattr(namespace(space), name, operator)
    return operator


def __getattr__(name: str) -> OperatorNamespace:
    if name.startswith("_"):
        raise AttributeError(f"module 'torch.ops' has no attribute {name!r}")
    return namespace(name)


def load_library(path: str) -> NoReturn:
    """Raises: compiled operators need torch's own core."""
    raise OSError(
        f"Could not load this library: {path}. Compiled operators are written against torch's C++ core, which is not "
        "here. Use the pure Python form of the package, or write the operator with torch.library.custom_op."
    )

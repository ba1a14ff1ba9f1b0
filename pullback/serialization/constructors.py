"""The globals that a checkpoint may construct: a fixed table, and the classes a user has marked as safe.

Every entry checks its arguments itself and makes plain data or tensors. Names outside the table are refused
with the words torch uses. Reading opcodes and files happens elsewhere.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from . import bridge
from .dtypes import DTYPE_NAMES, STORAGE_DTYPES
from .errors import CheckpointError
from .interpreter import Allowance, Constructor
from .rebuild import REBUILDERS, SPENDING, StorageType

_BLOCKED_MODULES = frozenset(("os", "sys", "posix", "nt"))
_PYTHON2_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg"}
_UNSUPPORTED = {
    "torch._utils._rebuild_qtensor": "quantized tensors",
    "torch._utils._rebuild_nested_tensor": "nested tensors",
    "torch._utils._rebuild_device_tensor_from_numpy": "tensors of devices that only torch knows",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": "tensors of devices that only torch knows",
}

_user_globals: set[Any] = set()


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let `load` make instances of these classes and call these functions, named by files under their full path.

    An element is a class or function, or a pair of one and the path that files know it by.
    """
    _user_globals.update(safe_globals)


def get_safe_globals() -> list[Any]:
    """The classes and functions added so far."""
    return list(_user_globals)


def clear_safe_globals() -> None:
    """Forget all classes and functions added so far."""
    _user_globals.clear()


class safe_globals:
    """Context in which these classes and functions may be loaded."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals: list[Any] = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _user_globals.difference_update(self.safe_globals)


def _user_table() -> dict[str, Any]:
    table: dict[str, Any] = {}
    for entry in _user_globals:
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise ValueError(
                    f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                    f"{len(entry)}"
                )
            if type(entry[1]) is not str:
                raise TypeError(
                    f"Expected second item in tuple to be str of callable full path, but got: {type(entry[1])}"
                )
            table[entry[1]] = entry[0]
        else:
            table[f"{entry.__module__}.{entry.__qualname__}"] = entry
    return table


class Resolver:
    """Answers the interpreter's questions about globals for the duration of one load."""

    def __init__(self) -> None:
        self.user: dict[str, Any] = _user_table()
        self.user_types: set[type[Any]] = {value for value in self.user.values() if isinstance(value, type)}
        self.user_constructors: dict[int, Constructor] = {
            id(value): _user_constructor(path, value) for path, value in self.user.items()
        }

    def resolve(self, module: str, name: str) -> Any:
        """The value or constructor called `module.name`."""
        module = _PYTHON2_MODULES.get(module, module)
        path = f"{module}.{name}"
        if module in _BLOCKED_MODULES:
            raise CheckpointError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        known = known_global(module, name)
        if known is not None:
            return known
        if path in self.user:
            return self.user[path]
        path = path[:200]  # the name may be as long as the file
        if path in _UNSUPPORTED:
            raise CheckpointError(f"The checkpoint holds {_UNSUPPORTED[path]} ({path}), which are not supported here.")
        shown = path.removeprefix("builtins.")
        raise CheckpointError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{shown}])` or the `torch.serialization.safe_globals([{shown}])` "
            "context manager to allowlist this global if you trust this class/function. If you trust whoever made the "
            "file with everything on this machine, weights_only=False loads it, running whatever code it contains."
        )

    def knows(self, path: str) -> bool:
        """True if `resolve` would find `module.name`."""
        module, _, name = path.rpartition(".")
        module = _PYTHON2_MODULES.get(module, module)
        return module not in _BLOCKED_MODULES and (
            known_global(module, name) is not None or f"{module}.{name}" in self.user
        )

    def constructor(self, value: Any) -> Constructor | None:
        """How to call `value`, or None if a file may not call it."""
        return value if type(value) is Constructor else self.user_constructors.get(id(value))

    def build(self, instance: Any, state: Any) -> None:
        """Give `instance` its state, as the opcode BUILD asks."""
        kind = type(instance)
        if kind is OrderedDict:
            _set_attributes(instance, state)
        elif kind in self.user_types:
            try:
                _user_state(instance, state)
            except Exception as error:
                raise CheckpointError(f"Setting the state of a {kind.__qualname__} raised {error!r}.") from error
        else:
            raise CheckpointError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {kind.__module__}.{kind.__qualname__}"
            )


def known_global(module: str, name: str) -> Any:
    """The entry of the fixed table, or None."""
    if module == "torch" and name in DTYPE_NAMES:
        return bridge.dtype_from_name(name)
    if module in ("torch", "torch.cuda") and name in STORAGE_DTYPES:
        return StorageType(STORAGE_DTYPES[name])
    return _TABLE.get(f"{module}.{name}")


def _user_constructor(path: str, target: Any) -> Constructor:
    def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except Exception as error:
                raise CheckpointError(f"The allow-listed global {path} raised {error!r} on the file's data.") from error

        return call

    if not isinstance(target, type):
        return Constructor(path, guarded(target))
    return Constructor(path, guarded(target), guarded(lambda *arguments: target.__new__(target, *arguments)))


def _user_state(instance: Any, state: Any) -> None:
    setter = getattr(instance, "__setstate__", None)
    if setter is not None:
        setter(state)
        return
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    for key, value in (state or {}).items():
        instance.__dict__[key] = value
    for key, value in (slots or {}).items():
        setattr(instance, key, value)


def _set_attributes(instance: Any, state: Any) -> None:
    """Attributes of a state dict, such as `_metadata`; a file cannot hide a method this way."""
    if type(state) is not dict or any(type(key) is not str or hasattr(OrderedDict, key) for key in state):
        raise CheckpointError("The attributes of an OrderedDict in the checkpoint are not plain data.")
    instance.__dict__.update(state)


def _pairs(kind: Callable[..., Any]) -> Callable[..., Any]:
    def make(allowance: Allowance, items: Iterable[Any] = ()) -> Any:
        if type(items) not in (list, tuple) or any(type(item) not in (list, tuple) or len(item) != 2 for item in items):
            raise TypeError("expected pairs of a key and a value")
        return kind([(allowance.check_key(key), value) for key, value in items])

    return make


def _set_of(kind: Callable[..., Any]) -> Callable[..., Any]:
    def make(allowance: Allowance, items: Iterable[Any] = ()) -> Any:
        if type(items) not in (list, tuple):
            raise TypeError("expected a list of items")
        return kind(map(allowance.check_key, items))

    return make


def _counter(items: Any = None) -> Counter[Any]:
    if items is not None and type(items) is not dict:  # a Counter writes its counts as a dictionary
        raise TypeError("expected a dictionary of counts")
    result: Counter[Any] = Counter()
    for key, count in (items or {}).items():
        if type(count) is not int:
            raise TypeError("expected integer counts")
        result[key] = count
    return result


def _complex(real: float = 0.0, imaginary: float = 0.0) -> complex:
    if not {type(real), type(imaginary)} <= {float, int}:
        raise TypeError("expected two numbers")
    return complex(real, imaginary)


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """How protocol 2 spells bytes."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise TypeError("expected text in latin1")
    return text.encode("latin1")


def _bytes(data: bytes | list[int] | tuple[int, ...] = b"") -> bytes:
    if type(data) not in (bytes, list, tuple):  # bytes(10**12) would be a terabyte
        raise TypeError("expected bytes")
    return bytes(data)


def _bytearray(data: bytes | str = b"", encoding: str = "latin1") -> bytearray:
    return bytearray(data if type(data) is bytes else _encode(data, encoding))  # type: ignore[arg-type]


def _slice(start: int | None, stop: int | None, step: int | None) -> slice:
    if any(value is not None and type(value) is not int for value in (start, stop, step)):
        raise TypeError("expected integers")
    return slice(start, stop, step)


def _size(values: tuple[int, ...] | list[int] = ()) -> Any:
    if type(values) not in (tuple, list) or any(type(value) is not int or value < 0 for value in values):
        raise TypeError("expected sizes")
    return bridge.size_from_ints(tuple(values))


def _device(kind: str, index: int | None = None) -> Any:
    if type(kind) is not str or not (index is None or type(index) is int):
        raise TypeError("expected the name of a device and its number")
    try:
        return bridge.device_from_parts(kind, index)
    except RuntimeError as error:
        raise CheckpointError(str(error)) from error


def _layout(name: str) -> Any:
    kind, _, layout = name.partition(".") if type(name) is str else ("", "", "")
    if kind != "torch" or layout not in ("strided", *bridge.SPARSE_LAYOUTS):
        raise CheckpointError(f"Tensors with layout {name!r:.50} are not supported here.")
    return bridge.layout_from_name(layout)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _pairs(OrderedDict),
    "collections.Counter": _counter,
    "builtins.set": _set_of(set),
    "builtins.frozenset": _set_of(frozenset),
    "builtins.complex": _complex,
    "builtins.bytes": _bytes,
    "builtins.bytearray": _bytearray,
    "builtins.slice": _slice,
    "_codecs.encode": _encode,
    "torch.Size": _size,
    "torch.device": _device,
    "torch.serialization._get_layout": _layout,
    **REBUILDERS,
}
_SPENDING = SPENDING | {"collections.OrderedDict", "builtins.set", "builtins.frozenset"}
_TABLE: dict[str, Any] = {
    **{path: Constructor(path, function, spends=path in _SPENDING) for path, function in _FUNCTIONS.items()},
    "torch.storage.UntypedStorage": StorageType("uint8"),
    "torch.UntypedStorage": StorageType("uint8"),
}

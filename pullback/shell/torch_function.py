"""`__torch_function__`: objects that take over operations, and subclasses of Tensor that stay what they are.

Nothing here is loaded, and no operation asks anybody, until a program needs it: with its first subclass of Tensor, its
first `TorchFunctionMode`, or the first foreign object that a function refuses. From then on every call of a public
function comes by `take_over` (`functional/gate.py` sees to it) before anything is done. Operators and attributes of plain
tensors stay untouched; a subclass gets its own, which ask. The names programs use are in `overrides.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import unwrap
from types import FunctionType
from typing import Any

from ..core.basics.device import device
from ..core.basics.dtypes import dtype
from ..core.basics.size import AskedCount, SizeAttribute
from ..core.roots import backward, grad
from ..core.tensor import Tensor, disabled_torch_function
from ..functional import gate
from ..functional.gate import NOT_TAKEN_OVER, Facts
from ..nn.parameter import Parameter
from .torch_names.passed_arguments import as_passed


class _Settings(threading.local):
    """Who is asked, in this thread."""

    subclasses: bool = True  # arguments with a __torch_function__
    dispatch: bool = True  # arguments with a __torch_dispatch__
    modes: tuple[Any, ...] = ()  # the innermost last
    let_through: Any = None  # a function that is called next, and has been asked for


settings = _Settings()

# Values of these types are never asked, and are most of what functions are called with.
_SILENT = frozenset({Tensor, Parameter, int, float, bool, complex, str, type(None), slice, type(...), dtype, device})


def wants_to_be_asked(kind: type) -> bool:
    """True if objects of a class take over operations: it has a `__torch_function__`, and is not Tensor itself."""
    method = getattr(kind, "__torch_function__", None)
    return method is not None and method is not disabled_torch_function and kind is not Tensor


def takers_among(
    values: Iterable[Any],
    found: list[Any] | None = None,
    depth: int = 3,
    wants: Callable[[type], bool] = wants_to_be_asked,
) -> list[Any]:
    """One object of each class that `wants` to be asked, subclasses before their bases, otherwise in order.

    Lists and tuples are looked into, as deep as functions take tensors: `torch.stack` takes them in a list, an index
    may have lists in its tuple. No deeper, for a list may hold itself.
    """
    takers = [] if found is None else found
    for value in values:
        kind = type(value)
        if kind in _SILENT:
            continue
        if isinstance(value, (list, tuple)) and not wants(kind):
            if depth:
                takers_among(value, takers, depth - 1, wants)
        elif wants(kind) and not any(type(taker) is kind for taker in takers):
            place = next((i for i, taker in enumerate(takers) if isinstance(value, type(taker))), len(takers))
            takers.insert(place, value)
    return takers


def ask(function: Callable[..., Any], takers: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The first answer of the innermost mode and of the takers that is not NotImplemented."""
    types = tuple(map(type, takers))
    modes = settings.modes
    if modes:
        settings.modes = modes[:-1]  # what the mode itself calls goes to the next one
        try:
            result = modes[-1].__torch_function__(function, types, args, kwargs)
        finally:
            settings.modes = modes
        if result is not NotImplemented:
            return result
    for taker in takers:
        result = taker.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def take_over(function: Callable[..., Any], facts: Facts, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of the class or mode that takes over a call of a public function; NOT_TAKEN_OVER if there is none."""
    if settings.let_through is function:
        settings.let_through = None
        return NOT_TAKEN_OVER
    asks = facts.asks
    if asks == "nobody":
        return NOT_TAKEN_OVER
    takers: list[Any] = []
    if asks != "modes" and settings.subclasses:
        values = _values_asked(function, asks, args, kwargs)
        if not _SILENT.issuperset(map(type, values)):
            takers = takers_among(values)
    if not takers and not settings.modes:
        if not _Progress.dispatching:
            return NOT_TAKEN_OVER

        def run(*args: Any, **kwargs: Any) -> Any:
            settings.let_through = function
            return function(*args, **kwargs)

        return _done(unwrap(function).__name__, run, args, kwargs)  # the name of what it is an alias of
    if facts.passed is not None:
        args, kwargs = as_passed(facts.passed, function, args, kwargs)
    result = ask(function, takers, args, kwargs)
    if result is NotImplemented:
        raise refuse(function, takers)
    return result


def _values_asked(
    function: Callable[..., Any], asks: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments that may take a call over: all, or the first ones."""
    if asks == "arguments":
        return (*args, *kwargs.values()) if kwargs else args
    count = ("first argument", "first two arguments").index(asks) + 1
    others = gate.parameters(function)[count:]
    return (*args[:count], *[value for name, value in kwargs.items() if name not in others])


def _done(name: str, does: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do a call that was not taken over; classes with a `__torch_dispatch__` answer the operations in it."""
    if _Progress.dispatching and settings.dispatch and not _SILENT.issuperset(map(type, (*args, *kwargs.values()))):
        from . import dispatch_subclasses

        if takers_among((*args, *kwargs.values()), wants=dispatch_subclasses.dispatches):
            return dispatch_subclasses.as_known(dispatch_subclasses.run(name, does, args, kwargs))
    return does(*args, **kwargs)


def refuse(function: Callable[..., Any], takers: list[Any]) -> TypeError:
    """The error when every `__torch_function__` returned NotImplemented."""
    from ..overrides import resolve_name

    name = resolve_name(function) or getattr(function, "__name__", repr(function))
    return TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{[type(taker) for taker in takers]}. Multiple dispatch failed for '{name}'; all __torch_function__ handlers "
        "returned NotImplemented."
    )


# --- when functions ask ---


class _Progress:
    """Steps that are done once each, and which of them are done."""

    members: bool = False  # methods of Tensor that `public` has not announced are known
    tensor: bool = False  # operators and attributes of Tensor itself ask as well
    borrowed: bool = False  # only until the end of `while_everything_asks`, unless it is needed for longer
    dispatching: set[type] = set()  # classes with a `__torch_dispatch__` that have objects


_NOT_TORCHS = frozenset({"memory", "name"})  # members of our Tensor that are never taken over
_PASSED = {  # by methods that `public` does not announce
    "backward": "self, gradient retain_graph create_graph inputs", "register_hook": "self hook,",
    "register_post_accumulate_grad_hook": "self hook,",
}  # fmt: skip


def _know_other_members() -> None:
    """Note the facts of methods that `public` has not announced, and of two functions that ask only some arguments."""
    # the weights of `backward` and `grad` cannot take over
    gate.FACTS[backward] = Facts("backward", backward, "torch.autograd", asks="first argument")
    gate.FACTS[grad] = Facts("grad", grad, "torch.autograd", asks="first two arguments")
    for name, member in vars(Tensor).items():
        if isinstance(member, FunctionType) and name[0] != "_" and name not in _NOT_TORCHS and member not in gate.FACTS:
            gate.FACTS[member] = Facts(name, member, "torch.Tensor", passed=_PASSED.get(name))


def make_functions_ask() -> None:
    """Let all public functions and methods ask if their calls are taken over."""
    _Progress.borrowed = False
    if not gate.asking:
        if not _Progress.members:
            _Progress.members = True
            _know_other_members()
        gate.ask_from_now_on()


def make_everything_ask() -> None:
    """Functions ask, and the operators and attributes of plain tensors too: for modes and foreign objects."""
    make_functions_ask()
    if not _Progress.tensor:
        _Progress.tensor = True
        make_members_ask(Tensor)


def ensure_everything_asks() -> None:
    """Let everything ask, unless it already does (perhaps only for a while)."""
    if not _Progress.tensor:
        make_everything_ask()


@contextmanager
def while_everything_asks() -> Iterator[None]:
    """Functions, operators and attributes ask, and run at once again afterwards: for programs that are being traced.

    They go on asking if that was needed before, or has come to be needed in the meantime.
    """
    functions, tensor, inside = gate.asking, _Progress.tensor, _Progress.borrowed
    make_functions_ask()
    make_everything_ask()
    _Progress.borrowed = inside or not tensor
    try:
        yield
    finally:
        if _Progress.borrowed and not inside:
            _Progress.tensor, _Progress.borrowed = tensor, False
            for _, _, asking in _asking_members(Tensor):
                for function, _ in asking:
                    gate.run_at_once(function)
            if not functions:
                gate.ask_from_now_on(False)


def notice_foreign_objects(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """True if a call failed because of a foreign object with a `__torch_function__`, which is called from now on."""
    if _Progress.tensor or not any(not isinstance(taker, Tensor) for taker in takers_among((*args, *kwargs.values()))):
        return False
    make_everything_ask()
    return True


# --- operators and attributes ---

# The function that torch names when an operator is used, where it is not the operator itself.
_NAMED = {
    "__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "div", "__matmul__": "matmul",
    "__mod__": "remainder", "__neg__": "neg", "__pos__": "positive", "__abs__": "abs",
    "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__radd__": "add", "__rmul__": "mul",
    "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor",
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_",
}  # fmt: skip
_REFLECTED = {
    f"__r{name}__": f"__{name}__"
    for name in "add sub mul truediv pow matmul mod floordiv and or xor lshift rshift".split()
}
# Operators and other methods of the language that are their own name.
_OPERATORS = frozenset(
    {
        "__eq__", "__pow__", "__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__invert__", "__floordiv__",
        "__rsub__", "__rtruediv__", "__rpow__", "__rmatmul__", "__rand__", "__ror__", "__rxor__",
        "__rlshift__", "__rrshift__", "__rfloordiv__", "__rmod__", "__ipow__", "__iand__", "__ior__", "__ixor__",
        "__ilshift__", "__irshift__", "__getitem__", "__setitem__",
    }
)  # fmt: skip
_PROTOCOL = frozenset(
    {
        "__len__", "__contains__", "__bool__", "__index__", "__float__", "__int__",
        "__complex__", "__repr__", "__format__", "__deepcopy__", "__reduce_ex__", "__reversed__",
    }
)  # fmt: skip


# What makes the asking version of something of what it does now.
_Maker = Callable[[Callable[..., Any]], Callable[..., Any]]


def _asking_members(cls: type) -> Iterator[tuple[str, Any, list[tuple[Any, _Maker]]]]:
    """Operators and attributes, except where a class (or one before Tensor) has its own; their functions, and how these ask."""
    for name, member in list(vars(Tensor).items()):
        if next(vars(base)[name] for base in cls.__mro__ if name in vars(base)) is not member or name == "__str__":
            continue
        if isinstance(member, property) and not name.startswith("_") and name not in _NOT_TORCHS:
            yield name, member, _attribute(name, member)
        elif name == "__iter__":
            yield name, member, [(member, lambda does: _iterate)]
        elif name in _NAMED or name in _OPERATORS or name in _PROTOCOL:
            yield name, member, [(member, _operator(name))]


def make_members_ask(cls: type) -> None:
    """Let the operators and attributes of Tensor ask, or give a subclass some that do."""
    for name, member, asking in _asking_members(cls):
        if cls is Tensor:  # programs keep these as keys, too: they stay the same objects
            for function, make in asking:
                gate.call_instead(function, make)
        else:
            made: list[Any] = [make(function) for function, make in asking]
            setattr(cls, name, type(member)(*made) if isinstance(member, property) else made[0])
    if cls is not Tensor and vars(cls).get("__repr__") is not None:
        cls.__str__ = cls.__repr__  # type: ignore[method-assign]


def _iterate(self: Tensor) -> Iterator[Any]:
    if not self.dim():
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _asks(takers: list[Any]) -> bool:
    return bool(takers and settings.subclasses or settings.modes)


def _comes_first(right: Any, left: Any) -> bool:
    """True if Python asks the right operand before the left one: its class is a subclass of the other's."""
    return isinstance(left, Tensor) and type(left) is not type(right) and isinstance(right, type(left))


def _operator(name: str) -> _Maker:
    forward = _REFLECTED.get(name)

    def asking(does: Callable[..., Any]) -> Callable[..., Any]:
        def operator(self: Any, *args: Any, **kwargs: Any) -> Any:
            takers = takers_among((self, *args, *kwargs.values())) if settings.subclasses else []
            if not _asks(takers):
                return _done(_NAMED.get(name, name).strip("_"), does, (self, *args), kwargs)
            if forward is not None and args and _comes_first(self, args[0]):
                # `tensor - subclass`: torch names the operator that was written.
                function, operands = _function_of(forward), (args[0], self)
            else:
                function, operands = _function_of(name), (self, *args)
            result = ask(function, takers, operands, kwargs)
            if result is NotImplemented and (len(args) != 1 or name == "__getitem__" or name in _PROTOCOL):
                raise refuse(function, takers)
            return result

        operator.__name__, operator.__qualname__, operator.__doc__ = does.__name__, name, does.__doc__
        return operator

    return asking


def _size(does: Callable[..., Any]) -> Callable[..., Any]:
    """`x.size`, which is a number of elements at once, and asks when it is called."""

    def get(self: Any) -> Any:
        count = does(self)
        takers = takers_among((self,)) if settings.subclasses else []
        if not _asks(takers):
            return count

        def answer(dim: tuple[Any, ...], named: dict[str, Any]) -> Any:
            result = ask(vars(Tensor)["size"], takers, (self, *dim), named)
            if result is NotImplemented:
                raise refuse(vars(Tensor)["size"], takers)
            return result

        asked = AskedCount(count)
        asked.sizes, asked.answer = count.sizes, answer
        return asked

    return get


def _function_of(name: str) -> Callable[..., Any]:
    return getattr(Tensor, _NAMED.get(name, name))


def _attribute(name: str, member: property) -> list[tuple[Any, _Maker]]:
    """The functions of a property, and what lets them ask: what they hand over is `Tensor.<name>.__get__` or `.__set__`."""

    def access(kind: str) -> _Maker:
        def asking(does: Callable[..., Any]) -> Callable[..., Any]:
            def use(self: Any, *args: Any) -> Any:
                takers = takers_among((self,)) if settings.subclasses else []  # what it is set to has no say
                if not _asks(takers):
                    return _done(name, does, (self, *args), {})
                function = getattr(member, kind)
                result = ask(function, takers, (self, *args), {})
                if result is NotImplemented:
                    raise refuse(function, takers)
                return result

            use.__doc__ = member.__doc__
            return use

        return asking

    if isinstance(member, SizeAttribute):
        return [(member.fget, _size)]
    pieces = ((member.fget, "__get__"), (member.fset, "__set__"), (member.fdel, "__delete__"))
    return [(function, access(kind)) for function, kind in pieces if function is not None]


# --- what subclasses of Tensor do by default ---


class DisableTorchFunctionSubclass:
    """A context in which arguments are not asked; modes still are."""

    def __enter__(self) -> None:
        self._before: bool = settings.subclasses
        settings.subclasses = False

    def __exit__(self, *error: Any) -> None:
        settings.subclasses = self._before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which no `__torch_function__` is called."""

    def __enter__(self) -> None:
        super().__enter__()
        self._modes: tuple[Any, ...] = settings.modes
        settings.modes = ()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        settings.modes = self._modes


def run_and_convert(cls: type, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """`Tensor.__torch_function__`: run the function on the arguments as they are; its tensors become `cls`."""
    from ..overrides import get_default_nowrap_functions

    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = _done(function.__name__.strip("_"), function, args, kwargs or {})
        return result if function in get_default_nowrap_functions() else converted(result, cls)


def converted(result: Any, cls: type) -> Any:
    """Tensors, and those in tuples and lists, as objects of a subclass; what answers operations has made its own."""
    if cls is Tensor or cls in _Progress.dispatching:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [converted(part, cls) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def notice_subclass(cls: type) -> None:
    """A subclass of Tensor was defined: functions ask from now on, and so do its operators and attributes."""
    if any(name in vars(cls) for name in (*_NAMED, *_OPERATORS)):
        make_everything_ask()  # its own operators call those of Tensor, which have to answer with the subclass
    make_functions_ask()
    if not _Progress.tensor:
        make_members_ask(cls)

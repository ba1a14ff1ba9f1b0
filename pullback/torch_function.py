"""`__torch_function__`: objects that take over operations, and subclasses of Tensor that stay what they are.

Nothing here is loaded, and no operation asks anybody, until a program needs it: with its first subclass of Tensor, its
first `TorchFunctionMode`, or the first foreign object that a function refuses. From then on every public function
looks at its arguments before it runs. Programs keep functions as keys of dictionaries and import them by name, so
functions are not replaced: each stays the same object and is given other code, and `__wrapped__` is what it did
before. Operators and attributes of plain tensors stay untouched; a subclass gets its own, which ask.
The names programs use are in `overrides.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from inspect import unwrap
from types import CodeType, FunctionType
from typing import Any, cast

from .autograd.roots import backward, grad
from .device import device
from .dtypes import dtype
from .nn.parameter import Parameter
from .size import AskedCount, SizeAttribute
from .tensor import Tensor, disabled_torch_function
from .torch_names.handed_over import drawing_functions, passing


class _Settings(threading.local):
    """Who is asked, in this thread."""

    subclasses: bool = True  # arguments with a __torch_function__
    dispatch: bool = True  # arguments with a __torch_dispatch__
    modes: tuple[Any, ...] = ()  # the innermost last


settings = _Settings()

# Values of these types are never asked, and are most of what functions are called with.
_SILENT = frozenset({Tensor, Parameter, int, float, bool, complex, str, type(None), slice, type(...), dtype, device})


def wants_to_be_asked(kind: type) -> bool:
    """Whether objects of a class take over operations: it has a `__torch_function__`, and is not Tensor itself."""
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


def _done(name: str, does: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What nobody has taken over; classes with a `__torch_dispatch__` answer the operations in it."""
    if _Progress.dispatching and settings.dispatch and not _SILENT.issuperset(map(type, (*args, *kwargs.values()))):
        from . import dispatch_subclasses

        if takers_among((*args, *kwargs.values()), wants=dispatch_subclasses.dispatches):
            return dispatch_subclasses.as_known(dispatch_subclasses.run(name, does, args, kwargs))
    return does(*args, **kwargs)


def refuse(function: Callable[..., Any], takers: list[Any]) -> TypeError:
    """The error when every `__torch_function__` returned NotImplemented."""
    from .overrides import resolve_name

    name = resolve_name(function) or getattr(function, "__name__", repr(function))
    return TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{[type(taker) for taker in takers]}. Multiple dispatch failed for '{name}'; all __torch_function__ handlers "
        "returned NotImplemented."
    )


# --- functions ---


@cache
def _asking(free: int) -> CodeType:
    """The code that public functions run from now on; `free` variables are there because each keeps its closure.

    They have to be named in the source: a frame whose free variables the code does not set up crashes whoever looks at it.
    """
    names = [f"free{number}" for number in range(free)]
    lines = [f"def outer({', '.join(names)}):", "    def asking(*args, _entry, **kwargs):"]
    if names:
        lines.append(f"        if False: {', '.join(names)}")
    lines += ["        return _entry(args, kwargs)", "    return asking"]
    made: dict[str, Any] = {}
    exec("\n".join(lines), made)  # the text above
    return made["outer"](*names).__code__


def redirect(function: Any, only_modes: bool = False, first: int | None = None, torch_name: str = "") -> None:
    """Let a function ask its arguments (or the `first` of them, or only the modes) before it runs, from now on."""
    code = function.__code__
    others = code.co_varnames[first : code.co_argcount] if first is not None else ()
    as_passed = passing(torch_name, function)
    known_as = unwrap(function).__name__  # that of the function it is an alias of

    def asking(does: Callable[..., Any]) -> _Entry:
        def entry(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            values = (
                (*args[:first], *[kwargs[name] for name in kwargs if name not in others]) if kwargs else args[:first]
            )
            takers: list[Any] = []
            if not only_modes and not _SILENT.issuperset(map(type, values)) and settings.subclasses:
                takers = takers_among(values)
            if not takers and not settings.modes:
                return _done(known_as, does, args, kwargs)
            if as_passed is not None:
                args, kwargs = as_passed(args, kwargs)
            result = ask(function, takers, args, kwargs)
            if result is NotImplemented:
                raise refuse(function, takers)
            return result

        return entry

    _send_round(function, _Progress.redirected, asking)


_Entry = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def _send_round(function: Any, among: dict[Any, Any], entry_of: Callable[[Any], _Entry]) -> None:
    """Let a function call the entry that is made of what it does, and note both among those that do so."""
    if "_entry" in (function.__kwdefaults__ or ()):
        if function in among:
            _ask_again(function, among)
        return
    code = function.__code__
    does = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    does.__kwdefaults__ = function.__kwdefaults__
    does.__annotations__ = function.__annotations__
    asking = _asking(len(code.co_freevars)).replace(
        co_name=code.co_name, co_filename=code.co_filename, co_firstlineno=code.co_firstlineno
    )
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "_entry": entry_of(does)}
    among[function] = does, asking
    _ask_again(function, among)


def _ask_again(function: Any, among: dict[Any, Any]) -> None:
    """Let a function that has been prepared ask from now on."""
    does, function.__code__ = among[function]  # all that changes: other threads may be calling it
    function.__dict__.setdefault("__wrapped__", does)


def _put_back(function: Any, among: dict[Any, Any]) -> None:
    """Let a function run at once again."""
    does, _ = among[function]
    function.__code__ = does.__code__
    if function.__dict__.get("__wrapped__") is does:
        del function.__wrapped__


# Functions that make tensors of whatever they are given; torch does not hand them over either.
_ONLY_MODES = frozenset({"tensor", "as_tensor", "asarray", "from_numpy", "is_tensor", "frombuffer", "from_dlpack"})
_NEVER = frozenset("as_subclass memory is_tensor is_grad_enabled set_printoptions get_default_dtype save load "
                   "torch.nn.functional.sigmoid torch.nn.functional.tanh".split())  # fmt: skip


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
    yield from (member for member in _members() if not member[0].startswith("torch.Tensor._"))


def _members() -> Iterator[tuple[str, Any]]:
    return ((f"torch.Tensor.{name}", value) for name, value in list(vars(Tensor).items()))


class _Progress:
    """What has been done so far: once each."""

    functions: bool = False
    tensor: bool = False  # operators and attributes of Tensor itself ask as well
    borrowed: bool = False  # until the end of `while_everything_asks`, unless somebody needs it for good
    redirected: dict[Any, Any] = {}  # functions: what they did before, and how they ask
    members: dict[Any, Any] = {}  # the same for operators and attributes of Tensor
    dispatching: set[type] = set()  # classes with a `__torch_dispatch__` that have objects


def redirect_functions() -> None:
    """Let all public functions and methods ask."""
    _Progress.borrowed = False
    if _Progress.functions:
        return
    everything = [] if _Progress.redirected else list(public_functions())
    _Progress.functions = True
    for function in _Progress.redirected:  # not for the first time
        _ask_again(function, _Progress.redirected)
    for torch_name, function in everything:
        name = torch_name.rpartition(".")[2]
        if isinstance(function, FunctionType) and _NEVER.isdisjoint((name, torch_name)):
            redirect(function, only_modes=name in _ONLY_MODES, torch_name=torch_name)
    for torch_name, function in drawing_functions():
        redirect(function, torch_name=torch_name)
    redirect(cast(FunctionType, backward), first=1)  # weights have no say
    redirect(cast(FunctionType, grad), first=2)


def redirect_everything() -> None:
    """Functions, and the operators and attributes of plain tensors too: for modes and foreign objects."""
    redirect_functions()
    if not _Progress.tensor:
        _Progress.tensor = True
        redirect_members(Tensor)


def everything_asks() -> None:
    """See to it that functions, operators and attributes ask: from now on, unless they do so for a while already."""
    if not _Progress.tensor:
        redirect_everything()


@contextmanager
def while_everything_asks() -> Iterator[None]:
    """Functions, operators and attributes ask, and run at once again afterwards: for programs that are being traced.

    They go on asking if somebody needed it before, or has begun to in the meantime.
    """
    functions, tensor, inside = _Progress.functions, _Progress.tensor, _Progress.borrowed
    redirect_functions()
    members = dict(vars(Tensor))  # all there are: families that had not been needed have been loaded
    redirect_everything()
    _Progress.borrowed = inside or not tensor
    try:
        yield
    finally:
        if _Progress.borrowed and not inside:
            _Progress.functions, _Progress.tensor, _Progress.borrowed = functions, tensor, False
            for function in () if functions else _Progress.redirected:
                _put_back(function, _Progress.redirected)
            for function in _Progress.members:
                _put_back(function, _Progress.members)
            for name, member in list(vars(Tensor).items()):
                if name not in members:
                    delattr(Tensor, name)
                elif members[name] is not member:
                    setattr(Tensor, name, members[name])


def claimed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call failed because of a foreign object with a `__torch_function__`, which is called from now on."""
    if _Progress.tensor or not any(not isinstance(taker, Tensor) for taker in takers_among((*args, *kwargs.values()))):
        return False
    redirect_everything()
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
_NO_ATTRIBUTES = frozenset({"name"})  # it is not torch's


def redirect_members(cls: type) -> None:
    """Give a class operators and attributes that ask, except where it (or a class before Tensor) has its own."""
    for name, member in list(vars(Tensor).items()):
        if next(vars(base)[name] for base in cls.__mro__ if name in vars(base)) is not member:
            continue
        if isinstance(member, property) and not name.startswith("_") and name not in _NO_ATTRIBUTES:
            asking = _attribute(name, member)
        elif name in _NAMED or name in _OPERATORS or name in _PROTOCOL:
            asking = [(member, _operator(name))]
        else:
            continue
        if cls is Tensor:  # programs keep these as keys, too: they stay the same objects
            for function, make in asking:
                _send_round(function, _Progress.members, _as_entry(make))
        else:
            made: list[Any] = [make(function) for function, make in asking]
            setattr(cls, name, type(member)(*made) if isinstance(member, property) else made[0])
    if cls is not Tensor and vars(cls).get("__repr__") is not None:
        cls.__str__ = cls.__repr__  # type: ignore[method-assign]
    if cls.__iter__ is Tensor.__iter__:  # type: ignore[attr-defined]
        cls.__iter__ = _iterate  # type: ignore[attr-defined]


def _iterate(self: Tensor) -> Iterator[Any]:
    if not self.dim():
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _asks(takers: list[Any]) -> bool:
    return bool(takers and settings.subclasses or settings.modes)


# What makes the asking version of something of what it does now.
_Maker = Callable[[Callable[..., Any]], Callable[..., Any]]


def _as_entry(make: _Maker) -> Callable[[Any], _Entry]:
    def entry_of(does: Callable[..., Any]) -> _Entry:
        made = make(does)
        return lambda args, kwargs: made(*args, **kwargs)

    return entry_of


def _comes_first(right: Any, left: Any) -> bool:
    """Whether Python asks the right operand before the left one: its class is a subclass of the other's."""
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
    from .overrides import get_default_nowrap_functions

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


def joined_by(cls: type) -> None:
    """A subclass of Tensor was defined: functions ask from now on, and so do its operators and attributes."""
    if any(name in vars(cls) for name in (*_NAMED, *_OPERATORS)):
        redirect_everything()  # its own operators call those of Tensor, which have to answer with the subclass
    redirect_functions()
    if not _Progress.tensor:
        redirect_members(cls)

"""Arguments that should be tensors and are not: torch's complaint, put together from the frames of the call that failed.

Functions read an argument's array without a check before; their caller turns what fails into a complaint here.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from inspect import unwrap
from traceback import walk_tb
from types import CodeType, FrameType
from typing import Any, TypeVar, cast

import numpy as np

from ..core.basics.notices import PACKAGE
from ..core.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def must_be_tensor(value: Any, function: str | None = None, name: str = "input", position: int = 1) -> TypeError:
    """Torch's complaint about an argument of the public function that is running, which is looked for if it is not named."""
    if function is not None:
        return _complaint_in_words(value, function, name, position)
    return _complaint(value, _frames_of_call(sys._getframe(2)))


def must_be_sizes(value: Any) -> TypeError:
    """Torch's complaint about something that is no size, in a call of the public function that is running."""
    code = next((frame.f_code for frame in _frames_of_call(sys._getframe(1)) if _is_public(frame.f_code)), None)
    name = "size"
    if code:  # it may have a name of its own for them, as in reshape(x, *shape)
        starred = code.co_varnames[code.co_argcount + code.co_kwonlyargcount :][:1]
        name = starred[0] if starred and starred[0] in ("shape", "dims", "repeats") else name
    function = f"{code.co_name}(): " if code else ""
    return TypeError(f"{function}argument '{name}' (position 1) must be tuple of ints, not {type(value).__name__}")


def refuse_unknown(function: str, named: Iterable[str], *known: str) -> None:
    """Complain about unknown keywords as Python does, for a function that is written to take any."""
    for name in named:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def given_sizes(function: str, values: tuple[Any, ...], named: dict[str, Any], *known: str) -> tuple[Any, ...]:
    """Sizes or dims as `x.flip(0, 1)` or `x.flip((0, 1))` gives them, also where they came by name: `x.flip(dims=(0, 1))`."""
    if not named:
        return values
    refuse_unknown(function, named, *known)
    if values or len(named) > 1:
        raise TypeError(f"{function}() got multiple values for argument {known[0]!r}")
    return tuple(named.values())


def complaint_for(error: BaseException, function: Any = None) -> BaseException:
    """Torch's complaint instead of an AttributeError that a function of ours got from a foreign argument, or the error itself.

    The function that was called is named where its code has another name than programs know it by.
    """
    value = getattr(error, "obj", None)
    if not isinstance(error, AttributeError) or isinstance(value, Tensor) or error.__traceback__ is None:
        return error
    first = error.__traceback__
    frames = [*reversed([frame for frame, _ in walk_tb(first)]), *_frames_of_call(first.tb_frame.f_back)]
    if any(_place(value, frame, function) for frame in frames):
        return _complaint(value, frames, function)
    arrays = [array for frame in frames for array in _arrays_given(frame, function)]
    return _complaint(arrays[-1], frames, function) if arrays else error


def raise_complaint(error: BaseException, function: Any = None) -> None:
    """Raise torch's complaint if there is one; else the error, which may be a program's own, is for the caller to raise."""
    complaint = complaint_for(error, function)
    if complaint is not error:
        raise complaint from None


# What programs call an argument whose name here is another: that of other libraries, or of a function next to this one.
_MEANT = {
    "axes": ("dim", "dims"), "axis": ("dim", "in_dims"), "dims": ("dim",), "dim": ("dims", "in_dims"), "keep_dims": ("keepdim",),
    "keepdims": ("keepdim",), "in_axes": ("in_dims",), "out_axes": ("out_dims",), "grad": ("gradient", "grad_tensors"),
    "gradient": ("grad_outputs", "grad_tensors"), "grad_tensors": ("gradient", "grad_outputs"), "shape": ("size",),
    "gradients": ("gradient", "grad_tensors"), "weights": ("gradient", "grad_tensors", "weight"), "wrt": ("inputs", "argnums"),
    "argnum": ("argnums",), "rtol": ("rcond",), "training": ("train",), "rate": ("p",), "probability": ("p",),
}  # fmt: skip


def suggestion_for(function: Any, name: str) -> str:
    """Which argument of a function was probably meant, as the end of a message; nothing where that is unknown."""
    import difflib
    import inspect

    parameters = inspect.signature(function).parameters.values()
    known = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    found = [each for each in _MEANT.get(name, ()) if each in known] or difflib.get_close_matches(name, known, 1)
    return f". Did you mean {found[0]}=...?" if found else ""


def refuse_keywords(function: Any, named: Iterable[str]) -> None:
    """Python's complaint about keywords that a function does not have, and which was probably meant."""
    for name in named:
        raise TypeError(
            f"{function.__qualname__}() got an unexpected keyword argument {name!r}{suggestion_for(function, name)}"
        )


def note_names(error: BaseException, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Say in a note of the error which of the arguments have names, and their shapes."""
    given = [*zip(_parameters(function), args), *named.items()]  # noqa: B905  (lists of tensors may be longer)
    several = [(f"{name}[{place}]", each) for name, value in given if isinstance(value, (tuple, list))
               for place, each in enumerate(value)]  # fmt: skip
    found = [
        f"{name} is {value.name!r} of shape {list(value.shape)}"
        for name, value in given + several
        if isinstance(value, Tensor) and value.name is not None
    ]
    if found:
        error.add_note(f"{function.__name__}(): {', '.join(found)}.")


def _parameters(function: Any) -> tuple[str, ...]:
    code = getattr(unwrap(function), "__code__", None)
    return code.co_varnames[: code.co_argcount] if code is not None else ()


def raise_with_suggestion(error: BaseException, function: Any, named: dict[str, Any]) -> None:
    """Raise Python's complaint about an unknown keyword with the one that was probably meant, if that is what the error is."""
    _, phrase, name = str(error).partition(" got an unexpected keyword argument ")
    if phrase and name[1:-1] in named and isinstance(error, TypeError):
        hint = suggestion_for(function, name[1:-1])
        if hint:
            raise TypeError(f"{error}{hint}") from None


def with_suggestions(function: F) -> F:
    """The same function, which knows what an unknown keyword was meant to be."""

    @functools.wraps(function)
    def suggestion_for(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if kwargs and error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise_with_suggestion(error, function, kwargs)
            raise

    return cast(F, suggestion_for)


def _frames_of_call(frame: FrameType | None) -> Iterator[FrameType]:
    """Frames of this package, from the given one to the one that the program called."""
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        yield frame
        frame = frame.f_back


def _is_public(code: CodeType) -> bool:
    modules = (sys.modules.get(name) for name in ("pullback", "pullback.nn.functional"))
    return any(code.co_name in vars(each) for each in (Tensor, *modules) if each is not None)


_TAKES_SEVERAL = 4  # what Python sets for a function of `*tensors`


def _given(frame: FrameType, function: Any) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of the public function that a frame runs; none if it runs another."""
    code = frame.f_code
    called = code is getattr(unwrap(function), "__code__", None)
    count = code.co_argcount
    asks = "_call" in code.co_varnames[count : count + code.co_kwonlyargcount]  # of `gate.call_instead`
    if asks or not called and not _is_public(code):
        return "", {}
    arguments = {name: frame.f_locals.get(name) for name in code.co_varnames[:count] if name != "self"}
    if code.co_flags & _TAKES_SEVERAL:
        name = code.co_varnames[count + code.co_kwonlyargcount]
        arguments |= {f"{name}[{place}]": each for place, each in enumerate(frame.f_locals.get(name, ()))}
    return (function.__name__ if called else code.co_name), arguments


def _place(value: Any, frame: FrameType, function: Any = None) -> tuple[str, str, int] | None:
    """Function, argument and its position, if the frame runs a public function that was given this value."""
    shown, arguments = _given(frame, function)
    for position, (name, argument) in enumerate(arguments.items(), 1):
        several = argument if isinstance(argument, (list, tuple)) else ()
        if argument is value or any(each is value for each in several):
            return shown, name.partition("[")[0], position
    return None


def _arrays_given(frame: FrameType, function: Any) -> list[Any]:
    """Arrays among the arguments: such a one passes for a tensor for a while."""
    return [value for value in _given(frame, function)[1].values() if type(value).__module__ == "numpy"]


def _complaint(value: Any, frames: Iterable[FrameType], called: Any = None) -> TypeError:
    places = [place for frame in frames if (place := _place(value, frame, called)) is not None]
    return _complaint_in_words(value, *(places[-1] if places else ("operation", "input", 1)))


def _complaint_in_words(value: Any, function: str, name: str, position: int) -> TypeError:
    kind = type(value)
    given = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    advice = "Make it one with torch.tensor(...)"
    if isinstance(value, (list, tuple)) and any(isinstance(each, Tensor) for each in value):
        advice = "It holds tensors: take one of them, as in value[0], or join them with torch.stack"
    elif value is None:
        advice = "A function without a `return` gives None"
    elif isinstance(value, np.ndarray):
        advice = "torch.from_numpy(array) is one with its memory, torch.as_tensor(array) one of anything like it"
    return TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, not {given}. {advice}.")

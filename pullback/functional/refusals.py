"""Arguments that should be tensors and are not: torch's complaint, put together from the frames of the call that failed.

Functions read an argument's array at once and ask no questions before; whoever sees them fail asks here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

from ..notices import PACKAGE
from ..tensor import Tensor


def must_be_tensor(value: Any) -> TypeError:
    """Torch's complaint about an argument of the public function that is running."""
    return _complaint(value, _outwards(sys._getframe(1)))


def must_be_sizes(value: Any) -> TypeError:
    """Torch's complaint about something that is no size, in a call of the public function that is running."""
    code = next((frame.f_code for frame in _outwards(sys._getframe(1)) if _is_public(frame.f_code)), None)
    name = "size"
    if code:  # it may have a name of its own for them, as in reshape(x, *shape)
        starred = code.co_varnames[code.co_argcount + code.co_kwonlyargcount :][:1]
        name = starred[0] if starred and starred[0] in ("shape", "dims", "repeats") else name
    function = f"{code.co_name}(): " if code else ""
    return TypeError(f"{function}argument '{name}' (position 1) must be tuple of ints, not {type(value).__name__}")


def refuse_unknown(function: str, named: Iterable[str], *known: str) -> None:
    """What Python does itself about a keyword that a function does not have, for one that takes any."""
    for name in named:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def in_a_row(function: str, values: tuple[Any, ...], named: dict[str, Any], *known: str) -> tuple[Any, ...]:
    """Sizes or dims as `x.flip(0, 1)` or `x.flip((0, 1))` gives them, also where they came by name: `x.flip(dims=(0, 1))`."""
    if not named:
        return values
    refuse_unknown(function, named, *known)
    if values or len(named) > 1:
        raise TypeError(f"{function}() got multiple values for argument {known[0]!r}")
    return tuple(named.values())


def blame_argument(error: BaseException) -> None:
    """Raise torch's complaint instead of an AttributeError that a function of ours got from a foreign argument."""
    value = getattr(error, "obj", None)
    if not isinstance(error, AttributeError) or isinstance(value, Tensor) or error.__traceback__ is None:
        return
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    frames = list(_outwards(trace.tb_frame))
    if any(_place(value, frame) is not None for frame in frames):
        raise _complaint(value, frames) from None


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Frames of this package, from the given one to the one that the program called."""
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        yield frame
        frame = frame.f_back


def _is_public(code: CodeType) -> bool:
    modules = (sys.modules.get(name) for name in ("pullback", "pullback.nn.functional"))
    return any(code.co_name in vars(each) for each in (Tensor, *modules) if each is not None)


def _place(value: Any, frame: FrameType) -> tuple[str, str, int] | None:
    """Function, argument and its position, if the frame runs a public function that was given this value."""
    code = frame.f_code
    if _is_public(code):
        for position, name in enumerate(code.co_varnames[: code.co_argcount], 1):
            if name != "self" and frame.f_locals.get(name) is value:
                return code.co_name, name, position
    return None


def _complaint(value: Any, frames: Iterable[FrameType]) -> TypeError:
    places = [place for frame in frames if (place := _place(value, frame)) is not None]
    function, name, position = places[-1] if places else ("operation", "input", 1)
    kind = type(value)
    given = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    advice = "Make it one with torch.tensor(...)"
    if isinstance(value, (list, tuple)) and any(isinstance(each, Tensor) for each in value):
        advice = "It holds tensors: take one of them, as in value[0], or join them with torch.stack"
    elif value is None:
        advice = "A function without a `return` gives None"
    return TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, not {given}. {advice}.")

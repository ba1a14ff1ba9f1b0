"""Work that signals do not end halfway: what their handlers would raise is raised when the work is done.

Python runs the handlers of signals, Ctrl-C's above all, in the main thread, between any two operations. `hold` puts a
handler in their place that only remembers what came; `release` sets them back and has them answer. In other threads
handlers never run, so there is nothing to do. Lengthy work, and functions of users, do not belong between the two:
nothing could stop them.

It takes less than a microsecond, and nothing simpler does the same. A mask of the operating system (`pthread_sigmask`) covers
one thread: the signal goes to another one, whereupon Python runs the handler in the main thread all the same. Copies of what
is written, to go back to, would double the memory of a step; they are right where little is written and functions of users
run in between, as in schedules of learning rates. And one call into C (`core/accumulate.py`) needs a call that does it all.
"""

from __future__ import annotations

import threading
from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from types import FrameType

# Those of `signal` itself make enumerations of what they are given, which takes longer than all the rest.
_plain: Any = import_module("_signal")
getsignal, set_handler = _plain.getsignal, _plain.signal
_INTERRUPT = _plain.SIGINT
_NAMES = ("SIGALRM", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGPROF", "SIGBREAK")
_OTHERS = tuple(getattr(_plain, name) for name in _NAMES if hasattr(_plain, name))
Handler: TypeAlias = Any  # a function of the number and the frame; or what `signal` has in its place
Held: TypeAlias = Any  # the handler of Ctrl-C, a list of (number, handler), or None where nothing is held
_arrived: dict[int, FrameType | None] = {}


def _remember(number: int, frame: FrameType | None) -> None:
    _arrived[number] = frame


def hold() -> Held:
    """Have signals wait; returns what `release` is to be given. Call it right before `try`."""
    if get_ident() != threading._main_thread._ident:  # type: ignore[attr-defined]  # another one after a fork
        return None
    if any(map(getsignal, _OTHERS)):
        return _hold_all()
    handler = getsignal(_INTERRUPT)
    if not callable(handler) or handler is _remember:  # it raises nothing, or is held further up
        return None
    set_handler(_INTERRUPT, _remember)
    return handler


def release(held: Held) -> None:
    """Set handlers back, and call those whose signals have come."""
    if held is None:
        return
    try:
        if type(held) is list:
            _set_back(held)
        else:
            set_handler(_INTERRUPT, held)
    finally:
        if _arrived:
            _call_waiting_handlers()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A block that signals do not end halfway."""
    held = hold()
    try:
        yield
    finally:
        release(held)


def _hold_all() -> list[tuple[int, Handler]] | None:
    """`hold`, where programs handle more than Ctrl-C: a timeout by an alarm, for example."""
    held: list[tuple[int, Handler]] = []
    try:
        for number in (*_OTHERS, _INTERRUPT):
            handler = getsignal(number)
            if callable(handler) and handler is not _remember:
                held.append((number, handler))
                set_handler(number, _remember)
    except BaseException:
        release(held)
        raise
    return held or None


def _set_back(held: list[tuple[int, Handler]]) -> None:
    error = None
    while held:
        try:
            while held:
                set_handler(*held[-1])
                held.pop()
        except BaseException as raised:  # by a handler that is back already; the others have to come back too
            error = raised
    if error is not None:
        raise error


def _call_waiting_handlers() -> None:
    while _arrived:
        number, frame = _arrived.popitem()
        handler = getsignal(number)
        if callable(handler) and handler is not _remember:
            handler(number, frame)

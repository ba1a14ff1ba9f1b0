"""Silence where torch is silent: NumPy's warnings about overflow, division by zero and invalid values.

`np.errstate` does this in about a microsecond; a backward pass of a small program takes ten. The settings object is
built once here and switched through NumPy's context variable; should a NumPy release move it, errstate is used.

Even that takes too long for single operations: their warnings are left to a filter. Where programs have put others before
it (`warnings_are_dropped`), to record all warnings or to see them, ours are passed over when they are about to be shown;
where they make errors of warnings, the operation is run again in silence.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .notices import PACKAGE

if TYPE_CHECKING:
    from .types import Function

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    _set = _extobj_contextvar.set
    # Ask what is set, switch floating point warnings off, set what was. None enters Python code. Ctrl-C comes right after
    # a call: who asks before `try`, switches inside it and sets back first thing in `finally` leaves nothing behind.
    warning_settings: Function = _extobj_contextvar.get
    # warnings, which a filter of the package drops; where every context has filters of its own, that is not relied on
    usual_settings: Any = Context().run(warning_settings)
    if getattr(sys.flags, "context_aware_warnings", 0):
        usual_settings = None
    silence: Function = partial(_set, _make_extobj(all="ignore"))
    restore: Function = _set
    _short, _usual = (_make_extobj(all="ignore", bufsize=size) for size in (128, 8192))

    def use_short_buffer(short: bool) -> None:
        """Have NumPy fetch operands in short pieces, or in the usual ones; no warnings either way."""
        _set(_short if short else _usual)

except ImportError:  # pragma: no cover - another NumPy
    usual_settings = None  # never what is set

    def warning_settings() -> Any:
        return np.geterr()

    def silence() -> Any:
        return np.seterr(all="ignore")

    def restore(settings: Any) -> Any:
        return np.seterr(**settings)

    def use_short_buffer(short: bool) -> None:
        """Have NumPy fetch operands in short pieces, or in the usual ones."""
        np.setbufsize(128 if short else 8192)


def quiet(function: Function) -> Function:
    """The function with NumPy's floating point warnings switched off."""

    def quietly(*args: object, **kwargs: object) -> Any:
        settings = warning_settings()
        try:
            silence()
            return function(*args, **kwargs)
        finally:
            restore(settings)

    quietly.__name__ = getattr(function, "__name__", "function")
    return quietly


_our_filter: Any = None
first_filter: list[Any] = [None]  # the first of `warnings.filters` when these were last found to drop our warnings


def drop_warnings() -> None:
    """Have Python pass over what NumPy says of our calls; the user's own NumPy code keeps its settings."""
    global _our_filter
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"pullback\.")
    first_filter[0] = _our_filter = warnings.filters[0]
    # `pytest.warns` and `catch_warnings(record=True)` put a filter for everything first, so no filter of ours can come before
    # theirs without one more assignment in each call; and `warnings.showwarning`, the documented place, is replaced by them.
    show: Any = getattr(warnings, "_showwarnmsg", None)  # what Python calls for all warnings that filters let through
    if show is not None and not hasattr(show, "passes_over_ours"):

        def show_others(message: warnings.WarningMessage) -> None:
            if message.category is not RuntimeWarning or not _is_ours(message.filename):
                show(message)

        show_others.passes_over_ours = True  # type: ignore[attr-defined]
        warnings._showwarnmsg = show_others  # type: ignore[attr-defined]


_NUMPY, _OURS = os.path.dirname(str(np.__file__)) + os.sep, PACKAGE


def _is_ours(filename: str) -> bool:
    """Return True if a warning that is about to be shown comes from a call of NumPy in this package.

    Warnings of the package itself name the line of the program that they are about.
    """
    if not filename.startswith((_NUMPY, _OURS)):
        return False
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_NUMPY):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_OURS)


def warnings_are_dropped() -> bool:
    """Return True if no filter lets the warnings of our calls through.

    Callers in hot paths compare `warnings.filters[0]` with `first_filter[0]` before, which says so at once.
    """
    for one in warnings.filters:
        action, message, category, module, line = one
        if issubclass(RuntimeWarning, category):
            if one is _our_filter or action == "ignore" and message is module is None and not line:
                first_filter[0] = warnings.filters[0]
                return True
            if action != "ignore":
                return False  # which warnings it speaks of is not looked at
    return False

"""Silence where torch is silent: NumPy's warnings about overflow, division by zero and invalid values.

`np.errstate` does this in about a microsecond; a backward pass of a small program takes ten. The settings object is
built once here and switched through NumPy's context variable; should a NumPy release move it, errstate is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    _set = _extobj_contextvar.set
    # Switch floating point warnings off (the answer is for `restore`), and back. Neither enters Python code.
    silence: Callable[[], Any] = partial(_set, _make_extobj(all="ignore"))
    restore: Callable[[Any], None] = _extobj_contextvar.reset
    _short, _usual = (_make_extobj(all="ignore", bufsize=size) for size in (128, 8192))

    def use_short_buffer(short: bool) -> None:
        """Have NumPy fetch operands in short pieces, or in the usual ones; no warnings either way."""
        _set(_short if short else _usual)

except ImportError:  # pragma: no cover - another NumPy

    def silence() -> Any:
        return np.seterr(all="ignore")

    def restore(token: Any) -> None:
        np.seterr(**token)

    def use_short_buffer(short: bool) -> None:
        """Have NumPy fetch operands in short pieces, or in the usual ones."""
        np.setbufsize(128 if short else 8192)


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with NumPy's floating point warnings switched off."""

    def quietly(*args: Any, **kwargs: Any) -> Any:
        token = silence()
        try:
            return function(*args, **kwargs)
        finally:
            restore(token)

    quietly.__name__ = getattr(function, "__name__", "function")
    return quietly

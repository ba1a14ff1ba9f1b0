"""Signatures of functions that take any keyword only to say which one was meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


def without_unknown(function: F) -> F:
    """The same function; who asks for its signature is not told of the `**unknown` at its end."""
    signature = inspect.signature(function)
    shown = [each for name, each in signature.parameters.items() if name != "unknown"]
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return function

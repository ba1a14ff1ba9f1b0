"""Random numbers inside `vmap`: an error, the same for all examples, or different ones, as its `randomness` says."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from .batched import Batched

_levels: ContextVar[tuple[Any, ...]] = ContextVar("pullback_randomness", default=())


class randomness_of_level:
    """While a level of vmap runs: how it wants random numbers, and for how many examples."""

    def __init__(self, level: int, randomness: str, size: int) -> None:
        self.entry: tuple[int, str, int] = (level, randomness, size)

    def __enter__(self) -> None:
        self.token: Any = _levels.set((*_levels.get(), self.entry))

    def __exit__(self, *error: Any) -> None:
        _levels.reset(self.token)


def drawn(draw: Callable[[tuple[Any, ...]], Any], shape: tuple[Any, ...], outside: tuple[Any, ...] = ()) -> Any:
    """What `draw(shape)` gives, under the randomness of all levels of vmap: possibly a batch."""
    levels = _levels.get()
    if not levels:
        return draw(shape)
    for _, randomness, _ in levels:
        if randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness "
                "flags on vmap or perform the randomness operation out of vmap"
            )
    different = [(level, size) for level, randomness, size in levels if randomness == "different"]
    array = draw((*(size for _, size in reversed(different)), *shape))
    for level, _ in different:
        array = Batched(array, level)
    return array


def randomness_at(level: int) -> str:
    """The randomness of one level."""
    return next((randomness for number, randomness, _ in _levels.get() if number == level), "error")

"""Random numbers inside `vmap`: an error, the same for all examples, or different ones, as its `randomness` says."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.order import dense_order
from .batched import Batched, raw

if TYPE_CHECKING:
    from ...core.basics.types import Array, Shape

_levels: ContextVar[tuple[tuple[int, str, int], ...]] = ContextVar("pullback_randomness", default=())


class randomness_of_level:
    """While a level of vmap runs: how it wants random numbers, and for how many examples."""

    def __init__(self, level: int, randomness: str, size: int) -> None:
        self.entry: tuple[int, str, int] = (level, randomness, size)

    def __enter__(self) -> None:
        self.token: Token[tuple[tuple[int, str, int], ...]] = _levels.set((*_levels.get(), self.entry))

    def __exit__(self, *error: object) -> None:
        _levels.reset(self.token)


def draw_batched(draw: Callable[[Shape], Array], shape: Shape) -> Array:
    """Draw numbers by `draw(shape)` as the randomness of all levels of vmap demands: an array, or a batch."""
    levels = _levels.get()
    if not levels:
        return draw(shape)
    _check_allowed(levels)
    different = [(level, size) for level, randomness, size in levels if randomness == "different"]
    array = draw((*(size for _, size in different), *shape))
    for level, _ in different:
        array = Batched(array, level)
    return array


def draw_with_generator(draw: Callable[..., Array], generator: Any, shape: Shape, *args: Any) -> Array:
    """Draw numbers by `draw(generator, shape, *args)` as the randomness of all levels of vmap demands."""
    if not _levels.get():
        return draw(generator, shape, *args)
    return draw_batched(lambda sizes: draw(generator, sizes, *args), shape)


def memory_of_examples(array: Array) -> np.ndarray:
    """An array in whose memory random numbers for `array` find their order.

    It has an axis in front for each level that wants different numbers, if only of steps of 0, and one example of all others.
    """
    shape, own = np.shape(array), []
    while type(array) is Batched:
        own.append((array.level, array.batched))
        array = raw(array.array)
    levels = _levels.get()
    if not levels and not own:
        return array
    held = {level for level, batched in own if batched}
    different = {level: size for level, randomness, size in levels if randomness == "different"}
    index: list[Any] = []
    for level in sorted(held | set(different)):  # the order of axes inside a batch
        index.append(0 if level not in different else slice(None) if level in held else np.newaxis)
    if 0 in np.shape(array):
        return np.empty((*different.values(), *shape), array.dtype)
    return np.broadcast_to(array[(*index, ...)], (*different.values(), *shape))


def draw_in_memory_order(array: Array, draw: Callable[[Shape, bool], np.ndarray], fresh: bool = True) -> Array:
    """Draw numbers for the shape of `array` by `draw(shape, contiguous)`, in the order of its memory: an array, or a batch.

    `fresh`: the numbers are for a new tensor of its layout, which has no gaps.
    """
    levels = _levels.get()
    if levels:
        _check_allowed(levels)
    if levels or type(array) is Batched:
        shared = type(array) is Batched and not fresh and any(randomness == "same" for _, randomness, _ in levels)
        array = memory_of_examples(array)
        if shared:  # drawn elsewhere, and copied to every example
            array = np.empty(array.shape, bool)
    if array.flags.c_contiguous:
        values = draw(array.shape, True)
    else:
        order = dense_order(array)
        contiguous = fresh and order == tuple(range(array.ndim))
        values = draw(tuple(array.shape[axis] for axis in order), contiguous)
        values = values.transpose(tuple(order.index(axis) for axis in range(array.ndim)))
    for level, randomness, _ in levels:
        if randomness == "different":
            values = Batched(values, level)  # type: ignore[assignment]
    return values


def draw_with_parameters(draw: Callable[..., Array], *parameters: Array) -> Array:
    """Draw numbers by `draw(*parameters)`, where each example has parameters of its own: an array, or a batch."""
    levels = _levels.get()
    if not levels:
        return draw(*map(np.asarray, parameters))
    refuse_same(*parameters)
    different = [(level, size) for level, randomness, size in levels if randomness == "different"]
    sizes = tuple(size for _, size in different)
    array = draw(*(_with_examples(value, different, sizes) for value in parameters))
    for level, _ in different:
        array = Batched(array, level)
    return array


def _with_examples(value: Array, different: list[tuple[int, int]], sizes: Shape) -> np.ndarray:
    """An array with all examples of the levels in front."""
    shape, axes = np.shape(value), []
    value = raw(value)
    while type(value) is Batched:
        axes.append((value.level, value.batched))
        value = raw(value.array)
    held = [level for level, batched in reversed(axes) if batched]
    lengths = [size if level in held else 1 for level, size in different]
    return np.broadcast_to(np.reshape(value, (*lengths, *shape)), (*sizes, *shape))


def refuse_same(*arrays: Array) -> None:
    """Complain about random numbers that should be the same for all examples but depend on each example."""
    levels = _levels.get()
    if not levels:
        return
    _check_allowed(levels)
    for level, randomness, _ in levels:
        if randomness == "same" and any(_differs_at(array, level) for array in arrays):
            raise RuntimeError(
                "Vmap does not currently support same randomness with a batched tensor input. Draw uniform or normal "
                'numbers of a fixed size and compute what is wanted from these, or use randomness="different".'
            )


def refuse_different(array: Array) -> None:
    """Complain about a tensor that all examples share and that should be filled differently for each."""
    for level, randomness, _ in _levels.get():
        if randomness == "different" and not _differs_at(array, level):
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                "randomness. Fill a tensor that has room for each example: zeros_like(x) of one that is mapped over."
            )


def _differs_at(array: Array, level: int) -> bool:
    """True if an array has a value for each example of a level."""
    while type(array) is Batched:
        if array.level == level:
            return array.batched
        array = raw(array.array)
    return False


def _check_allowed(levels: tuple[tuple[int, str, int], ...]) -> None:
    for _, randomness, _ in levels:
        if randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )


def randomness_at(level: int) -> str:
    """The randomness of one level."""
    return next((randomness for number, randomness, _ in _levels.get() if number == level), "error")

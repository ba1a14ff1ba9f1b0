"""Inputs with which tests run operations: the `samples` of each, a function of `draw` that gives pairs of inputs and parameters.

`draw(*shape)` gives numbers between -2 and 2, `draw(*shape, low=, high=)` others, `draw.whole(shape, below)` numbers to
count with. Among the shapes are some so large that kernels cut their work, and some without elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

Sample = tuple[tuple[Any, ...], dict[str, Any]]
Samples = Callable[[Any], Iterable[Sample]]


class Draw:
    """Random numbers of a dtype, always the same."""

    def __init__(self, dtype: Any = np.float64, seed: int = 0) -> None:
        self.rng: Any = np.random.default_rng(seed)
        self.dtype: Any = dtype

    def __call__(self, *shape: int, low: float = -2, high: float = 2) -> np.ndarray:
        return np.asarray(self.rng.uniform(low, high, shape)).astype(self.dtype)

    def whole(self, shape: tuple[int, ...], below: int) -> np.ndarray:
        """Whole numbers from 0 on."""
        return np.asarray(self.rng.integers(0, below, shape))


def reals(low: float = -2, high: float = 2, **params: Any) -> Samples:
    """One array of single elements: few, one, none and many."""

    def samples(draw: Draw) -> Iterator[Sample]:
        for shape in ((2, 3), (), (0, 2), (300, 400)):
            yield (draw(*shape, low=low, high=high),), params

    return samples


def rows(arity: int = 1, **params: Any) -> Samples:
    """Arrays of one shape, along the first axis and along the last."""

    def samples(draw: Draw) -> Iterator[Sample]:
        for shape in ((2, 3), (3,), (2, 3, 4), (0, 3), (300, 400)):
            for axis in sorted({0, len(shape) - 1}):
                yield tuple([draw(*shape) for _ in range(arity)]), {"axis": axis, **params}

    return samples


def pairs_to_reduce(draw: Draw, *params: dict[str, Any]) -> Iterator[Sample]:
    """Two arrays of one shape, and all that a loss can do with its elements."""
    for shape in ((2, 3), (), (0, 2), (300, 400)):
        for reduction in ("none", "mean", "sum"):
            for each in params:
                yield (draw(*shape), draw(*shape)), {"reduction": reduction, **each}


def arrays(*shapes: tuple[int, ...], between: tuple[float, float] = (-2, 2), **params: Any) -> Samples:
    """Arrays of these shapes, one for each input."""
    low, high = between
    return lambda draw: [(tuple([draw(*shape, low=low, high=high) for shape in shapes]), params)]

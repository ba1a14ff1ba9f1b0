"""Samplers that reject and retry: Poisson and binomial, bit for bit those of torch.

How many words an element takes depends on what was drawn, so elements are drawn one after the other, in float64
Python arithmetic with the C library's functions, as torch's own scalar loops do. Many elements with the same parameters
are drawn together: Hörmann's methods take two uniforms for every try, so that all tries are made at once.
Lives here: those two. Does not live here: gamma and Dirichlet (gammas.py), samplers with a fixed number of draws
(streams.py, discrete.py), argument checks and Tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...core.basics.quiet import restore, silence, warning_settings
from ..thresholds import ALIKE_TOGETHER, PARAMETERS_BY_PYTHON
from .engine import Generator, Window
from .streams import c_library, cast

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_CLOSE = 1e-9  # where NumPy's last bits may matter, the C library's logarithm decides
# What Stirling's formula leaves out of log(k!), for k = 0 .. 9.
_STIRLING_TAIL = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


class _Method:
    """A way to draw numbers with given parameters."""

    __slots__ = ()

    def draw(self, uniforms: list[float], position: int) -> tuple[float, int]:
        """One number, and the position behind what it took; IndexError where the uniforms do not suffice."""
        raise NotImplementedError

    def draw_many(self, window: Window, count: int) -> Any:
        """So many numbers."""
        values: list[float] = []
        least = 64
        while len(values) < count:
            found, used = self.draw_some(window.listed(4 * (count - len(values)), least), count - len(values))
            values += found
            window.position += used
            least *= 1 if used else 2
        return values

    def draw_some(self, uniforms: list[float], count: int) -> tuple[list[float], int]:
        """As many numbers as are wanted or the uniforms suffice for, and how many of these they took."""
        raise NotImplementedError


class _Constant(_Method):
    """A number that takes nothing."""

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value: float = value

    def draw(self, uniforms: list[float], position: int) -> tuple[float, int]:
        return self.value, position

    def draw_many(self, window: Window, count: int) -> Any:
        return self.value


class _TransformedRejection(_Method):
    """Hörmann (1993): k is a function of two uniforms, and taken at once, after a test, or not at all.

    The function is (2 a / margin + b) u + center, and what the distribution adds to that.
    """

    __slots__ = ("a", "b", "center", "quick")
    a: float
    b: float
    center: float
    quick: float
    beyond_center: float = 0.0

    def is_possible(self, k: Any, margin: Any, v: Any) -> Any:
        """True if the test is worth doing."""
        raise NotImplementedError

    def excess(self, k: Any, margin: Any, v: Any, log: Callable[[Any], Any]) -> Any:
        """The test: k is accepted where this is not positive."""
        raise NotImplementedError

    def draw(self, uniforms: list[float], position: int) -> tuple[float, int]:
        a, b, center, beyond, quick, floor = self.a, self.b, self.center, self.beyond_center, self.quick, math.floor
        while True:
            u, v = uniforms[position] - 0.5, uniforms[position + 1]
            position += 2
            margin = 0.5 - abs(u)
            k = floor((2 * a / margin + b) * u + center + beyond)
            if margin >= 0.07 and v <= quick:
                return k, position
            if self.is_possible(k, margin, v) and self.excess(k, margin, v, math.log) <= 0:
                return k, position

    def draw_many(self, window: Window, count: int) -> Any:
        parts = []
        while count:
            if window.left < 2:
                window.renew(2)
            pairs = window.uniforms[window.position :][: window.left // 2 * 2].reshape(-1, 2)[: 2 * count]
            u, v = pairs[:, 0] - 0.5, pairs[:, 1]
            margin = 0.5 - np.abs(u)
            k = np.floor((2 * self.a / margin + self.b) * u + self.center + self.beyond_center)
            accepted = (margin >= 0.07) & (v <= self.quick)
            undecided = np.flatnonzero(~accepted & self.is_possible(k, margin, v))
            excess = self.excess(k[undecided], margin[undecided], v[undecided], np.log)
            accepted[undecided] = excess <= 0
            for place in undecided[np.abs(excess) < _CLOSE].tolist():
                accepted[place] = self.excess(k.item(place), margin.item(place), v.item(place), math.log) <= 0
            found = np.flatnonzero(accepted)[:count]
            parts.append(k[found])
            count -= found.size
            window.position += 2 * (len(pairs) if count else int(found[-1]) + 1)
        return np.concatenate(parts)


def _each(function: Callable[[float], float], values: Any) -> Any:
    """A function of a whole number, or of many of which most are equal."""
    if not isinstance(values, np.ndarray):
        return function(values)
    distinct, places = np.unique(values, return_inverse=True)
    return np.array([function(value) for value in distinct.tolist()])[places]


Methods = Callable[..., Iterator[_Method]]
"""Methods for elements in turn, given their parameters as arrays: each may be the last one, changed."""


def _drawn(generator: Generator, methods: Methods, *parameters: np.ndarray) -> np.ndarray:
    """A number for each element of the parameters, by the method for them."""
    count = parameters[0].size
    values = np.empty(count)
    differ = np.logical_or.reduce([column[1:] != column[:-1] for column in parameters])
    changes: list[int] = (np.flatnonzero(differ) + 1).tolist()
    window = Window(generator, 2 * count + 16)
    turn = 0  # the elements from here on, up to the next long row of equal ones, are drawn in turn
    for begin, end in zip([0, *changes], [*changes, count]):
        together = end - begin >= ALIKE_TOGETHER
        stop = begin if together else end if end == count else turn
        if turn < stop:
            values[turn:stop] = _in_turn(window, methods(*(column[turn:stop] for column in parameters)), stop - turn)
        if together:
            method = next(methods(*(column[begin : begin + 1] for column in parameters)))
            values[begin:end] = method.draw_many(window, end - begin)
            turn = end
    window.finish()
    return values


def _in_turn(window: Window, methods: Iterator[_Method], count: int) -> list[float]:
    values: list[float] = []
    uniforms: list[float] = []
    position, least = 0, 16
    for method in methods:
        while True:
            try:
                value, position = method.draw(uniforms, position)
                break
            except IndexError:  # once more from the beginning of this element, with more uniforms
                least *= 2 if position == 0 else 1
                window.position += position
                uniforms, position = window.listed(4 * (count - len(values)), least), 0
        values.append(value)
    window.position += position
    return values


# ---------------------------------------------------------------------- Poisson


def poisson(generator: Generator, rate: np.ndarray) -> np.ndarray:
    """Poisson counts of the given rates, in their dtype."""
    settings = warning_settings()
    try:
        silence()
        with generator.lock:
            counts = _drawn(generator, _poisson_methods, rate.astype(_FLOAT64).ravel())
    finally:
        restore(settings)
    return cast(counts, rate.dtype).reshape(rate.shape)


def _poisson_methods(rate: np.ndarray) -> Iterator[_Method]:
    none, endless, small, large = _Constant(0), _Constant(math.inf), _SmallPoisson(), _LargePoisson()
    numbers: Iterator[Any]
    if rate.size <= PARAMETERS_BY_PYTHON:
        numbers = (_of_large_poisson(mean, math.sqrt) if mean >= 10 else None for mean in rate.tolist())
    else:
        numbers = zip(*(column.tolist() for column in _of_large_poisson(rate, np.sqrt)))
    for mean, its_numbers in zip(rate.tolist(), numbers):
        if mean == math.inf:
            yield endless
        elif mean >= 10:
            large.center, (large.b, large.a, large.quick) = mean, its_numbers
            yield large
        elif mean == 0:
            yield none
        else:
            small.limit = math.exp(-mean)
            yield small


def _of_large_poisson(rate: Any, sqrt: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    b = 0.931 + 2.53 * sqrt(rate)
    return b, -0.059 + 0.02483 * b, 0.9277 - 3.6224 / (b - 2)


class _SmallPoisson(_Method):
    """The number of uniforms whose product is still above a limit."""

    __slots__ = ("limit",)
    limit: float

    def draw(self, uniforms: list[float], position: int) -> tuple[float, int]:
        start, limit, product = position, self.limit, uniforms[position]
        while product > limit:
            position += 1
            product *= uniforms[position]
        return position - start, position + 1

    def draw_some(self, uniforms: list[float], count: int) -> tuple[list[float], int]:
        values: list[float] = []
        start = position = 0
        limit = self.limit
        try:
            for _ in range(count):
                start = position
                product = uniforms[position]
                while product > limit:
                    position += 1
                    product *= uniforms[position]
                values.append(position - start)
                position += 1
        except IndexError:
            position = start
        return values, position


class _LargePoisson(_TransformedRejection):
    """PTRS; the center is the rate."""

    __slots__ = ()
    beyond_center: float = 0.43

    def is_possible(self, k: Any, margin: Any, v: Any) -> Any:
        return (k >= 0) & ((margin >= 0.013) | (v <= margin))

    def excess(self, k: Any, margin: Any, v: Any, log: Callable[[Any], Any]) -> Any:
        rate = self.center
        inverse_alpha = 1.1239 + 1.1328 / (self.b - 3.4)
        left = log(v) + math.log(inverse_alpha) - log(self.a / (margin * margin) + self.b)
        return left - (-rate + k * math.log(rate) - _each(math.lgamma, k + 1))


# ---------------------------------------------------------------------- binomial


def binomial(generator: Generator, count: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Successes among ``count`` trials of ``probability``, two arrays of one shape and dtype."""
    trials, chance = count.astype(_FLOAT64).ravel(), probability.astype(_FLOAT64).ravel()
    settings = warning_settings()
    try:
        silence()
        opposite = (1 - probability).astype(_FLOAT64).ravel()
        methods = partial(_binomial_methods, _FLOAT64 if count.dtype == _FLOAT64 else _FLOAT32)
        with generator.lock:
            rarer = _drawn(generator, methods, trials, np.minimum(chance, opposite))
        successes = np.where((chance > 0.5) & (trials > 0), trials - rarer, rarer)
    finally:
        restore(settings)
    return cast(successes, count.dtype).reshape(count.shape)


def _binomial_methods(dtype: np.dtype, count: np.ndarray, probability: np.ndarray) -> Iterator[_Method]:
    """For probabilities up to 1/2; what depends on the parameters alone has their precision."""
    none, small, large = _Constant(0), _SmallBinomial(), _LargeBinomial()
    pairs = zip(count.tolist(), probability.tolist())
    rows: Iterator[Any]
    if count.size <= PARAMETERS_BY_PYTHON:
        rounded: Callable[[Any], Any] = float if dtype == _FLOAT64 else lambda value: float(np.float32(value))
        rows = (
            (n, p, *(_of_binomial(n, p, rounded, math.sqrt, math.floor, math.log1p) if n > 0 and p > 0 else (0, 0)))
            for n, p in pairs
        )
    else:
        columns = _of_binomial(
            count, probability, lambda values: values.astype(dtype).astype(_FLOAT64),
            np.sqrt, np.floor, partial(c_library, "log1p"),
        )  # fmt: skip
        rows = ((n, p, *numbers) for (n, p), *numbers in zip(pairs, *(column.tolist() for column in columns)))
    for trials, chance, mean, log_failure, *numbers in rows:
        if trials <= 0 or chance <= 0:
            yield none
        elif chance != chance or trials != trials:
            yield _Constant(math.nan)
        elif mean >= 10:
            large.count = trials
            large.center, large.b, large.a, large.quick, large.alpha, large.odds, large.mode = numbers
            yield large
        else:
            small.count, small.log_failure = trials, log_failure
            yield small


def _of_binomial(count: Any, probability: Any, rounded: Any, sqrt: Any, floor: Any, log1p: Any) -> tuple[Any, ...]:
    """Compute what both methods need, of numbers or arrays: the mean, the logarithm of the opposite chance, BTRS's constants."""
    mean, failure = rounded(count * probability), rounded(1 - probability)
    deviation = rounded(sqrt(rounded(mean * failure)))
    b = rounded(1.15 + 2.53 * deviation)
    return (
        mean, rounded(log1p(-probability)), rounded(mean + 0.5), b,
        rounded(-0.0873 + 0.0248 * b + 0.01 * probability), rounded(0.92 - 4.2 / b),
        rounded((2.83 + 5.1 / b) * deviation), rounded(probability / failure),
        floor(rounded(rounded(count + 1) * probability)),
    )  # fmt: skip


class _SmallBinomial(_Method):
    """Jumps from success to success until the trials run out."""

    __slots__ = ("count", "log_failure")
    count: float
    log_failure: float

    def draw(self, uniforms: list[float], position: int) -> tuple[float, int]:
        start, count, log_failure, trials = position, self.count, self.log_failure, 0
        while True:
            trials += math.ceil(math.log(uniforms[position]) / log_failure)
            position += 1
            if trials > count:
                return position - start - 1, position

    def draw_some(self, uniforms: list[float], count: int) -> tuple[list[float], int]:
        gaps = np.ceil(np.array(list(map(math.log, uniforms))) / self.log_failure).tolist()
        values: list[float] = []
        start = position = 0
        limit = self.count
        try:
            for _ in range(count):
                start = position
                trials = gaps[position]
                while trials <= limit:
                    position += 1
                    trials += gaps[position]
                values.append(position - start)
                position += 1
        except IndexError:
            position = start
        return values, position


class _LargeBinomial(_TransformedRejection):
    """BTRS."""

    __slots__ = ("count", "alpha", "odds", "mode")
    count: float
    alpha: float
    odds: float
    mode: float

    def is_possible(self, k: Any, margin: Any, v: Any) -> Any:
        return (k >= 0) & (k <= self.count)

    def excess(self, k: Any, margin: Any, v: Any, log: Callable[[Any], Any]) -> Any:
        count, mode, odds = self.count, self.mode, self.odds
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * log(odds * (count - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(count - mode)
            - _each(_stirling_tail, k)
            - _each(_stirling_tail, count - k)
        )
        return log(v * self.alpha / (self.a / (margin * margin) + self.b)) - bound


def _stirling_tail(k: float) -> float:
    if k <= 9:
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)

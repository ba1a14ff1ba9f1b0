"""Gamma and Dirichlet numbers, bit for bit those of torch, many at a time.

torch draws element by element with Marsaglia and Tsang's method: each try takes a normal, of which a pair is made of two
uniforms and the second waits for the next try, and a uniform; a concentration below 1 takes one more uniform before its
tries. For concentrations from 1 on every try takes as much of the stream, so that all of a window are made together:
nine of ten are accepted whatever the concentration is (the squeeze), and only the others are looked at one by one.
Concentrations below 1, or of both kinds in turn, are drawn in turn.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from ...core.basics.quiet import restore, silence, warning_settings
from ..thresholds import ALIKE_TOGETHER, SHAPES_BY_PYTHON
from .engine import Generator, Window
from .streams import c_library, cast

_FLOAT64 = np.dtype(np.float64)
_ONE_THIRD = float(np.float32(1) / np.float32(3))
_SQUEEZE = float(np.float32(0.0331))
_TURN = 2.0 * math.pi


def standard_gamma(generator: Generator, concentration: np.ndarray) -> np.ndarray:
    """Gamma numbers of scale 1, in the dtype of ``concentration``, never below its smallest normal number.

    The dtype is float32 or float64: torch has no gamma numbers of half precision.
    """
    dtype = concentration.dtype
    values = _gammas(generator, concentration, dtype).astype(dtype)
    return np.maximum(values, np.finfo(dtype).tiny).reshape(concentration.shape)


def dirichlet(generator: Generator, concentration: np.ndarray) -> np.ndarray:
    """Points inside the simplex along the last axis, in the dtype of ``concentration``: no element is 0 or 1."""
    dtype = concentration.dtype
    gammas = _gammas(generator, concentration.astype(_FLOAT64), _FLOAT64).reshape(concentration.shape)
    gammas = np.maximum(gammas, np.finfo(_FLOAT64).tiny)
    *outer, length = gammas.shape
    points = cast(gammas / _row_sums(gammas.reshape(math.prod(outer), length)).reshape(*outer, 1), dtype)
    return np.clip(points, np.finfo(dtype).tiny, np.nextafter(dtype.type(1), dtype.type(0)), dtype=dtype)


def _row_sums(rows: np.ndarray) -> np.ndarray:
    """Sums of float64 rows in torch's order (of rows up to 256 long): four sums of four numbers each, then the rest."""
    fours = rows.shape[1] // 4
    whole = fours // 4 * 4
    vectors = rows[:, : 4 * fours].reshape(len(rows), fours, 4)
    sums = np.add.reduce(vectors[:, :whole].reshape(len(rows), whole // 4, 4, 4), axis=1)
    for number in range(whole, fours):
        sums[:, 0] += vectors[:, number]
    lanes = sums[:, 0] + sums[:, 1] + sums[:, 2] + sums[:, 3]
    total = np.zeros(len(rows))
    for column in (*rows[:, 4 * fours :].T, *lanes.T):
        total += column
    return total


def _gammas(generator: Generator, concentration: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Float64 gamma numbers, one for each element in order, for concentrations of ``dtype``."""
    shapes = concentration.ravel()
    if shapes.size <= SHAPES_BY_PYTHON:
        return np.array(_few_gammas(generator, shapes, dtype.type))
    drawn = np.flatnonzero(shapes)  # a concentration of 0 gives 0, and draws nothing
    values = np.zeros(shapes.size)
    if drawn.size:
        settings = warning_settings()
        try:
            silence()
            values[drawn] = _nonzero_gammas(generator, shapes[drawn], dtype.type)
        finally:
            restore(settings)
    return values


def _few_gammas(generator: Generator, shapes: np.ndarray, scalar: type[np.floating]) -> list[float]:
    """The same for a few numbers, where calling NumPy would cost more than the arithmetic."""
    values, one, third = [], scalar(1), scalar(_ONE_THIRD)
    with generator.lock:
        for shape in shapes:
            if shape == 0:
                values.append(0.0)
                continue
            raised = bool(shape < 1)
            d = float((shape + one if raised else shape) - third)
            c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan
            stream = _Stream(generator, [raised], [d], [c])
            (x,), bases = stream.draw_in_turn(0, 1)
            stream.finish()
            y = 1.0 + c * x
            values.append((math.pow(bases[0], float(one / shape)) if raised else 1.0) * d * (y * y * y))
    return values


def _nonzero_gammas(generator: Generator, shapes: np.ndarray, scalar: type[np.floating]) -> np.ndarray:
    raised = shapes < 1
    d = (np.where(raised, shapes + scalar(1), shapes) - scalar(_ONE_THIRD)).astype(np.float64)
    c = 1.0 / np.sqrt(9.0 * d)
    with generator.lock:
        normals, bases = _Stream(generator, raised.tolist(), d.tolist(), c.tolist()).draw_all()
    y = 1.0 + c * normals
    if bases:
        powers = (scalar(1) / shapes).astype(np.float64)[raised].tolist()
        d[raised] *= list(map(math.pow, bases, powers))
    return d * (y * y * y)


class _Stream(Window):
    """Draws the accepted normals of elements, and the bases of the powers that pay for concentrations below 1.

    The normal that waits is the generator's.
    """

    def __init__(self, generator: Generator, raised: list[bool], d: list[float], c: list[float]) -> None:
        super().__init__(generator, 3 * len(d) + 16)
        self._raised: list[bool] = raised
        self._d: list[float] = d
        self._c: list[float] = c
        self._tries: dict[int, _Tries] = {}

    def draw_all(self) -> tuple[np.ndarray, list[float]]:
        """The normals of all elements, and the bases of those below 1."""
        normals, bases = np.empty(len(self._d)), []
        raised = np.array(self._raised)
        changes: list[int] = (np.flatnonzero(raised[1:] != raised[:-1]) + 1).tolist()
        turn = 0  # the elements from here on, up to the next long row of those from 1 on, are drawn in turn
        for begin, end in zip([0, *changes], [*changes, len(self._d)]):
            together = end - begin >= ALIKE_TOGETHER and not self._raised[begin]
            stop = begin if together else end if end == len(self._d) else turn
            if turn < stop:
                normals[turn:stop], further = self.draw_in_turn(turn, stop)
                bases += further
            if together:
                self._draw_together(begin, end, normals)
                turn = end
        self.finish()
        return normals, bases

    def renew(self, least: int) -> None:
        super().renew(least)
        self._tries.clear()

    def draw_in_turn(self, begin: int, end: int) -> tuple[list[float], list[float]]:
        """The normals of elements, and the bases of those below 1; written out, as a call takes as long as ten operations."""
        sqrt, log1p, log, sin, cos = math.sqrt, math.log1p, math.log, math.sin, math.cos
        raised, cs, ds, turn, squeeze = self._raised, self._c, self._d, _TURN, _SQUEEZE
        waiting = self.generator.cached_normal
        room = 16
        uniforms, position = self.listed(4 * (end - begin) + room, room), 0
        normals: list[float] = []
        bases: list[float] = []
        number, base = begin, 1.0
        while number < end:
            start, held, c = position, waiting, cs[number]
            try:
                if raised[number]:
                    base = 1 - uniforms[position]
                    position += 1
                while True:
                    if waiting is None:
                        angle, radius = turn * uniforms[position], sqrt(-2.0 * log1p(-uniforms[position + 1]))
                        position += 2
                        x, waiting = radius * cos(angle), radius * sin(angle)
                    else:
                        x, waiting = waiting, None
                    y = 1.0 + c * x
                    if y <= 0:
                        continue
                    u = 1 - uniforms[position]
                    position += 1
                    square = x * x
                    if u < 1.0 - squeeze * square * square:
                        break
                    v = y * y * y
                    if log(u) < 0.5 * square + ds[number] * (1.0 - v + log(v)):
                        break
            except IndexError:  # once more from the beginning of this element, with more uniforms
                room *= 2 if start == 0 else 1
                self.position, waiting = self.position + start, held
                uniforms, position = self.listed(4 * (end - number) + room, room), 0
                continue
            normals.append(x)
            if raised[number]:
                bases.append(base)
            number += 1
        self.position, self.generator.cached_normal = self.position + position, waiting
        return normals, bases

    def _draw_together(self, begin: int, end: int, normals: np.ndarray) -> None:
        """Fill in the normals of elements from 1 on."""
        while begin < end:
            if self.generator.cached_normal is None:
                if self.left < 4:
                    self.renew(4)
                begin = self._follow_tries(begin, end, normals)
                if begin == end:
                    return
            normals[begin : begin + 1], _ = self.draw_in_turn(begin, begin + 1)  # a normal waits, or is too small
            begin += 1

    def _follow_tries(self, begin: int, end: int, normals: np.ndarray) -> int:
        """Draw elements until all are drawn, the window ends or a normal is too small; the first that is not drawn."""
        phase = self.position % 4
        if phase not in self._tries:
            self._tries[phase] = _Tries(self.uniforms[phase:])
        tries = self._tries[phase]
        first = (self.position - phase) // 2
        last, rejected = tries.follow(first, self._d, self._c, begin, end)
        served = tries.normals[first:last]
        if rejected:
            kept = np.ones(served.size, bool)
            kept[np.subtract(rejected, first)] = False
            served = served[kept]
        normals[begin : begin + served.size] = served
        # The second try of two begins behind the first one's uniform, and its normal waits.
        self.position = phase + 4 * (last // 2) + 3 * (last % 2)
        if last % 2:
            self.generator.cached_normal = tries.normals.item(last)
        return begin + served.size


class _Tries:
    """All tries for concentrations from 1 on that uniforms hold: two normals of the first two, then two uniforms."""

    def __init__(self, uniforms: np.ndarray) -> None:
        rows = uniforms[: uniforms.size - uniforms.size % 4].reshape(-1, 4)
        angle = _TURN * rows[:, 0]
        radius = np.sqrt(-2.0 * c_library("log1p", -rows[:, 1]))
        normals = np.stack((radius * c_library("cos", angle), radius * c_library("sin", angle)), axis=1).reshape(-1)
        tests = 1 - rows[:, 2:].reshape(-1)
        square = normals * normals
        undecided = np.flatnonzero(~(tests < 1.0 - _SQUEEZE * square * square))
        self.normals: np.ndarray = normals
        self._undecided: list[int] = undecided.tolist()
        self._their_normals: list[float] = normals[undecided].tolist()
        self._their_tests: list[float] = tests[undecided].tolist()

    def follow(self, first: int, ds: list[float], cs: list[float], begin: int, end: int) -> tuple[int, list[int]]:
        """The try behind the last of those that serve the elements, and the ones among them that are rejected."""
        last = min(first + end - begin, self.normals.size)
        rejected: list[int] = []
        shift = begin - first
        for place in range(bisect_left(self._undecided, first), len(self._undecided)):
            number = self._undecided[place]
            if number >= last:
                break
            x, u = self._their_normals[place], self._their_tests[place]
            y = 1.0 + cs[number + shift] * x
            if y <= 0:  # takes another normal, but no other uniform: all that follows is shifted
                return number, rejected
            v = y * y * y
            if not math.log(u) < 0.5 * (x * x) + ds[number + shift] * (1.0 - v + math.log(v)):
                rejected.append(number)
                shift -= 1
                last = min(last + 1, self.normals.size)
        return last, rejected

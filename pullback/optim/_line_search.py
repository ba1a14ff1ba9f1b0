"""A line search for LBFGS that ends at a step with enough decrease and a flat enough slope (strong Wolfe)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SUFFICIENT_DECREASE: float = 1e-4
CURVATURE: float = 0.9


class Point(NamedTuple):
    """The objective at one step length: value, gradient, and slope along the search direction."""

    step: float
    value: float
    gradient: Any
    slope: Any


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Minimum of the cubic through two points with their slopes, kept within bounds; their middle if there is none."""
    low, high = bounds if bounds is not None else (min(a.step, b.step), max(a.step, b.step))
    with np.errstate(all="ignore"):
        slope_a, slope_b = np.float64(a.slope), np.float64(b.slope)
        first = slope_a + slope_b - 3 * (a.value - b.value) / np.float64(a.step - b.step)
        discriminant = first**2 - slope_a * slope_b
        if not discriminant >= 0:
            return (low + high) / 2.0
        root = np.sqrt(discriminant)
        if a.step <= b.step:
            best = b.step - (b.step - a.step) * ((slope_b + root - first) / (slope_b - slope_a + 2 * root))
        else:
            best = a.step - (a.step - b.step) * ((slope_a + root - first) / (slope_a - slope_b + 2 * root))
    return min(max(float(best), low), high)


def strong_wolfe(
    probe: Callable[[float], Point], start: Point, step: float, reach: float, tolerance: float, limit: int
) -> tuple[Point, int]:
    """Search from `start` with first trial `step`; returns the point found and the number of evaluations.

    `probe` evaluates the objective, `reach` is the largest element of the direction, `limit` bounds the trials.
    """
    new = probe(step)
    bracket, trials, done = _find_bracket(probe, start, new, limit)
    evaluations = trials + 1
    low, high = (0, 1) if bracket[0].value <= bracket[-1].value else (1, 0)
    stuck = False
    while not done and trials < limit:
        left, right = sorted(point.step for point in bracket)
        if (right - left) * reach < tolerance:
            break
        step = cubic_minimum(bracket[0], bracket[1])
        # A trial at the edge of the bracket makes no progress: allow it once, then move it inside.
        margin = 0.1 * (right - left)
        if min(right - step, step - left) < margin:
            if stuck or step >= right or step <= left:
                step = right - margin if abs(step - right) < abs(step - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = probe(step)
        evaluations += 1
        trials += 1
        if _too_high(new, start) or new.value >= bracket[low].value:
            bracket[high] = new
            low, high = (0, 1) if bracket[0].value <= bracket[1].value else (1, 0)
        else:
            if abs(new.slope) <= -CURVATURE * start.slope:
                done = True
            elif new.slope * (bracket[high].step - bracket[low].step) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
    return bracket[low], evaluations


def _find_bracket(
    probe: Callable[[float], Point], start: Point, new: Point, limit: int
) -> tuple[list[Point], int, bool]:
    """Lengthen the step until two points enclose a minimum, or one satisfies both conditions already."""
    previous = start
    trials = 0
    while trials < limit:
        if _too_high(new, start) or (trials > 1 and new.value >= previous.value):
            return [previous, new], trials, False
        if abs(new.slope) <= -CURVATURE * start.slope:
            return [new], trials, True
        if new.slope >= 0:
            return [previous, new], trials, False
        shortest = new.step + 0.01 * (new.step - previous.step)
        step = cubic_minimum(previous, new, (shortest, new.step * 10))
        previous, new = new, probe(step)
        trials += 1
    return [start, new], trials, False


def _too_high(point: Point, start: Point) -> bool:
    return bool(point.value > start.value + SUFFICIENT_DECREASE * point.step * start.slope)


def _cubic_interpolate(
    x1: float, f1: float, g1: Any, x2: float, f2: float, g2: Any, bounds: tuple[float, float] | None = None
) -> float:
    """`cubic_minimum` with the arguments of torch's function, which other optimizers import."""
    return cubic_minimum(Point(x1, float(f1), None, float(g1)), Point(x2, float(f2), None, float(g2)), bounds)


def _strong_wolfe(
    obj_func: Callable[..., Any], x: Any, t: float, d: Any, f: float, g: Any, gtd: Any, c1: float = SUFFICIENT_DECREASE,
    c2: float = CURVATURE, tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[float, Any, float, int]:  # fmt: skip
    """`strong_wolfe` with the arguments of torch's function; the two constants are those of the method."""

    def probe(step: float) -> Point:
        value, gradient = obj_func(x, step, d)
        return Point(step, float(value), gradient.clone(), float(gradient.dot(d)))

    start = Point(0.0, float(f), g.clone(), float(gtd))
    found, evaluations = strong_wolfe(probe, start, float(t), float(d.abs().max()), tolerance_change, max_ls)
    return found.value, found.gradient, found.step, evaluations

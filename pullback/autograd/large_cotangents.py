"""Large cotangents: rules and sums in blocks, or side by side, on all threads, over memory that nobody else needs.

A cotangent that only the engine knows may be written over; whether that is so, its reference count tells.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np
from numpy import generic, ndarray

from ..kernels.memory import is_own
from ..kernels.products import are_worth_a_thread
from ..kernels.threads import parallel_tasks
from .tape import LARGE, by_blocks


def run_by_blocks(
    rule: Any, cotangent: Any, values: Any, sources: tuple[Any, ...], params: dict[Any, Any] | None, last: bool
) -> Any:
    """An elementwise rule on large arrays, in blocks that fit the cache and on all threads.

    The last rule of a node writes over the cotangent, if that is known to nobody else.
    """
    given = [values[s] if type(s) is int else params[s] for s in sources]  # type: ignore[index]
    if any(type(value) is not ndarray and not isinstance(value, (int, float, complex, generic)) for value in given):
        gradient = rule(cotangent, *given)
        return gradient.copy() if gradient is cotangent else gradient
    into = cotangent if last and getrefcount(cotangent) <= REFS and is_own(cotangent) else None
    return by_blocks(rule, cotangent, *given, into=into)


def run_side_by_side(node: Any, cotangent: Any, values: Any, reach: set[Any] | None) -> list[Any]:
    """What the rules of a node send to each input: two products of matrices, say, on a thread each if that pays."""
    edges, params = node.edges, node.params
    calls = [call for call in node.plan.calls if reach is None or edges[call[0]] in reach]
    results: list[Any] = [None] * len(edges)

    def run(position: int, rule: Any, _: Any, sources: tuple[Any, ...]) -> None:
        results[position] = rule(cotangent, *[values[s] if type(s) is int else params[s] for s in sources])

    if type(cotangent) is ndarray and are_worth_a_thread(cotangent, *[v for v in values if type(v) is ndarray]):
        parallel_tasks(run, calls, products=True)
    else:
        for call in calls:
            run(*call)
    return results


def _references(value: object) -> int:
    return getrefcount(value)


def _lone_references() -> int:
    """The count of an object that one variable of one caller knows, as a function sees it: interpreters differ."""
    value = object()
    return _references(value)


REFS = _lone_references()


def sum_by_blocks(first: Any, second: Any) -> Any:
    """A sum of cotangents; large ones are added into the first, if that is known to nobody else."""
    if type(first) is ndarray and first.size >= LARGE and type(second) is ndarray:
        into = first if getrefcount(first) <= REFS and is_own(first) else None
        return by_blocks(np.add, first, second, into=into)
    return first + second

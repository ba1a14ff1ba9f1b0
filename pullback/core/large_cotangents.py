"""Large cotangents: rules and sums in blocks, or side by side, on all threads, over memory that nobody else needs.

A cotangent that only the engine knows may be written over; whether that is so, its reference count tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import TYPE_CHECKING

import numpy as np
from numpy import generic, ndarray

from ..kernels.memory import is_own
from ..kernels.products import are_worth_a_thread
from ..kernels.threads import parallel_tasks
from ..kernels.thresholds import MAYBE_BLOCKED
from .tape import by_blocks

if TYPE_CHECKING:
    from .basics.types import Cotangent, Gradient, Params, Pull, Reach, Values
    from .node import Node
    from .plan import Call, Plan


def run_by_blocks(call: Call, cotangent: Cotangent, values: Values, params: Params, spare: bool) -> Gradient:
    """An elementwise rule on large arrays, in blocks that fit the cache and on all threads.

    It writes over a cotangent that nobody else needs.
    """
    given = call.arguments(values, params)
    if any(type(value) is not ndarray and not isinstance(value, (int, float, complex, generic)) for value in given):
        gradient = call.rule(cotangent, *given)
        return gradient.copy() if gradient is cotangent else gradient
    return by_blocks(call.rule, cotangent, *given, into=cotangent if spare else None)


def run_side_by_side(node: Node, cotangent: Cotangent, values: Values, reach: Reach | None) -> list[Gradient]:
    """Run the rules of a node, on a thread each if that pays (two products of matrices, say): a gradient for each input."""
    calls = [call for call in node.plan.calls if reach is None or node.edges[call.position] in reach]
    return call_side_by_side(node.plan, calls, cotangent, values, node.params)


def call_side_by_side(
    plan: Plan, calls: Sequence[Call], cotangent: Cotangent, values: Values, params: Params
) -> list[Gradient]:
    """The results of some rules of a plan, aligned with its inputs."""
    results: list[Gradient] = [None] * len(plan.needs)

    def run(call: Call) -> None:
        results[call.position] = call.run(cotangent, values, params)

    if type(cotangent) is ndarray and are_worth_a_thread(cotangent, *[v for v in values if type(v) is ndarray]):
        parallel_tasks(run, [(call,) for call in calls], products=True)
    else:
        for call in calls:
            run(call)
    return results


def pull_by_blocks(plan: Plan) -> Pull:
    """`plan.pull` of elementwise rules on large arrays. The last writes over the cotangent, if nobody else knows that."""
    calls = plan.calls
    last = calls[-1]

    def pull(cotangent: Cotangent, values: Values, params: Params) -> list[Gradient]:
        results: list[Gradient] = [None] * len(plan.needs)
        for call in calls:
            if type(cotangent) is ndarray:
                spare = call is last and getrefcount(cotangent) <= REFS and is_own(cotangent)
                results[call.position] = run_by_blocks(call, cotangent, values, params, spare)
            else:
                results[call.position] = call.run(cotangent, values, params)
        return results

    return pull


def pull_side_by_side(plan: Plan) -> Pull:
    """`plan.pull` of rules that take long, such as two products of matrices: on a thread each, if that pays."""

    def pull(cotangent: Cotangent, values: Values, params: Params) -> list[Gradient]:
        return call_side_by_side(plan, plan.calls, cotangent, values, params)

    return pull


def _references(value: object) -> int:
    return getrefcount(value)


def _lone_references() -> int:
    """The count of an object that one variable of one caller knows, as a function sees it: interpreters differ."""
    value = object()
    return _references(value)


REFS = _lone_references()


def sum_by_blocks(first: Cotangent, second: Cotangent) -> Cotangent:
    """A sum of cotangents; large ones are added into the first, if that is known to nobody else."""
    if type(first) is ndarray and first.size >= MAYBE_BLOCKED and type(second) is ndarray:
        into = first if getrefcount(first) <= REFS and is_own(first) else None
        return by_blocks(np.add, first, second, into=into)
    return first + second

"""Cotangents that wait at a node, of one output or of several, and the call of one rule for all inputs."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from ..kernels.like import brought
from .large_cotangents import run_side_by_side, sum_by_blocks
from .node import Node
from .unbroadcast import unbroadcast_array, zeros_array

if TYPE_CHECKING:
    from .basics.types import Cotangent, DType, Edge, Function, Gradient, Params, Pull, Reach, Shape, Values
    from .plan import Plan


class _Undefined:
    """The cotangent of a node that has to run though nothing has arrived; plus a cotangent it is that cotangent."""

    shape: Any = ...  # no array's, so that the engine looks what arrived
    dtype: Any = None

    def __add__(self, gradient: Gradient) -> Any:
        return gradient


UNDEFINED = _Undefined()


def metadata_of(target: Edge, slot: int) -> tuple[Shape, DType]:
    """Shape and dtype of the cotangents an edge takes."""
    if not target.is_node:
        return target._array.shape, target._array.dtype
    return target.outputs[slot] if target.outputs else (target.shape, target.dtype)


def deliver_slot(
    target: Node,
    slot: int,
    gradient: Gradient,
    waiting: dict[Node, Cotangent],
    heap: list[tuple[int, Node]],
    unbroadcast: Function,
) -> None:
    """Add a gradient to one output of a node that has several, among the nodes that wait."""
    parts = waiting.get(target)
    if parts is None:
        parts = waiting[target] = [None] * len(target.outputs)
        heappush(heap, (-target.order, target))
    add_part(parts, slot, gradient, target, unbroadcast)


def add_part(
    parts: list[Cotangent], slot: int, gradient: Gradient, target: Node, unbroadcast: Function = unbroadcast_array
) -> None:
    """Add a gradient to the part of one output in a node's cotangent."""
    shape, dtype = target.outputs[slot]
    if gradient.shape != shape or gradient.dtype is not dtype:
        gradient = unbroadcast(gradient, shape, dtype)
    parts[slot] = gradient if parts[slot] is None else sum_by_blocks(parts[slot], gradient)


def with_zeros(node: Node, parts: list[Cotangent], zeros: Function) -> tuple[Cotangent, ...]:
    """The cotangents of several outputs, with zeros for those that got none unless the rule takes None."""
    if node.plan.takes_undefined:
        return tuple(parts)
    home = next((part for part in parts if part is not None), None)
    given = zip(parts, node.outputs, strict=True)
    return tuple([brought(zeros(*metadata), home) if part is None else part for part, metadata in given])


def run_joint(node: Node, cotangent: Cotangent, values: Values, reach: Reach | None) -> list[Gradient]:
    """Run a node's rule for all inputs; return the gradient for each, no array twice."""
    if node.plan.joint is None:
        return run_side_by_side(node, cotangent, values, reach)
    edges, needs = node.edges, node.plan.needs
    if type(cotangent) is list:  # of several outputs, some of which nothing may have been computed from
        cotangent = with_zeros(node, cotangent, zeros_array)
    if reach is not None:
        needs = tuple([target is not None and target in reach for target in edges])
    return call_jointly(node.plan, cotangent, values, node.params, needs)


def call_jointly(
    plan: Plan, cotangent: Cotangent, values: Values, params: Params, needs: Sequence[bool]
) -> list[Gradient]:
    """Call a plan's rule for all inputs; return the gradient for each, no array twice."""
    results = list(plan.joint.rule(cotangent, *plan.joint.arguments(values, params, needs)))  # type: ignore[union-attr]
    results += [None] * (len(needs) - len(results))
    known = set(map(id, cotangent)) if type(cotangent) is tuple else set()  # which may be the caller's own weights
    for position, result in enumerate(results):
        if type(result) is ndarray:
            if id(result) in known:
                results[position] = result.copy()
            known.add(id(result))
    return results


def pull_jointly(plan: Plan) -> Pull:
    """`plan.pull` of a rule for all inputs. Where it has no gradient for one that wants it, hooks behind that are told."""

    def pull(cotangent: Cotangent, values: Values, params: Params) -> list[Gradient]:
        results = call_jointly(plan, cotangent, values, params, plan.needs)
        return [
            result if needed and result is not None else UNDEFINED if needed else None
            for result, needed in zip(results, plan.needs, strict=False)
        ]

    return pull

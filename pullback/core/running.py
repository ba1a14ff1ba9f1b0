"""Facts about the running backward pass: its number, the node at work, the nodes that will run and in which order.

Asked by hooks and by tools that look at graphs, never by the engine, which notes a pass only where it calls functions of
the program (`Sweep.call`).
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

from ..autograd.graph import AccumulateGrad, accumulator_of
from .engine import running as running_sweep
from .grad_mode import is_multithreading_enabled
from .node import Node

if TYPE_CHECKING:
    from .basics.types import Edge

__all__ = ["execution_order", "keeps_graph", "pass_number", "running_node", "running_sweep", "will_run"]

_next_number = count().__next__


def running_node() -> Node | AccumulateGrad | None:
    """The node whose rules or hooks are running, None outside of a backward pass."""
    sweep = running_sweep()
    if sweep is None or sweep.place is None:
        return None
    return sweep.place.shown() if sweep.place.is_node else accumulator_of(sweep.place)


def pass_number() -> int:
    """A number for the running pass, -1 outside of one. Numbers grow by one for each pass that is asked."""
    sweep = running_sweep()
    if sweep is None:
        return -1
    if sweep.number < 0:
        sweep.number = _next_number()
    return sweep.number


def keeps_graph() -> bool:
    """Return True if the running pass was asked to retain the graph."""
    sweep = running_sweep()
    if sweep is None:
        raise RuntimeError("_get_current_graph_task_keep_graph should only be called during the backward pass")
    return sweep.retain


def will_run(node: Any) -> bool:
    """Return True if the running pass runs a node, or has run it already."""
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    sweep = running_sweep()
    if sweep is None:
        raise RuntimeError("_will_engine_execute_node should only be called during the backward pass")
    if isinstance(node, AccumulateGrad):
        if not sweep.accumulating:
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
                "This is currently not supported. Ask about nodes that are not leaves, or run backward(inputs=...)."
            )
        return node.anchor in sweep.reachable()
    return node in (sweep.reachable() if sweep.run_only is None else sweep.run_only)


def execution_order() -> list[Node | AccumulateGrad]:
    """All nodes of the running pass in the order in which they run; leaves as soon as their gradient is complete."""
    sweep = running_sweep()
    if sweep is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if is_multithreading_enabled():
        raise RuntimeError(
            "_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running:\n\nwith torch.autograd.set_multithreading_enabled(False):\n    ..."
        )
    arrivals = dict(sweep.count_visits())
    heap: list[tuple[int, Node]] = []
    order: list[Node | AccumulateGrad] = []

    def arrive(target: Edge) -> None:
        arrivals[target] -= 1
        if arrivals[target] == 0:
            if target.is_node:
                heappush(heap, (-target.order, target))
            else:
                order.append(accumulator_of(target))

    for target, _ in sweep.roots:
        arrive(target)
    while heap:
        node = heappop(heap)[1]
        order.append(node)
        if sweep.run_only is None or node in sweep.run_only:
            for target in node.edges:
                if target is not None and (sweep.reach is None or target in sweep.reach):
                    arrive(target)
    return order

"""Where a graph leads: which nodes lie on the way from the roots of a pass to what is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .basics.types import Reach, Root
    from .node import Node


def nodes_leading_to(roots: list[Root], wanted: Reach) -> tuple[Reach, set[Node], bool]:
    """Find the paths to the wanted targets: (nodes and leaves to send cotangents to, nodes that run, whether that is all)."""
    seen: set[Node] = set()
    stack = [target for target, _ in roots]
    leaves_only = True
    while stack:
        node = stack.pop()
        if node in seen or not node.is_node:
            leaves_only = leaves_only and (node.is_node or node in wanted)
            continue
        seen.add(node)
        leaves_only = leaves_only and node not in wanted
        for target in node.edges:
            if target is not None:
                stack.append(target)
    if leaves_only:  # all that can be reached is wanted
        return seen | wanted, seen, True
    run: set[Node] = set()
    for node in sorted(seen, key=lambda node: node.order):
        for target in node.edges:
            if target is not None and (target in wanted or target in run):
                run.add(node)
                break
    return run | wanted, run, False


def leads_to_hooks(node: Node) -> bool:
    """Return True if a pass from this node reaches a leaf with hooks."""
    seen = {node}
    stack = [node]
    while stack:
        for target in stack.pop().edges:
            if target is None or target in seen:
                continue
            seen.add(target)
            if target.order:
                stack.append(target)
            elif target._hooks is not None and target._hooks.any():
                return True
    return False


def leads_only_to(node: Node, wanted: Reach) -> bool:
    """Return True if a pass from this node ends at all of these leaves and at no others."""
    seen = {node}
    stack = [node]
    while stack:
        for target in stack.pop().edges:
            if target is None or target in seen:
                continue
            if target.order:
                stack.append(target)
            elif target not in wanted:
                return False
            seen.add(target)
    return wanted <= seen

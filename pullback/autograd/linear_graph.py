"""The graph of a linear layer as torch shows it: bias, input and the weight through a `TBackward0` node.

A layer is one operation here, and its node leads to the weight itself. Whoever asks a node where gradients go next may
hook into what it is told, so the node is rebuilt then, for good: as the product of matrices that torch records.
"""

from __future__ import annotations

from typing import Any

from ..ops import matmul, shape
from ..tensor import Tensor
from .node import FREED, Node
from .tape import wrap


def rebuild(node: Any) -> None:
    """Make the node of a layer that of a product with the transposed weight. Not in a pass, and not of batches of rows."""
    from .running import running_sweep

    biased = node.op is matmul.linear_layer
    found = dict(zip(node.plan.saves, node.saved, strict=False))
    x, weight = found.get(0), found.get(1)
    if len(node.shape) != 2 or running_sweep() is not None:
        return
    if any(value is not None and not isinstance(value, Tensor) for value in (x, weight)):
        return  # hooks have packed them
    edges, slots = list(node.edges), list(node.slots or (0,) * len(node.edges))
    kind = node.dtype.kind == "c"
    if edges[1] is not None:
        edges[1], slots[1] = _transposed(node, edges[1], slots[1], kind), 0
    op = matmul.addmm if biased else matmul.mm
    places = (2, 0, 1) if biased else (0, 1)  # where the product's operands stand in the layer
    node.edges = tuple(edges[place] for place in places)
    node.slots = tuple(slots[place] for place in places) if any(slots) else None
    node.plan = op.plan(
        sum(1 << number for number, edge in enumerate(node.edges) if edge is not None), len(places), kind
    )
    node.params = {"beta": 1, "alpha": 1} if biased else None
    factors = {len(places) - 2: x, len(places) - 1: _turned(weight, edges[1])}
    if node.saved is not FREED:
        node.saved = tuple(factors[code] for code in node.plan.saves)
    node.arrays = None  # the engine asks for them, and for writes since


def _transposed(node: Any, edge: Any, slot: int, complex_: bool) -> Any:
    """A node between the layer and its weight."""
    op = shape.matrix_transpose
    made = Node().prepare((edge,), (), {"axes": (1, 0)}, op.plan(1, 1, complex_), None, node.dtype)
    made.slots = (slot,) if slot else None
    weight_shape = edge._array.shape if not edge.is_node else edge.outputs[slot][0] if edge.outputs else edge.shape
    made.shape = tuple(reversed(weight_shape))
    made.order = node.order - 0.5  # between all that came before and the layer
    return made


def _turned(weight: Tensor | None, made: Any) -> Tensor | None:
    """The saved weight as the product takes it, with its history."""
    if weight is None:
        return None
    turned = wrap(weight._array.T)
    turned._storage = weight._storage
    if made is not None:
        turned._node, turned._requires_grad = made, True
    return turned

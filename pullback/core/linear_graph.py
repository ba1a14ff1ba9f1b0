"""The graph of a linear layer as torch shows it: bias, input and the weight through a `TBackward0` node.

A layer is one operation here, and its node leads to the weight itself. Whoever asks which node made a tensor, or where
gradients go next, may hook into what it is told, so the node is rebuilt then, for good: as the product of matrices that
torch records and, for inputs that are no matrices, the views around it.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ..ops import matmul, shape
from .node import FREED, Node, fill
from .tape import wrap
from .tensor import Tensor

if TYPE_CHECKING:
    from .basics.types import Array, Edge, Params, Saved, Shape
    from .op import Op


def rebuild(node: Node) -> None:
    """Make the node of a layer those that torch records. Not in a pass, and not where the weight is a vector."""
    from .running import running_sweep

    saved = dict(zip(node.plan.saves, node.saved, strict=False))
    if any(value is not None and not isinstance(value, Tensor) for value in saved.values()):
        return  # hooks have packed them
    if running_sweep() is not None or _weighs_with_vector(node, saved.get(1)):
        return
    _make_product(node if len(node.shape) == 2 else _product_of_rows(node))
    node.__class__ = Node  # whatever it was shown as before


def _weighs_with_vector(node: Node, weight: Tensor | None) -> bool:
    if weight is None and node.edges[1] is None:
        return len(node.edges) == 3 and node.edges[2] is not None and _shape_at(node, 2) == ()  # its bias is a number
    return len(_shape_at(node, 1) if weight is None else weight.shape) == 1


def _shape_at(node: Node, place: int) -> tuple[int, ...]:
    """The shape of the input that an edge leads to."""
    edge = node.edges[place]
    if not edge.is_node:
        return tuple(edge._array.shape)
    return tuple(edge.outputs[node.slots[place] if node.slots else 0][0] if edge.outputs else edge.shape)


def _product_of_rows(node: Node) -> Node:
    """A new node for the product of all rows as one matrix, of which the given node becomes a view."""
    is_row, biased = len(node.shape) == 1, node.op is matmul.linear_layer
    shape_of_rows = (prod(node.shape[:-1]), node.shape[-1])
    rows = fill(Node(), node.plan, node.edges, node.slots, node.saved, None, node.params, shape_of_rows, node.dtype)
    rows.order = node.order - 0.25
    if node.edges[0] is not None:
        x_shape = _shape_at(node, 0)
        flattened = (prod(x_shape[:-1]), x_shape[-1])
        op = shape.unsqueeze if is_row and not biased else shape.reshape
        _insert(rows, 0, op, {"shape": flattened} if op is shape.reshape else {"axis": 0}, flattened, (x_shape,))
    if node.saved is not FREED:
        saved = zip(node.plan.saves, node.saved, strict=True)
        rows.saved = tuple(_as_rows(value, rows.edges[0]) if code == 0 else value for code, value in saved)
    op = shape.reshape if biased else shape.squeeze_in_place if is_row else shape.unsafe_reshape
    node.plan, node.params = op.plan(1, 1, node.dtype.kind == "c"), {"shape": node.shape, "axes": (0,)}
    node.edges, node.slots, node.saved, node.arrays = (rows,), None, (shape_of_rows,), None
    return rows


def _as_rows(x: Tensor, made: Edge) -> Tensor:
    return _seen_otherwise(x, x._array.reshape(-1, x._array.shape[-1]), made)


def _make_product(node: Node) -> None:
    """Make the node of a layer that of a product with the transposed weight."""
    biased = node.op is matmul.linear_layer
    found = dict(zip(node.plan.saves, node.saved, strict=False))
    x, weight = found.get(0), found.get(1)
    if node.edges[1] is not None:
        transposed = tuple(reversed(_shape_at(node, 1)))
        _insert(node, 1, shape.matrix_transpose, {"axes": (1, 0)}, transposed, ())
    op = matmul.addmm if biased else matmul.mm
    places = (2, 0, 1) if biased else (0, 1)  # where the product's operands stand in the layer
    node.edges = tuple(node.edges[place] for place in places)
    node.slots = tuple(node.slots[place] for place in places) if node.slots else None
    node.plan = op.plan(
        sum(1 << number for number, edge in enumerate(node.edges) if edge is not None), len(places),
        node.dtype.kind == "c",
    )  # fmt: skip
    node.params = {"beta": 1, "alpha": 1} if biased else None
    turned = None if weight is None else _seen_otherwise(weight, weight._array.T, node.edges[-1])
    factors = {len(places) - 2: x, len(places) - 1: turned}
    if node.saved is not FREED:
        node.saved = tuple(factors[code] for code in node.plan.saves)
    node.arrays = None  # the engine asks for them, and for writes since


def _insert(node: Node, place: int, op: Op, params: Params | None, made_shape: Shape, saved: Saved) -> None:
    """Put a node between the product and what an edge leads to."""
    edges, slots = list(node.edges), list(node.slots or (0,) * len(node.edges))
    number, plan = (slots[place],) if slots[place] else None, op.plan(1, 1, node.dtype.kind == "c")
    made = fill(Node(), plan, (edges[place],), number, saved, None, params, made_shape, node.dtype)
    made.order = node.order - 0.5 + 0.125 * place  # between all that came before and the layer
    edges[place], slots[place] = made, 0
    node.edges, node.slots = tuple(edges), tuple(slots) if any(slots) else None


def _seen_otherwise(x: Tensor, array: Array, made: Edge) -> Tensor:
    """A saved operand in the form that the product takes, with its history."""
    turned = wrap(array)
    turned._storage = x._storage
    if made is not None:
        turned._node, turned._requires_grad = made, True
    return turned

"""Find which elements of a result depend on which elements of an input: the sparsity of a Jacobian, without computing it.

The graph of one forward pass is walked from the input on, and every node maps the index sets of its inputs to those
of its outputs. What an operation does to positions is found from its kind: elementwise ones keep them; linear ones
(slices, joins, sums, ...) are asked, by sending numbered positions through their own rules; products look at the
zeros of a constant factor; operations along an axis mix along it. Anything else is taken to mix everything, which is
safe: the answer may contain too much, never too little. It does not depend on where derivatives happen to be zero,
only on the path the program took.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.types import Cotangent, Edge, Function, Gradient, Shape
from ..core.cotangents import metadata_of
from ..core.engine import Sweep
from ..core.reach import nodes_leading_to
from ..core.saved import arrays_of
from ..core.unbroadcast import unbroadcast_array
from ..kernels.thresholds import PROBED_ENTRIES
from ..multi import treatments
from ..transforms.arrays.batched import Batched
from ..transforms.batched_grad import batch_level

if TYPE_CHECKING:
    from ..core.node import Node
    from ..core.tensor import Anchor, Tensor
    from ..multi.rows import Treatment

Pairs = tuple[np.ndarray, np.ndarray]  # (positions in the output, positions in the input)


class Dependence:
    """For each element of a tensor (flattened), the input elements it depends on: row starts and columns."""

    starts: np.ndarray
    columns: np.ndarray
    width: int

    def __init__(self, starts: np.ndarray, columns: np.ndarray, width: int) -> None:
        self.starts, self.columns, self.width = starts, columns, width

    @classmethod
    def of_pairs(cls, rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> Dependence:
        keys = np.unique(rows * width + columns) if width else np.zeros(0, np.int64)
        counts = np.bincount(keys // max(width, 1), minlength=height)
        return cls(np.concatenate([[0], np.cumsum(counts)]), keys % max(width, 1), width)

    def rows(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def through(self, pairs: Pairs) -> Pairs:
        """The dependences of outputs that come from these elements."""
        outs, ins = pairs
        counts = (self.starts[1:] - self.starts[:-1])[ins]
        total = int(counts.sum())
        before = np.cumsum(counts) - counts
        picks = np.arange(total) - np.repeat(before - self.starts[ins], counts)
        return np.repeat(outs, counts), self.columns[picks]


def dependence(output: Tensor, anchor: Anchor) -> Dependence:
    """Find which elements of a leaf each element of a tensor depends on, from the tensor's graph."""
    width, height = anchor._array.size, output._array.size
    nothing = np.zeros(0, np.int64)
    node = output._node
    if node is None:
        same = np.arange(width) if output.requires_grad and output._anchor is anchor else nothing
        return Dependence.of_pairs(same, same, height, width)
    _, running, _ = nodes_leading_to([(node, output._output_nr)], {anchor})
    known: dict[Edge, dict[int, Dependence]] = {anchor: {0: _identity(width)}}
    for step in sorted(running, key=lambda node: node.order):
        known[step] = _after(step, known, width)
    found = known.get(node, {}).get(output._output_nr)
    return Dependence.of_pairs(nothing, nothing, height, width) if found is None else found


def _identity(width: int) -> Dependence:
    return Dependence(np.arange(width + 1), np.arange(width), width)


def _after(node: Node, known: dict[Edge, dict[int, Dependence]], width: int) -> dict[int, Dependence]:
    """The dependences of a node's outputs."""
    outputs = node.outputs or ((node.shape, node.dtype),)
    slots = node.slots or (0,) * len(node.edges)
    sources = [
        (position, known[target][slot])
        for position, (target, slot) in enumerate(zip(node.edges, slots, strict=True))
        if target is not None and target in known and slot in known[target]
    ]
    varying = {position for position, _ in sources}
    answer = {}
    for slot, (shape, dtype) in enumerate(outputs):
        if dtype.kind not in "fcV":
            continue
        parts = []
        for position, source in sources:
            pairs = local_pairs(node, position, slot, varying)
            if pairs is None and len(sources) == 1:  # the positions are the same
                answer[slot] = source
                break
            parts.append((source.rows(), source.columns) if pairs is None else source.through(pairs))
        else:
            rows, columns = (
                np.concatenate([part[side] for part in parts] or [np.zeros(0, np.int64)]) for side in (0, 1)
            )
            answer[slot] = Dependence.of_pairs(rows, columns, math.prod(shape), width)
    return answer


# --- one operation ---------------------------------------------------------------------------------------------------


def local_pairs(node: Node, position: int, slot: int, varying: set[int]) -> Pairs | None:
    """Pairs of positions in an output and in the input they depend on; None if each depends on the same position."""
    target = node.edges[position]
    given = tuple(metadata_of(target, 0 if node.slots is None else node.slots[position])[0])
    made = tuple((node.outputs or ((node.shape, None),))[slot][0])
    op = node.op
    if op is None:
        return _everything(made, given)
    treatment = treatments.treatment_of(op)
    if treatment is treatments.treat_elementwise or treatment is treatments.treat_unreduced_loss and _unreduced(node):
        return None if made == given else _broadcast(made, given)
    if treatment in (treatments.treat_product, treatments.treat_linear, treatments.treat_times_vector):
        found = _of_product(node, position, made, given, varying)
        if found is not None:
            return found
    if op.kind == "linear":
        found = _of_linear(node, position, slot, made, given)
        if found is not None:
            return found
    axes: Any = (node.params or {}).get("axis", (node.params or {}).get("axes"))
    if axes is not None and treatment is treatments.treat_along_axes:
        return _grouped(made, given, axes)
    if treatment is treatments.treat_last_axes and position == 0 and made == given:
        return _grouped(made, given, tuple(range(len(given) - axes, len(given))))
    if position == 0 and made[:1] == given[:1] and _keeps_rows(node, treatment, made):
        return _by_row(made, given)
    return _everything(made, given)


def _keeps_rows(node: Node, treatment: Treatment | None, made: Shape) -> bool:
    if treatment is treatments.treat_convolution:
        return len(made) == len(node.params["stride"]) + 2
    if treatment is treatments.treat_unreduced_row_loss:
        return _unreduced(node)
    return treatment is treatments.treat_row_wise or treatment is treatments.treat_attention and len(made) > 2


def _unreduced(node: Node) -> bool:
    return node.params.get("reduction") == "none"


def _everything(made: Shape, given: Shape) -> Pairs:
    outs, ins = math.prod(made), math.prod(given)
    return np.repeat(np.arange(outs), ins), np.tile(np.arange(ins), outs)


def _broadcast(made: Shape, given: Shape) -> Pairs:
    ins = np.broadcast_to(np.arange(math.prod(given)).reshape(given), made).ravel()
    return np.arange(len(ins)), ins


def _by_row(made: Shape, given: Shape) -> Pairs:
    outs, ins = math.prod(made[1:]), math.prod(given[1:])
    first = np.arange(made[0])
    rows = np.repeat(np.arange(outs), ins), np.tile(np.arange(ins), outs)
    return (first[:, None] * outs + rows[0]).ravel(), (first[:, None] * ins + rows[1]).ravel()


def _grouped(made: Shape, given: Shape, axes: Any) -> Pairs:
    """Everything along the axes depends on everything along them."""
    numbers = {axis % max(len(given), 1) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,))}
    order = [axis for axis in range(len(given)) if axis not in numbers] + sorted(numbers)
    outer = math.prod(given[axis] for axis in range(len(given)) if axis not in numbers)
    ins = np.arange(math.prod(given)).reshape(given).transpose(order).reshape(outer, -1)
    if len(made) == len(given):
        outs = np.arange(math.prod(made)).reshape(made).transpose(order).reshape(outer, -1)
    else:
        outs = np.arange(math.prod(made)).reshape(outer, -1)
    shape = (outer, outs.shape[1], ins.shape[1])
    return np.broadcast_to(outs[:, :, None], shape).ravel(), np.broadcast_to(ins[:, None, :], shape).ravel()


def _of_product(node: Node, position: int, made: Shape, given: Shape, varying: set[int]) -> Pairs | None:
    """a @ b: an entry depends on a row of a and a column of b, except where a constant factor is zero."""
    op = node.op
    name = op.inputs[position]
    if name in ("bias", "x") and name != op.inputs[0] or name == "x" and "a" in op.inputs:
        return _broadcast(made, given)
    names = ("a", "b") if "a" in op.inputs else ("x", "weight")
    other = names[1 - names.index(name)]
    values = _saved_input(node, other)
    if values is None or values.ndim > 2:
        return None
    mask = np.asarray(values != 0) if op.inputs.index(other) not in varying else np.ones(values.shape, bool)
    if other == "weight":
        mask = mask.T
    if name == names[0]:  # rows times a constant matrix
        mask = mask if mask.ndim == 2 else mask[:, None]
        rows = math.prod(made) // max(mask.shape[1], 1)
        inner, column = np.nonzero(mask)
        first = np.arange(rows)[:, None]
        return (first * mask.shape[1] + column).ravel(), (first * mask.shape[0] + inner).ravel()
    mask = mask.reshape(-1, mask.shape[-1])  # a constant matrix times columns
    columns = math.prod(made) // max(mask.shape[0], 1)
    row, inner = np.nonzero(mask)
    every = np.arange(columns)
    ins = every * mask.shape[1] + inner[:, None] if name == "weight" else inner[:, None] * columns + every
    return (row[:, None] * columns + every).ravel(), ins.ravel()


def _saved_input(node: Node, name: str) -> np.ndarray | None:
    code = node.op.save_code(name)
    return np.asarray(arrays_of(node)[node.plan.saves.index(code)]) if code in node.plan.saves else None


# --- linear operations are asked -------------------------------------------------------------------------------------


def _of_linear(node: Node, position: int, slot: int, made: Shape, given: Shape) -> Pairs | None:
    """The positions of a linear operation, from what it does to numbers that stand for positions."""
    outs, ins = math.prod(made), math.prod(given)
    if not outs or not ins:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)

    def pulled(cotangent: Cotangent) -> Gradient:
        return _pull(node, position, slot, cotangent, given)

    found = _decoded(lambda codes: pulled(codes.reshape(made)), outs)  # every input in at most one output?
    if found is not None:
        return found[1], found[0]
    if len(node.op.inputs) == 1 == node.op.outputs:
        params = node.params or {}
        found = _decoded(lambda codes: node.op.forward(codes.reshape(given), **params), ins)  # or the other way round?
        if found is not None:
            return found
    if outs * ins > PROBED_ENTRIES:
        return None
    with batch_level() as level:
        basis = Batched(np.eye(outs).reshape(outs, *made), level)
        whole = pulled(basis)
    if type(whole) is not Batched or not whole.batched:
        return None
    rows, columns = np.nonzero(whole.array.reshape(outs, ins))
    return rows, columns


def _pull(node: Node, position: int, slot: int, cotangent: Cotangent, given: Shape) -> Gradient:
    """One node's pullback of a cotangent for one of its outputs, in the shape of one input."""
    sweep = Sweep([])
    if node.outputs is not None:
        parts: list = [None] * len(node.outputs)
        parts[slot] = cotangent
        cotangent = sweep.fill_missing(node, parts)
    result = sweep.call_rules(node, cotangent)[position]
    return unbroadcast_array(result, given, np.dtype(np.float64))


def _decoded(function: Function, count: int) -> Pairs | None:
    """If every result is a multiple of one of `count` numbers: (positions in the result, positions of the numbers).

    Position i is told by its binary digits, one run for each; a run on random numbers then has to agree.
    """
    scale = np.asarray(function(np.ones(count)), dtype=np.float64).ravel()
    places = np.zeros(scale.size, np.int64)
    numbers = np.arange(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        for bit in range(max(count - 1, 1).bit_length()):
            digit = np.asarray(function((numbers >> bit & 1).astype(np.float64)), dtype=np.float64).ravel() / scale
            places |= (digit > 0.5).astype(np.int64) << bit
    test = np.random.default_rng(0).random(count) + 0.5
    if places.max(initial=0) >= count:
        return None
    answer = np.asarray(function(test), dtype=np.float64).ravel()
    if not np.allclose(answer, scale * test[places], rtol=1e-9, atol=1e-12):
        return None
    used = np.nonzero(scale)[0]
    return used, places[used]

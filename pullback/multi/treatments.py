"""Treatments: operations keep the samples of a batch apart, given `SampleRows` (see `rows.py`). Layouts name them.

A treatment gets the pass, the node and the cotangent rows as an ordinary array (a tuple of arrays for operations with
several outputs), and returns the gradients of the node's inputs: `SampleRows` for inputs that have the samples along axis 0,
`Outer` or a batch for inputs that all samples share. None means that samples may be mixed here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..core.engine import Sweep
from ..core.saved import arrays_of
from ..core.unbroadcast import sum_to
from ..transforms.arrays.batched import Batched
from .rows import Outer, RowSweep, SampleRows, Treatment

if TYPE_CHECKING:
    from ..core.basics.types import Cotangent, Gradient, Shape
    from ..core.node import Node
    from ..core.op import Op


def _count(g: Cotangent) -> int:
    return len(g[0] if type(g) is tuple else g)


def treat_elementwise(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """Treat elements one by one; an operand that was broadcast along axis 0 is shared by the samples."""
    if node.plan.joint is not None:
        return None
    results: list[Gradient] = [None] * len(node.edges)
    for position in _wanted_positions(sweep, node):
        pulled = sweep.pulled(node, g, position)
        if pulled.shape != g.shape:
            pulled = np.broadcast_to(pulled, g.shape)
        results[position] = _gradient_of_operand(sweep, pulled, sweep.shape_of(node, position))
    return results


def _wanted_positions(sweep: RowSweep, node: Node) -> list[int]:
    return [position for position in range(len(node.edges)) if sweep.wanted(node, position)]


def _gradient_of_operand(sweep: RowSweep, pulled: np.ndarray, shape: Shape) -> SampleRows | Batched:
    """The gradient of an operand of `shape`, from gradients of the elements of the result."""
    count = len(pulled)
    if len(shape) == pulled.ndim and shape[0] == count:
        return SampleRows(sum_to(pulled, shape), sweep.level)
    inner = shape[1:] if len(shape) == pulled.ndim else shape
    padded = (count,) + (1,) * (pulled.ndim - 1 - len(inner)) + tuple(inner)
    return Batched(sum_to(pulled, padded).reshape((count, *shape)), sweep.level)


def treat_unreduced_loss(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """A loss of pairs of elements, without reduction."""
    return treat_elementwise(sweep, node, g) if node.params.get("reduction") == "none" else None


def treat_row_wise(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """Every input has the samples along axis 0."""
    if any(sweep.shape_of(node, position)[:1] != (_count(g),) for position in _wanted_positions(sweep, node)):
        return None
    results = Sweep.call_rules(sweep, node, g)
    return [
        None
        if result is None
        else SampleRows(np.asarray(result), sweep.level)
        if sweep.wanted(node, position)
        else None
        for position, result in enumerate(results)
    ]


def treat_reshape(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """Another shape for the same elements: parts that follow one another still do, if axis 0 holds whole ones."""
    shape = sweep.shape_of(node, 0)
    if not shape or not sweep.count or shape[0] % sweep.count or not g.size:
        return None
    return [SampleRows(g.reshape(shape), sweep.level)]


def treat_attention(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """Attention: the samples are apart if there is an axis for them besides those of positions and features."""
    return treat_row_wise(sweep, node, g) if _first_cotangent(g).ndim > 2 else None


def treat_unreduced_row_loss(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """A loss of one number for each sample (or for each of its pixels)."""
    return treat_row_wise(sweep, node, g) if node.params.get("reduction") == "none" else None


def treat_along_axes(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """Treat an operation along axes other than that of the samples."""
    params = node.params or {}
    axes = params.get("axis", params.get("axes"))
    if axes is None or type(g) is tuple and not node.op.first_only:
        return None
    ndim = len(sweep.shape_of(node, _wanted_positions(sweep, node)[0]))
    numbers = axes if isinstance(axes, (tuple, list)) else (axes,)
    if not ndim or any(number % ndim == 0 for number in numbers) or not len(numbers):
        return None
    return treat_row_wise(sweep, node, g)


def treat_permute(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """Axes in another order, the samples still first."""
    return treat_row_wise(sweep, node, g) if node.params["axes"][0] == 0 else None


def treat_expand(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    return [_gradient_of_operand(sweep, g, sweep.shape_of(node, 0))] if sweep.wanted(node, 0) else [None]


def treat_index(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """An index that takes something of every sample, in their order."""
    index = node.params["index"]
    index = index if isinstance(index, tuple) else (index,)
    if not index:
        return None
    first, rest = index[0], index[1:]
    if isinstance(first, slice):
        count = sweep.shape_of(node, 0)[0]
        apart = first.indices(count) == (0, count, 1) and not any(_is_array(i) for i in rest)
    else:
        apart = _is_array(first) and first.ndim == 1 and np.array_equal(first, np.arange(sweep.shape_of(node, 0)[0]))
        apart = apart and all(isinstance(i, int) or _is_array(i) and i.ndim == 1 for i in rest)
    return treat_row_wise(sweep, node, g) if apart else None


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def treat_last_axes(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """A normalisation over the last axes: each sample on its own, with shared scale and shift."""
    ndim = len(sweep.shape_of(node, 0)) if sweep.wanted(node, 0) else _first_cotangent(g).ndim
    if node.params["axes"] >= ndim:
        return None
    return by_example(sweep, node, g, ("x",), ("extras",))


def _first_cotangent(g: Cotangent) -> np.ndarray:
    return g[0] if type(g) is tuple else g


def treat_sample_by_sample(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """Each sample on its own, with shared weights: group norm, batch norm with fixed statistics, convolutions.

    Of convolutions these are the ones that kept columns of all samples together for the gradient of the weight.
    """
    return by_example(sweep, node, g, ("x",), ())


def treat_convolution(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """Convolutions and their transposes; the samples are axis 0 unless there is just one, without an axis of its own."""
    if g.ndim != len(node.params["stride"]) + 2:
        return None
    results: list[Gradient] = [None] * len(node.edges)
    inner = None
    for position in _wanted_positions(sweep, node):
        if position == 0:
            results[0] = SampleRows(sweep.pulled(node, g, 0), sweep.level)
        elif node.op.inputs[position] == "bias":
            results[position] = Batched(g.sum(tuple(range(2, g.ndim))), sweep.level)
        else:
            inner = inner or by_example(sweep, node, g, node.op.inputs[:1], (), only=position)
            results[position] = None if inner is None else inner[position]
    return results


def treat_recurrent_cell(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """A recurrent cell: states of each sample, shared weights."""
    return by_example(sweep, node, g, ("x", "hidden", "cell"), ())


def treat_lookup(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """Look rows of a table up: each sample adds to the rows it looked up."""
    shape, indices = sweep.shape_of(node, 0), sweep.saved(node, "indices")
    if indices is None or node.params.get("by_frequency") or not indices.ndim or len(indices) != len(g):
        return None
    table = np.zeros((sweep.count, *shape), g.dtype)
    sample = np.repeat(np.arange(sweep.count), indices.size // sweep.count).reshape(indices.shape)
    kept = slice(None) if node.params.get("padding") is None else indices != node.params["padding"]
    np.add.at(table, (sample[kept], indices[kept]), g[kept])
    return [Batched(table, sweep.level), *[None] * (len(node.edges) - 1)]


def treat_bags(sweep: RowSweep, node: Node, g: Cotangent) -> list[Gradient] | None:
    """Rows added up, or the largest taken, in bags: the samples are apart if each has the same number of rows."""
    bags, rows = sweep.saved(node, "bags"), sweep.shape_of(node, 0)[0]
    size = rows // max(sweep.count, 1)
    each = len(_first_cotangent(g)) // sweep.count
    if bags is None or not rows or not np.array_equal(bags // each, np.repeat(np.arange(sweep.count), size)):
        return None
    given, *others = Sweep.call_rules(sweep, node, g)
    return [SampleRows(np.asarray(given), sweep.level), *others]


def by_example(
    sweep: RowSweep, node: Node, g: Cotangent, rows: tuple[str, ...], listed: tuple[str, ...], only: int | None = None
) -> list[Gradient] | None:
    """The rules on a batch of samples, each a batch of one; `rows` are the inputs with samples along axis 0."""
    count = _count(g)

    def sample(value: Cotangent) -> Cotangent:
        if type(value) is tuple:
            return tuple(sample(part) for part in value)
        fits = isinstance(value, np.ndarray) and value.ndim and len(value) == count
        return Batched(value[:, None], sweep.level) if fits else value

    values = []
    for code, value in zip(node.plan.saves, arrays_of(node), strict=True):
        if type(code) is int and code >= 0 and node.op.inputs[code] in rows or code in listed:
            value = sample(value)
        elif type(code) is tuple and node.op.inputs[code[1]] in rows:
            value = (1, *value[1:])
        values.append(value)
    cotangent = sample(g)
    results: list[Gradient] = [None] * len(node.edges)
    if node.plan.joint is not None:
        joint = node.plan.joint
        needs = tuple(sweep.wanted(node, position) for position in range(len(node.edges)))
        results[:] = joint.rule(cotangent, *joint.arguments(values, node.params, needs))
    for call in node.plan.calls:
        if sweep.wanted(node, call.position) and only in (None, call.position):
            results[call.position] = call.run(cotangent, values, node.params)
    for position, result in enumerate(results):
        if type(result) is Batched and node.op.inputs[position] in rows:
            results[position] = SampleRows(result.array[:, 0], sweep.level)
    return results


# --- products --------------------------------------------------------------------------------------------------------


def _steps(array: np.ndarray) -> np.ndarray:
    """(samples, steps, features): a factor of `Outer`."""
    return array.reshape(len(array), math.prod(array.shape[1:-1]), array.shape[-1])


def treat_linear(sweep: RowSweep, node: Node, g: np.ndarray) -> list[Gradient] | None:
    """x @ weight.T + bias."""
    results: list[Gradient] = [None] * len(node.edges)
    for position in _wanted_positions(sweep, node):
        name = node.op.inputs[position]
        if name == "x":
            shape = sweep.shape_of(node, 0)
            if len(shape) < 2 or len(_weight_shape(sweep, node)) != 2:
                return None
            results[position] = SampleRows(sweep.pulled(node, g, position), sweep.level)
        elif name == "bias":
            results[position] = _gradient_of_operand(sweep, g, sweep.shape_of(node, position))
        else:
            x = sweep.saved(node, "x")
            if x is None or x.ndim < 2 or len(sweep.shape_of(node, position)) != 2:
                return None
            results[position] = Outer(_steps(g), _steps(np.asarray(x)), sweep.level)
    return results


def _weight_shape(sweep: RowSweep, node: Node) -> Shape:
    weight = sweep.saved(node, "weight")
    return () if weight is None else weight.shape


def treat_product(sweep: RowSweep, node: Node, g: np.ndarray) -> list[Gradient] | None:
    """a @ b with the samples in the rows of a, or in both; or beta * x + alpha * (a @ b)."""
    results: list[Gradient] = [None] * len(node.edges)
    params = node.params or {}
    for position in _wanted_positions(sweep, node):
        name, shape = node.op.inputs[position], sweep.shape_of(node, position)
        if name == "x":
            results[position] = _gradient_of_operand(sweep, g * params["beta"], shape)
        elif name == "a" and len(shape) == g.ndim >= 2 and shape[0] == len(g):
            results[position] = SampleRows(sweep.pulled(node, g, position), sweep.level)
        elif name == "b":
            a = sweep.saved(node, "a")
            if a is None or a.ndim != g.ndim or g.ndim < 2:
                return None
            if len(shape) == 2:
                left = g if params.get("alpha", 1) == 1 else g * params["alpha"]
                results[position] = Outer(_steps(a), _steps(left), sweep.level)
            elif len(shape) == g.ndim and shape[0] == len(g):
                results[position] = SampleRows(sweep.pulled(node, g, position), sweep.level)
            else:
                return None
        else:
            return None
    return results


def treat_times_vector(sweep: RowSweep, node: Node, g: np.ndarray) -> list[Gradient] | None:
    """A matrix of samples times a vector."""
    results: list[Gradient] = [None] * len(node.edges)
    for position in _wanted_positions(sweep, node):
        if node.op.inputs[position] == "a":
            if len(sweep.shape_of(node, position)) != 2:
                return None
            results[position] = SampleRows(sweep.pulled(node, g, position), sweep.level)
        else:
            a = sweep.saved(node, "a")
            if a is None or a.ndim != 2:
                return None
            results[position] = Batched(g[:, None] * a, sweep.level)
    return results


def treatment_of(op: Op | None) -> Treatment | None:
    """The treatment of rows that an operation's layout names; None if the operation may mix them."""
    return None if op is None or op.batch is None else op.batch.rows

"""Jacobians of losses that have been computed already, by one batched pass over their graph, and what to do with them.

`jacobian`, `per_sample_gradients`, `gramian` and `per_sample_norms` start from the graph of an ordinary forward pass
and leave it as it is; `backward` fills `.grad` with an aggregate of the rows, or changes nothing if anything fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import roots
from ..core.engine import sweep_back
from ..core.hooks import add_to_leaves
from ..core.tape import wrap
from ..core.tensor import Tensor, anchor_of
from ..func.reverse import _split_rows, standard_basis
from ..functional.registry import FUNCTIONS
from ..transforms.arrays.batched import Batched
from ..transforms.batched_grad import batch_level, gradient_rows, unbatched
from ..utils._pytree import tree_flatten, tree_unflatten
from .rows import Outer, RowSweep, SampleRows

if TYPE_CHECKING:
    from ..core.basics.types import Edge, Gradient


def jacobian(
    outputs: Any, inputs: Any, *, create_graph: bool = False, retain_graph: bool = True, chunk_size: int | None = None
) -> Any:
    """The derivatives of all elements of `outputs` with respect to `inputs`, from the graph that computed them.

    Both may be a tensor or any nesting of lists, tuples and dicts. The result has the structure of `outputs`, each
    entry that of `inputs`, each leaf the shape (*output.shape, *input.shape); zeros where nothing depends. `chunk_size`
    limits how many rows are computed in one pass.
    """
    flat_out, out_spec = tree_flatten(outputs)
    flat, spec = tree_flatten(inputs)
    _check(flat_out, flat, "jacobian")
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"chunk_size should be greater than 0, got {chunk_size}")
    columns = _columns(flat_out, flat, create_graph, retain_graph, chunk_size)
    blocks = _split_rows(columns, flat_out, flat)
    return tree_unflatten([tree_unflatten(row, spec) for row in blocks], out_spec)


def backward_batched(
    losses: Any, weightings: Any, inputs: Any, *, create_graph: bool = False, retain_graph: bool | None = None
) -> Any:
    """The gradients of many weightings of the losses in one pass: `backward(gradient=w)` for each w, without `.grad`.

    `weightings` has the shape (K, *losses.shape), for nested losses one such tensor for each. The result has the
    structure of `inputs`, each leaf with K gradients along a new first axis.
    """
    flat_out, out_spec = tree_flatten(losses)
    flat, spec = tree_flatten(inputs)
    _check(flat_out, flat, "backward_batched")
    if isinstance(losses, Tensor):
        weights = [weightings]
    else:
        try:
            weights = out_spec.flatten_up_to(weightings)
        except ValueError as error:
            raise RuntimeError(f"the weightings must be nested as the losses are: {error}") from None
    found = gradient_rows(flat_out, flat, weights, create_graph=create_graph, retain_graph=retain_graph)
    return tree_unflatten(found, spec)


def per_sample_gradients(losses: Tensor, params: Any, *, retain_graph: bool = True) -> Any:
    """The gradient of every sample's loss: for each parameter, a tensor of shape (N, *parameter.shape).

    `losses` comes from an ordinary forward pass over a batch, with the samples along axis 0 (`reduction="none"`). If
    it has more axes, a sample's loss is the sum over them. The model need not be written for one sample. Where
    samples are treated one by one, as most layers do, this costs about one backward pass and the memory of the
    result; where they meet (batch norm), it is still right, and costs N backward passes from there on.
    """
    flat, spec = tree_flatten(params)
    _check([losses], flat, "per_sample_gradients")
    count = _samples(losses)
    found, level = _swept(losses, flat, retain_graph)
    answers: list = []
    for value, leaf in zip(found, flat, strict=True):
        if value is None:
            answers.append(wrap(np.zeros((count, *leaf._array.shape), leaf._array.dtype)))
        elif type(value) is Batched:
            answers.append(unbatched(wrap(value), count, level))
        else:
            answers.append(wrap(value.whole()))
    return tree_unflatten(answers, spec)


def per_sample_norms(losses: Tensor, params: Any = None, *, retain_graph: bool = True) -> Tensor:
    """The length of every sample's gradient, over all parameters together.

    For the weights of linear layers it follows from the lengths of the layer's inputs and cotangents; their gradients
    are not formed.
    """
    total: Any = 0.0
    for value in _contributions(losses, params, retain_graph):
        squares = value.squares() if type(value) is Outer else None
        if squares is None:
            rows = _matrix(value)
            squares = np.einsum("ij,ij->i", rows, rows.conj()).real
        total = total + squares
    total = np.asarray(total)
    return wrap(np.sqrt(np.broadcast_to(total, (_samples(losses),)) if not total.ndim else total))


def gramian(losses: Any, inputs: Any = None, *, chunk_size: int | None = None, retain_graph: bool = True) -> Tensor:
    """Inner products of the losses' gradients: the matrix J J^T without J.

    For the weights of linear layers it is the product, entry by entry, of the inner products of the layer's inputs
    and of its cotangents; other gradients are formed one parameter at a time. Losses that are one tensor are taken as
    a batch (see `per_sample_gradients`).
    """
    flat, _ = tree_flatten(losses)
    if len(flat) == 1 and flat[0]._array.ndim == 1 and chunk_size is None:
        values = _contributions(flat[0], inputs, retain_graph)
    else:
        targets = _targets(losses, inputs)
        _check(flat, targets, "gramian")
        values = [Batched(column._array, 0) for column in _columns(flat, targets, False, retain_graph, chunk_size)]
    total: Any = None
    for value in values:
        part = value.gramian() if type(value) is Outer else None
        if part is None:
            rows = _matrix(value)
            part = rows @ rows.conj().T
        total = part if total is None else total + part
    if total is None:
        count = sum(loss._array.size for loss in flat)
        total = np.zeros((count, count), flat[0]._array.dtype)
    return wrap(np.asarray(total))


def jacobian_matrix(losses: Any, inputs: Any = None, *, chunk_size: int | None = None) -> Tensor:
    """The Jacobian as one matrix: a row for each element of the losses, a column for each element of the inputs."""
    flat, _ = tree_flatten(losses)
    columns = _columns(flat, _targets(losses, inputs), False, True, chunk_size)
    return FUNCTIONS["cat"]([column.reshape(column.shape[0], -1) for column in columns], 1)


def leaves_of(outputs: Any, *, without: Any = ()) -> list[Tensor]:
    """All leaves that require grad and that the outputs were computed from, in the order of their first use.

    What they only depend on through the tensors `without` is left out.
    """
    flat, _ = tree_flatten(outputs)
    found: dict[Edge, int] = {}
    seen: set = {anchor_of(x) if x._node is None else x._node for x in tree_flatten(without)[0]}
    stack: list[Edge] = [anchor_of(x) if x._node is None else x._node for x in flat if x.requires_grad]
    while stack:
        target = stack.pop()
        if target in seen:
            continue
        seen.add(target)
        if not target.is_node:
            found.setdefault(target, 0)
            continue
        for edge in target.edges:
            if edge is None:
                continue
            if edge.is_node:
                stack.append(edge)
            elif edge.owner() is not None:
                found[edge] = min(found.get(edge, target.order), target.order)
    return [anchor.owner() for anchor in sorted(found, key=found.__getitem__)]


def backward(
    losses: Any, inputs: Any = None, *, aggregator: Callable[[np.ndarray], np.ndarray] | str | None = None,
    retain_graph: bool = False, chunk_size: int | None = None,
) -> None:  # fmt: skip
    """Add to `.grad` of the inputs (all leaves, if none are given) an aggregate of the gradients of several losses.

    `aggregator` maps the Jacobian matrix to one row (a name such as "upgrad" will do, too); the default is their sum,
    which is what `losses.sum().backward()` does. For a batch of losses and an aggregator that only needs inner products
    (a `Weighting`) the Jacobian is not formed: the Gramian gives the weights, and one ordinary pass the result.
    """
    from .aggregation import Weighting, aggregated, as_aggregator

    aggregator = as_aggregator(aggregator)
    flat, _ = tree_flatten(losses)
    targets = _targets(losses, inputs)
    _check(flat, targets, "backward")
    if isinstance(aggregator, Weighting) and len(flat) == 1 and flat[0]._array.ndim == 1 and chunk_size is None:
        _backward_by_weights(flat[0], targets, aggregator, retain_graph)
        return
    columns = [_matrix(column._array) for column in _columns(flat, targets, False, True, chunk_size)]
    add_to_leaves(gradients_for(targets, aggregated(aggregator, columns)[0]))
    if not retain_graph:
        freed(flat, targets)


def gradients_for(targets: list[Tensor], rows: list[np.ndarray]) -> dict[Edge, np.ndarray]:
    """Parts of one row as gradients of leaves, each with memory of its own."""
    return {
        anchor_of(target): np.array(row, target._array.dtype).reshape(target._array.shape)
        for target, row in zip(targets, rows, strict=True)
    }


def _backward_by_weights(losses: Tensor, targets: list[Tensor], aggregator: Any, retain_graph: bool) -> None:
    from .aggregation import Constant, Mean, Sum

    if isinstance(aggregator, (Sum, Mean, Constant)):  # these look at no gradient at all
        products = np.zeros((losses._array.size,) * 2)
    else:
        products = np.asarray(gramian(losses, targets)._array, dtype=np.float64)
    weights = aggregator.weigh(products).astype(losses._array.dtype)
    roots.backward(losses, wrap(weights), retain_graph=retain_graph, inputs=targets)


def freed(losses: list[Tensor], targets: list[Tensor]) -> None:
    """Free the graph as `backward` does, by a pass with nothing in it."""
    live = [loss for loss in losses if loss.requires_grad]
    zeros = [wrap(np.zeros(loss._array.shape, loss._array.dtype)) for loss in live]
    roots.grad(live, targets, zeros, allow_unused=True)


# --- passes ----------------------------------------------------------------------------------------------------------


def _targets(losses: Any, inputs: Any) -> list[Tensor]:
    if inputs is None:
        return leaves_of(losses)
    if isinstance(inputs, (Tensor, list, tuple, dict)):
        return tree_flatten(inputs)[0]
    return list(inputs)  # model.parameters()


def _check(outputs: list, inputs: list, name: str) -> None:
    for value in (*outputs, *inputs):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}() needs tensors computed from tensors, but got a {type(value).__name__}")
    for position, value in enumerate(inputs):
        if not value.requires_grad:
            raise RuntimeError(
                f"One of the differentiated Tensors does not require grad: input {position} of {name}(). Call "
                "requires_grad_() on it before the forward pass."
            )


def _samples(losses: Tensor) -> int:
    if not losses._array.ndim:
        raise ValueError('the losses of samples need an axis of their own: compute them with reduction="none"')
    return losses._array.shape[0]


def _contributions(losses: Tensor, params: Any, retain_graph: bool) -> list:
    """Each parameter's gradients for all samples, as batches or factors."""
    targets = _targets(losses, params)
    _check([losses], targets, "per_sample_gradients")
    _samples(losses)
    return [value for value in _swept(losses, targets, retain_graph)[0] if value is not None]


def _swept(losses: Tensor, inputs: list[Tensor], retain_graph: bool) -> tuple[list, int]:
    """One pass that keeps the samples apart; for each input a batch, `SampleRows`, `Outer` or None."""
    if not losses.requires_grad or not inputs:
        return [None] * len(inputs), 0
    root = roots.root_of(losses, 0, None)
    keys = [roots._edge_of(target) for target in inputs]
    with batch_level() as level:
        sweep = RowSweep([root], keys, level)
        ones = np.ones(losses._array.shape, losses._array.dtype)
        leaves = sweep_back(sweep, [SampleRows(ones, level)])
        arrived = [sweep.captured.get(key) if key[0].is_node else leaves.get(key[0]) for key in keys]
        count = len(losses._array)
        found = [value if value is None else _kept_apart(value, count, level) for value in arrived]
    if not retain_graph:
        sweep.free()
    return found, level


def _kept_apart(value: Gradient, count: int, level: int) -> Gradient:
    """Gradients of all samples; a hook may have answered with the same for each of them."""
    if type(value) in (SampleRows, Outer) or type(value) is Batched and value.batched:
        return value
    array = value.array if type(value) is Batched else value
    return Batched(np.broadcast_to(array, (count, *array.shape)), level)


def _matrix(value: Gradient) -> np.ndarray:
    array = value.array if type(value) is Batched else value if isinstance(value, np.ndarray) else value.whole()
    return array.reshape(len(array), math.prod(array.shape[1:]))


def _columns(
    outputs: list, inputs: list, create_graph: bool, retain_graph: bool, chunk_size: int | None
) -> list[Tensor]:
    """For each input, the gradients of all output elements, one row each."""
    live = [output for output in outputs if output.requires_grad]
    total = sum(output._array.size for output in outputs)
    if not live:
        return [wrap(np.zeros((total, *x._array.shape), x._array.dtype)) for x in inputs]
    plain = chunk_size is None and not create_graph and len(outputs) == 1 and outputs[0]._array.ndim == 1
    if plain and type(outputs[0]._array) is np.ndarray and outputs[0]._array.dtype.kind == "f":
        return per_sample_gradients(outputs[0], list(inputs), retain_graph=retain_graph)
    chunks = standard_basis(outputs, chunk_size)
    parts = []
    for number, basis in enumerate(chunks):
        weights = [weight for weight, output in zip(basis, outputs, strict=True) if output.requires_grad]
        retain = retain_graph or number + 1 < len(chunks)
        parts.append(gradient_rows(live, inputs, weights, create_graph=create_graph, retain_graph=retain))
    return [group[0] if len(group) == 1 else FUNCTIONS["cat"](list(group), 0) for group in zip(*parts, strict=True)]

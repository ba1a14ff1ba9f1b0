"""Jacobians of losses that have been computed already, by one batched pass over their graph; `backward` with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd import roots
from ..autograd.accumulate import commit
from ..autograd.tape import wrap
from ..func.reverse import _split_rows, standard_basis
from ..functional.registry import FUNCTIONS
from ..tensor import Tensor, anchor_of
from ..utils._pytree import tree_flatten, tree_unflatten


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
    _check(flat_out, flat)
    columns = _columns(flat_out, flat, create_graph, retain_graph, chunk_size)
    blocks = _split_rows(columns, flat_out, flat)
    return tree_unflatten([tree_unflatten(row, spec) for row in blocks], out_spec)


def _check(outputs: list, inputs: list) -> None:
    for value in (*outputs, *inputs):
        if not isinstance(value, Tensor):
            raise TypeError(f"jacobian() needs tensors computed from tensors, but got a {type(value).__name__}")
    for position, value in enumerate(inputs):
        if not value.requires_grad:
            raise RuntimeError(
                f"One of the differentiated Tensors does not require grad: input {position} of jacobian()"
            )


def _columns(
    outputs: list, inputs: list, create_graph: bool, retain_graph: bool, chunk_size: int | None
) -> list[Tensor]:
    """For each input, the gradients of all output elements, one row each."""
    live = [output for output in outputs if output.requires_grad]
    total = sum(output._array.size for output in outputs)
    if not live:
        return [wrap(np.zeros((total, *x._array.shape), x._array.dtype)) for x in inputs]
    chunks = standard_basis(outputs, chunk_size)
    parts = []
    for number, basis in enumerate(chunks):
        weights = [weight for weight, output in zip(basis, outputs, strict=True) if output.requires_grad]
        parts.append(
            roots.grad(
                live,
                inputs,
                weights,
                create_graph=create_graph,
                retain_graph=retain_graph or number + 1 < len(chunks),
                materialize_grads=True,
                is_grads_batched=True,
            )  # fmt: skip
        )
    return [group[0] if len(group) == 1 else FUNCTIONS["cat"](list(group), 0) for group in zip(*parts, strict=True)]


def leaves_of(outputs: Any) -> list[Tensor]:
    """All leaves that require grad and that the outputs were computed from."""
    flat, _ = tree_flatten(outputs)
    found: dict[Any, None] = {}
    seen: set = set()
    stack = [anchor_of(x) if x._node is None else x._node for x in flat if x.requires_grad]
    while stack:
        target = stack.pop()
        if target in seen:
            continue
        seen.add(target)
        if target.is_node:
            stack.extend(edge for edge in target.edges if edge is not None)
        elif target.owner() is not None:
            found[target] = None
    return [anchor.owner() for anchor in found]


def jacobian_matrix(losses: Any, inputs: Sequence[Tensor] | None = None, chunk_size: int | None = None) -> Tensor:
    """The Jacobian as one matrix: a row for each element of the losses, a column for each element of the inputs."""
    flat, _ = tree_flatten(losses)
    targets = leaves_of(losses) if inputs is None else list(inputs)
    columns = _columns(flat, targets, False, True, chunk_size)
    return FUNCTIONS["cat"]([column.reshape(column.shape[0], -1) for column in columns], 1)


def gramian(losses: Any, inputs: Sequence[Tensor] | None = None, chunk_size: int | None = None) -> Tensor:
    """Inner products of the losses' gradients, summed input by input: the whole Jacobian is never one matrix."""
    flat, _ = tree_flatten(losses)
    targets = leaves_of(losses) if inputs is None else list(inputs)
    total: Any = None
    for target in targets:
        (column,) = _columns(flat, [target], False, True, chunk_size)
        rows = np.asarray(column._array).reshape(column._array.shape[0], -1)
        product = rows @ rows.conj().T
        total = product if total is None else total + product
    return wrap(total)


def backward(
    losses: Any, inputs: Sequence[Tensor] | None = None, *,
    aggregator: Callable[[np.ndarray], np.ndarray] | None = None,
    retain_graph: bool = False, chunk_size: int | None = None,
) -> None:  # fmt: skip
    """Add to `.grad` of the inputs (all leaves, if none are given) an aggregate of the gradients of several losses.

    `aggregator` maps the Jacobian matrix to one row; the default adds the rows up, as `losses.sum().backward()` does.
    """
    from .aggregation import Sum

    flat, _ = tree_flatten(losses)
    targets = leaves_of(losses) if inputs is None else list(inputs)
    _check(flat, targets)
    columns = _columns(flat, targets, False, retain_graph, chunk_size)
    arrays = [np.asarray(column._array) for column in columns]
    matrix = np.concatenate([array.reshape(array.shape[0], -1) for array in arrays], 1)
    row = (aggregator or Sum())(matrix)
    collected, start = {}, 0
    for target in targets:
        array = target._array
        part = row[start : start + array.size].astype(array.dtype, copy=True).reshape(array.shape)
        collected[anchor_of(target)] = part
        start += array.size
    commit(collected, set(collected), False)

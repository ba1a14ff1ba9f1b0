"""Many weightings at once, kept at the leaves: `losses.backward(gradient=weightings, batched=True)` fills `.jac`.

A leaf's `.grad` has room for one row of its own shape. Its `.jac` holds a row for each weighting, in a tensor of shape
(K, *leaf.shape), and adds up over several passes as `.grad` does. `jac_to_grad` makes one gradient of the rows. The
names are torchjd's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..core import roots
from ..core.hooks import add_to_leaves
from ..core.tape import wrap
from ..core.tensor import Tensor, anchor_of
from ..functional.registry import FUNCTIONS
from ..utils._pytree import tree_flatten
from .aggregation import aggregated, as_aggregator
from .jacobians import _columns, _targets, backward_batched, freed, gradients_for, leaves_of


def backward_to_jac(
    losses: Any,
    weightings: Any = None,
    inputs: Any = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add to `.jac` of the inputs (all leaves, if none are given) the gradients of many weightings, in one pass.

    `weightings` has the shape (K, *losses.shape), for nested losses one such tensor for each. Without it every element
    of the losses is a row: `.jac` gets their Jacobian. A pass that fails changes nothing.
    """
    targets = _targets(losses, inputs)
    retain = create_graph if retain_graph is None else retain_graph
    if weightings is None:
        rows = _columns(tree_flatten(losses)[0], targets, create_graph, retain, None)
    else:
        rows = backward_batched(losses, weightings, targets, create_graph=create_graph, retain_graph=retain)
    _add_rows(targets, rows)


def _add_rows(targets: list[Tensor], rows: list[Tensor]) -> None:
    """Add to `.jac` of all targets, or of none if the rows do not fit what is there."""
    totals = []
    for target, row in zip(targets, rows, strict=True):
        present = getattr(target, "jac", None)
        if present is not None and present.shape != row.shape:
            raise RuntimeError(
                f"this pass has {row.shape[0]} rows, but .jac has {present.shape[0]} of an earlier one, to which they "
                "would be added. Clear it first: tensor.jac = None."
            )
        totals.append(row if present is None else present + row)
    for target, total in zip(targets, totals, strict=True):
        target.jac = total  # type: ignore[attr-defined]


def mtl_backward(
    losses: Sequence[Tensor], features: Any, *, grad_tensors: Sequence[Any] | None = None,
    tasks_params: Sequence[Iterable[Tensor]] | None = None, shared_params: Iterable[Tensor] | None = None,
    retain_graph: bool = False,
) -> None:  # fmt: skip
    """Of several tasks on shared features: each task's own parameters get `.grad`, the shared ones a row of `.jac` for each.

    The features are tensors between the shared part of the model and the tasks'. Without lists of parameters, the shared
    ones are the leaves behind the features, and a task's are the leaves that its loss does not reach through them.
    `grad_tensors` weight the elements of losses that are not numbers. A pass that fails changes nothing.
    """
    middle = tree_flatten(features)[0]
    if not losses or not middle:
        raise ValueError("mtl_backward() needs at least one loss and one tensor of features")
    shared = leaves_of(middle) if shared_params is None else list(shared_params)
    if tasks_params is None:
        owned = [leaves_of(loss, without=middle) for loss in losses]
    else:
        owned = [list(params) for params in tasks_params]
    weights = [None] * len(losses) if grad_tensors is None else list(grad_tensors)
    if not len(owned) == len(weights) == len(losses):
        raise ValueError(
            f"{len(losses)} losses need as many lists of parameters and weights: {len(owned)}, {len(weights)}"
        )
    if {id(leaf) for leaf in shared} & {id(leaf) for params in owned for leaf in params}:
        raise ValueError(
            "a parameter is either shared or of a task: tasks_params and shared_params have some in common"
        )
    collected: dict[Any, Any] = {}
    slopes: list[tuple] = []
    for loss, params, weight in zip(losses, owned, weights, strict=True):
        found = roots.grad(
            loss, [*params, *middle], weight, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        slopes.append(found[len(params) :])
        for leaf, gradient in zip(params, found, strict=False):
            anchor, array = anchor_of(leaf), gradient._array
            collected[anchor] = collected[anchor] + array if anchor in collected else array
    cotangents = [FUNCTIONS["stack"](rows) for rows in zip(*slopes, strict=True)]
    _add_rows(shared, backward_batched(middle, cotangents, shared, retain_graph=True))
    add_to_leaves(collected)
    if not retain_graph:
        freed(list(losses), [*shared, *(leaf for params in owned for leaf in params)])


def jac_to_grad(
    tensors: Iterable[Tensor], aggregator: Callable[[np.ndarray], np.ndarray] | str, *, retain_jac: bool = False
) -> Tensor | None:
    """Add an aggregate of the rows in `.jac` to `.grad`, and clear `.jac` unless it is to be retained.

    Returns the weights of the rows, if the aggregator is one that has them.
    """
    aggregator = as_aggregator(aggregator)
    targets = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    jacobians = [getattr(target, "jac", None) for target in targets]
    if any(rows is None for rows in jacobians):
        raise ValueError("some of the tensors have no .jac: fill it with losses.backward(batched=True) first")
    arrays = [np.asarray(rows.detach()._array) for rows in jacobians if rows is not None]
    if len({len(array) for array in arrays}) > 1:
        raise ValueError(f"all .jac need the same number of rows, got {[len(array) for array in arrays]}")
    weights = None
    if arrays:
        rows, weights = aggregated(aggregator, [array.reshape(len(array), -1) for array in arrays])
        add_to_leaves(gradients_for(targets, rows))
    if not retain_jac:
        for target in targets:
            target.jac = None  # type: ignore[attr-defined]
    return None if weights is None else wrap(weights.astype(arrays[0].dtype))

"""Many weightings at once, kept at the leaves: `losses.backward(gradient=weightings, batched=True)` fills `.jac`.

A leaf's `.grad` has room for one row of its own shape. Its `.jac` holds a row for each weighting, in a tensor of shape
(K, *leaf.shape), and adds up over several passes as `.grad` does. `jac_to_grad` makes one gradient of the rows. The
names are torchjd's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..autograd.accumulate import commit
from ..autograd.tape import wrap
from ..tensor import Tensor, anchor_of
from ..utils._pytree import tree_flatten
from .aggregation import Weighting
from .jacobians import _columns, _targets, backward_batched


def backward_to_jac(
    losses: Any, weightings: Any = None, inputs: Any = None, *, retain_graph: bool | None = None, create_graph: bool = False
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


def jac_to_grad(
    tensors: Iterable[Tensor], aggregator: Callable[[np.ndarray], np.ndarray], *, retain_jac: bool = False
) -> Tensor | None:
    """Add an aggregate of the rows in `.jac` to `.grad`, and clear `.jac` unless it is to be retained.

    Returns the weights of the rows, if the aggregator is one that has them.
    """
    targets = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    jacobians = [getattr(target, "jac", None) for target in targets]
    if any(rows is None for rows in jacobians):
        raise ValueError("some of the tensors have no .jac: fill it with losses.backward(batched=True) first")
    arrays = [np.asarray(rows.detach()._array) for rows in jacobians if rows is not None]
    if len({len(array) for array in arrays}) > 1:
        raise ValueError(f"all .jac need the same number of rows, got {[len(array) for array in arrays]}")
    weights = None
    if arrays:
        matrix = np.concatenate([array.reshape(len(array), -1) for array in arrays], 1)
        if isinstance(aggregator, Weighting):
            wide = matrix.astype(np.float64)
            weights = aggregator.weights(wide @ wide.T)
            row = weights @ wide
        else:
            row = np.asarray(aggregator(matrix))
        collected, start = {}, 0
        for target, array in zip(targets, arrays, strict=True):
            size = target._array.size
            part = row[start : start + size].astype(array.dtype).reshape(target._array.shape)
            collected[anchor_of(target)] = part
            start += size
        commit(collected, set(collected), False)
    if not retain_jac:
        for target in targets:
            target.jac = None  # type: ignore[attr-defined]
    return None if weights is None else wrap(weights.astype(arrays[0].dtype))

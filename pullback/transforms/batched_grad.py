"""Many cotangents in one backward pass: `autograd.grad(..., is_grads_batched=True)` and the Jacobians built on it.

The cotangents are one batched array each, so every rule runs once for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..core.basics.dtypes import from_numpy_dtype
from ..core.cotangents import metadata_of
from ..core.general import payload_of
from ..core.mode import current_mode, set_mode
from ..core.passes import backward_to_inputs
from ..core.roots import foreign_weight, grad, root_of
from ..core.tape import wrap
from ..core.tensor import Tensor
from .arrays.batched import Batched
from .arrays.batching_rules import is_tensor

if TYPE_CHECKING:
    from ..core.basics.types import Edge, Shape
    from ..core.mode import Mode


class batch_level:
    """Open a new level of batches inside the `with` block, whose value is the number of the level."""

    def __enter__(self) -> int:
        mode = current_mode()
        level = max(mode.dual_level, mode.batch_level) + 1
        self.outside: Mode = mode
        self.inside: Mode = mode.replace(batch_level=level)
        set_mode(self.inside)
        return level

    def __exit__(self, *error: object) -> None:
        mode = current_mode()
        if mode is self.inside:
            set_mode(self.outside)
        else:  # what was switched inside stays switched
            set_mode(mode.replace(batch_level=self.outside.batch_level))


def batched_gradients(
    outputs: tuple[Tensor, ...], weights: tuple[Tensor | None, ...], keys: list[Edge], retain: bool, record: bool
) -> list[Tensor | None]:
    """Gradients with the batch axis of the weights in front."""
    roots, given, sizes = [], [], []
    for position, (output, weight) in enumerate(zip(outputs, weights, strict=True)):
        if weight is None:
            raise RuntimeError("grad_outputs must be given, one batch for each output, when is_grads_batched=True")
        target, slot = root_of(output, position, None)
        shape, dtype = metadata_of(target, slot)
        tensor = weight if isinstance(weight, Tensor) else foreign_weight(weight, dtype)
        _check_weight(tensor, shape, position)
        sizes.append(tensor._array.shape[0])
        roots.append((target, slot))
        given.append(tensor if tensor._array.dtype == dtype else tensor.to(from_numpy_dtype(dtype)))
    if sizes.count(sizes[0]) != len(sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension. Every output needs the same number of weights."
        )
    with batch_level() as level:
        cotangents = []
        for weight in given:
            batch = Batched(payload_of(weight, level) if record else weight.memory(), level)
            cotangents.append(wrap(batch) if record else batch)
        gradients = backward_to_inputs(roots, cotangents, keys, retain, record, level)
    return [unbatched(gradient, sizes[0], level) for gradient in gradients]


def gradient_rows(
    outputs: list[Tensor],
    inputs: list[Tensor],
    weights: list[Tensor],
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> list[Tensor]:
    """`grad(..., is_grads_batched=True)`; an input that was not used gets a row of zeros for each weight."""
    found = grad(outputs, inputs, weights, retain_graph, create_graph, is_grads_batched=True, allow_unused=True)
    rows = []
    for x, gradient in zip(inputs, found, strict=True):
        if gradient is None:
            gradient = wrap(np.zeros((weights[0]._array.shape[0], *x._array.shape), x._array.dtype))
            gradient._requires_grad = create_graph
        rows.append(gradient)
    return rows


def _check_weight(weight: Tensor, shape: Shape, position: int) -> None:
    given = weight._array.shape
    if not given or given[1:] != tuple(shape):
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
            "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
            f"mismatch was detected: grad_output[{position}] has a shape of torch.Size({list(given)}) and "
            f"output[{position}] has a shape of torch.Size({list(shape)}). If you only want some tensors in "
            "`grad_output` to be considered batched, consider using vmap."
        )


def unbatched(gradient: Tensor | None, size: int, level: int) -> Tensor | None:
    """A gradient without its level: a tensor with the batch axis in front."""
    if gradient is None:
        return None
    array = gradient._array
    if getattr(array, "level", 0) == level:
        inside = array.array
        result = inside if is_tensor(inside) else wrap(inside)
        if array.batched:
            return result
    else:
        result = gradient
    if result.requires_grad:
        return result.expand(size, *result.shape)
    return wrap(np.broadcast_to(result._array, (size, *result._array.shape)))

"""Memory with room for every example: what `zeros_like`, `new_zeros` and their kin give inside `vmap`.

A function that fills such a tensor in place writes one value for each example. What a write in place reads from is
here too, for the tapes outside a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.tape import wrap
from ...core.tensor import Tensor
from ...core.views import base_of, refresh, steps_of
from ...core.writes import alias_of, keep_tangents
from .batched import Batched, raw
from .batching_rules import apply_batched, is_tensor

if TYPE_CHECKING:
    from ...core.basics.types import Array


def room_for_examples(fresh: np.ndarray, like: Array) -> Array:
    """A fresh array, repeated for all examples that `like` has at its levels.

    Every level's memory is a Tensor, because what will be written there may be followed by the tape of that level.
    """
    if type(like) is not Batched:
        return fresh
    if like.batched:
        size = raw(like.array).shape[0]
        fresh = np.repeat(fresh[np.newaxis], size, axis=0)
    return Batched(wrap(room_for_examples(fresh, raw(like.array))), like.level, like.batched)


def alias_inner_tensors(alias: Tensor) -> list[Tensor]:
    """Put aliases in the place of the tensors inside the batch, or batches, that an alias holds; returns these."""
    array = alias._array
    if type(array) is not Batched:
        return []
    inside = array.array
    if is_tensor(inside):
        if inside._view is not None:  # of what may have been written through another view
            refresh(inside)
        inside = alias_of(inside)
    else:
        inside = wrap(inside)
    keep_tangents(inside)
    alias._array = array.same(inside)
    return [inside, *alias_inner_tensors(inside)]


def is_followed(value: Array) -> bool:
    """True if a tape or a tangent outside this batch, or outside one around it, follows the value inside."""
    while type(value) is Batched:
        value = value.array
        if is_tensor(value):
            if value.requires_grad or value._tangent is not None:
                return True
            value = value._array
    return False


def without_history(array: Array) -> Array:
    """The same memory, detached from the tapes and tangents outside a batch."""
    if type(array) is not Batched:
        return array
    inside = array.array
    if is_tensor(inside):
        if inside.requires_grad or inside._tangent is not None or type(inside._array) is Batched:
            return array.same(inside.detach())
    elif type(inside) is Batched:
        return array.same(without_history(inside))
    return array


def follow_memory(tensor: Tensor) -> None:
    """Put a tensor around the memory of a batch, so that the tape outside can follow what will be written there."""
    array, view = tensor._array, tensor._view
    if type(array) is not Batched or is_tensor(array.array):
        return
    if view is None:
        tensor._array = array.same(wrap(array.array))
    else:
        follow_memory(base_of(view))
        repeat_view_steps(tensor)


def repeat_view_steps(tensor: Tensor) -> None:
    """Repeat the steps of a view that was made before `follow_memory` put a tensor around the memory of its base."""
    array = tensor._array
    if type(array) is not Batched or is_tensor(array.array):
        return
    view: Any = tensor._view
    base = base_of(view)
    array = base._array
    if type(array) is Batched and type(array.array) is not np.ndarray and is_tensor(array.array):
        for op, params in steps_of(view, base):
            array = apply_batched(op, (array,), params)
        tensor._array = array

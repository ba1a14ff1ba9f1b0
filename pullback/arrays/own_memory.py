"""Memory with room for every example: what `zeros_like`, `new_zeros` and their kin give inside `vmap`.

A function that fills such a tensor in place writes one value for each example. What a write in place reads from is
here too, for the tapes outside a batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.tape import wrap
from ..autograd.views import alias_of
from ..tensor import Tensor
from .batched import Batched, raw
from .batching_rules import is_tensor


def room_for_examples(fresh: np.ndarray, like: Any) -> Any:
    """A fresh array, repeated for all examples that `like` has at its levels.

    Every level's memory is a Tensor, because what will be written there may be followed by the tape of that level.
    """
    if type(like) is not Batched:
        return fresh
    if like.batched:
        size = raw(like.array).shape[0]
        fresh = np.repeat(fresh[np.newaxis], size, axis=0)
    return Batched(wrap(room_for_examples(fresh, raw(like.array))), like.level, like.batched)


def alias_inside(alias: Tensor) -> list[Tensor]:
    """Give a tensor that is read during a write second objects for the tensors inside its batches: these, then."""
    array = alias._array
    if type(array) is not Batched or not is_tensor(array.array):
        return []
    inside = alias_of(array.array)
    alias._array = array.same(inside)
    return [inside, *alias_inside(inside)]

"""Writing gradients to leaves: all of them or none.

Everything that can fail (copies, casts, allocation) is prepared first. The writing itself is one call into C that
runs no Python code, so not even Ctrl-C can come between two leaves; a lock keeps threads that share leaves apart.
"""

from __future__ import annotations

import threading
from collections import deque
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy import ndarray

from ..arrays.mostly_zeros import Rows
from ..storage import storage_of
from ..tensor import Anchor, Tensor
from .tape import wrap

_lock = threading.RLock()


def commit(gradients: dict[Anchor, Any], owned: dict[Any, Any], record: bool) -> None:
    """Add the collected gradients to the `.grad` of their leaves."""
    leaves: list[Tensor] = []
    values: list[Tensor] = []
    sums: Any = ()
    with _lock:
        for anchor, gradient in gradients.items():
            leaf = anchor._owner()
            if leaf is None or not leaf._requires_grad:
                continue
            present = leaf._grad
            if present is not None and type(present) is not Tensor and present.is_sparse and type(gradient) is not Rows:
                present = leaf._grad = present.to_dense()  # as what is added to it is
            if record:
                value = recorded_sum(present, gradient, leaf)
            elif (
                present is None and anchor in owned and type(gradient) is ndarray and leaf._grad_dtype is False
                and (gradient.ndim < 2 or gradient.strides == leaf._array.strides)
            ):  # fmt: skip
                value = wrap(gradient)  # laid out as its leaf (one axis has but one way to lie densely) and nobody else's
            else:
                if leaf._grad_dtype is not False:
                    gradient = cast_to_grad_dtype(gradient, leaf)
                if present is not None and (type(gradient) is not Rows or not present.is_sparse):
                    if not sums:
                        sums, additions = [], []
                    sums.append(present.memory())
                    additions.append(gradient.dense() if type(gradient) is Rows else gradient)
                    storage_of(present).bump()
                    continue
                if type(gradient) is Rows:
                    value = gradient.sparse() if present is None else present + gradient.sparse()
                else:
                    value = wrap(fresh_copy(gradient, leaf))
            if len(gradients) == 1:
                leaf._grad = value
                return
            leaves.append(leaf)
            values.append(value)
        writes = map(setattr, leaves, repeat("_grad"), values)
        deque(chain(map(np.add, sums, additions, sums), writes) if sums else writes, maxlen=0)


def fresh_copy(gradient: Any, leaf: Tensor) -> Any:
    """A copy that shares memory with nobody and is laid out as the leaf is."""
    if type(gradient) is ndarray:
        if gradient.strides == leaf._array.strides:
            return gradient.copy()
    elif not isinstance(gradient, np.generic):
        return gradient
    copy = np.empty_like(leaf._array, dtype=gradient.dtype)
    copy[...] = gradient
    return copy


def cast_to_grad_dtype(gradient: Any, leaf: Tensor) -> Any:
    """The gradient in the dtype a leaf has asked for."""
    wanted = leaf._grad_dtype
    return gradient if wanted is None else gradient.astype(wanted.numpy)


def recorded_sum(present: Tensor | None, gradient: Any, leaf: Tensor) -> Tensor:
    """The new `.grad` of a recorded pass, out of place so that the old one's history stays true."""
    from ..ops.casting import copied
    from ..ops.pointwise import add

    return copied(None, gradient) if present is None else add(present, gradient)

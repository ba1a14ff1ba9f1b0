"""The bridge from tensors to the arrays that optimizers update in place.

`array_of` hands out the memory behind a tensor, `touch` tells autograd that this memory was written to, and
`scalar_of` reads a hyperparameter that may be a number or a one-element tensor. The arithmetic is in `_updates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import pullback

from ..autograd.graph import increment_version
from ..core.basics.storage import bump_all
from ..core.mode import current_mode


def array_of(tensor: pullback.Tensor) -> np.ndarray:
    """The array that shares its memory with `tensor`."""
    return tensor.memory()


def touch(tensors: Sequence[pullback.Tensor]) -> None:
    """Count one in-place write on each tensor, so that a graph that saved it refuses to use the new values."""
    if current_mode().anomaly is not None:
        increment_version(tensors)  # remembers the line as well
        return
    bump_all(tensors)


def scalar_of(value: Any) -> Any:
    """A number as it is; a one-element tensor as a NumPy scalar, whose precision then governs the arithmetic."""
    if isinstance(value, pullback.Tensor):
        return array_of(value).reshape(())[()]
    return value


def as_scalar_tensor(value: Any) -> Any:
    """A one-element tensor without its axes; anything else as it is."""
    if isinstance(value, pullback.Tensor) and value.dim() != 0:
        return value.squeeze()
    return value


def counter_dtype(fused: bool | None = None) -> pullback.dtype:
    """The dtype of step counters: single precision unless the default dtype is double."""
    if not fused and pullback.get_default_dtype() == pullback.float64:
        return pullback.float64
    return pullback.float32

"""Functions by which programs find out if a transform of `torch.func` is at work on a tensor."""

from __future__ import annotations

from typing import Any

from pullback.core.mode import transform_depth
from pullback.transforms.arrays.batched import Batched


def is_batchedtensor(tensor: Any) -> bool:
    """True if `vmap` is mapping over this tensor."""
    return isinstance(tensor._array, Batched)


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """There is one kind of batched tensors, and it is not the old one."""
    return False


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """True if a transform is at work on this tensor. Only `vmap` can be seen."""
    return is_batchedtensor(tensor)


def maybe_get_level(tensor: Any) -> int:
    """How deep the transforms are nested; -1 for a plain tensor."""
    return transform_depth.get() if is_batchedtensor(tensor) else -1

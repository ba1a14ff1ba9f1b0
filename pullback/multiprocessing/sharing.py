"""Memory that a process shares with those it forks: `Tensor.share_memory_()` moves a tensor there.

Such memory is an anonymous mapping, which a forked process inherits. Processes that are spawned get copies.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import numpy as np

from ..ops.striding import owner_of

if TYPE_CHECKING:
    from ..core.tensor import Tensor


def is_shared(tensor: Tensor) -> bool:
    """True if the elements lie in memory that forked processes share."""
    return isinstance(owner_of(tensor.memory()).base, mmap.mmap)


def shared_bytes(count: int) -> np.ndarray:
    """Zero bytes in memory that processes forked from now on share."""
    return np.ndarray(count, np.uint8, mmap.mmap(-1, count)) if count else np.zeros(0, np.uint8)


def share_memory_(tensor: Tensor) -> Tensor:
    """Move the elements to memory that processes forked from now on share; the tensor itself."""
    array = tensor.memory()
    if array.size and not is_shared(tensor):
        shared: np.ndarray = np.ndarray(array.shape, array.dtype, mmap.mmap(-1, array.nbytes))
        shared[...] = array
        moved = tensor.data
        moved._array = shared
        tensor.data = moved
    return tensor

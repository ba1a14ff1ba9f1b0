"""Products of arrays, which the standard has in its main namespace and in `linalg`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..interop.numpy_functions import tracked
from ..tensor import Tensor
from ._array import Array, dispatched, run, same_dtype


def matmul(x1: Tensor, x2: Tensor, /) -> Array:
    """The matrix product."""
    return run(np.matmul, *alike(x1, x2))


def matrix_transpose(x: Tensor, /) -> Array:
    """The last two dims exchanged, as a view."""
    return dispatched(np.matrix_transpose, x)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """The sum of products over some dims."""
    return run(np.tensordot, *alike(x1, x2), axes=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Array:
    """The inner products of vectors along a dim; the first is conjugated."""
    return run(np.linalg.vecdot, *alike(x1, x2), axis=axis)


def alike(x1: Tensor, x2: Tensor) -> list[Tensor]:
    """The two in a common dtype, where a gradient is at stake: torch's functions insist on it."""
    return same_dtype(x1, x2) if tracked(x1) or tracked(x2) else [x1, x2]

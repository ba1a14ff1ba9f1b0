"""The standard's linear algebra: the extension `linalg`, and the products that are in the main namespace as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.basics.dtypes import dtype as dtype_type
from ..core.tensor import Tensor
from ..shell.interop.numpy_functions import is_tracked
from ._array import Array, dispatched, numpy_dtype, run, run_discrete, same_dtype

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip

QRResult = type(np.linalg.qr(np.empty((0, 0))))


def cholesky(x: Tensor, /, *, upper: bool = False) -> Array:
    """The triangular factor of positive definite matrices."""
    return run(np.linalg.cholesky, x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of three elements."""
    return run(np.linalg.cross, *np.broadcast_arrays(*alike(x1, x2)), axis=axis)


def det(x: Tensor, /) -> Array:
    """The determinant."""
    return run(np.linalg.det, x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices."""
    return dispatched(np.linalg.diagonal, x, offset=offset)


def eig(x: Tensor, /) -> Any:
    """Eigenvalues and eigenvectors."""
    return run(np.linalg.eig, x)


def eigh(x: Tensor, /) -> Any:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices."""
    return run(np.linalg.eigh, x)


def eigvals(x: Tensor, /) -> Array:
    """Eigenvalues."""
    return run(np.linalg.eigvals, x)


def eigvalsh(x: Tensor, /) -> Array:
    """Eigenvalues of symmetric or Hermitian matrices."""
    return run(np.linalg.eigvalsh, x)


def inv(x: Tensor, /) -> Array:
    """The inverse."""
    return run(np.linalg.inv, x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Norms of matrices."""
    return run(np.linalg.matrix_norm, x, keepdims=keepdims, ord=ord)


def matrix_power(x: Tensor, n: int, /) -> Array:
    """Powers of matrices."""
    return run(np.linalg.matrix_power, x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Array:
    """The number of singular values above a tolerance."""
    return run_discrete(np.linalg.matrix_rank, x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Array:
    """All products of the elements of two vectors."""
    return run(np.linalg.outer, *alike(x1, x2))


def pinv(x: Tensor, /, *, rtol: Any = None) -> Array:
    """The pseudo-inverse."""
    return run(np.linalg.pinv, x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """An orthogonal and a triangular factor."""
    return QRResult(*run(np.linalg.qr, x, mode=mode))


def slogdet(x: Tensor, /) -> Any:
    """The sign and the logarithm of the determinant."""
    return run(np.linalg.slogdet, x)


def solve(x1: Tensor, x2: Tensor, /) -> Array:
    """The solution of linear systems."""
    return run(np.linalg.solve, *alike(x1, x2))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """The singular value decomposition."""
    return run(np.linalg.svd, x, full_matrices=full_matrices)


def svdvals(x: Tensor, /) -> Array:
    """The singular values."""
    return run(np.linalg.svdvals, x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: dtype_type | None = None) -> Array:
    """The sum of a diagonal."""
    return run(np.linalg.trace, x, offset=offset, dtype=numpy_dtype(dtype))


def vector_norm(
    x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """Norms of vectors."""
    return run(np.linalg.vector_norm, x, axis=axis, keepdims=keepdims, ord=ord)


# --- products, which the main namespace has too ---


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
    return same_dtype(x1, x2) if is_tracked(x1) or is_tracked(x2) else [x1, x2]

"""Eigenvalues, singular values, QR and what is made of them: ranks, pseudo-inverses, low-rank approximations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..functional.operands import as_tensor
from ..ops import decompositions as ops
from ..ops import linalg as matrices
from ..ops import square_roots
from ..ops.striding import in_order
from ..return_types import declare_result, returned_by
from .checks import call_lapack, float_matrix, float_square, linalg_function, needs_no_derivative


@returned_by("linalg_eig")
class Eigenpairs(NamedTuple):
    """The result of `eig` and `eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


EighPairs: type[Eigenpairs] = declare_result("linalg_eigh", Eigenpairs)


@returned_by("linalg_svd")
class SVD(NamedTuple):
    """The result of `svd`: A = U diag(S) Vh."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@returned_by("linalg_qr")
class QR(NamedTuple):
    """The result of `qr`: A = Q R."""

    Q: Tensor
    R: Tensor


def _apply(op: Any, x: Tensor, params: dict, function: str) -> Any:
    return call_lapack(function, apply, op, (x,), params)


def _lower(uplo: str) -> bool:
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return uplo.upper() == "L"


@linalg_function(out="same", autocast="full")
def eigh(A: Tensor, UPLO: str = "L") -> Eigenpairs:
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices; one triangle is read."""
    float_square(A, "linalg.eigh")
    return EighPairs(*_apply(ops.eigh, A, {"lower": _lower(UPLO)}, "linalg.eigh"))


@linalg_function(out="same", autocast="full")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of Hermitian matrices, ascending."""
    float_square(A, "linalg.eigvalsh")
    lower = _lower(UPLO)
    if needs_no_derivative(A):
        return wrap(in_order(call_lapack("linalg.eigvalsh", np.linalg.eigvalsh, A._array, "L" if lower else "U")))
    return _apply(ops.eigh, A, {"lower": lower}, "linalg.eigvalsh")[0]


@linalg_function(autocast="full")
def eig(A: Tensor) -> Eigenpairs:
    """Eigenvalues and eigenvectors of square matrices, as complex numbers."""
    float_square(A, "linalg.eig")
    return Eigenpairs(*_apply(ops.eig, A, {}, "linalg.eig"))


@linalg_function(autocast="full")
def eigvals(A: Tensor) -> Tensor:
    """Eigenvalues of square matrices, as complex numbers."""
    float_square(A, "linalg.eigvals")
    return _apply(ops.eig, A, {}, "linalg.eigvals")[0]


@linalg_function(out="same", autocast="full")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> SVD:
    """A = U diag(S) Vh with singular values S, descending."""
    float_matrix(A, "linalg.svd")
    if driver is not None:
        raise RuntimeError(
            "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    return SVD(*_apply(ops.svd, A, {"full": bool(full_matrices)}, "linalg.svd"))


@linalg_function(out="same", autocast="full")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Singular values, descending."""
    float_matrix(A, "linalg.svdvals")
    if needs_no_derivative(A):
        return call_lapack("linalg.svd", _singular_values, A)
    return _apply(ops.svd, A, {"full": False}, "linalg.svd")[1]


def _singular_values(A: Tensor) -> Tensor:
    return wrap(in_order(np.linalg.svd(A._array, compute_uv=False)))


@linalg_function(out="same", autocast="full")
def qr(A: Tensor, mode: str = "reduced") -> QR:
    """A = Q R with Q orthonormal and R upper triangular; mode 'reduced', 'complete' or 'r'."""
    float_matrix(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return QR(*apply(ops.qr, (A,), {"mode": mode}))


@returned_by("linalg_polar")
class Polar(NamedTuple):
    """The result of `polar`: A = U H."""

    U: Tensor
    H: Tensor


@linalg_function()
def polar(A: Tensor) -> Polar:
    """A = U H with U of orthonormal columns and H Hermitian and positive semidefinite; A has no more columns than rows."""
    float_matrix(A, "linalg.polar")
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(
            f"linalg.polar: expected a matrix with at least as many rows as columns, but got {tuple(A.shape[-2:])}. "
            "Decompose the transpose: U, H = polar(A.mH) gives A = H U.mH."
        )
    return Polar(*_apply(square_roots.polar, A, {}, "linalg.polar"))


@linalg_function()
def matrix_sqrth(A: Tensor) -> Tensor:
    """The positive-definite square root X of positive-definite Hermitian matrices, X @ X = A; the lower triangle is read."""
    float_square(A, "linalg.matrix_sqrth")
    return _apply(square_roots.matrix_sqrth, A, {}, "linalg.matrix_sqrth")


# --- tolerances ---


def _tolerances(A: Tensor, atol: Any, rtol: Any, older: Any) -> tuple[Any, Any]:
    """Absolute and relative cutoffs as numbers or arrays; `older` is the tolerance in NumPy's former spelling."""
    if older is not None:
        rtol = older
    dtype = A._array.dtype
    default = np.finfo(dtype).eps * max(A._array.shape[-2:])
    absolute = _plain(atol)
    relative = _plain(rtol)
    if relative is None:
        relative = default if absolute is None else np.where(np.asarray(absolute) > 0, 0.0, default)
    real = np.zeros((), dtype).real.dtype
    return np.asarray(0.0 if absolute is None else absolute, real), np.asarray(relative, real)


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        if value._array.dtype.kind == "c":
            raise RuntimeError("tolerances of complex dtype are not supported: expected a real tensor or number")
        return value._array
    return value


@linalg_function(autocast="full")
def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The Moore-Penrose pseudo-inverse.

    Singular values below `atol`, or `rtol` times the largest, count as zero (`rcond` is the older name of `rtol`).
    `hermitian` says that A is symmetric, and reads one triangle.
    """
    float_matrix(A, "linalg.pinv")
    if hermitian:
        float_square(A, "linalg.pinv")
    absolute, relative = _tolerances(A, atol, rtol, rcond)
    params = {"atol": absolute, "rtol": relative, "hermitian": bool(hermitian)}
    return _apply(matrices.pinv, A, params, "linalg.pinv")


@linalg_function(autocast="full")
def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """How many singular values are larger than the tolerance."""
    float_matrix(A, "linalg.matrix_rank")
    if tol is not None:
        atol, rtol = tol, 0.0
    array = A._array
    if 0 in array.shape[-2:]:
        return wrap(np.zeros(array.shape[:-2], np.int64))
    absolute, relative = _tolerances(A, atol, rtol, None)
    if hermitian:
        sizes = np.abs(call_lapack("linalg.matrix_rank", np.linalg.eigvalsh, array))
    else:
        sizes = call_lapack("linalg.matrix_rank", np.linalg.svd, array, compute_uv=False)
    cutoff = np.maximum(absolute, relative * np.max(sizes, axis=-1))
    return wrap(in_order(np.add.reduce(sizes > cutoff[..., None], axis=-1, dtype=np.int64)))


# --- a few of the eigenvalues, low rank ---


def extreme_eigenpairs(A: Tensor, B: Tensor | None, count: int, largest: bool) -> tuple[Tensor, Tensor]:
    """A few eigenpairs of A x = lambda B x for symmetric A and positive-definite B, from the full decomposition."""
    from .factorizations import cholesky
    from .solvers import solve_triangular

    float_square(A, "lobpcg")
    size = A._array.shape[-1]
    if not 0 < count <= size:
        raise ValueError(f"lobpcg: k must be between 1 and the size of the matrices ({size}), but got {count}")
    A = (A + A.mH) / 2  # `eigh` reads one triangle only, and the gradient is that of the whole matrix
    if B is not None:
        lower = cholesky(B)
        A = solve_triangular(lower.mH, solve_triangular(lower, A, upper=False), upper=True, left=False)
    values, vectors = eigh(A)
    if B is not None:
        vectors = solve_triangular(lower.mH, vectors, upper=True)
    if not largest:
        return values[..., :count], vectors[..., :count]
    return values[..., size - count :].flip(-1), vectors[..., size - count :].flip(-1)


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Any, ...]:
    """An approximate singular value decomposition of rank q, from random projections (Halko, Martinsson and Tropp)."""
    matrix = as_tensor(A)
    mean = None if M is None else M.broadcast_to(matrix.shape)
    q = 6 if q is None else q
    rows, columns = matrix._array.shape[-2:]
    if mean is not None:
        matrix = matrix - mean
    if rows < columns:
        matrix = matrix.mH
    basis = _range_basis(matrix, q, niter)
    U, S, Vh = svd(basis.mH @ matrix, full_matrices=False)
    U, V = basis @ U, Vh.mH
    return (V, S, U) if rows < columns else (U, S, V)


def _range_basis(A: Tensor, q: int, niter: int | None) -> Tensor:
    from .. import randn

    sketch = randn((A._array.shape[-1], q), dtype=A.dtype)
    Q = qr(A @ sketch).Q
    for _ in range(2 if niter is None else niter):
        Q = qr(A @ qr(A.mH @ Q).Q).Q
    return Q


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Any, ...]:
    """Principal components of the rows of A, approximately."""
    rows, columns = A._array.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not center:
        return svd_lowrank(A, q, niter)
    return svd_lowrank(A - A.mean(-2, keepdim=True), q, niter)

"""The older names of linear algebra (`torch.svd`, `Tensor.det`, ...), on top of `pullback.linalg`.

`pullback.linalg` is imported when one of them is first called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.notices import warn_user
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..transforms.arrays.batched import all_values
from .out_argument import write_out
from .registry import public

if TYPE_CHECKING:
    from ..linalg.older_results import SVD, Geqrf, TriangularSolve, UnpackedLU


# --- determinants, inverses, powers ---


@public(out="same")
def det(input: Tensor) -> Tensor:
    """Determinants."""
    from ..linalg import det

    return det(input)


@public(out="same")
def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """Signs and logarithms of the absolute values of determinants."""
    from ..linalg import slogdet
    from ..linalg.older_results import SignedLogDet

    return SignedLogDet(*slogdet(input))


@public()
def logdet(input: Tensor) -> Tensor:
    """Logarithms of determinants: NaN where the determinant is negative."""
    from ..linalg import slogdet
    from ..linalg.checks import float_square

    sign, logarithm = slogdet(float_square(input, "logdet"))
    if input._array.dtype.kind == "c":
        return sign.log() + logarithm
    negative = wrap(sign._array == -1)
    return logarithm.masked_fill(negative, float("nan")) if np.any(all_values(negative._array)) else logarithm


@public(out="same", autocast="full")
def inverse(input: Tensor) -> Tensor:
    """Inverses of square matrices."""
    from ..linalg import inv

    return inv(input)


@public(autocast="full")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse."""
    from ..linalg import pinv

    return pinv(input, rcond)


@public(out="same")
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A matrix multiplied by itself n times."""
    from ..linalg import matrix_power

    return matrix_power(input, n)


@public()
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices."""
    from ..linalg import matrix_exp

    return matrix_exp(input)


def _older(name: str, newer: str) -> None:
    warn_user(
        f"torch.{name} is deprecated in favor of torch.linalg.{newer} and will be removed in a future PyTorch release."
    )


# --- Cholesky ---


@public(out="same", autocast="full")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """L with L L^H = input (or U with U^H U = input)."""
    from ..linalg.checks import float_square, raise_on
    from ..linalg.factorizations import cholesky_ex, not_positive

    _older("cholesky", "cholesky")
    factors, info = cholesky_ex(float_square(input, "cholesky"), upper=upper)
    raise_on(info, "cholesky", not_positive)
    return factors


@public(out="cast", autocast="full")
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with A X = input, from the Cholesky factor of A."""
    from ..linalg.solvers import solve_from_cholesky

    return solve_from_cholesky(input, input2, upper)


@public(out="cast", autocast="full")
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, from its Cholesky factor."""
    from ..linalg.solvers import inverse_from_cholesky

    return inverse_from_cholesky(input, upper)


# --- LU ---


@public(passed="", passed_by_method="A, pivot get_infos")
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[Any, ...]:
    """L and U in one matrix, and pivots (and info)."""
    from ..linalg.factorizations import lu_factor_ex

    _older("lu", "lu_factor / torch.linalg.lu_factor_ex")
    result = lu_factor_ex(A, pivot=pivot)
    found = result if get_infos else (result.LU, result.pivots)
    if out is None:
        return found
    for target, value in zip(out, found, strict=True):
        write_out("lu", target, value)
    return out


@public(out="same", autocast="full")
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X with A X = input, from the LU factorization of A."""
    from ..linalg import lu_solve

    return lu_solve(LU_data, LU_pivots, input)


@public(method=False, out="same")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> UnpackedLU:
    """P, L and U from the compact form of `lu_factor`."""
    from ..linalg.factorizations import unpack
    from ..linalg.older_results import UnpackedLU

    if unpack_pivots and LU_pivots._array.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this "
            "function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    return UnpackedLU(*unpack(LU_data, LU_pivots, unpack_data, unpack_pivots))


# --- QR, SVD, reflections ---


@public(out="same", autocast="full")
def qr(input: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    """The QR decomposition."""
    from ..linalg import qr
    from ..linalg.older_results import QR

    _older("qr", "qr")
    return QR(*qr(input, "reduced" if some else "complete"))


@public(out="same", autocast="full")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> SVD:
    """The singular value decomposition, with V instead of its adjoint."""
    from ..linalg import svd
    from ..linalg.older_results import SVD

    U, S, Vh = svd(input, full_matrices=not some)
    if not compute_uv:
        rows, columns = input._array.shape[-2:]
        batch = input._array.shape[:-2]
        return SVD(input.new_zeros((*batch, rows, rows)), S, input.new_zeros((*batch, columns, columns)))
    return SVD(U, S, Vh.mH)


@public(out="cast", autocast="full")
def geqrf(input: Tensor) -> Geqrf:
    """QR in LAPACK's compact form."""
    from ..linalg.checks import float_matrix, in_column_order
    from ..linalg.older_results import Geqrf

    float_matrix(input, "torch.geqrf", "input")
    array = input._array
    if array.size == 0:
        return Geqrf(wrap(np.array(array)), wrap(np.zeros((*array.shape[:-2], min(array.shape[-2:])), array.dtype)))
    reflectors, factors = np.linalg.qr(array, "raw")
    return Geqrf(in_column_order(wrap(np.swapaxes(reflectors, -1, -2))), wrap(np.ascontiguousarray(factors)))


@public(out="cast", autocast="full")
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of Householder reflections."""
    from ..linalg import householder_product

    return householder_product(input, tau)


@public(out="same", autocast="full")
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """A product of Householder reflections times `other`."""
    from ..linalg.checks import float_matrix
    from ..linalg.products import multiply_reflectors

    float_matrix(input, "torch.ormqr", "input")
    float_matrix(other, "torch.ormqr", "other")
    rows = other._array.shape[-2 if left else -1]
    if rows != input._array.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2]")
    if tau._array.shape[-1] > input._array.shape[-1]:
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be less than or equal to input.shape[-1]")
    return multiply_reflectors(input, tau, other, left, transpose)


@public(out="same", autocast="full")
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolve:
    """X with A X = input for triangular A."""
    from ..linalg import solve_triangular
    from ..linalg.checks import in_column_order, matrix, square
    from ..linalg.older_results import TriangularSolve

    _older("triangular_solve", "solve_triangular")
    matrix(input, "torch.triangular_solve", "b")
    square(A, "torch.triangular_solve")
    factor = A.mT if transpose else A
    solution = solve_triangular(factor, input, upper=upper != transpose, unitriangular=unitriangular)
    return TriangularSolve(solution, in_column_order(A.clone()))


# --- low rank ---


@public(method=False, passed="")
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Any, ...]:
    """An approximate singular value decomposition of rank q."""
    from ..linalg.eigenvalues import svd_lowrank

    return svd_lowrank(A, q, niter, M)


@public(method=False, passed="")
def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
    iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
    method: str | None = None, tracker: Any = None, ortho_iparams: Any = None, ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The k largest (or smallest) eigenvalues and eigenvectors of symmetric matrices."""
    from ..linalg.eigenvalues import extreme_eigenpairs

    count = k if k is not None else 1 if X is None else X._array.shape[-1]
    return extreme_eigenpairs(A, B, count, largest is None or largest)


@public(method=False, passed="")
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Any, ...]:
    """Principal components, approximately."""
    from ..linalg.eigenvalues import pca_lowrank

    return pca_lowrank(A, q, center, niter)

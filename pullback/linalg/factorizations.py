"""Cholesky, LU and LDL factorizations, and solving systems with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..functional.checks import is_known_true
from ..kernels import linear_algebra as kernels
from ..ops import linalg as ops
from ..return_types import returned_by
from .checks import check_fit, float_matrix, float_square, in_column_order, linalg_function, raise_on, same_dtype
from .solvers import solve_triangular


@returned_by("linalg_cholesky_ex")
class CholeskyEx(NamedTuple):
    """The result of `cholesky_ex`."""

    L: Tensor
    info: Tensor


@returned_by("linalg_lu")
class LU(NamedTuple):
    """The result of `lu`: A = P L U."""

    P: Tensor
    L: Tensor
    U: Tensor


@returned_by("linalg_lu_factor")
class LUFactor(NamedTuple):
    """The result of `lu_factor`."""

    LU: Tensor
    pivots: Tensor


@returned_by("linalg_lu_factor_ex")
class LUFactorEx(NamedTuple):
    """The result of `lu_factor_ex`."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


@returned_by("linalg_ldl_factor")
class LDL(NamedTuple):
    """The result of `ldl_factor`."""

    LD: Tensor
    pivots: Tensor


@returned_by("linalg_ldl_factor_ex")
class LDLEx(NamedTuple):
    """The result of `ldl_factor_ex`."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


# --- Cholesky ---


def not_positive(number: int) -> str:
    """torch's words about a matrix that is not positive definite."""
    return (
        "The factorization could not be completed because the input is not positive-definite (the leading minor of "
        f"order {number} is not positive-definite)."
    )


@linalg_function(out="same", autocast="full")
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> CholeskyEx:
    """Cholesky factors and, for each matrix, 0 or the order of the minor that is not positive."""
    float_square(A, "linalg.cholesky")
    lower, info = apply(ops.cholesky, (A.mH if upper else A,))
    if check_errors:
        raise_on(info, "linalg.cholesky_ex", not_positive)
    return CholeskyEx(in_column_order(lower.mH) if upper else lower, info)


@linalg_function(out="same", autocast="full")
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """L with L L^H = A (or U with U^H U = A) for Hermitian positive-definite matrices."""
    factors, info = cholesky_ex(A, upper=upper)
    raise_on(info, "linalg.cholesky", not_positive)
    return factors


# --- LU ---


def _check_pivot(pivot: bool, function: str) -> None:
    if not pivot:
        raise RuntimeError(f"{function}: LU without pivoting is not implemented on the CPU. Use pivot=True.")


@linalg_function()
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> LUFactorEx:
    """L and U in one matrix, pivots, and for each matrix 0 or the number of a zero pivot."""
    float_matrix(A, "linalg.lu_factor")
    _check_pivot(pivot, "linalg.lu_factor")
    result = LUFactorEx(*apply(ops.lu_factor, (A,)))
    if check_errors:
        raise_on(result.info, "torch.linalg.lu_factor_ex", _zero_pivot)
    return result


def _zero_pivot(number: int) -> str:
    return (
        f"U[{number},{number}] is zero and using it on lu_solve would result in a division by zero. If you still want "
        "to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    )


@linalg_function(out="same")
def lu_factor(A: Tensor, *, pivot: bool = True) -> LUFactor:
    """L and U in one matrix, and pivots."""
    factors, pivots, info = lu_factor_ex(A, pivot=pivot)
    raise_on(info, "torch.linalg.lu_factor", _zero_pivot)
    return LUFactor(factors, pivots)


@linalg_function()
def lu(A: Tensor, *, pivot: bool = True) -> LU:
    """P, L and U with A = P L U."""
    factors, pivots, _ = lu_factor_ex(A, pivot=pivot)
    return LU(*unpack(factors, pivots))


def unpack(
    factors: Tensor, pivots: Tensor, data: bool = True, permutation: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U from the compact form; empty tensors for what is not asked for."""
    if permutation and is_known_true(np.any((pivots._array < 1) | (pivots._array > factors._array.shape[-2]))):
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive. Did you properly pass the result of "
            "lu_factor?"
        )
    empty = np.zeros((0,), factors._array.dtype)
    P = apply(ops.permutation, (pivots, factors.detach())) if permutation else wrap(empty)
    if not data:
        return P, wrap(empty), wrap(empty)
    return P, ops.unpack_lower(factors), ops.unpack_upper(factors)


@linalg_function(out="same")
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B (or X A = B; or with A^H for A), from the LU factorization of A."""
    float_square(LU, "torch.linalg.lu_solve", "LU")
    same_dtype(LU, B, "linalg.lu_solve", "LU and B")
    if pivots._array.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if pivots._array.shape[:-1] != LU._array.shape[:-2] or pivots._array.shape[-1:] != LU._array.shape[-1:]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    check_fit(LU, B, left, "linalg.lu_solve")
    P = apply(ops.permutation, (pivots, LU.detach()))
    if not left:  # X A = B  <=>  A^H X^H = B^H
        return _lu_solve(LU, P, B.mH, not adjoint).mH
    return _lu_solve(LU, P, B, adjoint)


def _lu_solve(factors: Tensor, P: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    if adjoint:  # U^H L^H P^T X = B
        Y = solve_triangular(factors.mH, B, upper=False)
        return in_column_order(P @ solve_triangular(factors.mH, Y, upper=True, unitriangular=True))
    Y = solve_triangular(factors, P.mH @ B, upper=False, unitriangular=True)
    return solve_triangular(factors, Y, upper=True)


# --- LDL ---


@linalg_function()
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> LDLEx:
    """The LDL factorization of symmetric or Hermitian matrices in LAPACK's compact form, with pivots and info."""
    float_square(A, "torch.linalg.ldl_factor_ex")
    factors, pivots, info = map(wrap, kernels.ldl_factor(np.asarray(A._array), hermitian))
    result = LDLEx(in_column_order(factors), pivots, info)
    if check_errors:
        raise_on(result.info, "torch.linalg.ldl_factor_ex", _zero_diagonal)
    return result


def _zero_diagonal(number: int) -> str:
    return (
        f"D[{number},{number}] is zero, and division by zero will occur if it is used to solve a system: the "
        "factorization was completed, but the input matrix is singular."
    )


@linalg_function(out="same")
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> LDL:
    """The LDL factorization of symmetric or Hermitian matrices in LAPACK's compact form."""
    factors, pivots, info = ldl_factor_ex(A, hermitian=hermitian)
    raise_on(info, "torch.linalg.ldl_factor", _zero_diagonal)
    return LDL(factors, pivots)


@linalg_function()
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, from the LDL factorization of A."""
    float_square(LD, "torch.linalg.ldl_solve", "LD")
    same_dtype(LD, B, "torch.linalg.ldl_solve", "LD and B")
    if pivots._array.dtype.kind not in "iu":
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype.type_name}")
    check_fit(LD, B, True, "torch.linalg.ldl_solve")
    factors = kernels.flat(np.asarray(LD._array))
    orders = np.asarray(pivots._array).reshape(factors.shape[:2])
    whole = np.empty(factors.shape, factors.dtype)
    for i, (one, order) in enumerate(zip(factors, orders, strict=True)):
        outer, middle = kernels.ldl_unpack(one, order, hermitian)
        whole[i] = outer @ middle @ (outer.conj().T if hermitian else outer.T)
    return in_column_order(wrap(np.linalg.solve(whole.reshape(LD._array.shape), B._array)))

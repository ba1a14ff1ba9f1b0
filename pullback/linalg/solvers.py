"""Linear systems, inverses, least squares and determinants."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..core.views import as_own
from ..functional.operands import common_shape
from ..ops import linalg as ops
from ..return_types import returned_by
from .checks import (
    check_fit,
    float_matrix,
    float_square,
    floating,
    in_column_order,
    linalg_function,
    matrix,
    raise_on,
    same_dtype,
)


@returned_by("linalg_inv_ex")
class InverseEx(NamedTuple):
    """The result of `inv_ex`."""

    inverse: Tensor
    info: Tensor


@returned_by("linalg_solve_ex")
class SolveEx(NamedTuple):
    """The result of `solve_ex`."""

    result: Tensor
    info: Tensor


@returned_by("linalg_slogdet")
class SignedLogDet(NamedTuple):
    """The result of `slogdet`: det = sign * exp(logabsdet)."""

    sign: Tensor
    logabsdet: Tensor


@returned_by("linalg_lstsq")
class LeastSquares(NamedTuple):
    """The result of `lstsq`."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def _singular(number: int) -> str:
    return (
        f"The diagonal element {number} is zero, the inversion could not be completed because the input matrix is "
        "singular."
    )


@linalg_function(out="same", autocast="full")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> InverseEx:
    """Inverses and, for each matrix, 0 or the number of a zero pivot."""
    float_square(A, "linalg.inv")
    result = InverseEx(*apply(ops.inverse, (A,)))
    if check_errors:
        raise_on(result.info, "linalg.inv_ex", _singular)
    return result


@linalg_function(out="same", autocast="full")
def inv(A: Tensor) -> Tensor:
    """Inverses of square matrices."""
    result, info = inv_ex(A)
    raise_on(info, "linalg.inv", _singular)
    return result


def _is_vector(A: Tensor, B: Tensor) -> bool:
    a, b = A._array.shape, B._array.shape
    return len(b) == 1 or len(a) - 1 == len(b) and a[:-1] == b


@linalg_function(autocast="full")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> SolveEx:
    """Solutions and, for each matrix, 0 or the number of a zero pivot."""
    float_square(A, "linalg.solve")
    same_dtype(A, B, "linalg.solve")
    vector = _is_vector(A, B)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. Use matrices."
        )
    check_fit(A, B.unsqueeze(-1) if vector else B, left, "linalg.solve")
    if left:
        result, info = apply(ops.solve_vector if vector else ops.solve, (A, B))
    else:
        result, info = apply(ops.solve, (A.mT, B.mT))
        result = as_own(result.mT)
    if check_errors:
        raise_on(info, "torch.linalg.solve_ex", lambda _: "The solver failed because the input matrix is singular.")
    return SolveEx(result, info)


@linalg_function(out="same", autocast="full")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A X = B (or X A = B)."""
    result, info = solve_ex(A, B, left=left)
    raise_on(info, "torch.linalg.solve", lambda _: "The solver failed because the input matrix is singular.")
    return result


@linalg_function(out="same")
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """X with A X = B (or X A = B) for triangular A; the other triangle is not read.

    `upper` says which triangle holds A. `left=False` is X A = B. `unitriangular` takes the diagonal to be ones.
    """
    float_square(A, "linalg.solve_triangular")
    same_dtype(A, B, "linalg.solve_triangular")
    check_fit(A, B, left, "linalg.solve_triangular")
    return apply(ops.solve_triangular, (A, B), {"left": bool(left), "upper": bool(upper), "unit": bool(unitriangular)})


# --- from a Cholesky factor: `torch.cholesky_solve` and `torch.cholesky_inverse` ---


def solve_from_cholesky(B: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """X with A X = B, from the Cholesky factor of A."""
    matrix(B, "cholesky_solve", "b")
    float_square(factor, "cholesky_solve")
    same_dtype(factor, B, "cholesky_solve")
    size, (rows, columns) = factor._array.shape[-1], B._array.shape[-2:]
    if size != rows:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {size} by {size} "
            f"but each b matrix is {rows} by {columns}"
        )
    common_shape(B._array.shape[:-2], factor._array.shape[:-2])
    return apply(ops.cholesky_solve, (B, factor), {"upper": bool(upper)})


def inverse_from_cholesky(factor: Tensor, upper: bool) -> Tensor:
    """The inverse of A, from its Cholesky factor."""
    float_square(factor, "cholesky_inverse")
    return apply(ops.cholesky_inverse, (factor,), {"upper": bool(upper)})


# --- determinants ---


@linalg_function(out="same")
def det(A: Tensor) -> Tensor:
    """Determinants."""
    float_square(A, "linalg.det")
    return apply(ops.det, (A,))


@linalg_function(out="same")
def slogdet(A: Tensor) -> SignedLogDet:
    """Signs and logarithms of the absolute values of determinants."""
    float_square(A, "linalg.slogdet")
    return SignedLogDet(*apply(ops.slogdet, (A,)))


# --- least squares ---

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@linalg_function(autocast="full")
def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> LeastSquares:
    """X that makes |A X - B| smallest, with residuals, ranks and singular values as the driver gives them."""
    float_matrix(A, "torch.linalg.lstsq", "input")
    floating(B, "torch.linalg.lstsq")
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of ({', '.join(_DRIVERS)})")
    if A._array.dtype != B._array.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{A.dtype.type_name} and other's dtype {B.dtype.type_name}"
        )
    vector = A._array.ndim - 1 == B._array.ndim and A._array.shape[:-1] == B._array.shape
    if not vector and (B._array.ndim < 2 or B._array.shape[-2] != A._array.shape[-2]):
        raise RuntimeError(
            "torch.linalg.lstsq: input.size(-2) should match other.size(-2)"
            if B._array.ndim >= 2
            else "torch.linalg.lstsq: other.dim() must be greater or equal to (input.dim() - 1)"
        )
    right = B.unsqueeze(-1) if vector else B
    common_shape(A._array.shape[:-2], right._array.shape[:-2])
    return _least_squares(A, right, vector, rcond, driver)


def _least_squares(A: Tensor, B: Tensor, vector: bool, rcond: Any, driver: str) -> LeastSquares:
    array = A._array
    rows, columns = array.shape[-2:]
    real = np.zeros((), array.dtype).real.dtype
    precision = float(np.finfo(array.dtype).eps)
    cutoff = precision * max(rows, columns) if rcond is None else float(rcond)
    if cutoff < 0 or driver == "gelsd" and not 0 < cutoff < 1:
        cutoff = precision / 2  # as LAPACK has it: what rounding can do to one operation
    if min(rows, columns) == 1 and driver != "gelss":
        cutoff = 0.0  # a single number is as large as the largest
    params = {
        "atol": np.zeros((), real),
        "rtol": np.asarray(0 if driver == "gels" else cutoff, real),
        "hermitian": False,
    }
    solution = in_column_order(apply(ops.pinv, (A,), params) @ B)
    values = np.linalg.svd(array, compute_uv=False) if array.size else np.zeros((*array.shape[:-2], 0), real)
    ranks = np.add.reduce(values > cutoff * values.max(axis=-1, initial=0, keepdims=True), axis=-1, dtype=np.int64)
    full = driver == "gels" or driver != "gelsy" and bool(np.all(ranks == columns))
    if rows > columns and full:
        residuals = ((A @ solution - B).abs() ** 2).sum(-2)
        residuals = residuals.squeeze(-1) if vector else residuals
    else:
        residuals = as_own(solution.abs().reshape(-1)[:0])  # torch's empty tensor has a history too
    empty = np.zeros((0,), np.int64)
    return LeastSquares(
        solution.squeeze(-1) if vector else solution,
        residuals,
        wrap(empty if driver == "gels" else ranks),
        wrap(values if driver in ("gelsd", "gelss") else np.zeros((0,), real)),
    )

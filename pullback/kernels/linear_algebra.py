"""Matrix algorithms NumPy has no routine for, on plain arrays with any number of leading batch dims.

LU with partial pivoting, LDL, triangular solves, the matrix exponential, and Cholesky and inverses that report which
matrix failed. All run on NumPy alone; where its BLAS can be called directly (`blas.py`), LU and triangular solves are
the library's, but for many small matrices.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import blas
from .like import brought, copy, is_elsewhere
from .thresholds import FEW_RIGHT_SIDES, MATRICES_TOGETHER, PERMUTATIONS_BY_PYTHON, TRIANGLE_IN_ONE_CALL


def flat(x: Any) -> Any:
    """All batch dims as one."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


# --- LU ---


def lu_factor(x: Any) -> tuple[Any, Any, Any]:
    """P L U = x in LAPACK's compact form: (L and U in one matrix, pivots from 1, info)."""
    rows, columns = x.shape[-2:]
    steps = min(rows, columns)
    a = flat(x)
    factorize = blas.lu_factorizer(a.dtype.char) if steps > MATRICES_TOGETHER or len(a) == 1 else None
    if factorize is not None and a.size:
        transposed = np.array(np.swapaxes(a, 1, 2), order="C")
        pivots, info = (found.astype(np.int32) for found in factorize(transposed))
        a = np.array(np.swapaxes(transposed, 1, 2), order="C")
    else:
        a, pivots, info = np.array(a, order="C"), np.empty((len(a), steps), np.int32), np.zeros(len(a), np.int32)
        _eliminate(a, pivots, info)
    batch = x.shape[:-2]
    return a.reshape(x.shape), pivots.reshape(*batch, steps), info.reshape(batch)


def _eliminate(a: Any, pivots: Any, info: Any) -> None:
    every = np.arange(a.shape[0])
    for j in range(pivots.shape[1]):
        column = a[:, j:, j]
        size = np.abs(column.real) + np.abs(column.imag) if a.dtype.kind == "c" else np.abs(column)
        pivot = j + np.argmax(size, axis=1)
        pivots[:, j] = pivot + 1
        row = a[every, j]
        a[every, j] = a[every, pivot]
        a[every, pivot] = row
        head = a[:, j, j]
        info[(head == 0) & (info == 0)] = j + 1
        a[:, j + 1 :, j] /= np.where(head == 0, 1, head)[:, None]
        a[:, j + 1 :, j + 1 :] -= a[:, j + 1 :, j, None] * a[:, j, None, j + 1 :]


def permutation_of(pivots: Any, rows: int) -> Any:
    """The row order that pivots stand for: (P^T x)[i] = x[order[i]]."""
    found = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    if len(found) <= PERMUTATIONS_BY_PYTHON:
        order = np.array([_order(row, rows) for row in found.tolist()], np.int64)
    else:
        order = np.tile(np.arange(rows), (found.shape[0], 1))
        every = np.arange(found.shape[0])
        for j in range(found.shape[1]):
            other = found[:, j] - 1
            order[every, j], order[every, other] = order[every, other], order[every, j].copy()
    return order.reshape(*pivots.shape[:-1], rows)


def _order(pivots: list[int], rows: int) -> list[int]:
    order = list(range(rows))
    for place, pivot in enumerate(pivots):
        order[place], order[pivot - 1] = order[pivot - 1], order[place]
    return order


def permutation_matrix(pivots: Any, rows: int, dtype: Any) -> Any:
    """P with x = P L U."""
    order = permutation_of(pivots, rows)
    return (order[..., None, :] == np.arange(rows)[:, None]).astype(dtype)


# --- triangular systems ---


def solve_triangular(a: Any, b: Any, left: bool, upper: bool, unit: bool) -> Any:
    """X with a X = b (or X a = b); only one triangle of `a` is read, not its diagonal if `unit`."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if 0 in b.shape or 0 in a.shape:
        return np.zeros((*batch, *b.shape[-2:]), b.dtype)
    if a.shape[-1] > MATRICES_TOGETHER or math.prod(batch) == 1:
        solver = blas.triangular_solver(a.dtype.char) if a.dtype is b.dtype else None
        if solver is not None and (unit or np.einsum("...ii->...i", a).all()):
            out = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), order="C")
            if a.ndim > 2 and a.shape[:-2] != batch:
                a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
            solver(_in_order_or_transposed(a), flat(out), left, upper, unit)
            return out
    if not left:
        return np.swapaxes(
            solve_triangular(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), True, not upper, unit), -1, -2
        )
    triangle = np.triu(a, 1) if upper else np.tril(a, -1)
    diagonal = np.einsum("...ii->...i", triangle)
    diagonal[...] = 1 if unit else np.einsum("...ii->...i", a)
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    if upper:
        return _solve_upper(triangle, b)
    return _solve_upper(triangle[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :].copy()


def _in_order_or_transposed(a: Any) -> Any:
    """One batch of matrices, each by rows or, where they lie so already, by columns."""
    turned = np.swapaxes(a, -1, -2)
    if turned.flags.c_contiguous and not a.flags.c_contiguous:
        return np.swapaxes(flat(turned), -1, -2)
    return flat(np.ascontiguousarray(a))


def _solve_upper(u: Any, b: Any) -> Any:
    """Back substitution; halves first, so that most of the work is matrix products."""
    size = u.shape[-1]
    if size > TRIANGLE_IN_ONE_CALL:
        half = size // 2
        below = _solve_upper(u[..., half:, half:], b[..., half:, :])
        above = _solve_upper(u[..., :half, :half], b[..., :half, :] - u[..., :half, half:] @ below)
        return np.concatenate((above, below), axis=-2)
    try:
        return np.linalg.solve(u, b)  # of an upper triangle the LU factorization is itself: no pivots, no fill
    except np.linalg.LinAlgError:
        return _substitute(u, b)


def _substitute(u: Any, b: Any) -> Any:
    """Singular systems divide by zero, as LAPACK does."""
    out = np.array(b)
    with np.errstate(all="ignore"):
        for i in range(u.shape[-1] - 1, -1, -1):
            out[..., i, :] -= (u[..., i, None, i + 1 :] @ out[..., i + 1 :, :])[..., 0, :]
            out[..., i, :] /= u[..., i, i, None]
    return out


# --- factorizations that report failure ---


def inverse(x: Any) -> tuple[Any, Any]:
    """The inverses, and for each matrix 0 or the number of the first zero pivot."""
    if x.shape[-1] <= TRIANGLE_IN_ONE_CALL:
        try:
            return np.linalg.inv(x), np.zeros(x.shape[:-2], np.int32)
        except np.linalg.LinAlgError:
            pass
    return _solve_by_factors(x, np.eye(x.shape[-1], dtype=x.dtype), math.inf)


def solve(a: Any, b: Any) -> tuple[Any, Any]:
    """X with a X = b, and for each matrix 0 or the number of the first zero pivot."""
    if a.shape[-1] <= TRIANGLE_IN_ONE_CALL or b.shape[-1] <= FEW_RIGHT_SIDES or is_elsewhere(a):
        try:
            return np.linalg.solve(a, b), np.zeros(a.shape[:-2], np.int32)
        except np.linalg.LinAlgError:
            pass
    return _solve_by_factors(a, b, math.nan)


def _solve_by_factors(a: Any, b: Any, failed: float) -> tuple[Any, Any]:
    """By LU and two triangular systems, faster than LAPACK's own sequence of them where there is much to do.

    A singular matrix gets `failed`: in what rounding leaves of others, pivots decide, not NumPy.
    """
    factors, pivots, info = lu_factor(a)
    order = permutation_of(pivots, a.shape[-1])[..., None]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    moved = np.take_along_axis(
        np.broadcast_to(b, (*batch, *b.shape[-2:])), np.broadcast_to(order, (*batch, *order.shape[-2:])), -2
    )
    result = solve_triangular(factors, solve_triangular(factors, moved, True, False, True), True, True, False)
    return np.where((info != 0)[..., None, None], a.dtype.type(failed), result) if info.any() else result, info


def cholesky(x: Any) -> tuple[Any, Any]:
    """Lower factors, and for each matrix 0 or the order of the first leading minor that is not positive."""
    try:
        lower = np.linalg.cholesky(x)
        if not np.isnan(np.einsum("...ii->...", lower)).any():  # LAPACK goes on with a pivot that is no number
            return lower, np.zeros(x.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        pass
    factors = flat(np.tril(x))
    info = np.array([_cholesky_columns(matrix) for matrix in factors], np.int32)
    return factors.reshape(x.shape), info.reshape(x.shape[:-2])


def _cholesky_columns(a: Any) -> int:
    """Factor in place, column by column; stop at the first minor that is not positive."""
    for j in range(a.shape[0]):
        pivot = a[j, j].real - np.sum(np.abs(a[j, :j]) ** 2)
        if not pivot > 0:
            return j + 1
        a[j, j] = np.sqrt(pivot)
        a[j + 1 :, j] = (a[j + 1 :, j] - a[j + 1 :, :j] @ a[j, :j].conj()) / a[j, j]
    return 0


# --- LDL with Bunch and Kaufman's pivots ---


def ldl_factor(x: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """L D L^T (or L D L^H) of permuted x in LAPACK's compact form: (factors, pivots, info).

    Negative pivots mark 2 x 2 blocks of D.
    """
    size = x.shape[-1]
    a = np.tril(flat(x))
    pivots = np.zeros((a.shape[0], size), np.int32)
    info = np.zeros(a.shape[0], np.int32)
    conjugated = hermitian and a.dtype.kind == "c"
    for i, matrix in enumerate(a):
        info[i] = _ldl_steps(matrix, pivots[i], conjugated)
    return a.reshape(x.shape), pivots.reshape(*x.shape[:-1]), info.reshape(x.shape[:-2])


def _sizes(values: Any) -> Any:
    return np.abs(values.real) + np.abs(values.imag) if values.dtype.kind == "c" else np.abs(values)


def _ldl_steps(a: Any, pivots: Any, conjugated: bool) -> int:
    size, k, info = a.shape[0], 0, 0
    limit = (1 + math.sqrt(17)) / 8  # the threshold that bounds the growth of elements
    while k < size:
        if conjugated:
            a[k, k] = a[k, k].real
        head = _sizes(a[k, k])
        below = _sizes(a[k + 1 :, k])
        largest = below.max() if below.size else 0.0
        where, width, pivot = k, 1, k
        if max(head, largest) == 0:
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        if head < limit * largest:
            where = k + 1 + int(np.argmax(below))
            across = max(
                _sizes(a[where, k:where]).max(), _sizes(a[where + 1 :, where]).max() if where + 1 < size else 0.0
            )
            if head >= limit * largest * (largest / across):
                pivot = k
            elif _sizes(a[where, where]) >= limit * across:
                pivot = where
            else:
                pivot, width = where, 2
        other = k + width - 1
        if pivot != other:
            _swap_symmetric(a, other, pivot, k, conjugated)
        _eliminate_block(a, k, width, conjugated)
        pivots[k : k + width] = pivot + 1 if width == 1 else -(pivot + 1)
        k += width
    return info


def _swap_symmetric(a: Any, i: int, j: int, k: int, conjugated: bool) -> None:
    """Exchange rows and columns i < j of the lower triangle, from column k on."""
    a[[i, j], k:i] = a[[j, i], k:i]
    a[j + 1 :, [i, j]] = a[j + 1 :, [j, i]]
    middle = a[i + 1 : j, i].copy()
    a[i + 1 : j, i] = a[j, i + 1 : j].conj() if conjugated else a[j, i + 1 : j]
    a[j, i + 1 : j] = middle.conj() if conjugated else middle
    a[i, i], a[j, j] = a[j, j], a[i, i]
    if conjugated:
        a[j, i] = a[j, i].conj()


def _eliminate_block(a: Any, k: int, width: int, conjugated: bool) -> None:
    stop = k + width
    block = np.tril(a[k:stop, k:stop])
    full = block + (block.conj() if conjugated else block).T
    full[np.diag_indices(width)] = block.diagonal().real if conjugated else block.diagonal()
    columns = a[stop:, k:stop].copy()
    factors = np.linalg.solve(full.T, columns.T).T
    update = factors @ (columns.conj().T if conjugated else columns.T)
    a[stop:, stop:] -= np.tril(update)
    a[stop:, k:stop] = factors


def ldl_unpack(factors: Any, pivots: Any, hermitian: bool) -> tuple[Any, Any]:
    """One matrix's compact form as (M, D) with x = M D M^T (or M D M^H): M includes the permutations."""
    size = factors.shape[0]
    conjugated = hermitian and factors.dtype.kind == "c"
    whole = np.eye(size, dtype=factors.dtype)
    middle = np.zeros_like(factors)
    k = 0
    while k < size:
        width = 1 if pivots[k] > 0 else 2
        stop, pivot = k + width, abs(int(pivots[k])) - 1
        whole[:, [stop - 1, pivot]] = whole[:, [pivot, stop - 1]]
        step = np.eye(size, dtype=factors.dtype)
        step[stop:, k:stop] = factors[stop:, k:stop]
        whole = whole @ step
        block = np.tril(factors[k:stop, k:stop])
        middle[k:stop, k:stop] = block + np.tril(block, -1).T if not conjugated else block + np.tril(block, -1).conj().T
        k = stop
    return whole, middle


# --- the exponential ---

_PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip


def matrix_exp(x: Any) -> Any:
    """exp by scaling and squaring, with the [13/13] Pade approximation in between."""
    if x.shape[-1] == 0 or x.size == 0:
        return copy(x)
    norms = np.abs(x).sum(axis=-2).max(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        squarings = np.maximum(np.ceil(np.log2(norms / 5.37)), 0)
    squarings = np.where(np.isfinite(squarings), squarings, 0).astype(int)
    a = x * np.exp2(-squarings).astype(x.real.dtype)[..., None, None]
    identity = brought(np.eye(x.shape[-1], dtype=x.dtype), x)
    # Divided by the first of them, the coefficients fit into float32.
    c = [value / _PADE[0] for value in _PADE]
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    odd = a @ (a6 @ (c[13] * a6 + c[11] * a4 + c[9] * a2) + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * identity)
    even = a6 @ (c[12] * a6 + c[10] * a4 + c[8] * a2) + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * identity
    out = np.linalg.solve(even - odd, even + odd)
    for step in range(int(squarings.max())):
        out = np.where((squarings > step)[..., None, None], out @ out, out)
    return out

"""Inverses, determinants, solutions of linear systems, Cholesky and LU: forward through LAPACK, pullbacks as products.

Operations that can fail on some matrix of a batch return an `info` array next to their result; who calls them decides
whether that is an error. Eigenvalues, singular values and QR are in `decompositions.py`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.dtypes import kind_of
from ..core.kernel import kernel
from ..core.op import Op, conjugate, op
from ..kernels import linear_algebra as kernels
from ..kernels.like import brought, copy, counted, full, zeros
from ..kernels.order import by_columns
from .layouts import LAST_AXES, LEADING, MATRICES, MATRIX_AND_VECTOR, PSEUDO_INVERSE
from .matmul import adjoint, diagonal_of
from .rearranging import tril, triu
from .samples import Draw, Sample, arrays
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import Number
    from ..core.basics.types import NumPyArray as Array


def laid_by_columns(function: Callable[..., Any], *places: int) -> Callable[..., Any]:
    """A function whose results (those at these places, where there are several) are laid out as LAPACK's are in torch.

    All others lie in the order of their dims.
    """

    @functools.wraps(function)
    def run(*args: Any, **params: Any) -> Any:
        found = function(*args, **params)
        if not places:
            return by_columns(found)
        return tuple(by_columns(part) if place in places else in_order(part) for place, part in enumerate(found))

    return run


# --- diagonals ---


def _set_diagonal(x: Array, value: Array | Number) -> Array:
    out = np.array(x)
    np.einsum("...ii->...i", out)[...] = value
    return out


set_diagonal: Op = op(
    "FillDiagonalBackward0", _set_diagonal, x=lambda g: set_diagonal(g, value=0), batch=LAST_AXES, aten="fill_diagonal_"
)


def trace_of(x: Array) -> Array:
    """Traces, with two dims of size 1 so that they multiply matrices."""
    return np.sum(diagonal_of(x), axis=-1)[..., None, None]


# --- inverses and systems ---


def _inverse_pullback(g: Array, out: Array) -> list[Any]:
    inverted = adjoint(out)
    return [-(inverted @ g[0] @ inverted)]


inverse: Op = op(
    "LinalgInvExBackward0",
    laid_by_columns(kernels.inverse, 0),
    outputs=0,
    inputs=("x",),
    joint=_inverse_pullback,
    batch=LAST_AXES,
)


def _solve_pullback(g: Array, a: Array, out: Array, needs: tuple[bool, ...]) -> list[Any]:
    right = solve(adjoint(a), g[0])[0]
    return [-(right @ adjoint(out)) if needs[0] else None, right]


solve: Op = op(
    "LinalgSolveExBackward0",
    laid_by_columns(kernels.solve, 0),
    outputs=0,
    inputs=("a", "b"),
    joint=_solve_pullback,
    batch=MATRICES,
    aten="_linalg_solve_ex",
)


def _solve_vector(a: Array, b: Array) -> tuple[Array, Array]:
    result, info = kernels.solve(a, b[..., None])
    return by_columns(result[..., 0]), info


def _solve_vector_pullback(g: Array, a: Array, out: Array, needs: tuple[bool, ...]) -> list[Any]:
    right = solve(adjoint(a), g[0][..., None])[0]
    return [-(right @ adjoint(out[..., None])) if needs[0] else None, right[..., 0]]


solve_vector: Op = op(
    "LinalgSolveExBackward0",
    _solve_vector,
    outputs=0,
    inputs=("a", "b"),
    joint=_solve_vector_pullback,
    batch=MATRIX_AND_VECTOR,
    aten="_linalg_solve_ex",
    samples=arrays((3, 3), (3,)),
)


def _triangular_right(g: Array, a: Array, left: bool, upper: bool, unit: bool) -> Array:
    return solve_triangular(adjoint(a), g, left=left, upper=not upper, unit=unit)


def _triangular_left(g: Array, a: Array, out: Array, left: bool, upper: bool, unit: bool) -> Array:
    right = _triangular_right(g, a, left, upper, unit)
    full = -(right @ adjoint(out)) if left else -(adjoint(out) @ right)
    return triu(full, diagonal=int(unit)) if upper else tril(full, diagonal=-int(unit))


def _solve_triangular(a: Array, b: Array, left: bool, upper: bool, unit: bool) -> Array:
    """X with a X = b (or X a = b); only one triangle of `a` is read, not its diagonal if `unit`."""
    if not left:
        turned = _solve_triangular(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), True, not upper, unit)
        return np.swapaxes(turned, -1, -2)
    triangle = np.triu(a, int(unit)) if upper else np.tril(a, -int(unit))
    if unit:
        triangle = triangle + brought(np.eye(a.shape[-1], dtype=a.dtype), a)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    matrices = [np.broadcast_to(part, (*batch, *part.shape[-2:])) for part in (triangle, b)]
    return np.linalg.solve(*matrices)


def _triangular_samples(draw: Draw) -> Iterator[Sample]:
    for a_shape, b_shape in (
        ((3, 3), (3, 2)),
        ((2, 4, 4), (4, 4)),
        ((3, 3), (2, 3, 3)),
        ((3, 3), (3, 0)),
        ((100, 100), (100, 100)),
    ):
        for left, upper, unit in itertools.product((True, False), repeat=3):
            b = draw(*b_shape)
            a = 0.1 * draw(*a_shape) + 2 * np.eye(a_shape[-1], dtype=b.dtype)
            yield (a, b if left else np.swapaxes(b, -1, -2)), {"left": left, "upper": upper, "unit": unit}


solve_triangular: Op = op(
    "LinalgSolveTriangularBackward0",
    _solve_triangular,
    a=_triangular_left,
    b=_triangular_right,
    kernel=kernel(laid_by_columns(kernels.solve_triangular)),
    batch=MATRICES,
    samples=_triangular_samples,
)

# --- pseudo-inverse ---


def _pinv(x: Array, atol: float, rtol: float, hermitian: bool) -> Array:
    if x.size == 0:
        return zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x)
    if hermitian:
        values, left = np.linalg.eigh(x)
        right = adjoint(left)
    else:
        left, values, right = np.linalg.svd(x, full_matrices=False)
    size = np.abs(values)
    cutoff = np.maximum(atol, rtol * size.max(axis=-1))[..., None]
    kept = size > cutoff
    inverted = np.where(kept, 1 / np.where(kept, values, 1), 0).astype(values.dtype)
    return (adjoint(right) * inverted[..., None, :]) @ adjoint(left)


def _pinv_pullback(g: Array, x: Array, out: Array) -> Array:
    back, cotangent = adjoint(out), adjoint(g)
    spread = cotangent @ out @ back
    return spread - back @ g @ back - x @ out @ spread + back @ out @ (cotangent - cotangent @ out @ x)


pinv: Op = op(
    "LinalgPinvBackward0",
    lambda x, atol, rtol, hermitian: in_order(_pinv(x, atol, rtol, hermitian)),
    x=_pinv_pullback,
    batch=PSEUDO_INVERSE,
    aten="linalg_pinv.atol_rtol_tensor",
)

# --- determinants ---

# The gradient of det is the matrix of cofactors: a polynomial in the elements, fine for singular matrices too, where
# the textbook formula det(x) * inverse(x)^T is not.


def _det(x: Array) -> Array:
    with np.errstate(all="ignore"):
        return in_order(np.linalg.det(x))


det: Op = op(
    "LinalgDetBackward0",
    _det,
    x=lambda g, x: g[..., None, None] * conjugate(cofactors(x)),
    batch=LAST_AXES,
    aten="_linalg_det",
)


def _leave_one_out(values: Array) -> Array:
    """Products of all elements along the last axis but one."""
    ones = np.ones_like(values[..., :1])
    before = np.cumprod(np.concatenate((ones, values[..., :-1]), axis=-1), axis=-1)
    after = np.cumprod(np.concatenate((ones, values[..., :0:-1]), axis=-1), axis=-1)[..., ::-1]
    return before * after


def _cofactors(x: Array) -> Array:
    if x.size == 0:
        return copy(x)
    finite = np.isfinite(x).all((-2, -1))
    if not finite.all():  # LAPACK refuses such matrices; the others have their cofactors
        out = np.full_like(x, np.nan)
        out[finite] = _cofactors(x[finite])
        return out
    try:
        inverted = np.linalg.inv(x)
        condition = np.abs(x).sum(-1).max(-1) * np.abs(inverted).sum(-1).max(-1)
        if np.all(condition < np.finfo(x.dtype).eps ** -0.4):
            return np.linalg.det(x)[..., None, None] * np.swapaxes(inverted, -1, -2)
    except np.linalg.LinAlgError:
        pass
    left, values, right = np.linalg.svd(x)
    sign = np.linalg.det(left) * np.linalg.det(right)
    return sign[..., None, None] * ((left.conj() * _leave_one_out(values)[..., None, :]) @ right.conj())


def _cofactor_change(x: Array, m: Array) -> Array:
    """The derivative of the cofactors of x in the direction m, in the basis where x is diagonal."""
    if x.size == 0:
        return copy(m)
    left, values, right = np.linalg.svd(x)
    sign = np.linalg.det(left) * np.linalg.det(right)
    size = x.shape[-1]
    others = np.where(brought(np.eye(size, dtype=bool), values), 1, values[..., None, :] * full((size, 1), 1, values))
    pairs = _set_diagonal(_leave_one_out(others), 0)  # [i, j]: the product of all values but the i-th and the j-th
    turned = adjoint(left) @ m @ adjoint(right)
    diagonal = (pairs @ np.einsum("...ii->...i", turned)[..., None])[..., 0]
    inner = -np.swapaxes(pairs * turned, -1, -2)
    np.einsum("...ii->...i", inner)[...] = diagonal
    return sign[..., None, None] * (left.conj() @ inner @ right.conj())


def _cofactor_second_change(x: Array, m: Array, n: int) -> Array:
    """The same once more, in the directions m and n; by now through the inverse."""
    inverted = inverse(x)[0]
    a, b = inverted @ m, inverted @ n
    scale = trace_of(a) * trace_of(b) - trace_of(a @ b)
    whole = scale * inverted + (a @ b + b @ a - trace_of(a) * b - trace_of(b) * a) @ inverted
    return det(x)[..., None, None] * np.swapaxes(whole, -1, -2)


cofactors: Op = op(
    "LinalgDetBackward0",
    _cofactors,
    x=lambda g, x: conjugate(cofactor_change(x, conjugate(g))),
    batch=LAST_AXES,
    aten="_linalg_det",
)
cofactor_change: Op = op(
    "LinalgDetBackward0",
    _cofactor_change,
    x=lambda g, x, m: conjugate(_cofactor_second_change(x, m, conjugate(g))),
    m=lambda g, x: conjugate(cofactor_change(x, conjugate(g))),
    batch=MATRICES,
    aten="_linalg_det",
)


def _slogdet(x: Array) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        sign, logarithm = np.linalg.slogdet(x)
    return in_order(sign), in_order(logarithm)


def _slogdet_pullback(g: Array, x: Array, out: Array) -> list[Any]:
    scale = g[1]
    if kind_of(x) == "c":
        scale = scale - 1j * np.imag(np.conj(g[0]) * out)
    return [scale[..., None, None] * adjoint(inverse(x)[0])]


slogdet: Op = op(
    "LinalgSlogdetBackward0",
    _slogdet,
    outputs=0,
    inputs=("x",),
    joint=_slogdet_pullback,
    batch=LAST_AXES,
    aten="_linalg_slogdet",
)

# --- Cholesky ---


def _cholesky_pullback(g: Array, out: Array) -> list[Any]:
    lower = out
    inner = tril(adjoint(lower) @ g[0], diagonal=0)
    inner = (inner + adjoint(tril(inner, diagonal=-1))) * 0.5
    inner = solve_triangular(adjoint(lower), inner, left=True, upper=True, unit=False)
    return [solve_triangular(lower, inner, left=False, upper=False, unit=False)]


cholesky: Op = op(
    "LinalgCholeskyExBackward0",
    laid_by_columns(kernels.cholesky, 0),
    outputs=0,
    inputs=("x",),
    joint=_cholesky_pullback,
    batch=LAST_AXES,
)


def _cholesky_solve(b: Array, factor: Array, upper: bool) -> Array:
    lower = adjoint(factor) if upper else factor
    inner = solve_triangular.forward(lower, b, left=True, upper=False, unit=False)
    return solve_triangular.forward(adjoint(lower), inner, left=True, upper=True, unit=False)


def _cholesky_inverse(factor: Array, upper: bool) -> Array:
    return _cholesky_solve(brought(np.eye(factor.shape[-1], dtype=factor.dtype), factor), factor, upper)


def _factor_cotangent(change: Array, factor: Array, upper: bool) -> Array:
    """From the cotangent of the inverse of A to that of its factor, which as in torch is that of all of `factor`."""
    both = -(change + adjoint(change))
    return factor @ both if upper else both @ factor


def _cholesky_solve_factor(g: Array, factor: Array, out: Array, upper: bool) -> Array:
    return _factor_cotangent(cholesky_solve(g, factor, upper=upper) @ adjoint(out), factor, upper)


cholesky_solve: Op = op(
    "CholeskySolveBackward0", laid_by_columns(_cholesky_solve),
    b=lambda g, factor, upper: cholesky_solve(g, factor, upper=upper), factor=_cholesky_solve_factor,
    batch=MATRICES, samples=arrays((3, 2), (3, 3), upper=False),
)  # fmt: skip
cholesky_inverse: Op = op(
    "CholeskyInverseBackward0", laid_by_columns(_cholesky_inverse),
    factor=lambda g, factor, out, upper: _factor_cotangent(out @ g @ out, factor, upper),
    batch=LAST_AXES, samples=arrays((3, 3), upper=True),
)  # fmt: skip

# --- LU ---


def _permutation(pivots: Array, like: Array) -> Array:
    return kernels.permutation_matrix(pivots, like.shape[-2], like.dtype)


permutation: Op = op("LuUnpackBackward0", _permutation, batch=LEADING, pivots=None, like=None)


def unpack_lower(lu: Any) -> Any:
    size = min(lu.shape[-2:])
    return unit_diagonal(tril(lu[..., :, :size], diagonal=-1))


def unpack_upper(lu: Any) -> Any:
    return triu(lu[..., : min(lu.shape[-2:]), :], diagonal=0)


def _unit_diagonal(x: Array) -> Array:
    out, places = copy(x, "C"), counted(x.shape[-1], x)
    out[..., places, places] = 1
    return out


unit_diagonal: Op = op(
    "TrilBackward0",
    _unit_diagonal,
    x=lambda g: tril(g, diagonal=-1),
    batch=LAST_AXES,
    samples=arrays((3, 3)),
)


def _lu_pullback(g: Array, outs: tuple[Array, ...]) -> list[Any]:
    lu, pivots = outs[0], outs[1]
    rows, columns = lu.shape[-2:]
    size = min(rows, columns)
    lower, upper = unpack_lower(lu), unpack_upper(lu)
    to_lower, to_upper = tril(g[0][..., :, :size], diagonal=-1), triu(g[0][..., :size, :], diagonal=0)
    head, corner = lower[..., :size, :], upper[..., :, :size]
    from_lower = adjoint(head) @ to_lower[..., :size, :]
    from_upper = to_upper[..., :, :size] @ adjoint(corner)
    if columns > rows:
        from_lower = from_lower - to_upper[..., :, size:] @ adjoint(upper[..., :, size:])
    if rows > columns:
        from_upper = from_upper - adjoint(lower[..., size:, :]) @ to_lower[..., size:, :]
    inner = tril(from_lower, diagonal=-1) + triu(from_upper, diagonal=0)
    inner = solve_triangular(adjoint(corner), inner, left=False, upper=False, unit=False)
    result = solve_triangular(adjoint(head), inner, left=True, upper=True, unit=True)
    if columns > rows:
        rest = solve_triangular(adjoint(head), to_upper[..., :, size:], left=True, upper=True, unit=True)
        result = np.concatenate((result, rest), axis=-1)
    if rows > columns:
        rest = solve_triangular(adjoint(corner), to_lower[..., size:, :], left=False, upper=False, unit=False)
        result = np.concatenate((result, rest), axis=-2)
    return [permutation(pivots, lu) @ result]


lu_factor: Op = op(
    "LinalgLuFactorExBackward0",
    laid_by_columns(kernels.lu_factor, 0),
    outputs=0,
    inputs=("x",),
    joint=_lu_pullback,
    batch=LAST_AXES,
)

# --- the exponential ---


def _matrix_exp_pullback(g: Array, x: Array) -> Array:
    """exp of [[x^H, g], [0, x^H]] has the pullback as its upper right corner."""
    size = x.shape[-1]
    turned = adjoint(x)
    above = np.concatenate((turned, g), axis=-1)
    below = np.concatenate((g * 0, turned), axis=-1)
    return matrix_exp(np.concatenate((above, below), axis=-2))[..., :size, size:]


matrix_exp: Op = op("LinalgMatrixExpBackward0", kernels.matrix_exp, x=_matrix_exp_pullback, batch=LAST_AXES)

"""Eigenvalues, singular values and QR, with torch's choice of derivative and its checks.

Eigenvectors are defined up to a factor, so only losses that do not depend on that factor have a derivative: for
complex vectors this is checked. Rules take None for an output nothing was computed from, because a derivative through
values alone exists where one through vectors does not (repeated eigenvalues).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..core.basics.dtypes import kind_of
from ..core.op import Op, op
from .layouts import LAST_AXES
from .linalg import laid_by_columns, set_diagonal, solve, solve_triangular
from .matmul import adjoint, diagonal_matrix, diagonal_of
from .rearranging import triu

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array


def _decomposition(node_name: str, forward: Callable[..., Any], joint: Callable[..., Any], **fields: Any) -> Op:
    return op(
        node_name, forward, inputs=("x",), joint=joint, outputs=0, undefined_allowed=True, batch=LAST_AXES, **fields
    )


def _check_phase(diagonal: Array, function: str, what: str) -> None:
    """A loss must not change when complex vectors are multiplied by a phase."""
    values = getattr(diagonal, "_array", diagonal)
    if isinstance(values, np.ndarray) and values.dtype.kind == "c" and np.any(np.abs(values.imag) > 1e-2):
        raise RuntimeError(
            f"{function}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this quantity, so it is ill-defined. Use a loss that is the same for "
            "all of them, such as one of absolute values."
        )


def _gaps(values: Array) -> Array:
    """values[j] - values[i] as a matrix, with ones on the diagonal."""
    return set_diagonal(values[..., None, :] - values[..., :, None], value=1)


# --- Hermitian eigenvalues ---


def _eigh(x: Array, lower: bool) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(x, "L" if lower else "U")
    return values, vectors


def _eigh_pullback(g: Array, outs: tuple[Array, ...]) -> list[Any]:
    values, vectors = outs
    to_values, to_vectors = g
    turned = adjoint(vectors)
    if to_vectors is None:
        return [(vectors * to_values[..., None, :]) @ turned]
    inner = turned @ to_vectors
    _check_phase(diagonal_of(inner), "linalg_eigh_backward", "eigenvectors")
    # Vectors of length 1 can only turn: what is left of a cotangent is its skew part, and the result is Hermitian.
    inner = set_diagonal((inner - adjoint(inner)) * 0.5, value=0) / _gaps(values)
    if to_values is not None:
        inner = inner + diagonal_matrix(to_values)
    return [vectors @ inner @ turned]


eigh: Op = _decomposition("LinalgEighBackward0", laid_by_columns(_eigh, 1), _eigh_pullback, aten="_linalg_eigh")

# --- general eigenvalues ---


def _eig(x: Array) -> tuple[Array, Array]:
    if not np.all(np.isfinite(x)):
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    values, vectors = np.linalg.eig(x)
    kind = np.result_type(x.dtype, np.complex64)
    return values.astype(kind, copy=False), vectors.astype(kind, copy=False)


def _eig_pullback(g: Array, outs: tuple[Array, ...]) -> list[Any]:
    values, vectors = outs
    to_values, to_vectors = g
    turned = adjoint(vectors)
    if to_vectors is None:
        return [solve(turned, to_values[..., :, None] * turned)[0]]
    inner = turned @ to_vectors
    diagonal = diagonal_of(inner)
    _check_phase(diagonal, "linalg_eig_backward", "eigenvectors")
    inner = inner - (turned @ vectors) * np.real(diagonal)[..., None, :]
    inner = set_diagonal(inner / np.conj(_gaps(values)), value=0)
    if to_values is not None:
        inner = inner + diagonal_matrix(to_values)
    return [solve(turned, inner @ turned)[0]]


eig: Op = _decomposition("LinalgEigBackward0", laid_by_columns(_eig, 1), _eig_pullback)

# --- singular values ---


def _svd(x: Array, full: bool) -> tuple[Array, Array, Array]:
    left, values, right = np.linalg.svd(x, full_matrices=full)
    return left, values, right


def _skew(x: Array) -> Array:
    return x - adjoint(x)


def _svd_pullback(g: Array, outs: tuple[Array, ...]) -> list[Any]:
    values = outs[1]
    size = values.shape[-1]
    left, right = outs[0][..., :, :size], outs[2][..., :size, :]
    to_left = None if g[0] is None else g[0][..., :, :size]
    to_right = None if g[2] is None else g[2][..., :size, :]
    if to_left is None and to_right is None:
        return [(left * g[1][..., None, :]) @ right]
    return [_svd_vectors_pullback(to_left, g[1], to_right, left, values, right)]


def _svd_vectors_pullback(
    to_left: Array | None, to_values: Array | None, to_right: Array | None, left: Array, values: Array, right: Array
) -> Array:
    rows, size, columns = left.shape[-2], values.shape[-1], right.shape[-1]
    from_left = None if to_left is None else adjoint(left) @ to_left
    from_right = None if to_right is None else right @ adjoint(to_right)
    if kind_of(left) == "c":
        parts = [diagonal_of(part) for part in (from_left, from_right) if part is not None]
        _check_phase(sum(parts[1:], parts[0]), "svd_backward", "singular vectors")
    inner: Array | int = 0
    if from_left is not None:
        inner = _skew(from_left) * values[..., None, :]
    if from_right is not None:
        inner = inner + values[..., :, None] * _skew(from_right)
    inner = inner / _gaps(values * values)
    if to_values is not None:
        inner = inner + diagonal_matrix(to_values)
    if from_left is not None and from_right is not None and kind_of(left) == "c":
        inner = inner + diagonal_matrix(diagonal_of(_skew(from_left)) / (2 * values))
    inner_left = left @ inner
    if to_left is not None and rows > size:
        inner_left = inner_left + (to_left - left @ from_left) / values[..., None, :]
    result = inner_left @ right
    if to_right is not None and columns > size:
        result = result + left @ ((to_right - to_right @ adjoint(right) @ right) / values[..., :, None])
    return result


svd: Op = _decomposition("LinalgSvdBackward0", laid_by_columns(_svd, 0, 2), _svd_pullback, aten="_linalg_svd")

# --- QR ---


def _qr(x: Array, mode: Literal["reduced", "complete", "r"]) -> Any:
    if mode == "r":
        return np.zeros((0,), x.dtype), np.linalg.qr(x, "r")
    q, r = np.linalg.qr(x, mode)
    return q, r


def _qr_pullback(g: Array, outs: tuple[Array, ...], mode: str) -> list[Any]:
    q, r = outs
    to_q, to_r = g
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to use gradients."
        )
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols. Use mode='reduced'."
        )
    if rows >= columns:
        return [_qr_tall_pullback(to_q, to_r, q, r)]
    # The first square block is decomposed, the other columns are only rotated: R2 = Q^H A2.
    if to_r is None:
        first = _qr_tall_pullback(to_q, None, q, r[..., :rows])
        return [np.concatenate((first, (q @ r[..., rows:]) * 0), axis=-1)]
    to_rest = to_r[..., rows:]
    through_q = (q @ r[..., rows:]) @ adjoint(to_rest)
    first = _qr_tall_pullback(through_q if to_q is None else to_q + through_q, to_r[..., :rows], q, r[..., :rows])
    return [np.concatenate((first, q @ to_rest), axis=-1)]


def _qr_tall_pullback(to_q: Array | None, to_r: Array | None, q: Array, r: Array) -> Array:
    inner: Any = 0
    if to_r is not None:
        inner = to_r @ adjoint(r)
    if to_q is not None:
        inner = inner - adjoint(q) @ to_q
    inner = triu(inner, diagonal=0)
    inner = inner + adjoint(inner)
    result = q @ (inner - diagonal_matrix(diagonal_of(inner)) * 0.5)
    if to_q is not None:
        result = result + to_q
    return solve_triangular(adjoint(r), result, left=False, upper=False, unit=False)


qr: Op = _decomposition("LinalgQrBackward0", laid_by_columns(_qr, 0, 1), _qr_pullback)

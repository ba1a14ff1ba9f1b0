"""NumPy's linear algebra, products and Fourier transforms on tensors (see `numpy_functions`).

Loaded when one of them, or one of the functions of `numpy_arrays`, is first called on a tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import fft, linalg
from ...core.basics.dtypes import as_dtype, promote_types
from ...core.tape import wrap
from ...core.tensor import Tensor
from ...functional import registry
from .numpy_functions import FUNCTIONS, _tensor, implements

_F = registry.FUNCTIONS


# --- products ---


@implements(np.dot)
def _dot(a: Any, b: Any, out: Any = None) -> Tensor:
    a, b = _same(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return a @ b
    return _F["tensordot"](a, b, dims=([a.ndim - 1], [max(b.ndim - 2, 0)]))


def _same(*values: Any) -> tuple[Tensor, ...]:
    """Operands as tensors of one dtype: NumPy promotes where torch's products insist."""
    tensors = [_tensor(value) for value in values]
    kinds = [each.dtype for each in tensors if isinstance(each, Tensor)]
    kind = kinds[0]
    for other in kinds[1:]:
        kind = promote_types(kind, other)
    tensors = [each if isinstance(each, Tensor) else wrap(np.asarray(each, kind._numpy)) for each in tensors]
    return tuple(each if each.dtype is kind else each.to(kind) for each in tensors)


@implements(np.outer, np.linalg.outer)
def _outer(a: Any, b: Any, out: Any = None) -> Tensor:
    a, b = _same(a, b)
    return _F["outer"](a.reshape(-1), b.reshape(-1))


@implements(np.vdot)
def _vdot(a: Any, b: Any) -> Tensor:
    a, b = _same(a, b)
    return _F["vdot"](a.reshape(-1), b.reshape(-1))


@implements(np.linalg.matmul)
def _matmul(x1: Any, x2: Any) -> Tensor:
    a, b = _same(x1, x2)
    return a @ b


@implements(np.linalg.vecdot)
def _vecdot(x1: Any, x2: Any, axis: int = -1) -> Tensor:
    a, b = _same(x1, x2)
    return linalg.vecdot(a, b, dim=axis)


@implements(np.tensordot, np.linalg.tensordot)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    a, b = _same(a, b)
    if not isinstance(axes, int):
        axes = tuple([axis] if isinstance(axis, int) else list(axis) for axis in axes)
    return _F["tensordot"](a, b, dims=axes)


@implements(np.einsum)
def _einsum(*operands: Any, out: Any = None, optimize: Any = False, **_: Any) -> Tensor:
    if isinstance(operands[0], str):
        return _F["einsum"](operands[0], *_same(*operands[1:]))
    count = len(operands) // 2
    arrays = _same(*operands[: 2 * count : 2])
    subscripts = operands[1 : 2 * count : 2]
    mixed = [part for pair in zip(arrays, subscripts, strict=True) for part in pair]
    return _F["einsum"](*mixed, *operands[2 * count :])


@implements(np.cross, np.linalg.cross)
def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Tensor:
    a, b = _same(a, b)
    where = -1 if axis is None else axis
    a, b = _F["movedim"](a, axisa if axis is None else axis, -1), _F["movedim"](b, axisb if axis is None else axis, -1)
    return _F["movedim"](linalg.cross(*_F["broadcast_tensors"](a, b), dim=-1), -1, axisc if axis is None else where)


FUNCTIONS |= {
    np.inner: lambda a, b: _F["inner"](*_same(a, b)),
    np.kron: lambda a, b: _F["kron"](*_same(a, b)),
}


# --- factorizations and solvers: NumPy's names, torch's results ---


@implements(np.linalg.solve)
def _solve(a: Any, b: Any) -> Tensor:
    a, b = _same(a, b)
    if b.ndim == 1:
        return linalg.solve(a, b.unsqueeze(-1)).squeeze(-1)
    return linalg.solve(a, b)


@implements(np.linalg.lstsq)
def _lstsq(a: Any, b: Any, rcond: Any = None) -> tuple:
    a, b = _same(a, b)
    solution = linalg.pinv(a) @ b
    rank = int(linalg.matrix_rank(a.detach()))
    values = linalg.svdvals(a)
    if a.shape[0] > a.shape[1] and rank == a.shape[1]:
        left = a @ solution - b
        residuals = (left * left).sum(0).reshape(-1)
    else:
        residuals = a.new_zeros(0)
    return solution, residuals, rank, values


@implements(np.linalg.qr)
def _qr(a: Any, mode: str = "reduced") -> Any:
    q, r = linalg.qr(a, mode=mode)
    return r if mode == "r" else (q, r)


@implements(np.linalg.matrix_transpose, np.matrix_transpose)
def _matrix_transpose(x: Any, /) -> Tensor:
    return x.mT


@implements(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    if axis is None and ord is None:
        result = linalg.vector_norm(x.reshape(-1))
        return result.reshape((1,) * x.ndim) if keepdims else result
    return linalg.norm(x, ord, dim=tuple(axis) if isinstance(axis, list) else axis, keepdim=keepdims)


@implements(np.trace)
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return _F["diagonal"](a, offset, axis1, axis2).sum(-1, dtype=None if dtype is None else as_dtype(dtype))


FUNCTIONS |= {
    np.linalg.det: lambda a: linalg.det(a),
    np.linalg.slogdet: lambda a: linalg.slogdet(a),
    np.linalg.inv: lambda a: linalg.inv(a),
    np.linalg.pinv: lambda a, rcond=None, hermitian=False, *, rtol=None: linalg.pinv(
        a, rtol=rcond if rtol is None or rtol is np._NoValue else rtol, hermitian=hermitian
    ),
    np.linalg.cholesky: lambda a, *, upper=False: linalg.cholesky(a, upper=upper),
    np.linalg.svd: lambda a, full_matrices=True, compute_uv=True, hermitian=False: (
        linalg.svd(a, full_matrices=full_matrices) if compute_uv else linalg.svdvals(a)
    ),
    np.linalg.svdvals: lambda x, /: linalg.svdvals(x),
    np.linalg.eig: lambda a: linalg.eig(a),
    np.linalg.eigvals: lambda a: linalg.eigvals(a),
    np.linalg.eigh: lambda a, UPLO="L": linalg.eigh(a, UPLO),
    np.linalg.eigvalsh: lambda a, UPLO="L": linalg.eigvalsh(a, UPLO),
    np.linalg.matrix_power: lambda a, n: linalg.matrix_power(a, n),
    np.linalg.matrix_rank: lambda A, tol=None, hermitian=False, *, rtol=None: linalg.matrix_rank(
        A, atol=tol, rtol=rtol, hermitian=hermitian
    ),
    np.linalg.multi_dot: lambda arrays, *, out=None: linalg.multi_dot(list(_same(*arrays))),
    np.linalg.cond: lambda x, p=None: linalg.cond(x, p),
    np.linalg.vector_norm: lambda x, /, *, axis=None, keepdims=False, ord=2: linalg.vector_norm(
        x, ord, dim=axis, keepdim=keepdims
    ),
    np.linalg.matrix_norm: lambda x, /, *, keepdims=False, ord="fro": linalg.matrix_norm(x, ord, keepdim=keepdims),
    np.linalg.trace: lambda x, /, *, offset=0, dtype=None: _trace(x, offset, -2, -1, dtype),
    np.diagonal: lambda a, offset=0, axis1=0, axis2=1: _F["diagonal"](a, offset, axis1, axis2),
    np.linalg.diagonal: lambda x, /, *, offset=0: _F["diagonal"](x, offset, -2, -1),
    np.diag: lambda v, k=0: _F["diag"](v, k),
    np.tril: lambda m, k=0: _F["tril"](m, k),
    np.triu: lambda m, k=0: _F["triu"](m, k),
    np.vander: lambda x, N=None, increasing=False: _F["stack"](
        [x**n for n in (range(N or len(x)) if increasing else range((N or len(x)) - 1, -1, -1))], -1
    ),
}


# --- Fourier transforms: NumPy says axis and axes where torch says dim ---


def _one_axis(name: str) -> Any:
    def transform(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
        return getattr(fft, name)(a, n, axis, norm)

    return transform


def _some_axes(name: str, default: tuple | None) -> Any:
    def transform(a: Any, s: Any = None, axes: Any = default, norm: str | None = None, out: Any = None) -> Tensor:
        return getattr(fft, name)(a, s, axes, norm)

    return transform


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    implements(getattr(np.fft, _name))(_one_axis(_name))
for _name in ("fft2", "ifft2", "rfft2", "irfft2"):
    implements(getattr(np.fft, _name))(_some_axes(_name, (-2, -1)))
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    implements(getattr(np.fft, _name))(_some_axes(_name, None))
FUNCTIONS[np.fft.fftshift] = lambda x, axes=None: fft.fftshift(x, axes)
FUNCTIONS[np.fft.ifftshift] = lambda x, axes=None: fft.ifftshift(x, axes)

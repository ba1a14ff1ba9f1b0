"""NumPy's linear algebra, products and Fourier transforms on tensors (see `numpy_functions`).

Loaded when one of them, or one of the functions of `numpy_arrays`, is first called on a tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.tape import wrap
from ..dtypes import as_dtype
from ..functional import registry
from ..tensor import Tensor
from .numpy_functions import _tensor, implements

_F = registry.FUNCTIONS


def _linalg() -> Any:
    from .. import linalg

    return linalg


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
    from ..dtypes import promote_types

    tensors = [_tensor(value) for value in values]
    kinds = [each.dtype for each in tensors if isinstance(each, Tensor)]
    kind = kinds[0]
    for other in kinds[1:]:
        kind = promote_types(kind, other)
    tensors = [each if isinstance(each, Tensor) else wrap(np.asarray(each, kind.numpy)) for each in tensors]
    return tuple(each if each.dtype is kind else each.to(kind) for each in tensors)


@implements(np.inner)
def _inner(a: Any, b: Any) -> Tensor:
    return _F["inner"](*_same(a, b))


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
    return _linalg().vecdot(a, b, dim=axis)


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


@implements(np.kron)
def _kron(a: Any, b: Any) -> Tensor:
    return _F["kron"](*_same(a, b))


@implements(np.cross, np.linalg.cross)
def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Tensor:
    a, b = _same(a, b)
    where = -1 if axis is None else axis
    a, b = _F["movedim"](a, axisa if axis is None else axis, -1), _F["movedim"](b, axisb if axis is None else axis, -1)
    return _F["movedim"](_linalg().cross(*_F["broadcast_tensors"](a, b), dim=-1), -1, axisc if axis is None else where)


# --- factorizations and solvers: NumPy's names, torch's results ---


@implements(np.linalg.det)
def _det(a: Any) -> Tensor:
    return _linalg().det(a)


@implements(np.linalg.slogdet)
def _slogdet(a: Any) -> Any:
    return _linalg().slogdet(a)


@implements(np.linalg.inv)
def _inv(a: Any) -> Tensor:
    return _linalg().inv(a)


@implements(np.linalg.pinv)
def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    return _linalg().pinv(a, rtol=rcond if rtol is None or rtol is np._NoValue else rtol, hermitian=hermitian)


@implements(np.linalg.solve)
def _solve(a: Any, b: Any) -> Tensor:
    a, b = _same(a, b)
    if b.ndim == 1:
        return _linalg().solve(a, b.unsqueeze(-1)).squeeze(-1)
    return _linalg().solve(a, b)


@implements(np.linalg.lstsq)
def _lstsq(a: Any, b: Any, rcond: Any = None) -> tuple:
    a, b = _same(a, b)
    solution = _linalg().pinv(a) @ b
    rank = int(_linalg().matrix_rank(a.detach()))
    values = _linalg().svdvals(a)
    if a.shape[0] > a.shape[1] and rank == a.shape[1]:
        left = a @ solution - b
        residuals = (left * left).sum(0).reshape(-1)
    else:
        residuals = a.new_zeros(0)
    return solution, residuals, rank, values


@implements(np.linalg.cholesky)
def _cholesky(a: Any, *, upper: bool = False) -> Tensor:
    return _linalg().cholesky(a, upper=upper)


@implements(np.linalg.qr)
def _qr(a: Any, mode: str = "reduced") -> Any:
    q, r = _linalg().qr(a, mode=mode)
    return r if mode == "r" else (q, r)


@implements(np.linalg.svd)
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    return _linalg().svd(a, full_matrices=full_matrices) if compute_uv else _linalg().svdvals(a)


@implements(np.linalg.svdvals)
def _svdvals(x: Any, /) -> Tensor:
    return _linalg().svdvals(x)


@implements(np.linalg.eig)
def _eig(a: Any) -> Any:
    return _linalg().eig(a)


@implements(np.linalg.eigvals)
def _eigvals(a: Any) -> Tensor:
    return _linalg().eigvals(a)


@implements(np.linalg.eigh)
def _eigh(a: Any, UPLO: str = "L") -> Any:
    return _linalg().eigh(a, UPLO)


@implements(np.linalg.eigvalsh)
def _eigvalsh(a: Any, UPLO: str = "L") -> Tensor:
    return _linalg().eigvalsh(a, UPLO)


@implements(np.linalg.matrix_power)
def _matrix_power(a: Any, n: int) -> Tensor:
    return _linalg().matrix_power(a, n)


@implements(np.linalg.matrix_rank)
def _matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    return _linalg().matrix_rank(A, atol=tol, rtol=rtol, hermitian=hermitian)


@implements(np.linalg.matrix_transpose, np.matrix_transpose)
def _matrix_transpose(x: Any, /) -> Tensor:
    return x.mT


@implements(np.linalg.multi_dot)
def _multi_dot(arrays: Any, *, out: Any = None) -> Tensor:
    return _linalg().multi_dot(list(_same(*arrays)))


@implements(np.linalg.cond)
def _cond(x: Any, p: Any = None) -> Tensor:
    return _linalg().cond(x, p)


@implements(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    if axis is None and ord is None:
        result = _linalg().vector_norm(x.reshape(-1))
        return result.reshape((1,) * x.ndim) if keepdims else result
    return _linalg().norm(x, ord, dim=tuple(axis) if isinstance(axis, list) else axis, keepdim=keepdims)


@implements(np.linalg.vector_norm)
def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    return _linalg().vector_norm(x, ord, dim=axis, keepdim=keepdims)


@implements(np.linalg.matrix_norm)
def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    return _linalg().matrix_norm(x, ord, keepdim=keepdims)


@implements(np.trace)
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return _F["diagonal"](a, offset, axis1, axis2).sum(-1, dtype=None if dtype is None else as_dtype(dtype))


@implements(np.linalg.trace)
def _matrix_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return _trace(x, offset, -2, -1, dtype)


@implements(np.diagonal)
def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    return _F["diagonal"](a, offset, axis1, axis2)


@implements(np.linalg.diagonal)
def _matrix_diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    return _F["diagonal"](x, offset, -2, -1)


@implements(np.diag)
def _diag(v: Any, k: int = 0) -> Tensor:
    return _F["diag"](v, k)


@implements(np.tril)
def _tril(m: Any, k: int = 0) -> Tensor:
    return _F["tril"](m, k)


@implements(np.triu)
def _triu(m: Any, k: int = 0) -> Tensor:
    return _F["triu"](m, k)


@implements(np.vander)
def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    return _F["stack"]([x**n for n in (range(N or len(x)) if increasing else range((N or len(x)) - 1, -1, -1))], -1)


# --- Fourier transforms: NumPy says axis and axes where torch says dim ---


def _one_axis(name: str) -> Any:
    def transform(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
        from .. import fft

        return getattr(fft, name)(a, n, axis, norm)

    return transform


def _some_axes(name: str, default: tuple | None) -> Any:
    def transform(a: Any, s: Any = None, axes: Any = default, norm: str | None = None, out: Any = None) -> Tensor:
        from .. import fft

        return getattr(fft, name)(a, s, axes, norm)

    return transform


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    implements(getattr(np.fft, _name))(_one_axis(_name))
for _name in ("fft2", "ifft2", "rfft2", "irfft2"):
    implements(getattr(np.fft, _name))(_some_axes(_name, (-2, -1)))
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    implements(getattr(np.fft, _name))(_some_axes(_name, None))


@implements(np.fft.fftshift)
def _fftshift(x: Any, axes: Any = None) -> Tensor:
    from .. import fft

    return fft.fftshift(x, axes)


@implements(np.fft.ifftshift)
def _ifftshift(x: Any, axes: Any = None) -> Tensor:
    from .. import fft

    return fft.ifftshift(x, axes)

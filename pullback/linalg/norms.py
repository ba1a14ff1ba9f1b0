"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import math
from typing import Any

from ..core.basics.dtypes import as_dtype
from ..core.basics.dtypes import dtype as dtype_type
from ..core.tape import apply
from ..core.tensor import Tensor
from ..core.views import as_own
from ..functional.operands import as_tensor, wrap_dim
from ..functional.reductions import in_dtype
from ..functional.statistics import vector_norm as norm_over
from ..ops.reductions import amax, amin, sum_axes
from .checks import floating, linalg_function, matrix


def _in_norm_dtype(x: Tensor, dtype: Any, function: str) -> Tensor:
    if dtype is None:
        return x
    wanted = as_dtype(dtype)
    if not (wanted.is_floating_point or wanted.is_complex):
        raise RuntimeError(f"{function}: dtype should be floating point or complex. Got {wanted.type_name}")
    if wanted.is_complex != (x._array.dtype.kind == "c"):
        kind = "complex" if x._array.dtype.kind == "c" else "real"
        raise RuntimeError(f"{function}: dtype should be {kind} for {kind} inputs, but got {wanted.type_name}")
    if wanted._numpy.itemsize < x._array.dtype.itemsize:
        raise RuntimeError(
            f"{function}: the dtype of the input ({x.dtype.type_name}) should be convertible without narrowing to the "
            f"specified dtype ({wanted.type_name})"
        )
    return in_dtype(x, dtype)


@linalg_function(out="same")
def vector_norm(
    x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None
) -> Tensor:
    """The `ord`-norm of vectors along dims (of all elements if none are given)."""
    return _vector_norm(as_tensor(x), ord, dim, keepdim, dtype)


def _vector_norm(x: Tensor, ord: float, dim: Any, keepdim: bool, dtype: dtype_type | None) -> Tensor:
    x = floating(x, "linalg.vector_norm", low_precision=True)
    x = _in_norm_dtype(x, dtype, "linalg.vector_norm")
    return norm_over(x, float(ord), dim, keepdim)


def _matrix_dims(dim: Any, ndim: int) -> tuple[int, int]:
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise RuntimeError("linalg.matrix_norm: dim must be a 2-tuple. Got " + str(dim))
    first, second = wrap_dim(dim[0], ndim), wrap_dim(dim[1], ndim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


@linalg_function(out="same")
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: dtype_type | None = None
) -> Tensor:
    """Frobenius, nuclear, spectral or operator norm of matrices."""
    matrix(A, "linalg.matrix_norm")
    floating(A, "linalg.matrix_norm", low_precision=True)
    rows, columns = _matrix_dims(dim, A._array.ndim)
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim, dtype=dtype)
    if ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    x = _in_norm_dtype(A, dtype, "linalg.matrix_norm")
    if ord in ("nuc", 2, -2):
        return _spectral_norm(floating(x, "linalg.matrix_norm"), ord, rows, columns, keepdim)
    if abs(ord) == math.inf:
        rows, columns = columns, rows
    sums = vector_norm(x, 1, rows, True)
    return _drop(_extreme(sums, ord, columns, True), (rows, columns), keepdim)


def _extreme(values: Tensor, ord: float, dim: int, keepdim: bool) -> Tensor:
    """The largest or, for a negative order, the smallest; of no values the largest is 0."""
    op = amax if ord > 0 else amin
    if values._array.shape[dim] == 0:
        if ord < 0:
            raise IndexError(
                f"amin(): Expected reduction dim {dim} to have non-zero size, for the norm of order {ord}."
            )
        op = sum_axes
    return apply(op, (values,), {"axis": (dim,), "keepdims": keepdim})


def _drop(x: Tensor, dims: tuple[int, int], keepdim: bool) -> Tensor:
    return x if keepdim else as_own(x.squeeze(max(dims)).squeeze(min(dims)))


def _spectral_norm(x: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    from .eigenvalues import svdvals

    ndim = x._array.ndim
    rest = [i for i in range(ndim) if i not in (rows, columns)]
    values = svdvals(x.permute(*rest, rows, columns))
    last = len(rest)
    if ord == "nuc":
        result = apply(sum_axes, (values,), {"axis": (last,), "keepdims": False})
    else:
        result = _extreme(values, ord, last, False)
    if keepdim:
        for one in sorted((rows, columns)):
            result = result.unsqueeze(one)
    return result


@linalg_function(out="same")
def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None
) -> Tensor:
    """A vector norm or a matrix norm, by the dims given."""
    x = as_tensor(A)
    ndim = x._array.ndim
    if dim is not None and isinstance(dim, (tuple, list)) and len(dim) == 1:
        dim = dim[0]
    if dim is not None and isinstance(dim, (tuple, list)) and len(dim) != 2 and ord is not None:
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is None:
        return _vector_norm(x, 2, dim, keepdim, dtype)
    if dim is None:
        if ndim not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D."
            )
        if ndim == 2:
            return matrix_norm(x, ord, (0, 1), keepdim, dtype=dtype)
    if isinstance(ord, str) or isinstance(dim, (tuple, list)):
        if not isinstance(dim, (tuple, list)):
            raise RuntimeError(f"linalg.norm: Order {ord} is a matrix norm, which needs two dims; got dim={dim}")
        return matrix_norm(x, ord, dim, keepdim, dtype=dtype)
    return _vector_norm(x, ord, dim, keepdim, dtype)


@linalg_function(autocast="full")
def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition number of matrices: norm(A) * norm(inverse), by default from singular values."""
    from .eigenvalues import svdvals
    from .solvers import inv_ex

    floating(matrix(A, "linalg.cond"), "linalg.cond")
    shape = A._array.shape
    if p in (None, 2, -2):
        if 0 in shape[-2:]:
            return A.real.new_zeros(shape[:-2]) if A._array.dtype.kind == "c" else A.new_zeros(shape[:-2])
        values = svdvals(A)
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else first / last
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            f"linalg.cond: A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices "
            f"(for p={p})"
        )
    if shape[-1] == 0:
        return A.real.new_zeros(shape[:-2]) if A._array.dtype.kind == "c" else A.new_zeros(shape[:-2])
    inverted, info = inv_ex(A)
    product = matrix_norm(A, p) * matrix_norm(inverted, p)
    failed = info != 0
    return product.masked_fill(failed, math.inf) if failed._array.any() else product

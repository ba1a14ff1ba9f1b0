"""Powers, exponentials and products of matrices; tensors as linear maps; Householder reflections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..functional.contraction import cross_product
from ..functional.operands import as_tensor, promote, wrap_dim
from ..functional.registry import FUNCTIONS
from ..ops import linalg as ops
from ..ops.casting import copy_into
from ..ops.rearranging import tril, triu
from .checks import float_matrix, float_square, in_column_order, linalg_function, square
from .solvers import inv, solve, solve_triangular


@linalg_function(out="same")
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Product of several matrices in the cheapest order; the first and last may be vectors."""
    items = [as_tensor(x) for x in tensors]
    if len(items) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(items)}")
    for number, x in enumerate(items):
        ends = number in (0, len(items) - 1)
        if x._array.ndim != 2 and not (ends and x._array.ndim == 1):
            where = {0: "the first tensor must be 1D or 2D", len(items) - 1: "the last tensor must be 1D or 2D"}.get(
                number, f"tensor {number} must be 2D"
            )
            raise RuntimeError(f"multi_dot(): {where} but got {x._array.ndim}D")
        if x._array.dtype != items[0]._array.dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {items[0].dtype.type_name} "
                f"and tensor {number} {x.dtype.type_name}"
            )
    shapes = _chain_shapes(items)
    sizes = [shapes[0][0], *(shape[1] for shape in shapes)]
    return _chain(items, _splits(sizes), 0, len(items) - 1)


def _chain_shapes(items: list[Tensor]) -> list[tuple]:
    shapes = [x._array.shape for x in items]
    if len(shapes[0]) == 1:
        shapes[0] = (1, *shapes[0])
    if len(shapes[-1]) == 1:
        shapes[-1] = (*shapes[-1], 1)
    for number, (a, b) in enumerate(zip(shapes, shapes[1:], strict=False)):
        if a[1] != b[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {number} and {number + 1} with shapes {list(a)} and {list(b)} cannot be "
                "multiplied"
            )
    return shapes


def _splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each run of matrices, by dynamic programming over the number of multiplications."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            best = min((cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
            cost[i, j], splits[i, j] = best
    return splits


def _chain(items: list[Tensor], splits: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return items[i]
    k = splits[i, j]
    return _chain(items, splits, i, k) @ _chain(items, splits, k + 1, j)


@linalg_function(out="same")
def matrix_power(A: Tensor, n: int) -> Tensor:
    """A multiplied by itself n times; negative n for powers of the inverse."""
    square(A, "linalg.matrix_power")
    if not isinstance(n, (int, np.integer)):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    if n == 0:
        return apply(copy_into, (A, wrap(np.eye(A._array.shape[-1], dtype=A._array.dtype))))
    if n < 0:
        return matrix_power(inv(float_square(A, "linalg.matrix_power")), -n)
    if n == 1:
        return A.clone()
    half = matrix_power(A, n // 2) if n > 3 else A
    squared = half @ half
    return squared @ A if n % 2 else squared


@linalg_function()
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices."""
    float_square(A, "linalg.matrix_exp")
    return apply(ops.matrix_exp, (A,))


@linalg_function(out="same")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Inner products along a dim; the first is conjugated."""
    x, y = promote(as_tensor(x), as_tensor(y))
    return ((x.conj() if x._array.dtype.kind == "c" else x) * y).sum(dim)


@linalg_function(out="same")
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross products along a dim of size 3."""
    return cross_product(input, other, dim)


@linalg_function()
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of matrices."""
    return A.diagonal(offset, dim1, dim2)


@linalg_function()
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers 0 to N - 1 of elements, along a new last dim."""
    x = as_tensor(x)
    kind = x._array.dtype.kind
    if kind == "b":
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    x = x.reshape(1) if not x._array.ndim else x
    x = x.long() if kind in "iu" else x
    count = x._array.shape[-1] if N is None else int(N)
    if count <= 1:
        raise RuntimeError(f"N must be greater than 1. Got {count}.")
    column = x.unsqueeze(-1)
    powers = column if count == 2 else FUNCTIONS["cumprod"](column.expand(*x._array.shape, count - 1), -1)
    return FUNCTIONS["cat"]((column.new_ones(column._array.shape), powers), -1)


# --- tensors as linear maps ---


@linalg_function(autocast="full")
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor as a map from its last dims (after `ind`) to its first."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    shape = A._array.shape
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    return inv(A.reshape(rows, columns)).reshape(*shape[ind:], *shape[:ind])


@linalg_function(autocast="full")
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        moved = [wrap_dim(d, A._array.ndim) for d in dims]
        A = A.permute(*(i for i in range(A._array.ndim) if i not in moved), *moved)
    shape = A._array.shape[B._array.ndim :]
    rows, columns = math.prod(A._array.shape[: B._array.ndim]), math.prod(shape)
    if columns != B._array.size or rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {columns} != {B._array.size}"
        )
    return solve(A.reshape(columns, columns), B.reshape(-1)).reshape(shape)


# --- Householder reflections ---


def _reflectors(A: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """V and T with H_1 ... H_k = I - V T V^H, for reflectors stored below the diagonal of A."""
    count = tau._array.shape[-1]
    V = apply(ops.unit_diagonal, (apply(tril, (A[..., :count],), {"diagonal": -1}),))
    overlaps = apply(triu, (V.mH @ V,), {"diagonal": 1})
    scale = tau.diag_embed()
    return V, solve_triangular(tau.unsqueeze(-1) * overlaps, scale, upper=True, unitriangular=True)


def _check_reflectors(A: Tensor, tau: Tensor, function: str) -> None:
    float_matrix(A, function)
    if A._array.shape[-2] < A._array.shape[-1]:
        raise RuntimeError(f"{function}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if A._array.shape[-1] < tau._array.shape[-1]:
        raise RuntimeError(f"{function}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if A._array.ndim - tau._array.ndim != 1:
        raise RuntimeError(
            f"{function}: Expected tau to have one dimension less than input, but got tau.ndim equal to "
            f"{tau._array.ndim} and input.ndim is equal to {A._array.ndim}"
        )
    if A._array.shape[:-2] != tau._array.shape[:-1]:
        raise RuntimeError(
            f"{function}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau._array.shape[:-1])}"
        )
    if A._array.dtype != tau._array.dtype:
        raise RuntimeError(
            f"{function}: tau dtype {tau.dtype.type_name} does not match input dtype {A.dtype.type_name}"
        )


@linalg_function(autocast="full")
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of Householder reflections, as `geqrf` stores them."""
    _check_reflectors(A, tau, "torch.linalg.householder_product")
    rows, columns = A._array.shape[-2:]
    identity = wrap(np.eye(rows, columns, dtype=A._array.dtype))
    if A._array.size == 0 or tau._array.shape[-1] == 0:
        return identity + A * 0
    V, T = _reflectors(A, tau)
    return in_column_order(identity - V @ (T @ V[..., :columns, :].mH))


def multiply_reflectors(A: Tensor, tau: Tensor, other: Tensor, left: bool, transpose: bool) -> Tensor:
    """Q other, Q^H other, other Q or other Q^H for the Q of `geqrf`."""
    if tau._array.shape[-1] == 0 or other._array.size == 0:
        return other + other * 0
    V, T = _reflectors(A, tau)
    middle = T.mH if transpose else T
    if left:
        return in_column_order(other - V @ (middle @ (V.mH @ other)))
    return in_column_order(other - ((other @ V) @ middle) @ V.mH)

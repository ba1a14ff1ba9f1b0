"""Answers of dense tensors where sparse ones are meant: `to_sparse`, `to_dense`, `sparse_mask`; `indices()` is refused.

Sparse tensors themselves are in `sparse/`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..core.tensor import Tensor
from .operands import need_int
from .registry import public


def _only_sparse(name: str, sentence: str) -> None:
    def method(self: Tensor) -> NoReturn:
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got Strided. x.to_sparse() makes a sparse tensor."
        )

    method.__name__ = name
    method.__doc__ = f"{sentence} Only sparse tensors have it."
    public(function=False)(method)


@public("to_sparse_coo", function=False, direct=True)
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Any:
    """A sparse tensor of the elements that are not zero; the last dims stay dense if `sparse_dim` says so."""
    from ..core.basics.layout import sparse_coo
    from ..sparse.tensor import from_dense

    if sparse_dim is None and dense_dim:
        sparse_dim = self.ndim - dense_dim
    elif sparse_dim is not None:
        sparse_dim = need_int(sparse_dim, "to_sparse", "sparse_dim", 1)
        if not 0 <= sparse_dim <= self.ndim:
            raise RuntimeError(
                f"dense_to_sparse: sparse_dim argument must be in [0,{self.ndim}] range, but {sparse_dim} is given"
            )
        if not sparse_dim and self.ndim:
            raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0, but 0 is given")
    return from_dense(self, sparse_dim).as_layout(layout or sparse_coo, blocksize)


def _check_dense_dim(x: Tensor, dense_dim: int | None, name: str, smallest: int) -> None:
    if dense_dim is not None and not smallest <= dense_dim <= x.ndim - 2:
        raise RuntimeError(
            f"dense_to_sparse_{name}: dense_dim argument must be in [{smallest},{x.ndim - 2}] range, but {dense_dim} is given"
        )


@public(function=False, direct=True)
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Any:
    """A sparse matrix by rows."""
    _check_dense_dim(self, dense_dim, "csr", 0)
    return to_sparse(self).to_sparse_csr()


@public(function=False, direct=True)
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Any:
    """A sparse matrix by columns."""
    _check_dense_dim(self, dense_dim, "csc", 0)
    return to_sparse(self).to_sparse_csc()


@public(function=False, direct=True)
def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Any:
    """A sparse matrix by rows of blocks of this size."""
    return to_sparse(self).to_sparse_bsr(blocksize)


@public(function=False, direct=True)
def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Any:
    """A sparse matrix by columns of blocks of this size."""
    return to_sparse(self).to_sparse_bsc(blocksize)


@public(function=False, direct=True)
def sparse_mask(self: Tensor, mask: Any) -> Any:
    """The elements of this tensor at the places of a sparse one; twice at a place that it has twice."""
    from ..sparse.tensor import make

    places = mask._indices()
    return make(places, self[tuple(places)], self.shape, mask.is_coalesced())


@public(function=False, direct=True)
def to_dense(self: Tensor, dtype: Any = None, masked_grad: Any = None) -> Tensor:
    """The tensor itself, in another dtype if one is given."""
    return self if dtype is None else self.to(dtype)


@public(function=False, direct=True)
def is_coalesced(self: Tensor) -> bool:
    """True if no place of a sparse tensor occurs twice; False for a dense one."""
    return False


_PARTS = {
    "coalesce": "The tensor with places that occur several times summed up, in order.",
    "indices": "The places of the elements: a row for each sparse dim.",
    "values": "The elements at the places in `indices`.",
    "_indices": "The places, also of a tensor that is not coalesced.",
    "_values": "The elements, also of a tensor that is not coalesced.",
    "_nnz": "How many places there are.",
    "crow_indices": "Where each row of a CSR matrix begins among `col_indices`.",
    "col_indices": "The columns of the elements of a CSR matrix.",
    "ccol_indices": "Where each column of a CSC matrix begins among `row_indices`.",
    "row_indices": "The rows of the elements of a CSC matrix.",
}
for _name, _sentence in _PARTS.items():
    _only_sparse(_name, _sentence)

"""Results written into `out=` where one of the two is sparse: torch's rules about their layouts."""

from __future__ import annotations

from typing import Any

from ..core.basics.layout import sparse_coo
from ..functional.out_argument import write_out
from .tensor import SparseTensor

_PRODUCTS = frozenset({"mm", "matmul", "addmm"})


def write_sparse(name: str, target: Any, value: Any, kind: str) -> None:
    """Write a sparse result into a sparse tensor; a dense result, or a product of rows (CSR), into a dense one."""
    if not isinstance(target, SparseTensor) and name in _PRODUCTS and value.layout is not sparse_coo:
        return write_out(name, target, value.to_dense(), kind)
    if not (isinstance(target, SparseTensor) and isinstance(value, SparseTensor)):
        raise RuntimeError(
            f"{name}: expected {_kind(value)} result tensor, got tensor with layout {target.layout!r}. The result's layout "
            f"is {value.layout!r}: give such a tensor as out=, or leave it out."
        )
    target.become(value if value.dtype is target.dtype else value.to(target.dtype))


def _kind(value: Any) -> str:
    return "sparse" if isinstance(value, SparseTensor) else "strided"

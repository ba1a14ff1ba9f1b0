"""`torch.sparse`: sparse matrices for graphs and networks of few connections. What they are is in `tensor.py`.

Places and values (COO) are what is kept; rows, columns and blocks (CSR, CSC, BSR, BSC) are shown and read, and the same inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.basics.layout import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from ..core.basics.on_demand import names_on_demand
from ..core.tensor import Tensor
from ..functional.registry import FUNCTIONS, public_in

if TYPE_CHECKING:
    from .tensor import SparseTensor

__all__ = ["addmm", "mm", "softmax", "log_softmax", "sum", "check_sparse_tensor_invariants"]


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A tensor with the given values at the given places: `indices` has a row for each dim and a column for each value."""
    from ..functional.creation import as_tensor, zeros
    from . import tensor as sparse_tensor

    if values is None:  # sparse_coo_tensor(size): nothing in it
        shape = tuple(size if size is not None else indices if not isinstance(indices, int) else (indices,))
        return sparse_tensor.make(zeros(len(shape), 0).long(), zeros(0, dtype=dtype), shape, True)
    places = as_tensor(indices).long()
    entries = as_tensor(values, dtype=dtype)
    if places.dim() == 1 and not places.numel():
        places = places.reshape(len(size) if size is not None else 0, 0)
    shape = tuple(size) if size is not None else tuple(sparse_tensor.inferred_shape(places, entries))
    sparse_tensor.check(places, entries, shape)
    if requires_grad:
        entries = entries.detach().requires_grad_()
    return sparse_tensor.make(places, entries, shape, bool(is_coalesced))


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix by rows: where each row begins among the columns and values."""
    return _compressed(sparse_csr, crow_indices, col_indices, values, size, dtype, requires_grad)


def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix by columns: where each column begins among the rows and values."""
    return _compressed(sparse_csc, ccol_indices, row_indices, values, size, dtype, requires_grad)


def sparse_bsr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix by rows of blocks: as `sparse_csr_tensor`, with a small matrix for each value."""
    return _compressed(sparse_bsr, crow_indices, col_indices, values, size, dtype, requires_grad)


def sparse_bsc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix by columns of blocks: as `sparse_csc_tensor`, with a small matrix for each value."""
    return _compressed(sparse_bsc, ccol_indices, row_indices, values, size, dtype, requires_grad)


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, layout: Any = None, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix in one of the layouts by rows or columns."""
    if layout is None:
        raise RuntimeError("sparse_compressed_tensor(): expected a layout, such as torch.sparse_csr, but got none")
    return _compressed(layout, compressed_indices, plain_indices, values, size, dtype, requires_grad)


def _compressed(*arguments: Any) -> SparseTensor:
    from .compressed import from_parts

    return from_parts(*arguments)


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each row begins, of the sorted row of each element."""
    starts = input.bincount(minlength=size).cumsum(0)
    starts = starts.new_zeros(1).type_as(starts) if not size else FUNCTIONS["cat"]([starts.new_zeros(1), starts])
    return starts.int() if out_int32 else starts


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Row and column of each element; columns first if transposed."""
    rows = FUNCTIONS["repeat_interleave"](FUNCTIONS["arange"](len(crow_indices) - 1), crow_indices.diff())
    both = FUNCTIONS["stack"]([col_indices.long(), rows] if transpose else [rows, col_indices.long()])
    return both.int() if out_int32 else both


def mm(mat1: Any, mat2: Any, reduce: str = "sum") -> Tensor:
    """The product of a sparse and a dense matrix; gradients reach both.

    With another `reduce` than "sum", what would be added up for an element is brought together by "mean", "amax" or "amin".
    """
    from .forms import product, reduced_product

    return product(mat1, mat2) if reduce == "sum" else reduced_product(mat1, mat2, reduce)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`."""
    from .forms import sum_with_product

    return sum_with_product(mat, mat1, mat2, beta=beta, alpha=alpha)


spmm = dsmm = smm = mm  # torch's older names, in `torch` itself
saddmm = addmm


@public_in("torch.sparse", asks="nobody")
def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of a sparse tensor: of everything, or over some dims, and then sparse in the others."""
    from .forms import dense_sum, sparse_sum

    return dense_sum(input, dtype=dtype) if dim is None else sparse_sum(input, dim, dtype)


def _over_places(input: Any, dim: int, name: str) -> Any:
    from .tensor import make

    ordered = input.coalesce()
    hollow = FUNCTIONS["full"](tuple(input.shape), -float("inf"), dtype=ordered._entries.dtype)
    filled = hollow.index_put(tuple(ordered._places), ordered._entries)
    return make(ordered._places, getattr(filled, name)(dim)[tuple(ordered._places)], input.shape, True)


@public_in("torch.sparse", asks="nobody")
def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax over the elements that are there."""
    return _over_places(input if dtype is None else input.to(dtype), dim, "softmax")


@public_in("torch.sparse", asks="nobody")
def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return _over_places(input if dtype is None else input.to(dtype), dim, "log_softmax")


class check_sparse_tensor_invariants:
    """Accepted, as a context or a call: places are always checked."""

    def __init__(self, enable: bool = True) -> None:
        self.state: bool = enable

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: Any) -> None:
        return None

    @staticmethod
    def is_enabled() -> bool:
        return True

    @staticmethod
    def enable() -> None:
        """Checks are on."""

    @staticmethod
    def disable() -> None:
        """Checks stay on: they cost little."""


def _constructor(name: str) -> Any:
    """The constructors of old: FloatTensor(indices, values, size)."""
    from ..core.basics import dtypes

    kinds = {"FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
             "LongTensor": dtypes.int64, "IntTensor": dtypes.int32}  # fmt: skip
    kind = kinds.get(name)
    return None if kind is None else lambda *args: sparse_coo_tensor(*args, dtype=kind)


names_on_demand(__name__, made=_constructor)

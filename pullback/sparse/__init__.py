"""`torch.sparse`: sparse matrices for graphs and networks of few connections. What they are is in `tensor.py`.

Places and values (COO) are what is kept; CSR is shown and read, and is the same inside. Blocked layouts are not here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..tensor import Tensor

if TYPE_CHECKING:
    from .tensor import SparseTensor

__all__ = ["addmm", "mm", "softmax", "log_softmax", "sum", "check_sparse_tensor_invariants"]


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A tensor with the given values at the given places: `indices` has a row for each dim and a column for each value."""
    from ..creation import as_tensor, zeros
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
    from ..creation import as_tensor
    from ..functional.registry import FUNCTIONS

    starts, columns = as_tensor(crow_indices).long(), as_tensor(col_indices).long()
    counts = starts.diff()
    if columns.numel() != int(counts.sum()) or bool((counts < 0).any()):
        raise RuntimeError(
            "`crow_indices[..., -1] == nnz` and `crow_indices[..., 1:] - crow_indices[..., :-1] >= 0` are not satisfied: "
            f"the rows begin where {int(counts.sum())} columns would be, but there are {columns.numel()}."
        )
    lines = (*starts.shape[:-1], starts.shape[-1] - 1)  # of matrices in a batch, one after the other
    line = FUNCTIONS["repeat_interleave"](FUNCTIONS["arange"](math.prod(lines)), counts.reshape(-1))
    shape = size if size is not None else (*lines, int(columns.max()) + 1 if columns.numel() else 0)
    places = FUNCTIONS["stack"]([*FUNCTIONS["unravel_index"](line, lines), columns.reshape(-1)])
    entries = as_tensor(values, dtype=dtype).flatten(0, len(lines) - 1)
    return sparse_coo_tensor(places, entries, shape, requires_grad=requires_grad).to_sparse_csr()


def mm(mat1: Any, mat2: Any) -> Tensor:
    """The product of a sparse and a dense matrix; gradients reach both."""
    from .tensor import product

    return product(mat1, mat2)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`."""
    from .tensor import sum_with_product

    return sum_with_product(mat, mat1, mat2, beta=beta, alpha=alpha)


spmm = dsmm = smm = mm  # torch's older names, in `torch` itself
saddmm = addmm


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of a sparse tensor: of everything, or over some dims, and then sparse in the others."""
    from .tensor import sparse_sum, total

    return total(input, dtype=dtype) if dim is None else sparse_sum(input, dim, dtype)


def _over_places(input: Any, dim: int, name: str) -> Any:
    from ..functional.registry import FUNCTIONS
    from .tensor import make

    ordered = input.coalesce()
    hollow = FUNCTIONS["full"](tuple(input.shape), -float("inf"), dtype=ordered._entries.dtype)
    filled = hollow.index_put(tuple(ordered._places), ordered._entries)
    return make(ordered._places, getattr(filled, name)(dim)[tuple(ordered._places)], input.shape, True)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax over the elements that are there."""
    return _over_places(input if dtype is None else input.to(dtype), dim, "softmax")


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


def __getattr__(name: str) -> Any:
    if name.endswith("Tensor"):  # the constructors of old: FloatTensor(indices, values, size)
        from .. import dtypes

        kinds = {"Float": dtypes.float32, "Double": dtypes.float64, "Half": dtypes.float16, "Long": dtypes.int64,
                 "Int": dtypes.int32}  # fmt: skip
        kind = kinds.get(name.removesuffix("Tensor"))
        if kind is not None:
            return lambda *args: sparse_coo_tensor(*args, dtype=kind)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)

"""`SparseTensor`: a tensor given by the places and values of its elements (COO), as graph programs use it.

It keeps two dense tensors, indices and values, and takes over operations through `__torch_function__`: products with
dense matrices gather and add, so gradients reach the values and the dense factor by ordinary rules. Whatever has no
form of its own here is computed on the dense tensor: right, if not small. Loaded with the first sparse tensor.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics.layout import layout as layout_type
from ..core.basics.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..core.basics.printing import dtype_suffix, parts_text
from ..core.basics.size import Size
from ..core.tensor import Tensor
from ..functional.gate import FACTS
from ..functional.out_argument import store
from ..functional.registry import FUNCTIONS
from ..shell.torch_function import DisableTorchFunctionSubclass

Shape = tuple[int, ...]
FORMS: dict[str, Callable[..., Any]] = {}  # by the name of the torch function


class SparseTensor(Tensor):
    """Element values at places; several at one place add up. The first dims are sparse, those of the values dense."""

    _places: Tensor
    _entries: Tensor
    _ordered: bool  # each place once, in order
    _layout: layout_type
    _block: tuple[int, int]  # of a layout of blocks; else (1, 1)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, options = func.__name__, kwargs or {}
        if options.get("out") is not None:
            rest = {key: value for key, value in options.items() if key != "out"}
            facts = FACTS.get(func)
            return store(name, func, args, rest, options["out"], facts.out or "cast" if facts else "cast")
        if name in FORMS:
            return FORMS[name](*args, **options)
        if name in _FACTS:
            with DisableTorchFunctionSubclass():
                return func(*args, **options)
        if name[-1] == "_" != name[0] and isinstance(args[0], SparseTensor):
            return args[0].become(getattr(args[0], name[:-1])(*args[1:], **options))
        return func(*map(dense, args), **{key: dense(value) for key, value in options.items()})

    # --- what it is ---

    is_sparse: bool = True
    layout = property(lambda self: self._layout)
    is_sparse_csr = property(lambda self: self._layout.name == "sparse_csr")
    requires_grad = property(lambda self: self._entries.requires_grad, lambda self, value: self.requires_grad_(value))
    is_leaf = property(lambda self: self._entries.is_leaf)
    grad_fn = property(lambda self: self._entries.grad_fn)
    data = property(lambda self: self.detach(), lambda self, value: self.become(value))
    T = property(lambda self: self.permute(*reversed(range(self.dim()))))
    mT = property(lambda self: self.transpose(-2, -1))
    H = property(lambda self: self.adjoint())
    mH = property(lambda self: self.adjoint())
    real = property(lambda self: self.with_values(self._entries.real))
    imag = property(lambda self: self.with_values(self._entries.imag))

    @property
    def grad(self) -> Any:
        """The gradient of the values, at the same places."""
        gradient = self._entries.grad
        return None if gradient is None else make(self._places, gradient, self.shape, self._ordered)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._entries.grad = value._entries if isinstance(value, SparseTensor) else value

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        self._entries.requires_grad_(requires_grad)
        return self

    def sparse_dim(self) -> int:
        return self._places.shape[0]

    def dense_dim(self) -> int:
        return self._entries.dim() - 1

    def _nnz(self) -> int:
        together = math.prod(self.shape[: self.sparse_dim() - 2]) if self._layout is not sparse_coo else 1
        return self._places.shape[1] // max(together * math.prod(self._block), 1)

    def _indices(self) -> Tensor:
        return self._places

    def _values(self) -> Tensor:
        return self._entries

    def is_coalesced(self) -> bool:
        return self._ordered

    def indices(self) -> Tensor:
        require_ordered(self, "indices")
        return self._places

    def values(self) -> Tensor:
        require_ordered(self, "values")
        return self._entries if self._layout is sparse_coo else compressed_forms().parts(self)[2]

    def crow_indices(self) -> Tensor:
        return compressed_forms().part(self, "crow_indices")

    def col_indices(self) -> Tensor:
        return compressed_forms().part(self, "col_indices")

    def ccol_indices(self) -> Tensor:
        return compressed_forms().part(self, "ccol_indices")

    def row_indices(self) -> Tensor:
        return compressed_forms().part(self, "row_indices")

    # --- other forms of it ---

    def with_values(self, values: Tensor) -> SparseTensor:
        """Other values at the same places."""
        return make(self._places, values, self.shape, self._ordered, self._layout, self._block)

    def as_layout(self, layout: layout_type, block: Any = None) -> SparseTensor:
        """The same elements, shown in another sparse layout."""
        if layout is sparse_coo:
            return self if self._layout is sparse_coo else make(self._places, self._entries, self.shape, self._ordered)
        return compressed_forms().to_layout(self, layout, block)

    def become(self, value: Tensor) -> SparseTensor:
        """Write a whole value into this tensor: other places and values, and perhaps another shape."""
        other = value if isinstance(value, SparseTensor) else from_dense(value, min(self.sparse_dim(), value.dim()))
        if self._block != (1, 1):
            other = other.as_layout(self._layout, self._block)
        self._array, self._places, self._entries, self._ordered = (
            other._array,
            other._places,
            other._entries,
            other._ordered,
        )
        return self

    def coalesce(self) -> SparseTensor:
        """Each place once, in order, with the sum of its values."""
        if self._ordered:
            return self
        shape = self.shape[: self.sparse_dim()]
        flat = np.ravel_multi_index(tuple(self._places._array), shape) if shape else np.zeros(self._nnz(), np.int64)
        places, number = np.unique(flat, return_inverse=True)
        start = FUNCTIONS["zeros"](len(places), *self._entries.shape[1:], dtype=self._entries.dtype)
        entries = start.index_add(0, FUNCTIONS["tensor"](number.reshape(-1)), self._entries)
        index = np.array(np.unravel_index(places, shape) if shape else np.zeros((0, len(places))), np.int64)
        return make(FUNCTIONS["tensor"](index), entries, self.shape, True, self._layout, self._block)

    def to_dense(self, dtype: Any = None, masked_grad: Any = None) -> Tensor:
        """The ordinary tensor: zero where no value is."""
        start = FUNCTIONS["zeros"](self.shape, dtype=self._entries.dtype)
        if self.sparse_dim():
            result = start.index_put(tuple(self._places), self._entries, accumulate=True)
        else:  # all values are at the one place there is
            result = start + self._entries.sum(0)
        return result if dtype is None else result.to(dtype)

    def to_sparse(
        self, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, **kwargs: Any
    ) -> SparseTensor:
        return self.as_layout(layout or sparse_coo, blocksize)

    def to_sparse_coo(self, *args: Any, **kwargs: Any) -> SparseTensor:
        return self.as_layout(sparse_coo)

    def to_sparse_csr(self, dense_dim: Any = None) -> SparseTensor:
        return self.as_layout(sparse_csr)

    def to_sparse_csc(self, dense_dim: Any = None) -> SparseTensor:
        return self.as_layout(sparse_csc)

    def to_sparse_bsr(self, blocksize: Any, dense_dim: Any = None) -> SparseTensor:
        return self.as_layout(sparse_bsr, tuple(blocksize))

    def to_sparse_bsc(self, blocksize: Any, dense_dim: Any = None) -> SparseTensor:
        return self.as_layout(sparse_bsc, tuple(blocksize))

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        self._ordered = coalesced  # the program knows
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SparseTensor:
        if id(self) not in memo:
            places, entries = copy.deepcopy((self._places, self._entries), memo)
            memo[id(self)] = make(places, entries, self.shape, self._ordered, self._layout, self._block)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return make, (self._places, self._entries, tuple(self.shape), self._ordered, self._layout, self._block)

    def __repr__(self) -> str:
        history = [f"grad_fn=<{self.grad_fn.name()}>"] if self.grad_fn is not None else []
        history = history or (["requires_grad=True"] if self.requires_grad else [])
        rows = self._layout is not sparse_coo and not self.dense_dim() and self.dim() >= 2
        places, values = {"indices": self._places}, self._entries
        if rows:
            along, across = ("ccol", "row") if self._layout in (sparse_csc, sparse_bsc) else ("crow", "col")
            starts, others, values = compressed_forms().parts(self)
            places = {f"{along}_indices": starts, f"{across}_indices": others}
        facts = [
            f"size={tuple(self.shape)}",
            f"nnz={self._nnz()}",
            *dtype_suffix(self.dtype),
            f"layout={self._layout!r}",
        ]
        return parts_text(
            {**places, "values": values},
            [*facts, *history],
            fresh_line=not rows,
        )

    def __format__(self, specification: str) -> str:
        return object.__format__(self, specification)

    __str__ = __repr__


# Facts about shape and type, which the empty array inside answers.
_FACTS = frozenset({"__get__", "size", "dim", "ndimension", "numel", "nelement", "is_floating_point", "is_complex",
                    "__len__", "element_size", "get_device", "sparse_mask"})  # fmt: skip


def make(
    places: Tensor, entries: Tensor, shape: Any, ordered: bool = False, layout: layout_type = sparse_coo,
    block: tuple[int, int] = (1, 1),
) -> SparseTensor:  # fmt: skip
    """A sparse tensor of these places and values, unchecked."""
    result = object.__new__(SparseTensor)
    result._array = np.broadcast_to(np.zeros((), entries._array.dtype), tuple(shape))
    result._places, result._entries, result._ordered = places, entries, ordered
    result._layout, result._block = layout, block
    return result


def from_dense(x: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """The elements of a tensor that are not zero."""
    count = x.dim() if sparse_dim is None else sparse_dim
    array = x.detach()._array
    filled = array != 0 if count == x.dim() else (array != 0).any(axis=tuple(range(count, x.dim())))
    places = np.ascontiguousarray(np.argwhere(filled).T, np.int64)
    index = FUNCTIONS["tensor"](places)
    entries = x[tuple(index)] if count else x[None][: places.shape[1]]
    return make(index, entries, x.shape, True)


def compressed_forms() -> Any:
    from . import compressed

    return compressed


def require_ordered(x: SparseTensor, what: str) -> None:
    if not x._ordered:
        raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")


def dense(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return value.to_dense()
    return type(value)(map(dense, value)) if type(value) in (list, tuple) else value


def form(*names: str) -> Callable[[Callable], Callable]:
    def keep(function: Callable) -> Callable:
        FORMS.update(dict.fromkeys(names, function))
        return function

    return keep


def inferred_shape(places: Tensor, entries: Tensor) -> Size:
    """The smallest shape that holds the places."""
    bounds = places._array.max(axis=1) + 1 if places.numel() else np.zeros(places.shape[0], np.int64)
    return Size([*map(int, bounds), *entries.shape[1:]])


def check(places: Tensor, entries: Tensor, shape: Shape) -> None:
    """Complain about indices, values and size that do not fit together."""
    if places.dim() != 2 or places.shape[1] != entries.shape[0]:
        raise RuntimeError(
            "number of dimensions must be sparse_dim + dense_dim, and indices and values must have same nnz: indices has "
            f"shape {tuple(places.shape)}, values {tuple(entries.shape)}. Give indices of shape (dims, n) and n values."
        )
    if len(shape) != places.shape[0] + entries.dim() - 1:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({places.shape[0]}) + dense_dim ({entries.dim() - 1}), "
            f"but got {len(shape)}"
        )
    for dim in range(places.shape[0] if places.numel() else 0):
        low, high = int(places._array[dim].min()), int(places._array[dim].max())
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found index {high}"
            )
    if math.prod(shape) < 0:
        raise RuntimeError(f"size must not have negative dims, but got {tuple(shape)}")


from . import forms  # noqa: E402,F401  (they are kept above as they are defined)

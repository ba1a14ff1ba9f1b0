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

from ..functional.gate import FACTS
from ..functional.out_argument import store
from ..functional.registry import FUNCTIONS
from ..layout import layout as layout_type
from ..layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..printing import dtype_suffix, parts_text
from ..size import Size
from ..tensor import Tensor
from ..torch_function import DisableTorchFunctionSubclass

Shape = tuple[int, ...]
_FORMS: dict[str, Callable[..., Any]] = {}  # by the name of the torch function


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
        if name in _FORMS:
            return _FORMS[name](*args, **options)
        if name in _FACTS:
            with DisableTorchFunctionSubclass():
                return func(*args, **options)
        if name[-1] == "_" != name[0] and isinstance(args[0], SparseTensor):
            return args[0].become(getattr(args[0], name[:-1])(*args[1:], **options))
        return func(*map(_dense, args), **{key: _dense(value) for key, value in options.items()})

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
        _require_ordered(self, "indices")
        return self._places

    def values(self) -> Tensor:
        _require_ordered(self, "values")
        return self._entries if self._layout is sparse_coo else _compressed().parts(self)[2]

    def crow_indices(self) -> Tensor:
        return _compressed().part(self, "crow_indices")

    def col_indices(self) -> Tensor:
        return _compressed().part(self, "col_indices")

    def ccol_indices(self) -> Tensor:
        return _compressed().part(self, "ccol_indices")

    def row_indices(self) -> Tensor:
        return _compressed().part(self, "row_indices")

    # --- other forms of it ---

    def with_values(self, values: Tensor) -> SparseTensor:
        """Other values at the same places."""
        return make(self._places, values, self.shape, self._ordered, self._layout, self._block)

    def as_layout(self, layout: layout_type, block: Any = None) -> SparseTensor:
        """The same elements, shown in another sparse layout."""
        if layout is sparse_coo:
            return self if self._layout is sparse_coo else make(self._places, self._entries, self.shape, self._ordered)
        return _compressed().shown_in(self, layout, block)

    def become(self, value: Tensor) -> SparseTensor:
        """What is written to it, whole: other places and values, and perhaps another shape."""
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
            starts, others, values = _compressed().parts(self)
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


def _compressed() -> Any:
    from . import compressed

    return compressed


def _require_ordered(x: SparseTensor, what: str) -> None:
    if not x._ordered:
        raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")


def _dense(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return value.to_dense()
    return type(value)(map(_dense, value)) if type(value) in (list, tuple) else value


def _form(*names: str) -> Callable[[Callable], Callable]:
    def keep(function: Callable) -> Callable:
        _FORMS.update(dict.fromkeys(names, function))
        return function

    return keep


@_form("new")
def _new(x: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
    """The older way to make another: of places, values and a shape, or an empty one of a shape."""
    from . import sparse_coo_tensor

    if len(args) > 1 and isinstance(args[0], Tensor):
        return sparse_coo_tensor(*args, dtype=x.dtype)
    return _empty(x, *(args or (0,)))


@_form("zeros_like", "new_zeros", "new_empty")
def _empty(x: SparseTensor, *size: Any, dtype: Any = None, **options: Any) -> SparseTensor:
    from . import sparse_coo_tensor

    shape = size if size and isinstance(size[0], int) else size[0] if size else x.shape
    return sparse_coo_tensor(shape, dtype=dtype or x.dtype)


@_form("resize_as_", "resize_as_sparse_")
def _resized(x: SparseTensor, the_template: Tensor, **options: Any) -> SparseTensor:
    return x.become(_empty(x, the_template.shape)) if x.shape != the_template.shape else x


@_form("copy_")
def _copied(x: Any, src: Any, non_blocking: bool = False) -> Any:
    return x.become(src.to(x.dtype).clone()) if isinstance(x, SparseTensor) else x.copy_(src.to_dense())


@_form("mm", "matmul", "spmm", "__matmul__", "mv", "smm", "hspmm", "dsmm")
def product(a: Any, b: Any, **options: Any) -> Any:
    """A product with a dense matrix or vector gathers its rows, weighs them and adds them up."""
    if not isinstance(a, SparseTensor):
        if not isinstance(b, SparseTensor):  # torch's functions for sparse matrices take two dense ones as well
            return FUNCTIONS["mm"](a, b)
        if a.dim() < 2:
            return product(_matrix_transposed(b), a)
        return product(_matrix_transposed(b), a.transpose(-1, -2)).transpose(-1, -2)
    if isinstance(b, SparseTensor):
        return from_dense(product(a, b.to_dense())).as_layout(a._layout)
    if a.dim() != 2 or a.dense_dim() or b.dim() > 2 or a.shape[1] != b.shape[0]:
        return a.to_dense() @ b
    rows, columns = a._places
    picked = b.index_select(0, columns)
    weighed = picked * (a._entries if b.dim() == 1 else a._entries.unsqueeze(1))
    start = FUNCTIONS["zeros"](a.shape[0], *b.shape[1:], dtype=weighed.dtype)
    return start.index_add(0, rows, weighed)


def reduced_product(a: Any, b: Tensor, reduce: str) -> Tensor:
    """A product of two matrices whose terms are not added up, but brought together in another way."""
    if reduce == "prod":
        raise RuntimeError("sparse_mm_reduce: reduce type of prod has not been enabled.")
    if reduce not in ("mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    rows, columns = a.coalesce()._places
    terms = b.index_select(0, columns) * a.coalesce()._entries.unsqueeze(1)
    start = FUNCTIONS["zeros"](a.shape[0], b.shape[1], dtype=terms.dtype)
    return FUNCTIONS["index_reduce"](start, 0, rows, terms, reduce, include_self=False)


@_form("__rmatmul__")
def _reversed_product(a: SparseTensor, b: Any) -> Any:
    return product(b, a)


@_form("addmm", "saddmm", "sspaddmm")
def sum_with_product(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    return beta * _dense(input) + alpha * product(mat1, mat2)


@_form("t")
def _matrix_transposed(x: SparseTensor) -> Any:
    if x.sparse_dim() > 2 or x.dense_dim():
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {x.sparse_dim()} sparse and "
            f"{x.dense_dim()} dense dimensions"
        )
    return x if x.dim() < 2 else _transposed(x, 0, 1)


@_form("adjoint")
def _adjoint(x: SparseTensor) -> Any:
    return x.to_dense().adjoint() if x.is_complex() or x.dim() < 2 else _transposed(x, -2, -1)


@_form("transpose")
def _transposed(x: SparseTensor, dim0: int, dim1: int) -> Any:
    if x.dense_dim() or x.dim() < 2:
        return x.to_dense().transpose(dim0, dim1)
    order = list(range(x.dim()))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    result = make(x._places[order], x._entries, [x.shape[place] for place in order], False)
    turned = (
        _compressed().TURNED.get(x._layout) if {dim0 % x.dim(), dim1 % x.dim()} == {x.dim() - 2, x.dim() - 1} else None
    )
    return result if turned is None else result.as_layout(turned, x._block[::-1])


# --- shapes ---


def _is_plain(x: Any) -> bool:
    return isinstance(x, SparseTensor) and not x.dense_dim() and x.dim() > 0


@_form("permute")
def _permuted(x: SparseTensor, *dims: Any) -> Any:
    order = [dim % x.dim() for dim in (dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)]
    if not _is_plain(x):
        return x.to_dense().permute(order)
    return make(x._places[order], x._entries, [x.shape[dim] for dim in order])


@_form("unsqueeze")
def _unsqueezed(x: SparseTensor, dim: int) -> Any:
    if not _is_plain(x):
        return x.to_dense().unsqueeze(dim)
    dim %= x.dim() + 1
    row = FUNCTIONS["zeros_like"](x._places[:1])
    places = FUNCTIONS["cat"]([x._places[:dim], row, x._places[dim:]])
    return make(places, x._entries, (*x.shape[:dim], 1, *x.shape[dim:]), x._ordered)


@_form("cat", "concat", "concatenate")
def _joined(tensors: Any, dim: int = 0) -> Any:
    if not all(map(_is_plain, tensors)):
        return FUNCTIONS["cat"](_dense(list(tensors)), dim)
    dim %= tensors[0].dim()
    shapes = [(*x.shape[:dim], *x.shape[dim + 1 :]) for x in tensors]
    if any(shape != shapes[0] for shape in shapes):
        raise RuntimeError(
            f"All tensors must have the same shape, except along dim {dim}: {[tuple(x.shape) for x in tensors]}"
        )
    places, length = [], 0
    for x in tensors:
        shift = FUNCTIONS["zeros"](x.dim(), 1).long()
        shift[dim] = length
        places.append(x._places + shift)
        length += x.shape[dim]
    shape = (*tensors[0].shape[:dim], length, *tensors[0].shape[dim + 1 :])
    return make(FUNCTIONS["cat"](places, 1), FUNCTIONS["cat"]([x._entries for x in tensors]), shape)


@_form("stack")
def _stacked(tensors: Any, dim: int = 0) -> Any:
    if not all(map(_is_plain, tensors)):
        return FUNCTIONS["stack"](_dense(list(tensors)), dim)
    return _joined([_unsqueezed(x, dim) for x in tensors], dim)


@_form("index_select")
def _chosen(x: SparseTensor, dim: int, index: Any) -> Any:
    """Every entry is repeated for each time that its place is chosen."""
    if not _is_plain(x):
        return x.to_dense().index_select(dim, index)
    dim %= x.dim()
    own, wanted = x._places._array[dim], np.atleast_1d(index._array) % max(x.shape[dim], 1)
    order = np.argsort(wanted, kind="stable")
    first, last = (np.searchsorted(wanted[order], own, side) for side in ("left", "right"))
    times = last - first
    entry = FUNCTIONS["tensor"](np.repeat(np.arange(own.size), times))
    within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    places = x._places.index_select(1, entry)
    places[dim] = FUNCTIONS["tensor"](order[np.repeat(first, times) + within])
    shape = (*x.shape[:dim], wanted.size, *x.shape[dim + 1 :])
    return make(places, x._entries.index_select(0, entry), shape)


@_form("narrow_copy")
def _narrowed(x: SparseTensor, dim: int, start: int, length: int) -> Any:
    return _chosen(x, dim, FUNCTIONS["arange"](start, start + length))


@_form("select")
def _selected(x: SparseTensor, dim: int, index: int) -> Any:
    if not _is_plain(x) or x.dim() < 2:
        return x.to_dense().select(dim, index)
    dim, size = dim % x.dim(), x.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    one = _chosen(x, dim, FUNCTIONS["tensor"]([index % size]))
    kept = [row for row in range(x.dim()) if row != dim]
    return make(one._places[kept], one._entries, [x.shape[row] for row in kept])


@_form("__getitem__")
def _item(x: SparseTensor, index: Any) -> Any:
    return _selected(x, 0, index) if type(index) is int else x.to_dense()[_dense(index)]


@_form("mul", "multiply", "__mul__")
def _times(a: Any, b: Any) -> Any:
    if not isinstance(a, SparseTensor):
        a, b = b, a
    if isinstance(b, Tensor) and b.dim():
        return _times_tensor(a, b)
    return a.with_values(a._entries * b)


def _times_tensor(a: SparseTensor, b: Tensor) -> Any:
    b = _dense(b)
    shape = tuple(np.broadcast_shapes(tuple(a.shape), tuple(b.shape)))
    if shape != tuple(a.shape):
        return a.to_dense() * b
    a = a.coalesce()
    return a.with_values(a._entries * b.expand(shape)[tuple(a._places)])


@_form("div", "divide", "true_divide", "__truediv__")
def _divided(a: Any, b: Any, **options: Any) -> Any:
    if isinstance(b, SparseTensor) or not isinstance(a, SparseTensor) or isinstance(b, Tensor) and b.dim():
        return FUNCTIONS["div"](_dense(a), _dense(b), **options)
    a = a.coalesce()
    return a.with_values(FUNCTIONS["div"](a._entries, b, **options))


@_form("add", "__add__")
def _plus(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    if not (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)) or a.sparse_dim() != b.sparse_dim():
        return FUNCTIONS["add"](_dense(a), _dense(b), alpha=alpha)
    places = FUNCTIONS["cat"]([a._places, b._places], 1)
    total = make(places, FUNCTIONS["cat"]([a._entries, alpha * b._entries]), a.shape)
    return total.coalesce().as_layout(a._layout) if a._ordered and b._ordered else total


@_form("sub", "subtract", "__sub__")
def _minus(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    return _plus(a, b, alpha=-alpha)


@_form("sum")
def total(x: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """A dense sum."""
    if dim is None:
        return x._entries.sum(dtype=dtype)
    return x.to_dense().sum(dim, keepdim, dtype=dtype)


def sparse_sum(x: SparseTensor, dims: Any, dtype: Any = None) -> Any:
    """The sum over some dims: sparse in the others, dense if all sparse dims are summed."""
    given = (dims,) if isinstance(dims, int) else tuple(dims)
    gone = {dim % x.dim() for dim in given}
    kept = [dim for dim in range(x.sparse_dim()) if dim not in gone]
    within = [dim - x.sparse_dim() + 1 for dim in sorted(gone) if dim >= x.sparse_dim()]
    entries = x._entries if dtype is None else x._entries.to(dtype)
    entries = entries.sum(within) if within else entries
    shape = [size for dim, size in enumerate(x.shape) if dim not in gone]
    if not kept:
        return entries.sum(0)
    return make(x._places[kept], entries, shape).coalesce()


def _entrywise(name: str) -> None:
    def function(x: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        x = x if name in _LINEAR else x.coalesce()
        return x.with_values(getattr(x._entries, name)(*args, **kwargs))

    _FORMS[name] = function


# Functions of one tensor that keep zeros; the linear ones do not need each place to be there once.
_LINEAR = frozenset("neg negative clone detach to float double half bfloat16 type cpu contiguous".split())
_KEEP_ZEROS = """abs sqrt sin tan sinh asin asinh atan atanh tanh relu sign sgn square expm1 log1p pow long int bool floor
    ceil round trunc frac erf erfinv deg2rad rad2deg isnan isinf isposinf isneginf signbit nan_to_num""".split()
for _name in (*_LINEAR, *_KEEP_ZEROS):
    _entrywise(_name)


def _written(name: str) -> None:
    def function(x: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        if not isinstance(x, SparseTensor):
            return getattr(x, name)(*map(_dense, args), **kwargs)
        if any(isinstance(value, Tensor) and value.dim() for value in args):
            return x.become(getattr(x, name[:-1])(*args, **kwargs))
        if name == "clamp_" and not x._ordered:
            x.become(x.coalesce())
        getattr(x._entries, name)(*args, **kwargs)
        return x

    _FORMS[name] = function


for _name in ("zero_", "neg_", "mul_", "div_", "clamp_", "detach_"):  # what is done to gradients in place
    _written(_name)


def inferred_shape(places: Tensor, entries: Tensor) -> Size:
    """The smallest shape that holds the places."""
    bounds = places._array.max(axis=1) + 1 if places.numel() else np.zeros(places.shape[0], np.int64)
    return Size([*map(int, bounds), *entries.shape[1:]])


def check(places: Tensor, entries: Tensor, shape: Shape) -> None:
    """What torch asks of indices, values and size."""
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

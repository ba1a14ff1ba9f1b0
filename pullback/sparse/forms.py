"""Operations on sparse tensors that keep them sparse: products, sums, shapes, functions of the values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..functional.registry import FUNCTIONS
from .tensor import FORMS, SparseTensor, compressed_forms, dense, form, from_dense, make


@form("new")
def _new(x: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
    """The older way to make another: of places, values and a shape, or an empty one of a shape."""
    from . import sparse_coo_tensor

    if len(args) > 1 and isinstance(args[0], Tensor):
        return sparse_coo_tensor(*args, dtype=x.dtype)
    return _empty(x, *(args or (0,)))


@form("zeros_like", "new_zeros", "new_empty")
def _empty(x: SparseTensor, *size: Any, dtype: Any = None, **options: Any) -> SparseTensor:
    from . import sparse_coo_tensor

    shape = size if size and isinstance(size[0], int) else size[0] if size else x.shape
    return sparse_coo_tensor(shape, dtype=dtype or x.dtype)


@form("resize_as_", "resize_as_sparse_")
def _resized(x: SparseTensor, the_template: Tensor, **options: Any) -> SparseTensor:
    return x.become(_empty(x, the_template.shape)) if x.shape != the_template.shape else x


@form("copy_")
def _copied(x: Any, src: Any, non_blocking: bool = False) -> Any:
    return x.become(src.to(x.dtype).clone()) if isinstance(x, SparseTensor) else x.copy_(src.to_dense())


@form("mm", "matmul", "spmm", "__matmul__", "mv", "smm", "hspmm", "dsmm")
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


@form("__rmatmul__")
def _reversed_product(a: SparseTensor, b: Any) -> Any:
    return product(b, a)


@form("addmm", "saddmm", "sspaddmm")
def sum_with_product(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    return beta * dense(input) + alpha * product(mat1, mat2)


@form("t")
def _matrix_transposed(x: SparseTensor) -> Any:
    if x.sparse_dim() > 2 or x.dense_dim():
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {x.sparse_dim()} sparse and "
            f"{x.dense_dim()} dense dimensions"
        )
    return x if x.dim() < 2 else _transposed(x, 0, 1)


@form("adjoint")
def _adjoint(x: SparseTensor) -> Any:
    return x.to_dense().adjoint() if x.is_complex() or x.dim() < 2 else _transposed(x, -2, -1)


@form("transpose")
def _transposed(x: SparseTensor, dim0: int, dim1: int) -> Any:
    if x.dense_dim() or x.dim() < 2:
        return x.to_dense().transpose(dim0, dim1)
    order = list(range(x.dim()))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    result = make(x._places[order], x._entries, [x.shape[place] for place in order], False)
    turned = (
        compressed_forms().TURNED.get(x._layout)
        if {dim0 % x.dim(), dim1 % x.dim()} == {x.dim() - 2, x.dim() - 1}
        else None
    )
    return result if turned is None else result.as_layout(turned, x._block[::-1])


# --- shapes ---


def _is_plain(x: Any) -> bool:
    return isinstance(x, SparseTensor) and not x.dense_dim() and x.dim() > 0


@form("permute")
def _permuted(x: SparseTensor, *dims: Any) -> Any:
    order = [dim % x.dim() for dim in (dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)]
    if not _is_plain(x):
        return x.to_dense().permute(order)
    return make(x._places[order], x._entries, [x.shape[dim] for dim in order])


@form("unsqueeze")
def _unsqueezed(x: SparseTensor, dim: int) -> Any:
    if not _is_plain(x):
        return x.to_dense().unsqueeze(dim)
    dim %= x.dim() + 1
    row = FUNCTIONS["zeros_like"](x._places[:1])
    places = FUNCTIONS["cat"]([x._places[:dim], row, x._places[dim:]])
    return make(places, x._entries, (*x.shape[:dim], 1, *x.shape[dim:]), x._ordered)


@form("cat", "concat", "concatenate")
def _joined(tensors: Any, dim: int = 0) -> Any:
    if not all(map(_is_plain, tensors)):
        return FUNCTIONS["cat"](dense(list(tensors)), dim)
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


@form("stack")
def _stacked(tensors: Any, dim: int = 0) -> Any:
    if not all(map(_is_plain, tensors)):
        return FUNCTIONS["stack"](dense(list(tensors)), dim)
    return _joined([_unsqueezed(x, dim) for x in tensors], dim)


@form("index_select")
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


@form("narrow_copy")
def _narrowed(x: SparseTensor, dim: int, start: int, length: int) -> Any:
    return _chosen(x, dim, FUNCTIONS["arange"](start, start + length))


@form("select")
def _selected(x: SparseTensor, dim: int, index: int) -> Any:
    if not _is_plain(x) or x.dim() < 2:
        return x.to_dense().select(dim, index)
    dim, size = dim % x.dim(), x.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    one = _chosen(x, dim, FUNCTIONS["tensor"]([index % size]))
    kept = [row for row in range(x.dim()) if row != dim]
    return make(one._places[kept], one._entries, [x.shape[row] for row in kept])


@form("__getitem__")
def _item(x: SparseTensor, index: Any) -> Any:
    return _selected(x, 0, index) if type(index) is int else x.to_dense()[dense(index)]


@form("mul", "multiply", "__mul__")
def _times(a: Any, b: Any) -> Any:
    if not isinstance(a, SparseTensor):
        a, b = b, a
    if isinstance(b, Tensor) and b.dim():
        return _times_tensor(a, b)
    return a.with_values(a._entries * b)


def _times_tensor(a: SparseTensor, b: Tensor) -> Any:
    b = dense(b)
    shape = tuple(np.broadcast_shapes(tuple(a.shape), tuple(b.shape)))
    if shape != tuple(a.shape):
        return a.to_dense() * b
    a = a.coalesce()
    return a.with_values(a._entries * b.expand(shape)[tuple(a._places)])


@form("div", "divide", "true_divide", "__truediv__")
def _divided(a: Any, b: Any, **options: Any) -> Any:
    if isinstance(b, SparseTensor) or not isinstance(a, SparseTensor) or isinstance(b, Tensor) and b.dim():
        return FUNCTIONS["div"](dense(a), dense(b), **options)
    a = a.coalesce()
    return a.with_values(FUNCTIONS["div"](a._entries, b, **options))


@form("add", "__add__")
def _plus(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    if not (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)) or a.sparse_dim() != b.sparse_dim():
        return FUNCTIONS["add"](dense(a), dense(b), alpha=alpha)
    places = FUNCTIONS["cat"]([a._places, b._places], 1)
    total = make(places, FUNCTIONS["cat"]([a._entries, alpha * b._entries]), a.shape)
    return total.coalesce().as_layout(a._layout) if a._ordered and b._ordered else total


@form("sub", "subtract", "__sub__")
def _minus(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    return _plus(a, b, alpha=-alpha)


@form("sum")
def dense_sum(x: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
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

    FORMS[name] = function


# Functions of one tensor that keep zeros; the linear ones do not need each place to be there once.
_LINEAR = frozenset("neg negative clone detach to float double half bfloat16 type cpu contiguous".split())
_KEEP_ZEROS = """abs sqrt sin tan sinh asin asinh atan atanh tanh relu sign sgn square expm1 log1p pow long int bool floor
    ceil round trunc frac erf erfinv deg2rad rad2deg isnan isinf isposinf isneginf signbit nan_to_num""".split()
for _name in (*_LINEAR, *_KEEP_ZEROS):
    _entrywise(_name)


def _written(name: str) -> None:
    def function(x: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        if not isinstance(x, SparseTensor):
            return getattr(x, name)(*map(dense, args), **kwargs)
        if any(isinstance(value, Tensor) and value.dim() for value in args):
            return x.become(getattr(x, name[:-1])(*args, **kwargs))
        if name == "clamp_" and not x._ordered:
            x.become(x.coalesce())
        getattr(x._entries, name)(*args, **kwargs)
        return x

    FORMS[name] = function


for _name in ("zero_", "neg_", "mul_", "div_", "clamp_", "detach_"):  # what is done to gradients in place
    _written(_name)

"""Small questions and conversions around tensors that are functions in torch: `numel`, `is_complex`, `frombuffer`, ...

Importing this module announces them; the methods among them that need no operation are attached here as well.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any, NoReturn

import numpy as np

from ..autograd.tape import wrap
from ..dtypes import as_dtype, default_dtype
from ..notices import warn_user
from ..ops.striding import address
from ..tensor import Tensor
from .registry import FUNCTIONS, METHODS, public


def _question(name: str) -> Any:
    def function(input: Tensor) -> Any:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        return getattr(input, name)()

    function.__name__ = name
    function.__doc__ = f"`input.{name}()`."
    return function


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element differs from zero."""
    if input.numel() != 1:
        which = "no values" if input.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {which} is ambiguous")
    return bool(input)


@public()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return input._array.shape == other._array.shape


@public(function=False)
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether both look at the same memory in the same way."""
    a, b = input.memory(), tensor.memory()
    return a.shape == b.shape and a.strides == b.strides and address(a) == address(b)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor that shares the memory of an object with a buffer (bytes, bytearray, memoryview)."""
    kind = as_dtype(dtype).numpy
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length = view.nbytes
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if offset + count * kind.itemsize > length:
        raise ValueError(
            f"requested buffer length ({count} * {kind.itemsize} bytes) after offset ({offset} bytes) must not be "
            f"greater than actual buffer length ({length} bytes)"
        )
    if count < 0 and (length - offset) % kind.itemsize:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({kind.itemsize})"
        )
    if view.readonly:
        warn_user(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can "
            "write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer "
            "to protect its data or make it writable before converting it to a tensor.",
        )
    result = wrap(np.frombuffer(buffer, kind, count, offset))
    if requires_grad:
        result.requires_grad_()
    return result


def from_file(
    filename: Any, shared: bool | None = None, size: int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The first elements of a file, in the file's own memory: of a shared one (made if need be) writes go to the file."""
    import os

    kind = (default_dtype() if dtype is None else as_dtype(dtype)).numpy
    path, needed = os.fspath(filename), size * kind.itemsize
    if shared:
        with open(path, "ab") as file:
            file.truncate(max(file.tell(), needed))
    try:
        found = os.path.getsize(path)
    except FileNotFoundError:
        raise RuntimeError(f"unable to open file <{path}> in read-only mode: No such file or directory (2)") from None
    if found < needed:
        raise RuntimeError(f"file <{path}> size <{found}> is smaller than the required mapping size <{needed}>")
    memory = np.memmap(path, kind, "r+" if shared else "c", shape=(size,)) if size else np.empty(0, kind)
    result = wrap(np.asarray(memory))
    return result.requires_grad_() if requires_grad else result


def layout_of(self: Tensor) -> Any:
    """`torch.strided`, always."""
    from ..layout import strided

    return strided


def to_gpu(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> NoReturn:
    """There is no GPU: raises what torch's CPU build raises."""
    from .. import cuda

    cuda.refuse()


def _only_sparse(name: str) -> Any:
    def method(self: Tensor) -> NoReturn:
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got Strided. x.to_sparse() makes a sparse tensor."
        )

    method.__name__ = name
    method.__doc__ = "Part of a sparse tensor."
    return method


def to_sparse(self: Tensor, sparse_dim: int | None = None, **options: Any) -> Any:
    """A sparse tensor of the elements that are not zero; the last dims stay dense if `sparse_dim` says so."""
    from ..sparse.tensor import from_dense

    return from_dense(self, sparse_dim)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Any:
    """A sparse matrix by rows."""
    return to_sparse(self).to_sparse_csr()


def sparse_mask(self: Tensor, mask: Any) -> Any:
    """The elements of this tensor at the places of a sparse one; twice at a place that it has twice."""
    from ..sparse.tensor import make

    places = mask._indices()
    return make(places, self[tuple(places)], self.shape, mask.is_coalesced())


def as_subclass(self: Tensor, cls: type[Any]) -> Any:
    """The same memory and history as an object of a subclass of Tensor."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"cls must be a subclass of torch.Tensor, not {cls!r}")
    from ..methods import alias_of

    result = alias_of(self)
    result.__class__ = cls
    return result


def to_dense(self: Tensor, dtype: Any = None, masked_grad: Any = None) -> Tensor:
    """The tensor itself, in another dtype if one is given."""
    return self if dtype is None else self.to(dtype)


def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dims from the outermost to the innermost, as they lie in memory."""
    strides = self.stride()
    return tuple(sorted(range(self.ndim), key=lambda dim: -strides[dim]))


def use_count(self: Tensor) -> int:
    """2 for a leaf while a graph refers to it, otherwise 1. (Torch counts more: each graph that saved the leaf.)"""
    # Graphs refer to the leaf's anchor; without them the leaf has it, and the call of getrefcount.
    return 2 if self._anchor is not None and getrefcount(self._anchor) > 2 else 1


def record_stream(self: Tensor, stream: Any) -> None:
    """Nothing: there are no streams."""


def make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
    """A tensor of a subclass, a leaf, on the memory of `data` (how libraries write `__new__` of their parameters)."""
    result = as_subclass(data.detach(), cls)
    if require_grad:
        result.requires_grad_()
    return result


def _lazy_method(module: str, name: str, doc: str) -> Any:
    def method(self: Tensor) -> Any:
        from importlib import import_module

        return getattr(import_module(f"pullback.{module}"), name)(self)

    method.__name__ = name
    method.__doc__ = doc
    return method


for _name in (
    "is_floating_point",
    "is_complex",
    "is_signed",
    "is_conj",
    "is_neg",
    "is_inference",
    "numel",
    "get_device",
):
    FUNCTIONS[_name] = _question(_name)
for _function in (is_nonzero, frombuffer, from_file):
    FUNCTIONS[_function.__name__] = _function
for _name in ("coalesce", "indices", "values", "_indices", "_values", "_nnz", "crow_indices", "col_indices"):
    METHODS[_name] = _only_sparse(_name)
METHODS.update(to_sparse=to_sparse, to_sparse_coo=to_sparse, to_sparse_csr=to_sparse_csr, sparse_mask=sparse_mask)
METHODS.update(
    {
        "cuda": to_gpu, "xpu": to_gpu, "as_subclass": as_subclass, "is_nonzero": is_nonzero,
        "to_dense": to_dense,
        "untyped_storage": _lazy_method("raw_storage", "untyped_storage", "The memory under this tensor, as bytes."),
        "storage": _lazy_method("raw_storage", "storage", "The memory under this tensor, as elements of its dtype."),
        "_typed_storage": _lazy_method("raw_storage", "typed_storage", "`storage()` without its warning."),
        "storage_type": _lazy_method("raw_storage", "storage_type", "The class of storages of this dtype."),
        "record_stream": record_stream, "_use_count": use_count, "is_coalesced": lambda self: False,
        "is_distributed": lambda self: False, "dim_order": dim_order,
    }
)  # fmt: skip
for _name, _value in {"layout": property(layout_of), "_make_subclass": staticmethod(make_subclass)}.items():
    setattr(Tensor, _name, _value)

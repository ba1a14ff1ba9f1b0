"""Storages and tensors from what a checkpoint says about them.

Every number in a file is suspect: a view must lie inside its storage, and the storage inside the file. Views of
one storage share memory after loading as they did before saving.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import bridge
from .dtypes import DIFFERENTIABLE, DTYPE_NAMES, numpy_dtype, to_native_order
from .errors import CheckpointError

_MAX_DIMENSIONS = 64  # NumPy's limit, and torch's
_MAX_BYTES = 2**63 - 1


class StorageType:
    """A storage class of torch, known here by the dtype of its elements (uint8 for an UntypedStorage)."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype: str = dtype


class Storage:
    """The bytes of one storage; typed views are made once for each dtype, so that tensors share them."""

    __slots__ = ("data", "dtype", "place", "is_swapped", "is_late", "arrays", "typed")

    def __init__(
        self,
        data: np.ndarray,
        dtype: str,
        place: Callable[[np.ndarray], Any],
        is_swapped: bool,
        is_late: bool = False,
    ) -> None:
        self.data: np.ndarray = data
        self.dtype: str = dtype
        self.place: Callable[[np.ndarray], Any] = place
        self.is_swapped: bool = is_swapped
        self.is_late: bool = is_late  # the data come with `fill`, after the tensors
        self.arrays: dict[str, np.ndarray] = {}
        self.typed: dict[str, Any] = {}

    def shown(self) -> Any:
        """The storage that programs see; it knows this one as `_loaded` until all is loaded."""
        storage = bridge.visible_storage(self.elements(self.dtype)[0])
        storage._loaded = self
        return storage

    def elements(self, dtype: str) -> tuple[Any, int]:
        """The storage as a one-dimensional tensor of `dtype`, and its number of elements."""
        if dtype not in self.typed:
            self.arrays[dtype] = self._as_dtype(self.data, dtype)
            self.typed[dtype] = self.place(self.arrays[dtype])
        return self.typed[dtype], len(self.arrays[dtype])

    def fill(self, data: np.ndarray) -> None:
        """Put the data of a late storage into the arrays that its tensors already use."""
        for dtype, array in self.arrays.items():
            array[...] = self._as_dtype(data, dtype)

    def _as_dtype(self, data: np.ndarray, dtype: str) -> np.ndarray:
        kind = numpy_dtype(dtype)
        data = data[: data.nbytes - data.nbytes % kind.itemsize]
        if data.__array_interface__["data"][0] % kind.itemsize:
            data = data.copy()  # records of a mapped file need not be aligned
        return to_native_order(data, kind) if self.is_swapped else data.view(kind)


def _integers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, (tuple, list)) or len(values) > _MAX_DIMENSIONS:
        raise TypeError("expected a tuple of at most 64 sizes or strides")
    if any(type(value) is not int or not 0 <= value <= _MAX_BYTES for value in values):
        raise ValueError("sizes and strides must be integers from 0 to 2**63 - 1")
    return tuple(values)


def _view(
    storage: Any, dtype: str, offset: int, size: Any, stride: Any, requires_grad: Any, flags: dict[str, Any] | None
) -> Any:
    storage = getattr(storage, "_loaded", None)
    if type(storage) is not Storage:
        raise TypeError("a tensor needs a storage")
    if type(offset) is not int or type(requires_grad) is not bool:
        raise TypeError("expected an integer offset and a boolean requires_grad")
    size, stride = _integers(size), _integers(stride)
    elements, count = storage.elements(dtype)
    extent = 0 if 0 in size else 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    span = math.prod(max(length, 1) for length in size)  # NumPy multiplies the non-zero sizes too
    if len(size) != len(stride) or not 0 <= offset <= count or offset + extent > count:
        raise CheckpointError(
            f"A tensor of size {size}, stride {stride} and offset {offset} does not fit into its storage of "
            f"{count} elements; the checkpoint is damaged."
        )
    if span * numpy_dtype(dtype).itemsize > _MAX_BYTES:
        raise CheckpointError(f"A tensor of size {size} in the checkpoint is too large for any memory.")
    if requires_grad and dtype not in DIFFERENTIABLE:
        raise CheckpointError(f"Only floating point tensors can require gradients; the checkpoint has one of {dtype}.")
    if flags:
        array = _apply_flags(storage, dtype, offset, size, stride, flags)
        elements, offset = storage.place(array.reshape(-1)), 0
        stride = tuple(step // array.itemsize for step in array.strides)
    return bridge.tensor_from_parts(elements, offset, size, stride, requires_grad)


def _apply_flags(
    storage: Storage, dtype: str, offset: int, size: tuple[int, ...], stride: tuple[int, ...], flags: Any
) -> np.ndarray:
    """torch keeps conjugation and negation of a tensor as flags; here they are carried out, on a copy."""
    if type(flags) is not dict or not set(flags) <= {"conj", "neg"} or dtype not in DIFFERENTIABLE or storage.is_late:
        raise CheckpointError("A tensor in the checkpoint has properties that are not supported here.")
    source = storage.arrays[dtype]
    if math.prod(size) > len(source):
        raise CheckpointError("A conjugated tensor in the checkpoint repeats its elements, which is not supported.")
    steps = [step * source.itemsize for step in stride]
    array = np.array(np.lib.stride_tricks.as_strided(source[offset:], size, steps), order="C")
    if flags.get("conj"):
        np.conjugate(array, out=array)
    if flags.get("neg"):
        np.negative(array, out=array)
    return array


def _tensor(storage: Any, offset: int, size: Any, stride: Any) -> Any:
    return _tensor_v2(storage, offset, size, stride, False, None)


def _tensor_v2(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: Any, backward_hooks: Any, metadata: Any = None
) -> Any:
    dtype = getattr(getattr(storage, "_loaded", None), "dtype", "")
    return _view(storage, dtype, offset, size, stride, requires_grad, metadata)


def _tensor_v3(
    storage: Any,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Any:
    name = getattr(dtype, "name", None)
    if name not in DTYPE_NAMES:
        raise TypeError("expected a dtype")
    return _view(storage, name, offset, size, stride, requires_grad, metadata)


def _sparse(layout: Any, parts: Any) -> Any:
    name = getattr(layout, "name", None)
    if name not in ("sparse_coo", "sparse_csr"):
        raise CheckpointError(f"Sparse tensors of layout {layout!r:.50} are not supported here.")
    dense = parts[: 2 if name == "sparse_coo" else 3] if type(parts) is tuple and 3 <= len(parts) <= 4 else ()
    if not dense or not all(map(bridge.is_tensor, dense)):
        raise TypeError("a sparse tensor needs places, values and a size")
    try:
        return bridge.sparse_from_parts(name, parts)
    except (RuntimeError, ValueError, IndexError) as error:
        raise CheckpointError(f"A sparse tensor in the checkpoint does not hold together: {error}") from error


def _meta(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    name = getattr(dtype, "name", None)
    if name not in DTYPE_NAMES or type(requires_grad) is not bool or requires_grad and name not in DIFFERENTIABLE:
        raise TypeError("expected a dtype and whether gradients are wanted")
    return bridge.meta_tensor(dtype, _integers(size), requires_grad)


def _parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Any:
    if not bridge.is_tensor(data) or type(requires_grad) is not bool:
        raise TypeError("a parameter needs a tensor and a boolean requires_grad")
    return bridge.parameter_from_tensor(data, requires_grad)


def _parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Any:
    return _with_state(_parameter(data, requires_grad, backward_hooks), state)


def _from_type(function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor with attributes of its own: `function` is one of the other rebuilders."""
    call = REBUILDERS.get(getattr(function, "name", ""))
    if (
        call is None
        or call is _from_type
        or not isinstance(kind, type)
        and getattr(kind, "name", "") not in _TENSOR_CLASSES
    ):
        raise CheckpointError("The checkpoint holds a tensor of a class that is not supported here.")
    tensor = call(*arguments)
    if isinstance(kind, type) and type(tensor) is not kind:
        tensor = bridge.as_class(tensor, kind)
    return _with_state(tensor, state)


def _with_state(tensor: Any, state: Any) -> Any:
    """Give a tensor the attributes a program had attached; what would change the tensor itself is left out."""
    if type(state) is tuple and len(state) == 2:
        state = {**(state[0] or {}), **(state[1] or {})}
    for name, value in (state or {}).items():
        if bridge.is_attachable(tensor, name):
            setattr(tensor, name, value)
    return tensor


def _tensor_class(*arguments: Any) -> Any:
    raise CheckpointError("The checkpoint was written by torch 0.3 or earlier, which is not supported.")


_TENSOR_CLASSES = ("torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer")
REBUILDERS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor_v2,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_meta_tensor_no_storage": _meta,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter_with_state,
    "torch._utils._rebuild_wrapper_subclass": bridge.wrapper_from_parts,
    "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch.Tensor": _tensor_class,
    "torch.nn.parameter.Parameter": _tensor_class,
    "torch.nn.parameter.Buffer": _tensor_class,
}

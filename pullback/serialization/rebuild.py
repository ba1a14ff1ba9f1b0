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
from .interpreter import Allowance

_MAX_DIMENSIONS = 64  # NumPy's limit, and torch's
_MAX_BYTES = 2**63 - 1
Flags = tuple[str, ...]


class StorageType:
    """A storage class of torch, known here by the dtype of its elements (uint8 for an UntypedStorage)."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype: str = dtype


class Storage:
    """The bytes of one storage; typed views are made once for each dtype, so that tensors share them."""

    __slots__ = ("data", "dtype", "place", "is_swapped", "arrays", "typed", "__weakref__")

    def __init__(
        self,
        data: np.ndarray,
        dtype: str,
        place: Callable[[np.ndarray], Any],
        is_swapped: bool,
    ) -> None:
        self.data: np.ndarray = data
        self.dtype: str = dtype
        self.place: Callable[[np.ndarray], Any] = place
        self.is_swapped: bool = is_swapped
        self.arrays: dict[tuple[str, Flags], np.ndarray] = {}
        self.typed: dict[tuple[str, Flags], Any] = {}

    def shown(self) -> Any:
        """The storage that programs see; it knows this one as `_loaded` until all is loaded."""
        storage = bridge.visible_storage(self.elements(self.dtype)[0])
        storage._loaded = self
        return storage

    def elements(self, dtype: str, flags: Flags = ()) -> tuple[Any, int]:
        """The storage as a one-dimensional tensor of `dtype`, and its number of elements.

        torch keeps conjugation and negation of a tensor as flags; here they are carried out, once for all its views.
        """
        form = dtype, flags
        if form not in self.typed:
            self.arrays[form] = self._as_dtype(self.data, dtype, flags)
            self.typed[form] = self.place(self.arrays[form])
        return self.typed[form], len(self.arrays[form])

    def fill(self, data: np.ndarray) -> None:
        """Put data that come after the tensors into the arrays that these already use."""
        for (dtype, flags), array in self.arrays.items():
            array[...] = self._as_dtype(data, dtype, flags)

    def _as_dtype(self, data: np.ndarray, dtype: str, flags: Flags) -> np.ndarray:
        kind = numpy_dtype(dtype)
        data = data[: data.nbytes - data.nbytes % kind.itemsize]
        if data.__array_interface__["data"][0] % kind.itemsize:
            data = data.copy()  # records of a mapped file need not be aligned
        array = to_native_order(data, kind) if self.is_swapped else data.view(kind)
        for flag in flags:
            array = (np.conjugate if flag == "conj" else np.negative)(array)
        return array


def _integers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, (tuple, list)) or len(values) > _MAX_DIMENSIONS:
        raise TypeError("expected a tuple of at most 64 sizes or strides")
    if any(type(value) is not int or not 0 <= value <= _MAX_BYTES for value in values):
        raise ValueError("sizes and strides must be integers from 0 to 2**63 - 1")
    return tuple(values)


def _view(storage: Any, dtype: str, offset: int, size: Any, stride: Any, requires_grad: Any, metadata: Any) -> Any:
    storage = getattr(storage, "_loaded", None)
    if type(storage) is not Storage:
        raise TypeError("a tensor needs a storage")
    if type(offset) is not int or type(requires_grad) is not bool:
        raise TypeError("expected an integer offset and a boolean requires_grad")
    size, stride = _integers(size), _integers(stride)
    elements, count = storage.elements(dtype, _flags(metadata, dtype))
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
    return bridge.tensor_from_parts(elements, offset, size, stride, requires_grad)


def _flags(metadata: Any, dtype: str) -> Flags:
    """The flags that are set, in one order."""
    if metadata is None:
        return ()
    if type(metadata) is not dict or not set(metadata) <= {"conj", "neg"} or metadata and dtype not in DIFFERENTIABLE:
        raise CheckpointError("A tensor in the checkpoint has properties that are not supported here.")
    return tuple(sorted(name for name, is_set in metadata.items() if is_set is True))


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
    name = getattr(dtype, "_name", None)
    if name not in DTYPE_NAMES:
        raise TypeError("expected a dtype")
    return _view(storage, name, offset, size, stride, requires_grad, metadata)


def _sparse(allowance: Allowance, layout: Any, parts: Any) -> Any:
    name = getattr(layout, "name", None)
    if name not in bridge.SPARSE_LAYOUTS:
        raise CheckpointError(f"Sparse tensors of layout {layout!r:.50} are not supported here.")
    dense = parts[: 2 if name == "sparse_coo" else 3] if type(parts) is tuple and 3 <= len(parts) <= 4 else ()
    if not dense or not all(map(bridge.is_tensor, dense)):
        raise TypeError("a sparse tensor needs places, values and a size")
    allowance.spend_on_elements(sum(map(bridge.element_count, dense)))
    try:
        return bridge.sparse_from_parts(name, parts)
    except (RuntimeError, ValueError, IndexError) as error:
        raise CheckpointError(f"A sparse tensor in the checkpoint does not hold together: {error}") from error


def _meta(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    name = getattr(dtype, "_name", None)
    if name not in DTYPE_NAMES or type(requires_grad) is not bool or requires_grad and name not in DIFFERENTIABLE:
        raise TypeError("expected a dtype and whether gradients are wanted")
    return bridge.meta_tensor(dtype, _integers(size), requires_grad)


def _parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Any:
    if not bridge.is_tensor(data) or type(requires_grad) is not bool:
        raise TypeError("a parameter needs a tensor and a boolean requires_grad")
    try:
        return bridge.parameter_from_tensor(data, requires_grad)
    except RuntimeError as error:
        raise CheckpointError(f"A parameter in the checkpoint cannot be one: {error}") from error


def _parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Any:
    return _with_state(_parameter(data, requires_grad, backward_hooks), state)


def _from_type(allowance: Allowance, function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor with attributes of its own: `function` is one of the other rebuilders."""
    call = REBUILDERS.get(getattr(function, "name", ""))
    if (
        call is None
        or call is _from_type
        or not isinstance(kind, type)
        and getattr(kind, "name", "") not in _TENSOR_CLASSES
    ):
        raise CheckpointError("The checkpoint holds a tensor of a class that is not supported here.")
    allowance.spend_on(arguments)
    tensor = call(allowance, *arguments) if call is _sparse else call(*arguments)
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
SPENDING: frozenset[str] = frozenset(("torch._utils._rebuild_sparse_tensor", "torch._tensor._rebuild_from_type_v2"))
"""Those that take an `Allowance` first."""

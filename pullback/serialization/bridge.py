"""The only place where checkpoints meet tensors: what the readers and writers ask of the rest of the package.

Everything else in this package speaks NumPy arrays, tuples and names. The functions below turn those into
tensors, parameters, sizes, devices and dtypes and back; they import the tensor classes when first called, so
importing the serialization package costs nothing and a test can put other functions in their place.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .dtypes import dtype_name, numpy_dtype


class TensorParts:
    """The parts of a tensor that a checkpoint stores: its whole storage as bytes, and the view of it."""

    __slots__ = ("storage", "dtype", "offset", "size", "stride", "requires_grad", "is_parameter", "attributes")

    def __init__(
        self,
        storage: np.ndarray,
        dtype: str,
        offset: int,
        size: tuple[int, ...],
        stride: tuple[int, ...],
        requires_grad: bool,
        is_parameter: bool,
        attributes: dict[str, Any] | None = None,
    ) -> None:
        self.storage: np.ndarray = storage
        self.dtype: str = dtype
        self.offset: int = offset
        self.size: tuple[int, ...] = size
        self.stride: tuple[int, ...] = stride
        self.requires_grad: bool = requires_grad
        self.is_parameter: bool = is_parameter
        self.attributes: dict[str, Any] | None = attributes


def storage_from_array(array: np.ndarray, location: str) -> Any:
    """A one-dimensional tensor over `array`, on the device `location`; all views of a storage begin with it."""
    import pullback

    if location == "meta":
        return meta_tensor(pullback.core.basics.dtypes.from_numpy_dtype(array.dtype), array.shape, False)
    tensor = pullback.from_numpy(array)
    return tensor if location == "cpu" else tensor.to(location)


def visible_storage(elements: Any) -> Any:
    """The storage under what `storage_from_array` gave, for programs that save storages themselves."""
    from pullback.storage import typed_storage

    return typed_storage(elements)


def elements_of_storage(storage: Any, dtype: np.dtype) -> Any:
    """A storage that programs see as what `storage_from_array` gives; programs may have made a tensor of it."""
    import pullback

    if is_tensor(storage):
        return storage
    kind = pullback.core.basics.dtypes.from_numpy_dtype(dtype)
    if storage.device.type == "meta":
        return meta_tensor(kind, (storage.nbytes() // dtype.itemsize,), False)
    return pullback.from_numpy(storage.untyped().as_array(kind))


def parts_of_storage(value: Any) -> tuple[np.ndarray, str] | None:
    """The bytes of a storage and the dtype of its elements; None for all else."""
    module = sys.modules.get("pullback.storage")  # unless it is loaded, there are no storages
    if module is None or not module.is_storage(value):
        return None
    return value.untyped()._bytes(), value.dtype._name if isinstance(value, module.TypedStorage) else "uint8"


def shares_memory(storage: Any, array: np.ndarray) -> bool:
    """True if a tensor made by `storage_from_array` is a view of `array`."""
    return storage.device.type == "cpu" and np.shares_memory(storage.memory(), array)


def tensor_from_parts(
    storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool
) -> Any:
    """A tensor over part of what `storage_from_array` gave; offsets and strides count elements and are in bounds.

    It shares memory and version counter with the storage, but is no view in the eyes of autograd.
    """
    from pullback.core.basics.storage import storage_of

    if storage.device.type == "meta":
        return meta_tensor(storage.dtype, size, requires_grad)
    array = storage.memory()
    tensor = storage.detach()
    # Through bytes, because NumPy does not lend the buffer of a bfloat16 array.
    steps = tuple(step * array.itemsize for step in stride)
    tensor._array = np.ndarray(size, array.dtype, array.view(np.uint8), offset * array.itemsize, steps)
    tensor._storage = storage_of(storage)
    return tensor.requires_grad_() if requires_grad else tensor


def parameter_from_tensor(tensor: Any, requires_grad: bool) -> Any:
    """A parameter that shares the memory of `tensor`."""
    from pullback.nn.parameter import Parameter

    return Parameter(tensor.detach(), requires_grad)


def is_available(kind: str) -> bool:
    """True if tensors can be put on devices of this kind here."""
    import pullback

    if kind == "meta":
        return True
    backend = getattr(pullback, kind, None)
    return backend is not None and hasattr(backend, "is_available") and bool(backend.is_available())


def is_tensor(value: Any) -> bool:
    """True if `value` is a tensor (or a parameter)."""
    import pullback

    return isinstance(value, pullback.Tensor)


def element_count(tensor: Any) -> int:
    """How many elements a tensor shows, which may be more than its memory holds."""
    return int(tensor.numel())


def parts_of_tensor(tensor: Any) -> TensorParts:
    """Take a tensor apart; tensors that share memory give the same storage.

    As in torch, the storage is all of the memory that a view looks into.
    """
    array = tensor.detach().memory()
    storage = whole_storage(array)
    if storage is None:
        array = np.array(array, order="C")
        storage = array.reshape(-1).view(np.uint8)
    offset = (_address(array) - _address(storage)) // array.itemsize
    stride = tensor.stride() if array.flags.c_contiguous else [step // array.itemsize for step in array.strides]
    return TensorParts(
        storage, dtype_name(array.dtype), offset, tuple(array.shape), tuple(stride), bool(tensor.requires_grad),
        _is_parameter(tensor), attributes_of_tensor(tensor),
    )  # fmt: skip


def class_to_keep(tensor: Any) -> type[Any] | None:
    """The class of a tensor that a program has derived, None for those of the library."""
    from pullback.core.tensor import Anchor, Tensor
    from pullback.nn.parameter import Buffer, Parameter

    kind = type(tensor)
    if kind in (Tensor, Buffer, Anchor) or issubclass(kind, Parameter) or not issubclass(kind, Tensor):
        return None
    return kind


def as_class(tensor: Any, kind: type[Any]) -> Any:
    """A tensor as an object of a derived class."""
    if not issubclass(kind, type(tensor)):
        raise TypeError("the class of a tensor has to be derived from Tensor")
    return tensor.as_subclass(kind)


def parts_of_wrapper(tensor: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Class, dtype and form of a tensor without elements of its own, and what its class has attached to it."""
    from pullback.transforms.arrays.without_elements import is_form

    if not is_form(getattr(tensor, "_array", None)):
        return None
    from pullback.core.basics.device import cpu
    from pullback.core.basics.layout import strided
    from pullback.shell.dispatch_subclasses import attributes_of

    form = (
        type(tensor),
        tensor.dtype,
        tuple(tensor.shape),
        tuple(tensor.stride()),
        0,
        strided,
        cpu,
        tensor.requires_grad,
    )
    return form, attributes_of(tensor)


def wrapper_from_parts(
    kind: Any, dtype: Any, size: Any, stride: Any, offset: Any, layout: Any, device: Any, requires_grad: Any
) -> Any:
    """The reverse, with nothing attached yet."""
    from pullback.shell.dispatch_subclasses import make_wrapper_subclass

    return make_wrapper_subclass(kind, size, stride, dtype=dtype, requires_grad=requires_grad)


def meta_tensor(dtype: Any, size: tuple[int, ...], requires_grad: bool) -> Any:
    """A tensor without elements."""
    import pullback

    return pullback.empty(size, dtype=dtype, device="meta", requires_grad=requires_grad)


def parts_of_meta(tensor: Any) -> tuple[Any, ...] | None:
    """Dtype, size, stride and `requires_grad` of a tensor without elements; None for one that has them."""
    if not tensor.is_meta:
        return None
    return tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), bool(tensor.requires_grad)


SPARSE_LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def parts_of_sparse(tensor: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """The layout of a sparse tensor and the dense tensors it is made of, as files keep them; None for a dense one."""
    if not tensor.is_sparse:
        return None
    if tensor.layout.name != "sparse_coo":
        from pullback.sparse.compressed import parts

        return tensor.layout, (*parts(tensor), tensor.shape)
    return tensor.layout, (tensor._indices(), tensor._values(), tensor.shape, tensor.is_coalesced())


def sparse_from_parts(layout: str, parts: tuple[Any, ...]) -> Any:
    """The reverse; `parts` may be any four values."""
    from pullback.sparse import sparse_compressed_tensor, sparse_coo_tensor

    if layout != "sparse_coo":
        return sparse_compressed_tensor(*parts, layout=layout_from_name(layout))
    places, entries, shape, *ordered = parts  # before torch 2.1 files did not say whether places are in order
    return sparse_coo_tensor(places, entries, shape, is_coalesced=bool(ordered and ordered[0]))


# What tensors have of their own without a default on their class. A `.jac` is not saved, as a `.grad` is not.
_OWN = frozenset({"_array", "_idle_hooks", "jac", "persistent"})


def attributes_of_tensor(tensor: Any) -> dict[str, Any]:
    """Return the attributes that a program has attached to a tensor."""
    return {name: value for name, value in vars(tensor).items() if is_attachable(tensor, name)}


def is_attachable(tensor: Any, name: Any) -> bool:
    """True if an attribute of this name is none of the tensor's own, so that a program may have attached it."""
    if type(name) is not str or name in _OWN:
        return False
    if class_to_keep(tensor) is None:
        return not hasattr(type(tensor), name)
    from pullback.core.attributes import is_field

    return not is_field(name)  # a derived class may have slots, and attributes before methods


def _is_parameter(tensor: Any) -> bool:
    module = sys.modules.get("pullback.nn.parameter")  # unless it is loaded, there are no parameters
    return module is not None and isinstance(tensor, module.Parameter)


def whole_storage(array: np.ndarray) -> np.ndarray | None:
    """All bytes of the memory that `array` looks into; None where a file could not describe the way it does."""
    owner: Any = array
    while getattr(owner, "base", None) is not None and hasattr(owner.base, "__array_interface__"):
        owner = owner.base
    if not isinstance(owner, np.ndarray) or not (owner.flags.c_contiguous or owner.flags.f_contiguous):
        return None
    flat = owner.ravel(order="K").view(np.uint8)
    skipped = _address(array) - _address(flat)
    steps = [(length, step) for length, step in zip(array.shape, array.strides) if length > 1]
    if skipped % array.itemsize or any(step < 0 or step % array.itemsize for _, step in steps):
        return None
    extent = 0 if array.size == 0 else array.itemsize + sum((length - 1) * step for length, step in steps)
    return flat if 0 <= skipped <= skipped + extent <= flat.nbytes else None


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def dtype_from_name(name: str) -> Any:
    """The dtype object called `name`."""
    from pullback.core.basics.dtypes import as_dtype

    return as_dtype(numpy_dtype(name))


def size_from_ints(values: tuple[int, ...]) -> Any:
    """A tensor shape."""
    from pullback.core.basics.size import Size

    return Size(values)


def device_from_parts(kind: str, index: int | None) -> Any:
    """A device object."""
    from pullback.core.basics.device import device

    return device(kind) if index is None else device(kind, index)


def layout_from_name(name: str) -> Any:
    """A memory layout such as `torch.strided`."""
    import pullback

    return getattr(pullback, name)


def reduce_value(value: Any) -> tuple[str, tuple[Any, ...] | None] | None:
    """How a file spells a size, device, dtype or layout: the global's name and its arguments, or None for all else."""
    from pullback.core.basics.device import device
    from pullback.core.basics.dtypes import dtype
    from pullback.core.basics.layout import layout
    from pullback.core.basics.size import Size

    if isinstance(value, layout):
        return "torch.serialization _get_layout", (repr(value),)
    if isinstance(value, dtype):
        return f"torch {value._name}", None
    if isinstance(value, Size):
        return "torch Size", (tuple(value),)
    if isinstance(value, device):
        return "torch device", (value.type,) if value.index is None else (value.type, value.index)
    return None


def find_class(module: str, name: str) -> Any:
    """Our counterpart of the class or function that torch calls `module.name`; for trusted files only."""
    import importlib

    import pullback

    try:
        return getattr(importlib.import_module(module.replace("torch", "pullback", 1)), name)
    except (ImportError, AttributeError):
        for home in (pullback.nn, pullback.optim, pullback):
            if hasattr(home, name):
                return getattr(home, name)
        raise AttributeError(f"{module}.{name} has no counterpart in pullback") from None

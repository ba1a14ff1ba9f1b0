"""The only place where checkpoints meet tensors: what the readers and writers ask of the rest of the package.

Everything else in this package speaks NumPy arrays, tuples and names. The functions below turn those into
tensors, parameters, sizes, devices and dtypes and back; they import the tensor classes when first called, so
importing the serialization package costs nothing and a test can put other functions in their place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import dtype_name


class TensorParts:
    """What a checkpoint stores of a tensor: its whole storage as bytes, and the view of it."""

    __slots__ = ("storage", "dtype", "offset", "size", "stride", "requires_grad", "is_parameter")

    def __init__(
        self,
        storage: np.ndarray,
        dtype: str,
        offset: int,
        size: tuple[int, ...],
        stride: tuple[int, ...],
        requires_grad: bool,
        is_parameter: bool,
    ) -> None:
        self.storage = storage
        self.dtype = dtype
        self.offset = offset
        self.size = size
        self.stride = stride
        self.requires_grad = requires_grad
        self.is_parameter = is_parameter


def storage_from_array(array: np.ndarray, location: str) -> Any:
    """A one-dimensional tensor over `array`, on the device `location`; all views of a storage begin with it."""
    import pullback

    tensor = pullback.from_numpy(array)
    return tensor if location == "cpu" else tensor.to(location)


def shares_memory(storage: Any, array: np.ndarray) -> bool:
    """Whether a tensor made by `storage_from_array` is a view of `array`."""
    return storage.device.type == "cpu" and np.shares_memory(storage.detach().numpy(), array)


def tensor_from_parts(
    storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool
) -> Any:
    """A view of what `storage_from_array` gave; offsets and strides count elements and are in bounds."""
    tensor = storage.as_strided(size, stride, offset).detach()  # shares memory, but is nobody's view
    return tensor.requires_grad_() if requires_grad else tensor


def parameter_from_tensor(tensor: Any, requires_grad: bool) -> Any:
    """A parameter that shares the memory of `tensor`."""
    import pullback

    return pullback.nn.Parameter(tensor.detach(), requires_grad)


def is_available(kind: str) -> bool:
    """Whether tensors can be put on devices of this kind here."""
    import pullback

    backend = getattr(pullback, kind, None)
    return backend is not None and hasattr(backend, "is_available") and bool(backend.is_available())


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor (or a parameter)."""
    import pullback

    return isinstance(value, pullback.Tensor)


def parts_of_tensor(tensor: Any) -> TensorParts:
    """Take a tensor apart; tensors that share memory give arrays that begin at the same address."""
    import pullback

    array = tensor.detach().numpy(force=True)
    offset, stride = tensor.storage_offset(), tuple(tensor.stride())
    storage = whole_storage(array, offset)
    if storage is not None and hasattr(tensor, "untyped_storage"):
        # The array behind a tensor made by from_numpy(a[:3]) goes on beyond the tensor's own storage.
        storage = storage[: tensor.untyped_storage().nbytes()]
    if storage is None or not _is_view(array, storage, offset, stride):
        array = np.array(array, order="C")
        offset, stride = 0, tuple(step // array.itemsize for step in array.strides)
        storage = array.reshape(-1).view(np.uint8)
    return TensorParts(
        storage, dtype_name(array.dtype), offset, tuple(array.shape), stride, bool(tensor.requires_grad),
        isinstance(tensor, pullback.nn.Parameter),
    )  # fmt: skip


def whole_storage(array: np.ndarray, offset: int) -> np.ndarray | None:
    """All bytes of the memory that `array` views `offset` elements into; None where it is not one run of memory."""
    owner: Any = array
    while getattr(owner, "base", None) is not None and hasattr(owner.base, "__array_interface__"):
        owner = owner.base
    if not isinstance(owner, np.ndarray) or not (owner.flags.c_contiguous or owner.flags.f_contiguous):
        return None
    flat = owner.ravel(order="K").view(np.uint8)
    begin = flat.__array_interface__["data"][0]
    skipped = array.__array_interface__["data"][0] - offset * array.itemsize - begin
    return flat[skipped:] if 0 <= skipped <= flat.nbytes else None


def _is_view(array: np.ndarray, storage: np.ndarray, offset: int, stride: tuple[int, ...]) -> bool:
    """Whether offset and strides find the elements of `array` inside `storage`."""
    if array.size == 0:
        return offset * array.itemsize <= storage.nbytes
    steps = [(length, step, have) for length, step, have in zip(array.shape, stride, array.strides) if length > 1]
    extent = 1 + offset + sum((length - 1) * step for length, step, _ in steps)
    agrees = all(step >= 0 and step * array.itemsize == have for _, step, have in steps)
    return agrees and extent * array.itemsize <= storage.nbytes


def dtype_from_name(name: str) -> Any:
    """The dtype object called `name`."""
    from pullback.dtypes import as_dtype

    from .dtypes import numpy_dtype

    return as_dtype(numpy_dtype(name))


def size_from_ints(values: tuple[int, ...]) -> Any:
    """A tensor shape."""
    from pullback.size import Size

    return Size(values)


def device_from_parts(kind: str, index: int | None) -> Any:
    """A device object."""
    from pullback.device import device

    return device(kind) if index is None else device(kind, index)


def layout_from_name(name: str) -> Any:
    """A memory layout such as `torch.strided`."""
    import pullback

    return getattr(pullback, name)


def reduce_value(value: Any) -> tuple[str, tuple[Any, ...] | None] | None:
    """How a file spells a size, device or dtype: the global's name and its arguments, or None for all else."""
    from pullback.device import device
    from pullback.dtypes import dtype
    from pullback.size import Size

    if isinstance(value, dtype):
        return f"torch {value.name}", None
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

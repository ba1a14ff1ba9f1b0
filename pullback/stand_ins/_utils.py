"""`torch._utils`: small helpers that libraries for training import: flat buffers, device numbers, element sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pullback.dtypes import dtype
    from pullback.tensor import Tensor


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors of one dtype as one vector, one after another."""
    from pullback import cat

    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a vector with the shapes of tensors: the inverse of `_flatten_dense_tensors`."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True))


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Groups of tensors of one dtype, of at most so many bytes if they can be split so."""
    groups: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        group = groups.setdefault(tensor.dtype, [])
        if group and sum(part.nbytes for part in group) + tensor.nbytes > size_limit:
            yield group
            group = groups[tensor.dtype] = []
        group.append(tensor)
    yield from groups.values()


def _element_size(dtype: dtype) -> int:
    """Bytes of one element."""
    return dtype.itemsize


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; -1 for the CPU, where it is allowed."""
    from pullback.device import device as device_type

    if isinstance(device, int):
        return device
    found = device_type(device) if device is not None else device_type("cpu")
    if found.type == "cpu" and not (allow_cpu or optional):
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    return -1 if found.index is None else found.index


def _get_available_device_type() -> str | None:
    """The name of an accelerator: there is none."""
    return None

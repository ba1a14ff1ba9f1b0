"""`torch._utils`: small helpers that libraries for training import: flat buffers, device numbers, element sizes, errors.

And what a tensor that torch has pickled (`pickle.dump`, not `torch.save`) names as its maker: `_rebuild_tensor_v2` ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pullback.core.basics.on_demand import names_on_demand

if TYPE_CHECKING:
    from pullback.core.basics.dtypes import dtype
    from pullback.core.tensor import Tensor


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
    from pullback.core.basics.device import device as device_type

    if isinstance(device, int):
        return device
    found = device_type(device) if device is not None else device_type("cpu")
    if found.type == "cpu" and not (allow_cpu or optional):
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    return -1 if found.index is None else found.index


def _get_device_module(device_type: str) -> Any:
    """The module of a kind of device: `torch.cpu` for "cpu"."""
    import pullback

    module = getattr(pullback, device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return module


def _get_available_device_type() -> str | None:
    """The name of an accelerator: there is none."""
    return None


def _rebuild_tensor_v3(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, dtype: dtype, flags: Any = None
) -> Tensor:
    """A tensor on a storage; torch keeps conjugation and negation of a tensor as flags."""
    from pullback import empty

    tensor = empty(0, dtype=dtype).set_(storage.untyped(), offset, size, stride)
    if flags and flags.get("conj"):
        tensor = tensor.conj()
    if flags and flags.get("neg"):
        tensor = -tensor
    return tensor.requires_grad_(requires_grad)


def _rebuild_tensor_v2(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, flags: Any = None
) -> Tensor:
    """A tensor of the dtype of its storage."""
    return _rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, storage.dtype, flags)


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """The first form of all."""
    return _rebuild_tensor_v2(storage, storage_offset, size, stride, False, None)


def _rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Tensor:
    """A parameter with the elements of a tensor."""
    from pullback.nn import Parameter

    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, hooks: Any, state: Any) -> Tensor:
    """A parameter with the attributes that a program had given it."""
    parameter = _rebuild_parameter(data, requires_grad, hooks)
    for part in state if isinstance(state, tuple) else (state,):
        vars(parameter).update(part or {})
    return parameter


names_on_demand(__name__, names={"pullback.utils.data._utils.worker": "ExceptionWrapper KeyErrorMessage"})

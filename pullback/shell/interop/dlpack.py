"""DLPack: memory shared with other libraries through capsules. NumPy makes and reads them.

NumPy has no bfloat16. Such numbers go as integers of two bytes, and the capsule's note on what they are is changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.basics.device import require_cpu
from ...core.basics.dtypes import bfloat16
from ...core.tape import wrap
from ...core.tensor import Tensor
from ...functional.registry import public_in

_UNSIGNED, _BFLOAT = 1, 4  # codes of DLPack for kinds of numbers
_CODE_AT = 20  # bytes from the start of a capsule's tensor: a pointer, a device of two numbers, and the number of dims


@public_in("torch", direct=True, asks="modes")
def from_dlpack(ext_tensor: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of any object that speaks DLPack, or a copy of it if asked for."""
    if device is not None:
        require_cpu(device)
    if isinstance(ext_tensor, Tensor):
        _check_exported(ext_tensor)
        return ext_tensor.clone() if copy else ext_tensor.detach()
    if not hasattr(ext_tensor, "__dlpack__"):
        return _from_capsule(ext_tensor, copy)
    try:
        return wrap(np.from_dlpack(ext_tensor, copy=copy))
    except (BufferError, TypeError, RuntimeError):  # numbers that NumPy does not have, or a maker of older capsules
        return _from_capsule(ext_tensor.__dlpack__(), copy)


def _from_capsule(capsule: Any, copy: bool | None) -> Tensor:
    small = _recoded(capsule, _BFLOAT, _UNSIGNED)
    packed = _Packed(capsule)
    try:
        array = packed.array = np.from_dlpack(packed, copy=copy)
    except ValueError:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
            "have already constructed a tensor from it once."
        ) from None
    if not array.flags.writeable:  # an older capsule does not say whether it may be written; torch writes
        packed.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.__array_interface__["data"][0], False),
        }
        array = np.asarray(packed)
    if small:
        array = array.view(bfloat16._numpy)
    return wrap(array)


class _Packed:
    """The object that a DLPack capsule was taken from, as NumPy wants to see it. It keeps the memory alive."""

    array: np.ndarray
    __array_interface__: dict[str, Any]

    def __init__(self, capsule: Any) -> None:
        self.capsule: Any = capsule

    def __dlpack__(self, **ignored: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _recoded(capsule: Any, old: int, new: int) -> bool:
    """Change what kind of numbers an unversioned capsule says it has, if it is the old kind; whether it was."""
    import ctypes

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    try:
        code = ctypes.c_uint8.from_address(pointer(capsule, b"dltensor") + _CODE_AT)
    except ValueError:  # not a capsule, or of a newer kind: NumPy says what is wrong with it
        return False
    found = code.value == old
    if found:
        code.value = new
    return found


@public_in("torch", direct=True)
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of a tensor."""
    return tensor.__dlpack__()


def _check_exported(tensor: Tensor) -> None:
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if tensor.is_sparse:
        raise BufferError("Can't export tensors with layout other than torch.strided")


def dlpack(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """`__dlpack__`: the memory, for other libraries to share."""
    if stream is not None and not isinstance(stream, int):
        raise TypeError(f"stream must be ``int`` or ``None``, not {type(stream).__name__}")
    _check_exported(self)
    array = self.memory()
    if array.dtype.name != "bfloat16":
        return array.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)
    capsule = array.view(np.uint16).__dlpack__(dl_device=dl_device, copy=copy)
    _recoded(capsule, _UNSIGNED, _BFLOAT)
    return capsule


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """`__dlpack_device__`: the CPU."""
    return (1, 0)

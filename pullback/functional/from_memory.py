"""Tensors in memory that is there already: that of a buffer of Python's (`frombuffer`), that of a file (`from_file`).

Arrays of NumPy and other libraries are in `shell/interop/`.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..core.basics.dtypes import as_dtype, default_dtype
from ..core.basics.notices import warn_user
from ..core.tape import wrap
from ..core.tensor import Tensor
from .registry import public


@public(method=False, direct=True, asks="modes")
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor that shares the memory of an object with a buffer (bytes, bytearray, memoryview)."""
    kind = as_dtype(dtype)._numpy
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


@public(method=False, direct=True, tensors=False)
def from_file(
    filename: Any, shared: bool | None = None, size: int = 0, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The first elements of a file, in the file's own memory: of a shared one (made if need be) writes go to the file."""
    kind = (default_dtype() if dtype is None else as_dtype(dtype))._numpy
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

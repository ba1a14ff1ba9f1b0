"""Tensors on memory of a given form: empty_strided, empty_permuted; and others under a tensor that is there: resize_, set_.

Views with given strides are in `subviews.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.basics.storage import storage_of
from ..core.basics.unwritten import filled
from ..core.mode import current_mode, is_inference_mode_enabled
from ..core.tape import wrap
from ..core.tensor import Tensor, anchor_of
from ..core.writes import bump, check_writable
from ..ops.striding import address, owner_of, plain_strides, view_at
from .checks import need_tensor
from .operands import sizes_of
from .registry import public

# --- memory with given strides ---


def _strided(sizes: tuple, strides: tuple, kind: np.dtype) -> np.ndarray:
    if len(sizes) != len(strides):
        raise RuntimeError(
            f"Storage size calculation: dimensionality of sizes ({len(sizes)}) must match dimensionality of strides "
            f"({len(strides)})"
        )
    if any(n < 0 for n in sizes) or any(step < 0 for step in strides):
        raise RuntimeError(f"empty_strided: sizes {list(sizes)} and strides {list(strides)} must not be negative")
    places = sum((n - 1) * step for n, step in zip(sizes, strides, strict=True)) + 1 if 0 not in sizes else 0
    if places * kind.itemsize >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(sizes)} and strides={list(strides)}")
    memory = filled(np.empty(places, kind))
    if not places:
        return memory.reshape(sizes)
    return view_at(memory, sizes, tuple(step * kind.itemsize for step in strides))


@public(method=False, direct=True, tensors=False)
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """An uninitialised tensor with the given sizes and strides."""
    from .creation import finish, numpy_dtype

    array = _strided(sizes_of((size,)), sizes_of((stride,)), numpy_dtype(dtype))
    return finish(array, requires_grad, device, layout=layout)


@public(method=False, direct=True, tensors=False)
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """An uninitialised tensor whose dims lie in memory in the given order."""
    from .creation import finish, numpy_dtype

    sizes, order = sizes_of((size,)), sizes_of((physical_layout,))
    if len(sizes) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(sizes)} is not equal to len(physical_layout) = {len(order)}"
        )
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    for d in order:
        if not 0 <= d < len(sizes):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(sizes) - 1}, but got {d})")
    array = filled(np.empty(tuple(sizes[d] for d in order), numpy_dtype(dtype))).transpose(np.argsort(order))
    return finish(array, requires_grad, device, layout=layout)


@public(function=False, direct=True)
def new_empty_strided(self: Tensor, size: Any, stride: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    """An uninitialised tensor with the given sizes and strides, in the dtype of this one."""
    from .creation import with_batch_memory

    return with_batch_memory(self, empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, **options))


# --- other memory for the same tensor ---


def _check_resize(self: Tensor) -> None:
    if self.requires_grad and not is_inference_mode_enabled():
        raise RuntimeError("cannot resize variables that require grad")


@public(function=False, direct=True)
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give this tensor another size, on the memory it has if that is enough; new elements are uninitialised."""
    _check_resize(self)
    wanted = sizes_of(sizes)
    if any(n < 0 for n in wanted):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(wanted)}: {list(wanted)}")
    array = self.memory()
    if array.shape != wanted:
        count = math.prod(wanted)
        if count * array.itemsize >= 1 << 63:
            raise RuntimeError(f"Storage size calculation overflowed (integer overflow) with sizes={list(wanted)}")
        if math.prod(n for n in wanted if n) >= 1 << 63:
            raise RuntimeError(f"Stride calculation overflowed with sizes={list(wanted)}")
        flat, start = _memory_from(array)
        missing = start + count - flat.size
        if missing > 0:
            flat, start = np.concatenate([flat[start:], filled(np.empty(missing, array.dtype))]), 0
        self._array = flat[start : start + count].reshape(wanted)
        bump(storage_of(self))
    return self


def _memory_from(array: np.ndarray) -> tuple[np.ndarray, int]:
    """The memory an array looks at as one row, and where in it the array begins."""
    if not isinstance(array, np.ndarray):  # inside vmap, every example has memory of its own
        return array.reshape(-1), 0
    owner = owner_of(array)
    if array.size and owner.flags.c_contiguous and owner.dtype == array.dtype:
        return owner.reshape(-1), (address(array) - address(owner)) // array.itemsize
    return array.reshape(-1), 0


@public(function=False, direct=True)
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give this tensor the size of another."""
    return resize_(self, need_tensor(the_template, "resize_as_", "the_template").shape)


@public(function=False, direct=True)
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = ()) -> Tensor:
    """Look at the memory of another tensor from now on (or at none)."""
    mode = current_mode()
    check_writable(self, mode, mode.grad and self._requires_grad)
    if source is None:
        self._array = np.empty(0, self._array.dtype)
    else:
        if not isinstance(source, Tensor):  # a storage: its bytes, read as elements of this tensor's dtype
            source = wrap(source.as_array(self.dtype))
            size = source.shape if size is None else size
        if source._array.dtype != self._array.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {source.dtype.short_name} to a tensor of type {self.dtype.short_name}"
            )
        if size is not None:
            from .subviews import as_strided

            strides = stride or plain_strides(sizes_of((size,)))
            source = as_strided(source, size, strides, storage_offset)
        self._array = source.memory()
    left = self._anchor  # graphs recorded before know the tensor by what it looked at then
    self._anchor = None
    if left is not None and left._hooks is not None:
        anchor_of(self)._hooks = left._hooks
    bump(storage_of(self))
    return self

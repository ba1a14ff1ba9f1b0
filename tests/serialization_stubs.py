"""A tensor of a few lines, so that the file formats are tested apart from the real one."""

from __future__ import annotations

import math

import numpy as np

from pullback.serialization import bridge


class Dtype:
    def __init__(self, name):
        self._name = name

    def __eq__(self, other):
        return isinstance(other, Dtype) and other._name == self._name

    def __hash__(self):
        return hash(self._name)


class Size(tuple):
    pass


class Device:
    def __init__(self, type, index=None):
        self.type, self.index = type, index

    def __eq__(self, other):
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)


class Tensor:
    """A strided view of a one-dimensional array."""

    def __init__(self, base, offset=0, size=None, stride=None, requires_grad=False, is_parameter=False):
        self.base = base
        self.offset = offset
        self.size = (len(base),) if size is None else tuple(size)
        self.stride = (1,) if stride is None else tuple(stride)
        self.requires_grad = requires_grad
        self.is_parameter = is_parameter

    @property
    def array(self):
        strides = [step * self.base.itemsize for step in self.stride]
        return np.ndarray(self.size, self.base.dtype, self.base, self.offset * self.base.itemsize, strides)

    def detach(self):
        return self

    def numpy(self, force=False):
        return self.array


def tensor(values, dtype=None, **flags):
    array = np.array(values, dtype)
    strides, step = [], 1
    for length in reversed(array.shape):
        strides.insert(0, step)
        step *= max(length, 1)
    assert step >= math.prod(array.shape)
    return Tensor(array.reshape(-1), 0, array.shape, strides, **flags)


def _storage_from_array(array, location):
    assert location == "cpu"
    return Tensor(array)


def _tensor_from_parts(storage, offset, size, stride, requires_grad):
    return Tensor(storage.base, offset, size, stride, requires_grad)


def _parameter_from_tensor(tensor, requires_grad):
    return Tensor(tensor.base, tensor.offset, tensor.size, tensor.stride, requires_grad, True)


def _parts_of_tensor(tensor):
    return bridge.TensorParts(
        tensor.base.view(np.uint8), tensor.base.dtype.name, tensor.offset, tensor.size, tensor.stride,
        tensor.requires_grad, tensor.is_parameter,
    )  # fmt: skip


def _reduce_value(value):
    if isinstance(value, Dtype):
        return f"torch {value._name}", None
    if isinstance(value, Size):
        return "torch Size", (tuple(value),)
    if isinstance(value, Device):
        return "torch device", (value.type,) if value.index is None else (value.type, value.index)
    return None


class Storage:
    """What stands for a storage while a file is read."""

    def __init__(self, elements):
        self.elements = elements

    def untyped(self):
        return self


HOOKS = {
    "storage_from_array": _storage_from_array,
    "visible_storage": Storage,
    "elements_of_storage": lambda storage, dtype: storage.elements,
    "parts_of_storage": lambda value: None,
    "tensor_from_parts": _tensor_from_parts,
    "parameter_from_tensor": _parameter_from_tensor,
    "parts_of_tensor": _parts_of_tensor,
    "parts_of_sparse": lambda tensor: None,
    "parts_of_meta": lambda tensor: None,
    "reduce_value": _reduce_value,
    "is_tensor": lambda value: isinstance(value, Tensor),
    "is_available": lambda kind: False,
    "shares_memory": lambda storage, array: np.shares_memory(storage.base, array),
    "dtype_from_name": Dtype,
    "size_from_ints": Size,
    "device_from_parts": Device,
    "layout_from_name": lambda name: name,
}


def install(setattr=setattr):
    """Put the stub in the place of the real tensor."""
    for name, hook in HOOKS.items():
        setattr(bridge, name, hook)

"""The standard's creation functions. Defaults are the standard's (float64, int64, complex128), not torch's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.basics.dtypes import dtype as dtype_type
from ..core.tensor import Tensor
from ..functional.methods import alias_of
from ._array import Array, as_arrays, check_device, dispatched, numpy_dtype, plain, run, wrapped

Shape = int | tuple[int, ...]


def asarray(obj: Any, /, *, dtype: dtype_type | None = None, device: Any = None, copy: bool | None = None) -> Array:
    """`obj` (numbers, nested sequences, arrays, tensors) as an array. Tensors keep their memory and their history."""
    check_device(device)
    if not isinstance(obj, Tensor):
        return wrapped(np.array(_numbers(obj), numpy_dtype(dtype), copy=copy))
    if dtype is not None and obj.dtype is not dtype:
        if copy is False:
            raise ValueError("asarray(copy=False) cannot change the dtype of a tensor without a copy")
        return as_arrays(obj.to(dtype))
    if copy:
        return as_arrays(obj.clone())
    return obj if isinstance(obj, Array) else as_arrays(alias_of(obj))


def _numbers(obj: Any) -> Any:
    """Nested sequences with the tensors in them as arrays."""
    if isinstance(obj, Tensor):
        return obj.detach()._array
    return [_numbers(each) for each in obj] if isinstance(obj, (list, tuple)) else obj


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array on the memory of another library's array."""
    from ..shell.interop import from_dlpack as share

    return asarray(share(x, device=device, copy=copy))


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: dtype_type | None = None, device: Any = None
) -> Array:
    """Evenly spaced numbers from `start` (0 if it is the only one given) until `stop`."""
    check_device(device)
    ends = (0, start) if stop is None else (start, stop)
    return run(np.arange, *ends, step, dtype=numpy_dtype(dtype))


def linspace(
    start: complex, stop: complex, /, num: int, *, dtype: dtype_type | None = None, device: Any = None,
    endpoint: bool = True,
) -> Array:  # fmt: skip
    """`num` evenly spaced numbers from `start` to `stop`."""
    check_device(device)
    return run(np.linspace, start, stop, num, dtype=numpy_dtype(dtype), endpoint=endpoint)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: dtype_type | None = None, device: Any = None
) -> Array:
    """Ones on a diagonal, zeros elsewhere."""
    check_device(device)
    return wrapped(np.eye(n_rows, n_cols, k=k, dtype=numpy_dtype(dtype) or np.float64))


def empty(shape: Shape, *, dtype: dtype_type | None = None, device: Any = None) -> Array:
    """An array whose elements are whatever was in memory."""
    check_device(device)
    return wrapped(np.empty(shape, numpy_dtype(dtype)))


def full(shape: Shape, fill_value: complex, *, dtype: dtype_type | None = None, device: Any = None) -> Array:
    """An array of one number."""
    check_device(device)
    return wrapped(np.full(shape, plain(fill_value), numpy_dtype(dtype)))


def ones(shape: Shape, *, dtype: dtype_type | None = None, device: Any = None) -> Array:
    """An array of ones."""
    check_device(device)
    return wrapped(np.ones(shape, numpy_dtype(dtype)))


def zeros(shape: Shape, *, dtype: dtype_type | None = None, device: Any = None) -> Array:
    """An array of zeros."""
    check_device(device)
    return wrapped(np.zeros(shape, numpy_dtype(dtype)))


def empty_like(x: Tensor, /, *, dtype: dtype_type | None = None, device: Any = None) -> Array:
    """`empty` with the shape and dtype of another array."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device)


def full_like(x: Tensor, /, fill_value: complex, *, dtype: dtype_type | None = None, device: Any = None) -> Array:
    """`full` with the shape and dtype of another array."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: dtype_type | None = None, device: Any = None) -> Array:
    """`ones` with the shape and dtype of another array."""
    return ones(x.shape, dtype=dtype or x.dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: dtype_type | None = None, device: Any = None) -> Array:
    """`zeros` with the shape and dtype of another array."""
    return zeros(x.shape, dtype=dtype or x.dtype, device=device)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Array, ...]:
    """The coordinates of a grid."""
    return run(np.meshgrid, *arrays, indexing=indexing)


def tril(x: Tensor, /, *, k: int = 0) -> Array:
    """Matrices with zeros above a diagonal."""
    return dispatched(np.tril, x, k=k)


def triu(x: Tensor, /, *, k: int = 0) -> Array:
    """Matrices with zeros below a diagonal."""
    return dispatched(np.triu, x, k=k)

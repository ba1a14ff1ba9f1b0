"""NumPy's functions made to take and return tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.tape import wrap
from ..device import device as device_type
from ..device import require_cpu
from ..dtypes import dtype as dtype_type
from ..numpy_functions import tracked
from ..tensor import Tensor


def numpy_dtype(value: Any) -> Any:
    """NumPy's dtype for one of ours; other values as they are."""
    return value.numpy if isinstance(value, dtype_type) else value


def plain(value: Any) -> Any:
    """Tensors as arrays, dtypes as NumPy's."""
    if isinstance(value, Tensor):
        return value.memory()
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return numpy_dtype(value)


def wrapped(value: Any) -> Any:
    """Arrays as tensors, in whatever they came."""
    if isinstance(value, (np.ndarray, np.generic)):
        return wrap(np.asarray(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrapped, value))
    return type(value)(map(wrapped, value)) if isinstance(value, (list, tuple)) else value


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on tensors: differentiable where that matters, NumPy's own where it does not."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _drop_device(kwargs)
        if tracked(args) or any(map(tracked, kwargs.values())):
            return function(*args, **kwargs)
        with np.errstate(all="ignore"):
            return wrapped(function(*map(plain, args), **{key: plain(value) for key, value in kwargs.items()}))

    return call


def creating(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes an array from numbers."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        _drop_device(kwargs)
        return wrap(function(*map(plain, args), **{key: plain(value) for key, value in kwargs.items()}))

    return call


def _drop_device(kwargs: dict) -> None:
    device = kwargs.pop("device", None)
    if isinstance(device, (str, device_type)):
        require_cpu(device)

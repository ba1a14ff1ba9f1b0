"""The standard's functions of dtypes: conversion, promotion, kinds, limits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.basics.dtypes import bool_, from_numpy_dtype
from ..core.basics.dtypes import dtype as dtype_type
from ..core.tensor import Tensor
from ..shell.interop.numpy_functions import is_tracked
from ._array import Array, as_arrays, check_device, numpy_dtype, run
from ._creation import asarray


class FloatInfo(NamedTuple):
    """The limits of a floating point dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype_type


class IntegerInfo(NamedTuple):
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: dtype_type


def astype(x: Tensor, dtype: dtype_type, /, *, copy: bool = True, device: Any = None) -> Array:
    """The array in another dtype."""
    check_device(device)
    if x.dtype is dtype:
        return asarray(x, copy=copy or None)
    if x.dtype.is_complex and not dtype.is_complex and dtype is not bool_:
        raise TypeError(f"astype: complex values have no {dtype!r}; take xp.real(x) first")
    if is_tracked(x):
        return as_arrays(x.to(dtype))
    return run(np.astype, x, dtype)


def can_cast(from_: Any, to: dtype_type, /) -> bool:
    """True if a dtype (or an array's) can become another by the standard's promotion rules."""
    return np.can_cast(numpy_dtype(getattr(from_, "dtype", from_)), numpy_dtype(to))


def result_type(*arrays_and_dtypes: Any) -> dtype_type:
    """The dtype that an operation on all of these gives."""
    kinds = (getattr(value, "dtype", value) if isinstance(value, Tensor) else value for value in arrays_and_dtypes)
    return from_numpy_dtype(np.result_type(*map(numpy_dtype, kinds)))


def isdtype(dtype: dtype_type, kind: Any) -> bool:
    """True if a dtype is of a kind: "real floating", "integral", another dtype, or one of several."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return np.isdtype(numpy_dtype(dtype), tuple(map(numpy_dtype, kinds)))


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating point dtype, or of an array's; of complex ones, of their parts."""
    found = np.finfo(_real_dtype(type))
    eps, most, least, normal = (float(value) for value in (found.eps, found.max, found.min, found.smallest_normal))
    return FloatInfo(found.bits, eps, most, least, normal, from_numpy_dtype(found.dtype))


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype, or of an array's."""
    found = np.iinfo(_real_dtype(type))
    return IntegerInfo(found.bits, int(found.max), int(found.min), from_numpy_dtype(found.dtype))


def _real_dtype(type: Any) -> np.dtype:
    kind = numpy_dtype(type.dtype if isinstance(type, Tensor) else type)
    return np.empty(0, kind).real.dtype

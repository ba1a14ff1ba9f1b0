"""What the standard lets programs ask about a namespace: dtypes, devices, capabilities, limits of dtypes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..device import cpu, device
from ..tensor import Tensor
from ._lift import numpy_dtype

_DTYPES = {
    "bool": dtypes.bool_, "int8": dtypes.int8, "int16": dtypes.int16, "int32": dtypes.int32, "int64": dtypes.int64,
    "uint8": dtypes.uint8, "uint16": dtypes.uint16, "uint32": dtypes.uint32, "uint64": dtypes.uint64,
    "float32": dtypes.float32, "float64": dtypes.float64, "complex64": dtypes.complex64,
    "complex128": dtypes.complex128,
}  # fmt: skip


class FloatInfo(NamedTuple):
    """The limits of a floating point dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtypes.dtype


class IntegerInfo(NamedTuple):
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: dtypes.dtype


def _real_dtype(type: Any) -> Any:
    kind = numpy_dtype(type.dtype if isinstance(type, Tensor) else type)
    return np.empty(0, kind).real.dtype


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating point dtype, or of a tensor's; of complex ones, of their parts."""
    found = np.finfo(_real_dtype(type))
    eps, most, least, normal = (float(value) for value in (found.eps, found.max, found.min, found.smallest_normal))
    return FloatInfo(found.bits, eps, most, least, normal, dtypes.from_numpy_dtype(found.dtype))


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype, or of a tensor's."""
    found = np.iinfo(_real_dtype(type))
    return IntegerInfo(found.bits, int(found.max), int(found.min), dtypes.from_numpy_dtype(found.dtype))


class Info:
    """The answers of `__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        """Shapes may depend on data, masks may index, and there is no limit to the number of dims but NumPy's."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> device:
        return cpu

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtypes.dtype]:
        """The dtypes of functions that are given numbers."""
        return {
            "real floating": dtypes.float64, "complex floating": dtypes.complex128, "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }  # fmt: skip

    def devices(self) -> list[device]:
        return [cpu]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, dtypes.dtype]:
        """The dtypes of a kind, or all."""
        if kind is None:
            return dict(_DTYPES)
        return {name: value for name, value in _DTYPES.items() if np.isdtype(value.numpy, kind)}


def __array_namespace_info__() -> Info:
    """What this namespace can do."""
    return Info()

"""The questions that the standard lets programs ask about a namespace: dtypes, devices, capabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.basics import dtypes
from ..core.basics.device import cpu, device

_DTYPES = {
    "bool": dtypes.bool_, "int8": dtypes.int8, "int16": dtypes.int16, "int32": dtypes.int32, "int64": dtypes.int64,
    "uint8": dtypes.uint8, "uint16": dtypes.uint16, "uint32": dtypes.uint32, "uint64": dtypes.uint64,
    "float32": dtypes.float32, "float64": dtypes.float64, "complex64": dtypes.complex64,
    "complex128": dtypes.complex128,
}  # fmt: skip


class Info:
    """The answers of `__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        """Shapes may depend on data, masks may index, and there is no limit to the number of dims but NumPy's."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> device:
        """The CPU."""
        return cpu

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtypes.dtype]:
        """The dtypes of functions that are given numbers."""
        return {
            "real floating": dtypes.float64, "complex floating": dtypes.complex128, "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }  # fmt: skip

    def devices(self) -> list[device]:
        """The CPU alone."""
        return [cpu]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, dtypes.dtype]:
        """The dtypes of a kind, or all."""
        if kind is None:
            return dict(_DTYPES)
        return {name: value for name, value in _DTYPES.items() if np.isdtype(value._numpy, kind)}


def __array_namespace_info__() -> Info:
    """Return an object with methods that tell the dtypes, devices and capabilities of this namespace."""
    return Info()

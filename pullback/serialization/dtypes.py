"""Element types as checkpoint files name them: torch's dtype names, storage class names and NumPy dtypes.

Formats that NumPy lacks (bfloat16, the float8 family) come from the optional `ml_dtypes`, imported when a file
or a tensor actually holds one.
"""

from __future__ import annotations

import numpy as np

from .errors import CheckpointError

# Storage classes of torch's `_rebuild_tensor_v2`; every other dtype travels as raw bytes (`_rebuild_tensor_v3`).
STORAGE_CLASSES: dict[str, str] = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
    "complex128": "ComplexDoubleStorage",
    "complex64": "ComplexFloatStorage",
}
STORAGE_DTYPES: dict[str, str] = {storage: name for name, storage in STORAGE_CLASSES.items()}

_EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
DTYPE_NAMES: frozenset[str] = frozenset((*STORAGE_CLASSES, *_EXTENDED, "uint16", "uint32", "uint64"))
DIFFERENTIABLE: frozenset[str] = frozenset(
    ("float64", "float32", "float16", "complex128", "complex64", *_EXTENDED),
)


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy dtype for torch's dtype `name`."""
    if name not in DTYPE_NAMES:
        raise CheckpointError(f"Elements of type torch.{name} are not supported here.")
    if name not in _EXTENDED:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise CheckpointError(
            f"The checkpoint holds torch.{name} values, which NumPy itself cannot represent. "
            "Install the optional package ml_dtypes to read and write them."
        ) from None
    return np.dtype(getattr(ml_dtypes, name))


def dtype_name(dtype: np.dtype) -> str:
    """torch's name for a NumPy (or ml_dtypes) dtype."""
    name = dtype.name
    if name not in DTYPE_NAMES:
        raise TypeError(f"Arrays of dtype {name} have no counterpart in a torch checkpoint.")
    return name


def to_native_order(raw: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Big-endian bytes as native elements; complex numbers are swapped part by part."""
    part = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    return raw.view(f"u{part}").byteswap().view(dtype)

"""Where fused kernels meet rules: which values a kernel can take, and half precision through float32.

A rule that has a kernel uses it when everything it is given is a plain array, and its formula otherwise: on tensors
(recorded passes, so derivatives of any order) and on batches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


def plain(*values: Any) -> bool:
    """Whether all values are NumPy arrays or scalars (or absent)."""
    return all(value is None or isinstance(value, (np.ndarray, np.generic)) for value in values)


def is_half(dtype: Any) -> bool:
    """float16 or bfloat16: computed in float32."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def _widened(value: Any) -> Any:
    return value.astype(np.float32) if hasattr(value, "dtype") and is_half(value.dtype) else value


def in_single(kernel: Callable) -> Callable:
    """A kernel on real arrays whose half precision arguments are computed in float32, and the results cast back."""

    @functools.wraps(kernel)
    def wide(*arrays: Any, **params: Any) -> Any:
        first = arrays[0].dtype
        if not is_half(first):
            return kernel(*arrays, **params)
        results = kernel(*map(_widened, arrays), **params)
        if isinstance(results, tuple):
            return tuple(narrowed(result, first) for result in results)
        return narrowed(results, first)

    return wide


def narrowed(value: Any, dtype: Any) -> Any:
    """float32 results in the half precision type they stand for; everything else as it is."""
    return value.astype(dtype) if value is not None and value.dtype == np.float32 else value

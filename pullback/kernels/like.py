"""What NumPy's protocols do not carry to the library that an array is from: new arrays, and the largest element.

With NumPy's own arrays the quickest call is made. An array of another library (CuPy's, say) is asked for what that library
has instead, so that operations which need fresh memory run where their operands are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import generic, ndarray

from .order import empty_like

NUMPYS = (ndarray, generic)  # what operations of NumPy give: arrays, and its numbers for those without dims


def is_elsewhere(x: Any) -> bool:
    """Whether the memory of an array is another library's: that can be handed over, as the Array API standard asks."""
    return hasattr(x, "__dlpack__") and not isinstance(x, ndarray)


def zeros(shape: tuple[int, ...], like: Any) -> Any:
    """An array of zeros of this shape, of the dtype and library of another."""
    if isinstance(like, NUMPYS):
        return np.zeros(shape, like.dtype)
    return np.zeros_like(like, shape=shape)


def empty(shape: tuple[int, ...], like: Any) -> Any:
    """The same without setting the elements."""
    if isinstance(like, NUMPYS):
        return np.empty(shape, like.dtype)
    return np.empty_like(like, shape=shape)


def copy(x: Any, order: Any = "K") -> Any:
    """A copy with memory of its own, of a number as well."""
    if isinstance(x, NUMPYS):
        if order == "K" and 0 in x.strides and x.ndim > 1:
            out = empty_like(x)
            out[...] = x
            return out
        return np.array(x, order=order)
    return np.array(x, order=order, like=x)


def largest(x: Any, axis: Any) -> Any:
    """The largest elements along some axes, which are kept with length 1; of none in NumPy's arrays, minus infinity."""
    if isinstance(x, NUMPYS):
        return np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    return np.max(x, axis, keepdims=True)

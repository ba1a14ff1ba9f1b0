"""The standard's statistical and utility functions: what makes one number of many."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.basics.dtypes import dtype as dtype_type
from ..core.tensor import Tensor
from ..shell.interop.numpy_functions import is_tracked
from ._array import Array, as_arrays, numpy_dtype, run, run_discrete, same_dtype

Axes = int | tuple[int, ...] | None


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """True where all elements (along axes) are true."""
    return run_discrete(np.all, x, axis=axis, keepdims=keepdims)


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """True where at least one element (along axes) is true."""
    return run_discrete(np.any, x, axis=axis, keepdims=keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The number of elements that are not zero."""
    return run_discrete(np.count_nonzero, x, axis=axis, keepdims=keepdims)


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The largest element."""
    return run(np.max, x, axis=axis, keepdims=keepdims)


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The smallest element."""
    return run(np.min, x, axis=axis, keepdims=keepdims)


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The mean."""
    return run(np.mean, x, axis=axis, keepdims=keepdims)


def std(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """The standard deviation."""
    return run(np.std, x, axis=axis, correction=correction, keepdims=keepdims)


def var(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """The variance."""
    return run(np.var, x, axis=axis, correction=correction, keepdims=keepdims)


def sum(x: Tensor, /, *, axis: Axes = None, dtype: dtype_type | None = None, keepdims: bool = False) -> Array:
    """The sum; small integers are added up as int64 or uint64."""
    return run(np.sum, _converted(x, dtype), axis=axis, dtype=numpy_dtype(dtype), keepdims=keepdims)


def prod(x: Tensor, /, *, axis: Axes = None, dtype: dtype_type | None = None, keepdims: bool = False) -> Array:
    """The product; small integers are multiplied as int64 or uint64."""
    return run(np.prod, _converted(x, dtype), axis=axis, dtype=numpy_dtype(dtype), keepdims=keepdims)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: dtype_type | None = None, include_initial: bool = False
) -> Array:
    """The sums of the elements so far, after a 0 if `include_initial`."""
    return _running(np.cumulative_sum, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: dtype_type | None = None, include_initial: bool = False
) -> Array:
    """The products of the elements so far, after a 1 if `include_initial`."""
    return _running(np.cumulative_prod, x, axis, dtype, include_initial)


def _running(function: Any, x: Tensor, axis: int | None, dtype: dtype_type | None, include_initial: bool) -> Array:
    return run(function, _converted(x, dtype), axis=axis, dtype=numpy_dtype(dtype), include_initial=include_initial)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Array:
    """The differences of neighbours, taken n times."""
    ends = {name: value for name, value in (("prepend", prepend), ("append", append)) if value is not None}
    x, *values = same_dtype(x, *ends.values())
    return run(np.diff, x, n=n, axis=axis, **dict(zip(ends, values, strict=True)))


def _converted(x: Tensor, dtype: dtype_type | None) -> Tensor:
    """The array in the dtype of the result, where the gradient's functions would not convert it."""
    return x if dtype is None or not is_tracked(x) else as_arrays(x.to(dtype))

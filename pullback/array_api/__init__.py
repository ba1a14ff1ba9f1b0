"""The Array API standard on tensors: the namespace that `x.__array_namespace__()` returns.

NumPy's main namespace implements the standard, so each function here is NumPy's. Where a gradient is at stake it is
called on the tensors and reaches the differentiable functions through NumPy's protocols; where none is, it runs on the
arrays inside and the results become tensors. Defaults are the standard's (float64, int64), not torch's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes as _dtypes
from ..dtypes import (
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from . import fft, linalg
from ._info import __array_namespace_info__, finfo, iinfo
from ._lift import creating, lifted, numpy_dtype, wrapped

__array_api_version__ = "2024.12"

bool: Any = _dtypes.bool_
e: float
inf: float
nan: float
newaxis: Any
pi: float
e, inf, nan, pi, newaxis = np.e, np.inf, np.nan, np.pi, None

_SAME = (
    "abs acos acosh add all any argmax argmin argsort asin asinh atan atan2 atanh bitwise_and bitwise_invert "
    "bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor broadcast_arrays broadcast_to ceil clip "
    "concat conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff divide equal exp "
    "expand_dims expm1 flip floor floor_divide greater greater_equal hypot imag isfinite isin isinf isnan less "
    "less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul "
    "matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply negative nextafter nonzero "
    "not_equal permute_dims positive pow prod real reciprocal remainder repeat reshape roll round searchsorted "
    "sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take take_along_axis tan tanh "
    "tensordot tile tril triu trunc unique_all unique_counts unique_inverse unique_values unstack var vecdot "
    "where "
).split()
_CREATING = "arange empty eye full linspace ones zeros".split()
_LIKE = "empty_like full_like ones_like zeros_like".split()

for _name in _SAME:
    globals()[_name] = lifted(getattr(np, _name))
for _name in _CREATING:
    globals()[_name] = creating(getattr(np, _name))
for _name in _LIKE:
    globals()[_name] = lifted(getattr(np, _name))

__all__ = [
    *_SAME, *_CREATING, *_LIKE, "__array_api_version__", "__array_namespace_info__", "asarray", "astype", "bool",
    "can_cast", "complex128", "complex64", "e", "fft", "finfo", "float32", "float64", "from_dlpack", "iinfo",
    "inf", "int16", "int32", "int64", "int8", "isdtype", "linalg", "nan", "newaxis", "pi", "result_type",
    "uint16", "uint32", "uint64", "uint8",
]  # fmt: skip


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    """`obj` (numbers, nested sequences, arrays, tensors) as a tensor."""
    from ..device import require_cpu
    from ..tensor import Tensor

    if device is not None:
        require_cpu(device)
    if isinstance(obj, Tensor):
        if dtype is not None and obj.dtype is not dtype:
            if copy is False:
                raise ValueError("asarray(copy=False) cannot change the dtype of a tensor without a copy")
            return obj.to(dtype)
        return obj.clone() if copy else obj
    return wrapped(np.asarray(_numbers(obj), numpy_dtype(dtype), copy=copy))


def _numbers(obj: Any) -> Any:
    """Nested sequences with the tensors in them as arrays."""
    from ..tensor import Tensor

    if isinstance(obj, Tensor):
        return obj.detach()._array
    return [_numbers(each) for each in obj] if isinstance(obj, (list, tuple)) else obj


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    """The tensor in another dtype."""
    if x.dtype is dtype and not copy:
        return x
    if x.dtype.is_complex and not dtype.is_complex and dtype is not _dtypes.bool_:
        raise TypeError(f"astype: complex values have no {dtype!r}; take xp.real(x) first")
    return x.clone() if x.dtype is dtype else x.to(dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """A tensor on the memory of another library's array."""
    from ..interop import from_dlpack as share

    result = share(x)
    return result.clone() if copy else result


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether a dtype (or a tensor's) can become another by the standard's promotion rules."""
    return np.can_cast(numpy_dtype(getattr(from_, "dtype", from_)), numpy_dtype(to))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype an operation on all of these gives."""
    from ..tensor import Tensor

    kinds = [
        value._array.dtype
        if isinstance(value, Tensor)
        else numpy_dtype(value)
        if isinstance(value, _dtypes.dtype)
        else value
        for value in arrays_and_dtypes
    ]
    return _dtypes.from_numpy_dtype(np.result_type(*kinds))


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind: "real floating", "integral", another dtype, or one of several."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return np.isdtype(
        numpy_dtype(dtype), tuple(numpy_dtype(each) if isinstance(each, _dtypes.dtype) else each for each in kinds)
    )


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that arrays of these shapes broadcast to."""
    return np.broadcast_shapes(*shapes)


def __getattr__(name: str) -> Any:
    if name == "special":  # SciPy uses the namespace's own special functions if there are any
        from .. import special

        return special
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)

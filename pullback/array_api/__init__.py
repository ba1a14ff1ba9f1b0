"""The Array API standard on tensors: the namespace that `x.__array_namespace__()` returns.

NumPy's main namespace implements most of the standard, so most functions here are NumPy's. Where a gradient is at stake
they are called on the tensors and reach the differentiable functions through NumPy's protocols; where none is, they run
on the arrays inside. Results are `Array`s, tensors whose operators follow the standard. Defaults are the standard's
(float64, int64), not torch's.
"""

# ruff: noqa: I001  (a line for every name would be longer than the rest)

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.basics import dtypes as _dtypes
from ..core.basics.dtypes import (
    complex64, complex128, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
)  # fmt: skip
from . import _operators, fft, linalg
from ._array import Array
from ._creation import (
    arange, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid, ones, ones_like, tril,
    triu, zeros, zeros_like,
)  # fmt: skip
from ._dtype_functions import astype, can_cast, finfo, iinfo, isdtype, result_type
from ._elementwise import (
    abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert, bitwise_left_shift, bitwise_or,
    bitwise_right_shift, bitwise_xor, ceil, clip, conj, copysign, cos, cosh, divide, equal, exp, expm1, floor,
    floor_divide, greater, greater_equal, hypot, imag, isfinite, isinf, isnan, less, less_equal, log, log1p, log2, log10,
    logaddexp, logical_and, logical_not, logical_or, logical_xor, maximum, minimum, multiply, negative, nextafter,
    not_equal, positive, pow, real, reciprocal, remainder, round, sign, signbit, sin, sinh, sqrt, square, subtract, tan,
    tanh, trunc,
)  # fmt: skip
from ._info import __array_namespace_info__
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from ._manipulation import (
    broadcast_arrays, broadcast_shapes, broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims, repeat, reshape,
    roll, squeeze, stack, tile, unstack,
)  # fmt: skip
from ._reductions import (
    all, any, count_nonzero, cumulative_prod, cumulative_sum, diff, max, mean, min, prod, std, sum, var,
)  # fmt: skip
from ._searching import (
    argmax, argmin, argsort, isin, nonzero, searchsorted, sort, take, take_along_axis, unique_all, unique_counts,
    unique_inverse, unique_values, where,
)  # fmt: skip
from collections.abc import Callable
from ..core.basics.on_demand import names_on_demand

__array_api_version__ = "2024.12"

bool: _dtypes.dtype = _dtypes.bool_
e: float = np.e
inf: float = np.inf
nan: float = np.nan
newaxis: None = None
pi: float = np.pi

__all__ = [
    "Array", "__array_api_version__", "__array_namespace_info__", "abs", "acos", "acosh", "add", "all", "any", "arange",
    "argmax", "argmin", "argsort", "asarray", "asin", "asinh", "astype", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool",
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "ceil", "clip", "complex128", "complex64",
    "concat", "conj", "copysign", "cos", "cosh", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "divide",
    "e", "empty", "empty_like", "equal", "exp", "expand_dims", "expm1", "eye", "fft", "finfo", "flip", "float32",
    "float64", "floor", "floor_divide", "from_dlpack", "full", "full_like", "greater", "greater_equal", "hypot", "iinfo",
    "imag", "inf", "int16", "int32", "int64", "int8", "isdtype", "isfinite", "isin", "isinf", "isnan", "less",
    "less_equal", "linalg", "linspace", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not",
    "logical_or", "logical_xor", "matmul", "matrix_transpose", "max", "maximum", "mean", "meshgrid", "min", "minimum",
    "moveaxis", "multiply", "nan", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "ones", "ones_like",
    "permute_dims", "pi", "positive", "pow", "prod", "real", "reciprocal", "remainder", "repeat", "reshape",
    "result_type", "roll", "round", "searchsorted", "sign", "signbit", "sin", "sinh", "sort", "sqrt", "square",
    "squeeze", "stack", "std", "subtract", "sum", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "tril",
    "triu", "trunc", "uint16", "uint32", "uint64", "uint8", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "unstack", "var", "vecdot", "where", "zeros", "zeros_like",
]  # fmt: skip

names_on_demand(__name__, modules=("special",), shown=__name__)

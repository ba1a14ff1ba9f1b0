"""Functions of two numbers for which NumPy calls the C library once for each element: sums of exponentials, remainders.

The formulas here are a few vectorized passes without branches. Where they would not give the exact remainder or
quotient (huge quotients, infinities) NumPy's own function has the last word, as for other types than float32 and float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_EXACT = 1 << 28
"""Quotients of two float32 numbers below this are told from whole numbers in float64, and their remainders are exact."""

_WHOLE = 1 << 24
"""Up to here every whole number is a float32."""


def _are(a: Any, b: Any, *kinds: np.dtype) -> bool:
    """True if both arrays have the same dtype, one of `kinds`."""
    return a.dtype is b.dtype and a.dtype in kinds


def log_add_exp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b))."""
    if not _are(a, b, _FLOAT32, _FLOAT64):
        return np.logaddexp(a, b)
    small = _log_of_share(a, b, np.exp)
    small += np.maximum(a, b)
    return small


def log_add_exp2(a: Any, b: Any) -> Any:
    """log2(2**a + 2**b)."""
    if not _are(a, b, _FLOAT32, _FLOAT64):
        return np.logaddexp2(a, b)
    small = _log_of_share(a, b, np.exp2)
    small *= 1 / math.log(2)
    small += np.maximum(a, b)
    return small


def _log_of_share(a: Any, b: Any, exponential: np.ufunc) -> Any:
    """log(1 + exponential(-|a - b|)), in a fresh array."""
    gap = np.subtract(a, b)
    np.abs(gap, out=gap)
    np.negative(gap, out=gap)
    np.fmin(gap, 0, out=gap)  # two equal infinities are no distance apart
    exponential(gap, out=gap)
    return np.log1p(gap, out=gap)


def fmod(a: Any, b: Any) -> Any:
    """The remainder with the sign of `a`, also where it is 0."""
    out = _remainder(a, b, np.trunc, np.fmod)
    return np.copysign(out, a) if out.dtype.kind == "f" else out


def remainder(a: Any, b: Any) -> Any:
    """The remainder with the sign of `b`."""
    return _remainder(a, b, np.floor, np.remainder)


def _remainder(a: Any, b: Any, rounding: np.ufunc, exact: np.ufunc) -> Any:
    if not _are(a, b, _FLOAT32):
        return exact(a, b)
    divisor = np.asarray(b, np.float64)
    quotient = np.divide(a, divisor)
    rounding(quotient, out=quotient)
    rest = np.subtract(a, np.multiply(quotient, divisor))
    np.abs(quotient, out=quotient)
    unsure = ~(quotient < _EXACT)
    unsure |= np.isnan(rest)
    return _corrected(rest.astype(np.float32), unsure, exact, a, b)


def floor_divide(a: Any, b: Any) -> Any:
    """The largest whole number that is not above a / b."""
    if not _are(a, b, _FLOAT32):
        return np.floor_divide(a, b)
    quotient = np.divide(a, np.asarray(b, np.float64))
    np.floor(quotient, out=quotient)
    unsure = ~(np.abs(quotient) < _WHOLE)
    unsure |= np.isinf(b)
    return _corrected(quotient.astype(np.float32), unsure, np.floor_divide, a, b)


def _corrected(out: Any, unsure: Any, exact: np.ufunc, a: Any, b: Any) -> Any:
    if np.logical_or.reduce(unsure, axis=None):
        a, b = np.broadcast_arrays(a, b)
        out[unsure] = exact(a[unsure], b[unsure])
    return out

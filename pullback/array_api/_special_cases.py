"""Functions of NumPy whose results at zeros, infinities and NaN are not the standard's, put right there.

Elsewhere they are NumPy's; tensors with a gradient at stake go to the library's own functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor


def floor_divide(x1: Any, x2: Any) -> Any:
    """The floor of the quotient. Infinite operands: the quotient itself, where Python has NaN and -1."""
    result = np.floor_divide(x1, x2)
    if isinstance(result, Tensor) or result.dtype.kind != "f":
        return result
    infinite = np.isinf(x1) | np.isinf(x2)
    return np.where(infinite, np.divide(x1, x2), result) if infinite.any() else result


def power(x1: Any, x2: Any) -> Any:
    """Powers. Zeros and infinities lose their sign unless the exponent is odd, also where NumPy takes a square root."""
    if isinstance(x1, Tensor) or isinstance(x2, Tensor) or np.result_type(x1, x2).kind != "f":
        return np.pow(x1, x2)
    ends = (np.isinf(x1) | np.equal(x1, 0)) & np.signbit(x1)
    if ends.any():
        x1 = np.where(ends & (np.remainder(x2, 2) != 1), np.abs(x1), x1)
    return np.pow(x1, x2)


def expm1(x: Any) -> Any:
    """exp(x) - 1. Of complex numbers that are not finite: the exponential, less one."""
    result = np.expm1(x)
    if isinstance(result, Tensor) or result.dtype.kind != "c":
        return result
    x = np.asarray(x)
    odd = ~np.isfinite(x) | (x == 0)
    if not odd.any():
        return result
    exact = np.exp(x)
    exact = _complex(exact.real - 1, exact.imag)
    return np.where(odd, exact, result)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent. Far out, the imaginary part is a zero with the sign of the argument's."""
    result = np.tanh(x)
    if isinstance(result, Tensor) or result.dtype.kind != "c":
        return result
    x = np.asarray(x)
    far = np.isinf(x.real) & np.isfinite(x.imag)
    return np.where(far, _complex(result.real, np.copysign(0, x.imag)), result) if far.any() else result


def sign(x: Any) -> Any:
    """The number divided by its absolute value; of complex zeros +0."""
    result = np.sign(x)
    if isinstance(result, Tensor) or result.dtype.kind != "c":
        return result
    return np.where(np.equal(x, 0), result.dtype.type(0), result)


def _complex(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """Complex numbers of these parts, whose signs and NaN an addition would change."""
    result = np.empty(np.broadcast(real, imag).shape, np.result_type(real, np.complex64))
    result.real, result.imag = real, imag
    return result

"""Window functions for signal processing, as arrays.

The names without a suffix take a length and ``sym`` (a symmetric window for filters, or one period of a periodic one
for spectra); those ending in ``_window`` take ``periodic`` instead, as the older interface does. Values are computed
in double precision and rounded once. Sliding windows of convolution and pooling are elsewhere, in ``windows``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.kernels.bessel import i0

_NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
_BLACKMAN = (0.42, 0.5, 0.08)


def _check(name: str, length: int, dtype: np.dtype | type) -> None:
    if length < 0:
        raise ValueError(
            f"{name} requires non-negative window length, got M={length}. The length is the number of samples."
        )
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(
            f"{name} expects float32 or float64 dtypes, got: {np.dtype(dtype)}. Make the window in float32 and cast it."
        )


def _check_older(name: str, length: int, dtype: np.dtype | type) -> None:
    if not hasattr(length, "__index__"):
        raise TypeError(f"{name}(): argument 'window_length' (position 1) must be int, not {type(length).__name__}")
    if length >= 2**63:
        raise ValueError(f"Overflow when unpacking long long: {name}() cannot make {length} samples")
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}. It is the number of samples."
        )
    if np.dtype(dtype).kind in "biuc":
        raise RuntimeError(f"{name} expects floating point dtypes, got: {np.dtype(dtype)}. Try float32.")


def _period(length: int, sym: bool) -> int:
    """Samples from one end of the window to the other; a window of one sample is a single one either way."""
    return max(length - 1 if sym else length, 1)


def _cosines(length: int, coefficients: Sequence[float], sym: bool) -> np.ndarray:
    """Alternating sum of cosines over the window."""
    if length == 1:
        return np.ones(1)
    angle = np.arange(length) * (2.0 * math.pi / _period(length, sym))
    result = np.full(length, float(coefficients[0]))
    for index, coefficient in enumerate(coefficients[1:], 1):
        result += (coefficient if index % 2 == 0 else -coefficient) * np.cos(index * angle)
    return result


def _bartlett(length: int, sym: bool) -> np.ndarray:
    if length == 1:
        return np.ones(1)
    return 1.0 - np.abs(np.arange(length) * (2.0 / _period(length, sym)) - 1.0)


def _kaiser(length: int, beta: float, sym: bool) -> np.ndarray:
    if length == 1:
        return np.ones(1)
    position = np.arange(length) * (2.0 / _period(length, sym)) - 1.0
    # Rounding may put an end of the window just outside the unit interval.
    inside = np.maximum(1.0 - position * position, 0.0)
    return i0(beta * np.sqrt(inside)) / i0(np.array(float(beta)))


def bartlett(length: int, *, sym: bool = True, dtype: np.dtype | type[Any] = np.float32) -> np.ndarray:
    """Triangle that starts at zero."""
    _check("bartlett", length, dtype)
    return _bartlett(length, sym).astype(dtype, copy=False)


def general_cosine(
    length: int, a: Sequence[float], *, sym: bool = True, dtype: np.dtype | type[Any] = np.float32
) -> np.ndarray:
    """Sum of cosines with coefficients a, of alternating sign."""
    _check("general_cosine", length, dtype)
    if not isinstance(a, (list, tuple)):
        raise TypeError(f"Coefficients must be a list/tuple. Got {type(a).__name__}: pass a=[0.5, 0.5], for example.")
    if not a:
        raise ValueError("Coefficients cannot be empty. Pass at least one number in a.")
    return _cosines(length, a, sym).astype(dtype, copy=False)


def blackman(length: int, *, sym: bool = True, dtype: np.dtype | type[Any] = np.float32) -> np.ndarray:
    """Three-term cosine window that is zero at its ends."""
    return general_cosine(length, _BLACKMAN, sym=sym, dtype=dtype)


def nuttall(length: int, *, sym: bool = True, dtype: np.dtype | type[Any] = np.float32) -> np.ndarray:
    """Four-term cosine window with the lowest side lobes."""
    return general_cosine(length, _NUTTALL, sym=sym, dtype=dtype)


def general_hamming(
    length: int, *, alpha: float = 0.54, sym: bool = True, dtype: np.dtype | type[Any] = np.float32
) -> np.ndarray:
    """Raised cosine ``alpha - (1 - alpha) cos``."""
    return general_cosine(length, (alpha, 1.0 - alpha), sym=sym, dtype=dtype)


def hamming(length: int, *, sym: bool = True, dtype: np.dtype | type[Any] = np.float32) -> np.ndarray:
    """Raised cosine that cancels the first side lobe."""
    return general_hamming(length, sym=sym, dtype=dtype)


def hann(length: int, *, sym: bool = True, dtype: np.dtype | type[Any] = np.float32) -> np.ndarray:
    """Raised cosine that starts at zero."""
    return general_hamming(length, alpha=0.5, sym=sym, dtype=dtype)


def cosine(length: int, *, sym: bool = True, dtype: np.dtype | type[Any] = np.float32) -> np.ndarray:
    """Half a period of the sine, sampled at the middle of each step."""
    _check("cosine", length, dtype)
    if length == 1:
        return np.ones(1, dtype)
    return np.sin((np.arange(length) + 0.5) * (math.pi / (_period(length, sym) + 1))).astype(dtype, copy=False)


def exponential(
    length: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: np.dtype | type[Any] = np.float32,
) -> np.ndarray:
    """Two-sided exponential decay with time constant tau around the centre."""
    _check("exponential", length, dtype)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead. It is the decay length in samples.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows. Pass sym=False to place it yourself.")
    if center is None:
        center = 0.0 if length <= 1 else _period(length, sym) / 2.0
    return np.exp(-np.abs(np.arange(length) - center) / tau).astype(dtype, copy=False)


def gaussian(
    length: int, *, std: float = 1.0, sym: bool = True, dtype: np.dtype | type[Any] = np.float32
) -> np.ndarray:
    """Bell curve with the given standard deviation, in samples."""
    _check("gaussian", length, dtype)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead. It is a width in samples.")
    centre = 0.0 if length <= 1 else _period(length, sym) / 2.0
    offset = (np.arange(length) - centre) / std
    return np.exp(-0.5 * offset * offset).astype(dtype, copy=False)


def kaiser(
    length: int, *, beta: float = 12.0, sym: bool = True, dtype: np.dtype | type[Any] = np.float32
) -> np.ndarray:
    """Window of (nearly) maximal energy in its main lobe, of width beta."""
    _check("kaiser", length, dtype)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead. Zero gives a rectangular window.")
    return _kaiser(length, beta, sym).astype(dtype, copy=False)


def bartlett_window(length: int, periodic: bool = True, dtype: np.dtype | type[Any] = np.float32) -> np.ndarray:
    """Triangle that starts at zero."""
    _check_older("bartlett_window", length, dtype)
    return _bartlett(length, not periodic).astype(dtype, copy=False)


def blackman_window(length: int, periodic: bool = True, dtype: np.dtype | type[Any] = np.float32) -> np.ndarray:
    """Three-term cosine window that is zero at its ends."""
    _check_older("blackman_window", length, dtype)
    return _cosines(length, _BLACKMAN, not periodic).astype(dtype, copy=False)


def hamming_window(
    length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    dtype: np.dtype | type[Any] = np.float32,
) -> np.ndarray:
    """Raised cosine ``alpha - beta cos``."""
    _check_older("hamming_window", length, dtype)
    return _cosines(length, (alpha, beta), not periodic).astype(dtype, copy=False)


def hann_window(length: int, periodic: bool = True, dtype: np.dtype | type[Any] = np.float32) -> np.ndarray:
    """Raised cosine that starts at zero."""
    _check_older("hann_window", length, dtype)
    return _cosines(length, (0.5, 0.5), not periodic).astype(dtype, copy=False)


def kaiser_window(
    length: int, periodic: bool = True, beta: float = 12.0, dtype: np.dtype | type[Any] = np.float32
) -> np.ndarray:
    """Window of (nearly) maximal energy in its main lobe, of width beta."""
    _check_older("kaiser_window", length, dtype)
    return _kaiser(length, beta, not periodic).astype(dtype, copy=False)

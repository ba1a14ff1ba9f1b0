"""Ranges of random numbers: what a dtype cannot hold is refused, or moved inwards, as torch does it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..core.basics.dtypes import finfo, from_numpy_dtype
from ..core.basics.notices import warn_user

_DIGITS: dict[str, int] = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # bits of the mantissa


def integer_range(low: int, high: int | None, kind: np.dtype) -> tuple[int, int | None]:
    """A range of integers, low included and high not, as a dtype can hold it; no high means as far as it holds all."""
    if high is None:
        check_bounds((("from", low),), kind)
        return low, None
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if kind.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if kind.kind not in "fV":
        check_bounds((("from", low), ("to - 1", high - 1)), kind)
        return low, high
    digits = _DIGITS[from_numpy_dtype(kind)._name]
    low, high = _representable(low, high, kind, digits)
    bounds = (("from", low), ("to - 1", high - 1))
    check_bounds(bounds, kind)
    for name, value in bounds:
        if abs(value) > 1 << digits:
            warn_user(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {_c_name(kind)} can "
                "support discrete uniform distribution only within this range: larger integers are rounded."
            )
    return low, high


def _representable(low: int, high: int, kind: np.dtype, digits: int) -> tuple[int, int]:
    """Ends that rounding would carry past themselves move inwards by one step of the numbers there."""
    if max(abs(low), abs(high)) <= 1 << digits or not -finfo_max(kind) <= low < high <= finfo_max(kind):
        return low, high
    above, below = (int(np.asarray(end).astype(kind).astype(np.float64)) for end in (low + 1, high - 1))
    if above < low:
        low = above + (1 << abs(low + 1).bit_length() - digits)
    if below >= high:
        high = below - (1 << abs(high - 1).bit_length() - digits)
    if low >= high:
        raise RuntimeError(
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
            f"from={low} >= to={high}"
        )
    return low, high


def check_bounds(bounds: tuple[tuple[str, Any], ...], kind: np.dtype) -> None:
    """RuntimeError if a dtype does not reach as far as these numbers."""
    least, most = _ends(kind)
    for name, value in bounds:
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {_c_name(kind)}")


@lru_cache
def _ends(kind: np.dtype) -> tuple[float, float]:
    """The smallest and the largest number of a dtype."""
    if kind.kind in "fV":
        return -finfo_max(kind), finfo_max(kind)
    return (0, 1) if kind.kind == "b" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))


def finfo_max(kind: np.dtype) -> float:
    """The largest number of a floating point dtype."""
    return finfo(from_numpy_dtype(kind)).max


def _c_name(kind: np.dtype) -> str:
    return from_numpy_dtype(kind).short_name


def check_uniform(low: float, high: float, kind: np.dtype) -> None:
    """RuntimeError unless uniform numbers between these can be drawn in a dtype."""
    if kind.kind in "fV":
        most = _ends(kind)[1]
        if -most <= low <= high <= most and high - low <= most:
            return
        check_bounds((("from", low), ("to", high)), kind)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    if kind.kind in "fV" and high - low > finfo_max(kind):
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{from_numpy_dtype(kind).type_name}>::max(), but found "
            f"to={high} and from={low} which result in to-from to exceed the limit"
        )


def check_permutation(n: int, kind: np.dtype) -> None:
    """RuntimeError unless a dtype can number n elements."""
    if kind.kind in "bc":
        raise NotImplementedError(f"\"randperm\" not implemented for '{from_numpy_dtype(kind).type_name}'")
    if kind.kind in "iu" and n - 1 > np.iinfo(kind).max:
        raise RuntimeError(f"value cannot be converted to type {_c_name(kind)} without overflow: n is {n}")
    digits = _DIGITS.get(from_numpy_dtype(kind)._name)
    if digits and n > (1 << digits) + 1:
        raise RuntimeError(f"n cannot be greater than 2^{digits}+1 for {from_numpy_dtype(kind).type_name} type.")

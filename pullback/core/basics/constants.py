"""Small arrays that operations need again and again: numbers as 0-d arrays, vectors of ones.

NumPy takes twice as long for `array * 2.0` as for `array * array`, most of it on the number; and the product with a vector
of ones is a sum over rows several times faster than `np.add.reduce`. Everything here is read-only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from .quiet import quiet

if TYPE_CHECKING:
    from .types import DType

FLOAT32, FLOAT64 = np.dtype("float32"), np.dtype("float64")  # compared by identity: the dtypes of nearly all gradients
_KEPT = 256  # more than any program repeats; what computes ever new numbers shall not fill the memory

# Numbers that were asked for, as arrays of either dtype: to look there first saves a call. 0.0 and -0.0 look the same to a
# dict and are never in these.
numbers: dict[object, ndarray] = {}
doubles: dict[object, ndarray] = {}
_zeros: dict[object, ndarray] = {}
_ones: tuple[dict[int, ndarray], dict[int, ndarray]] = ({}, {})


def number(value: float, kind: DType) -> ndarray:
    """A Python number as a 0-d array of dtype float32 or float64."""
    array = (numbers if kind is FLOAT32 else doubles).get(value)
    return _new_number(value, kind) if array is None else array


@quiet
def _new_number(value: float, kind: DType) -> ndarray:
    key = value if value else (str(value), kind)
    known = _zeros if not value else numbers if kind is FLOAT32 else doubles
    array = known.get(key)
    if array is None:
        array = np.array(value, kind)
        array.flags.writeable = False
        if value == value and len(known) < _KEPT:
            known[key] = array
    return array


def ones(count: int, kind: DType) -> ndarray:
    """A vector of ones of dtype float32 or float64."""
    known = _ones[kind is FLOAT64]
    vector = known.get(count)
    if vector is None:
        vector = np.ones(count, kind)
        vector.flags.writeable = False
        if count <= 1 << 16 and len(known) < _KEPT:
            known[count] = vector
    return vector

"""Elements that nobody has written yet, of `empty` and its relatives: whatever was in memory, or the same in every run.

The switches are `use_deterministic_algorithms` (in `functional/runtime.py`) and
`torch.utils.deterministic.fill_uninitialized_memory`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .dtypes import number_in

if TYPE_CHECKING:
    from .types import Array


class _Settings:
    """The settings that programs have chosen."""

    deterministic: bool = False
    warn_only: bool = False
    fill: bool = True


settings = _Settings()


def filled(array: Array) -> Array:
    """An array whose elements nobody has written; NaN, the largest integer or True, if every run is to read the same."""
    if settings.deterministic and settings.fill and isinstance(array, np.ndarray) and array.flags.writeable:
        kind = array.dtype.kind
        value = True if kind == "b" else np.iinfo(array.dtype).max if kind in "iu" else math.nan
        array.fill(number_in(value, array.dtype))
    return array

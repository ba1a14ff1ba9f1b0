"""Formulas of sliding windows, tap by tap: what convolution, pooling, `unfold` and `fold` say on any kind of array.

A tap is one element of the kernel; for each position it reads one place. `columns` gathers what all taps read, and
`added_back` is its transpose. Which places these are is known beforehand, so it is counted in plain NumPy.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels import like
from ..kernels.windows import Windows, windows_of

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array

Ints = tuple[int, ...]


def geometry(spatial: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, output: Any = None) -> Windows:
    """Where the taps of a kernel read; see `kernels/windows.py`."""
    return windows_of(
        *map(tuple, (spatial, kernel, stride, padding, dilation)), None if output is None else tuple(output)
    )


def _slices(windows: Windows) -> list[Any]:
    """For each tap the index of the places that it reads in a padded array, behind the other axes."""
    axes = [
        [slice(tap * wide, tap * wide + (count - 1) * step + 1, step) for tap in range(size)]
        for size, count, step, wide in zip(windows.kernel, windows.output, windows.stride, windows.dilation)
    ]
    return [(..., *place) for place in itertools.product(*axes)]


def padded(x: Array, windows: Windows) -> Array:
    """An array (..., *spatial) with the zeros that windows read at its borders."""
    if windows.padded == windows.spatial:
        return x
    lead = len(x.shape) - len(windows.spatial)
    widths = [
        (before, whole - before - size)
        for before, whole, size in zip(windows.padding, windows.padded, windows.spatial, strict=True)
    ]
    return np.pad(x, [(0, 0)] * lead + widths)


def columns(x: Array, windows: Windows) -> Array:
    """Lay windows out as columns, an entry for what each tap reads: (..., *spatial) becomes (..., taps, positions)."""
    whole = padded(x, windows)
    lead = tuple(x.shape[: len(x.shape) - len(windows.spatial)])
    return np.stack(
        [np.reshape(whole[places], (*lead, math.prod(windows.output))) for places in _slices(windows)], len(lead)
    )


def added_back(parts: Any, windows: Windows) -> Array:
    """The transpose of `columns`: (..., taps, positions) as (..., *spatial), sums over what was read several times."""
    lead = tuple(parts.shape[:-2])
    whole = like.zeros((*lead, *windows.padded), parts)
    for tap, places in enumerate(_slices(windows)):
        whole[places] += np.reshape(parts[..., tap, :], (*lead, *windows.output))
    return whole[(..., *(slice(before, before + size) for before, size in zip(windows.padding, windows.spatial)))]


@functools.lru_cache(maxsize=64)
def places_read(windows: Windows) -> np.ndarray:
    """The flat number of the element that each tap reads at each position, (positions, taps).

    A tap in the border reads what the one before it does; the first ones, what the first inside does.
    """
    numbers = np.arange(1, math.prod(windows.spatial) + 1).reshape(windows.spatial)
    table = np.swapaxes(columns(numbers, windows), 0, 1)  # 0 is the border
    taps = np.arange(table.shape[1])
    known = np.maximum.accumulate(np.where(table > 0, taps, -1), axis=1)
    first = np.argmax(table > 0, axis=1)[:, None]
    return np.take_along_axis(table, np.where(known < 0, first, known), 1) - 1


def largest_read(x: Array, table: Array, output: Ints) -> tuple[Any, Any]:
    """The largest element of each window, and its flat number: of (..., *spatial) and a table (positions, elements).

    Of equal ones the first counts, of those that are nan the last, as in torch.
    """
    lead = tuple(x.shape[: len(x.shape) - len(output)])
    planes = np.reshape(x, (math.prod(lead), math.prod(x.shape[len(lead) :])))
    numbers = like.brought(table, x)
    read = planes[:, numbers]
    bad = read != read
    last_bad = table.shape[1] - 1 - np.argmax(bad[..., ::-1], axis=2)
    found = np.where(np.any(bad, axis=2), last_bad, np.argmax(read, axis=2))[..., None]
    values = np.take_along_axis(read, found, 2)
    places = np.take_along_axis(np.broadcast_to(numbers, read.shape), found, 2)
    return np.reshape(values, (*lead, *output)), np.reshape(places, (*lead, *output))

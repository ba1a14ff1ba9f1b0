"""`x[...]` of NumPy's arrays with any mixture of indices: picking elements, and adding to them.

Indices are in bounds. Formulas of the same are in `ops/indexing.py`, and kernels of an index along one axis in `places.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .order import common_order, in_dims
from .thresholds import PLACES_ONE_BY_ONE


def picked(x: Any, index: tuple) -> Any:
    if len(index) == 1 and x.flags.c_contiguous and index[0].dtype.char == "l":
        return x.take(index[0], 0)  # the same in a third of the time, where there is little to take
    out = x[index]
    if x.ndim > 1 and type(x) is np.ndarray and not x.flags.c_contiguous:
        return in_dims(out, _order_of_picked(x, index, out))
    return out if out.flags.c_contiguous else np.ascontiguousarray(out)  # NumPy promises no order


def _order_of_picked(x: Any, index: tuple[Any, ...], out: Any) -> list[int]:
    """In which order the dims of `x[index]` lie in memory: those that are kept, as they did in x."""
    steps: list[int] = []  # of the dims of the result; 0 along those of the index arrays
    axis, places, arrays = 0, [], []
    for part in index:
        if type(part) is np.ndarray:
            places.append(len(steps))
            arrays.append(part)
            axis += part.ndim if part.dtype.kind == "b" else 1
        else:
            steps.append(x.strides[axis])
            axis += 1
    steps.extend(x.strides[axis:])
    start = places[0] if places and places[-1] == places[0] else 0
    count = out.ndim - len(steps)
    steps[start:start] = [0] * count
    all_steps = [steps]
    for part in arrays:
        if part.dtype.kind != "b":
            inside = np.broadcast_to(part, out.shape[start : start + count]).strides
            all_steps.append([0] * start + list(inside) + [0] * (out.ndim - start - count))
    return common_order(out.shape, all_steps)


def add_at_index(out: Any, index: tuple[Any, ...], values: Any, fresh: bool = False) -> None:
    """`out[index] += values`, repeats added up. `fresh`: out is all zeros."""
    arrays = [(axis, part) for axis, part in enumerate(index) if type(part) is np.ndarray]
    if len(arrays) == 1 and arrays[0][1].dtype.kind == "b":  # a mask: no repeats
        out[index] += values
    elif len(arrays) == 1:
        axis, places = arrays[0]
        part = out if len(index) == 1 else out[(*index[:axis], slice(None), *index[axis + 1 :])]
        wanted = (*part.shape[:axis], *places.shape, *part.shape[axis + 1 :])
        values = values if values.shape == wanted else np.broadcast_to(values, wanted)
        add_slices(part, places.reshape(-1), values, axis, fresh)
    elif len(arrays) == out.ndim and out.flags.c_contiguous:
        flat = np.zeros((), np.intp)
        for n, (_, part) in zip(out.shape, arrays, strict=True):
            flat = flat * n + np.where(part < 0, part + n, part)
        values = np.broadcast_to(values, flat.shape).reshape(-1).astype(out.dtype, copy=False)
        np.add.at(out.reshape(-1), flat.reshape(-1), values)
    else:
        np.add.at(out, index, values)


def add_slices(out: Any, places: np.ndarray, values: Any, axis: int = 0, fresh: bool = False) -> None:
    """Add slices at places along an axis, repeats added up. `fresh`: out is all zeros."""
    if not out.size:
        return
    if out.ndim == 1:
        np.add.at(out, places, values.reshape(-1).astype(out.dtype, copy=False))
        return
    if places.size < PLACES_ONE_BY_ONE and not axis:  # too few to sort
        for place, value in zip(places.tolist(), values.reshape(places.size, *out.shape[1:]), strict=True):
            out[place] += value
        return
    from .groups import accumulate  # not part of every program

    if places.size and np.minimum.reduce(places) < 0:
        places = np.where(places < 0, places + out.shape[axis], places)
    values = values.reshape(*out.shape[:axis], places.size, *out.shape[axis + 1 :])
    accumulate(np.add, out, places, values, axis, fresh)

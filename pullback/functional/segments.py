"""`segment_reduce`: sums, means, products and extrema of consecutive pieces along an axis."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..core.tape import wrap
from ..core.tensor import Tensor
from .registry import FUNCTIONS, public

_NEUTRAL = {"sum": 0.0, "mean": float("nan"), "prod": 1.0, "max": -float("inf"), "min": float("inf")}


@public("_segment_reduce", method=False)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Reduce segments, given by their lengths or by the offsets of their ends, along an axis of `data`.

    With an axis beyond the first, each index of the axes before it has segments of its own.
    """
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in _NEUTRAL:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis = axis % data._array.ndim
    bounds = _bounds(data, lengths, offsets, axis, unsafe)
    if not axis:
        return _reduced(data, bounds, reduce, initial)
    places = itertools.product(*(range(n) for n in data._array.shape[:axis]))
    result = FUNCTIONS["stack"]([_reduced(data[place], bounds[place], reduce, initial) for place in places])
    return result.reshape((*data._array.shape[:axis], bounds.shape[-1] - 1, *data._array.shape[axis + 1 :]))


def _bounds(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool) -> np.ndarray:
    if offsets is not None:
        return np.asarray(offsets._array)
    sizes = np.asarray(lengths._array)  # type: ignore[union-attr]
    if not unsafe and np.any(sizes < 0):
        raise RuntimeError("lengths contains negative value!")
    if not unsafe and np.any(sizes.sum(-1) != data._array.shape[axis]):
        raise RuntimeError(
            "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe, which is "
            f"{data._array.shape[axis]}, but they sum to {sizes.sum(-1).tolist()}."
        )
    return np.concatenate((np.zeros((*sizes.shape[:-1], 1), np.int64), np.cumsum(sizes, -1)), -1)


def _reduced(rows: Tensor, bounds: np.ndarray, reduce: str, initial: Any) -> Tensor:
    """The segments between bounds along the first axis, each row with the number of its segment."""
    lengths = np.maximum(np.diff(bounds), 0)
    numbers = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(numbers)) + np.repeat(bounds[:-1] - np.cumsum(lengths) + lengths, lengths)
    if len(places) != len(rows._array) or np.any(places != np.arange(len(places))):
        rows = rows[wrap(places)]
    start = 0.0 if reduce == "mean" else _NEUTRAL[reduce]
    out = wrap(np.full((len(lengths), *rows._array.shape[1:]), start, rows._array.dtype))
    if reduce in ("sum", "mean"):
        out = out.index_add(0, wrap(numbers), rows)
        out = out if initial is None else out + initial
        if reduce == "sum":
            return out
        counts = lengths.reshape(-1, *(1,) * (rows._array.ndim - 1))
        divisors = np.where(counts == 0, np.nan if initial is None else 1, counts)
        return out / wrap(divisors.astype(rows._array.dtype))
    name = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    out = FUNCTIONS["index_reduce"](out, 0, wrap(numbers), rows, name, include_self=False)
    if initial is None:
        return out
    if reduce == "prod":
        return out * initial
    beaten = out < initial if reduce == "max" else out > initial
    return FUNCTIONS["where"](beaten, initial, out)  # NaN is beaten by nothing

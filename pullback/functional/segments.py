"""`segment_reduce`: sums, means, products and extrema of consecutive pieces along an axis."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..tensor import Tensor
from .joining import stack
from .reductions import amax, amin, prod
from .registry import FUNCTIONS, public
from .threefold import where

_NEUTRAL = {"sum": 0.0, "mean": float("nan"), "prod": 1.0, "max": -float("inf"), "min": float("inf")}


@public(method=False)
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
    if reduce not in _NEUTRAL:
        raise RuntimeError(f"reduction must be one of max, mean, min, prod, sum, but got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis = axis % data._array.ndim
    bounds = _bounds(data, lengths, offsets, axis, unsafe)
    rows = []
    for place in itertools.product(*(range(n) for n in data._array.shape[:axis])):
        row, ends = data[place] if place else data, bounds[place]
        rows.append(stack([_reduced(row[a:b], reduce, initial) for a, b in itertools.pairwise(ends)]))
    result = stack(rows) if axis else rows[0]
    return result.reshape((*data._array.shape[:axis], bounds.shape[-1] - 1, *data._array.shape[axis + 1 :]))


FUNCTIONS["_segment_reduce"] = segment_reduce  # the name it had first


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


def _reduced(piece: Tensor, reduce: str, initial: Any) -> Tensor:
    if piece._array.shape[0] == 0:
        return piece.sum(0) + (_NEUTRAL[reduce] if initial is None else initial)
    if reduce in ("max", "min"):
        found = (amax if reduce == "max" else amin)(piece, 0)
        if initial is None:
            return found
        beaten = found < initial if reduce == "max" else found > initial
        return where(beaten, initial, found)  # NaN is beaten by nothing
    if reduce == "prod":
        return prod(piece, 0) * (1 if initial is None else initial)
    total = piece.sum(0) + (0 if initial is None else initial)
    return total / piece._array.shape[0] if reduce == "mean" else total

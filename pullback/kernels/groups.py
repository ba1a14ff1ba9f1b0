"""Slices that share an index, reduced one after another: what `ufunc.at` does to elements, for whole slices.

Indices are sorted, and each round takes the next slice of every group that has one left, the longest groups first, so
that the groups at work are always the first ones of a compact array. When fewer groups are left than rounds, each is
finished by a reduction of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .embedding import stable_order
from .thresholds import GROUPED_UNSORTED, NARROW_SLICES, PLACES_ONE_BY_ONE, ROWS_OF_PLACES


def accumulate(
    ufunc: np.ufunc, out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int = 0, fresh: bool = False
) -> None:
    """Combine each slice of `values` with the slice of `out` at its index along the axis, repeats in their order.

    Indices are a row of whole numbers, none negative. `fresh`: `out` has the ufunc's neutral value at them.
    """
    if not index.size or not out.size:
        return
    values = values.astype(out.dtype, copy=False)
    after = math.prod(out.shape[axis + 1 :])
    # On plain numbers in order `ufunc.at` is as fast as an assignment.
    plain = out.flags.c_contiguous and out.dtype.kind in "fiu" and out.dtype.itemsize >= 4
    if plain and (after < NARROW_SLICES or values.size <= GROUPED_UNSORTED):
        _reduce_elements(ufunc, out, index, values, axis, after)
    elif index.size < PLACES_ONE_BY_ONE:
        lead: Any = (slice(None),) * axis
        for number, place in enumerate(index.tolist()):
            out[(*lead, place)] = ufunc(out[(*lead, place)], values[(*lead, number)])
    else:
        _reduce_slices(ufunc, out, index, values, axis, fresh)


def _reduce_elements(
    ufunc: np.ufunc, out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int, after: int
) -> None:
    places = index if after == 1 else (index[:, None] * after + np.arange(after)).reshape(-1)
    before = math.prod(out.shape[:axis])
    if before == 1:
        ufunc.at(out.reshape(-1), places, values.reshape(-1))
    elif places.size < ROWS_OF_PLACES:  # too few for a call each
        places = np.arange(before)[:, None] * (out.size // before) + places
        ufunc.at(out.reshape(-1), places.reshape(-1), values.reshape(-1))
    else:
        for row, part in zip(out.reshape(before, -1), values.reshape(before, -1), strict=True):
            ufunc.at(row, places, part)


def _reduce_slices(
    ufunc: np.ufunc, out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int, fresh: bool
) -> None:
    lead: Any = (slice(None),) * axis
    order = stable_order(index, out.shape[axis])
    ordered = index[order]
    starts = np.concatenate(([0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1))
    lengths = np.diff(starts, append=index.size)
    ranking = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[ranking], lengths[ranking]
    places = ordered[starts]
    totals = values.take(order[starts], axis)
    if not fresh:
        totals = ufunc(out.take(places, axis), totals)
    longest = int(lengths[0])
    at_work = np.searchsorted(-lengths, -np.arange(1, longest)).tolist()  # groups with more slices than rounds gone by
    taken = 1
    while taken < longest and at_work[taken - 1] >= longest - taken:
        count = at_work[taken - 1]
        part = totals[(*lead, slice(0, count))]
        ufunc(part, values.take(order[starts[:count] + taken], axis), out=part)
        taken += 1
    for group in range(at_work[taken - 1] if taken < longest else 0):
        start = int(starts[group])
        rest = values.take(order[start + taken : start + int(lengths[group])], axis)
        part = totals[(*lead, group)]
        totals[(*lead, group)] = ufunc(part, ufunc.reduce(rest, axis=axis))
    out[(*lead, places)] = totals

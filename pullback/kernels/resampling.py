"""Tables of weights for resizing and padding one axis, and the transposes of such tables.

A table is (places, weights): output i is the sum over k of weights[i, k] * x[places[i, k]]; weights None means a plain
lookup. Resizing an image is one table an axis. Every table is computed once for each set of arguments.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .memory import empty
from .threads import parallel_rows
from .thresholds import RESAMPLED_AT_ONCE, RESAMPLING_BYTES

Table = tuple[np.ndarray, np.ndarray | None]


def transposed(table: Table, size: int) -> Table:
    """The table of the transpose: for each of `size` inputs, the outputs that read it and their weights."""
    places, weights = table
    count, taps = places.shape
    order = np.argsort(places.reshape(-1), kind="stable")
    inputs = places.reshape(-1)[order]
    outputs = (np.arange(count * taps) // taps)[order]
    values = np.ones(count * taps) if weights is None else weights.reshape(-1)[order]
    starts = np.searchsorted(inputs, np.arange(size))
    most = int(np.bincount(inputs, minlength=size).max(initial=0)) if size else 0
    ranks = np.arange(count * taps) - starts[inputs]
    back_places = np.zeros((size, max(most, 1)), np.intp)
    back_weights = np.zeros((size, max(most, 1)), np.float64 if weights is None else weights.dtype)
    back_places[inputs, ranks] = outputs
    back_weights[inputs, ranks] = values
    return back_places, back_weights


def apply_table(x: np.ndarray, axis: int, table: Table) -> np.ndarray:
    """One axis of `x` resampled."""
    places, weights = table
    if x.size <= RESAMPLED_AT_ONCE and weights is None:
        return x.take(places[:, 0], axis=axis)
    lead, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    source = x.reshape(lead, x.shape[axis], inner)
    out = empty((lead, len(places), inner), x.dtype)
    first, kept = places[:, 0], _longest_run(places[:, 0])
    terms = [] if weights is None else _terms(places, weights.astype(x.dtype, copy=False))

    def block(start: int, stop: int) -> None:
        part, result = source[start:stop], out[start:stop]
        if kept is None:
            part.take(first, 1, out=result, mode="clip")  # any other mode would copy the result
        else:
            result[:, kept] = part[:, first[kept.start] : first[kept.stop - 1] + 1]
            for rest in (slice(0, kept.start), slice(kept.stop, None)):
                result[:, rest] = part.take(first[rest], 1)
        for rows, read, factor in terms:
            if read is None:
                result *= factor
            elif rows is None:
                term = part.take(read, 1)
                term *= factor
                result += term
            else:
                result[:, rows] += part.take(read, 1) * factor

    parallel_rows(block, lead, (source.shape[1] + 2 * len(places)) * inner * x.itemsize, block_bytes=RESAMPLING_BYTES)
    return out.reshape(*x.shape[:axis], len(places), *x.shape[axis + 1 :])


def _longest_run(first: np.ndarray) -> slice | None:
    """The places that follow each other, where most do: padding leaves all but the edges in order."""
    edges = np.concatenate(([0], np.flatnonzero(first[1:] - first[:-1] != 1) + 1, [first.size]))
    longest = int(np.argmax(edges[1:] - edges[:-1])) if first.size else 0
    start, stop = edges[longest : longest + 2].tolist()
    return slice(start, stop) if 2 * (stop - start) > first.size else None


def _terms(places: np.ndarray, weights: np.ndarray) -> list[tuple]:
    """(outputs, inputs they read, weights) for each tap: inputs None for the first, outputs None for all of them.

    Where most weights are zero, as in the transpose of padding, only the outputs with others are named.
    """
    terms: list[tuple] = []
    if not np.all(weights[:, 0] == 1):
        terms.append((None, None, weights[:, :1]))
    for k in range(1, places.shape[1]):
        used = np.flatnonzero(weights[:, k])
        if 2 * used.size > len(places):
            terms.append((None, places[:, k], weights[:, k : k + 1]))
        elif used.size:
            terms.append((used, places[used, k], weights[used, k : k + 1]))
    return terms


# --- padding ---


def _padded_places(size: int, before: int, after: int, mode: str) -> np.ndarray:
    index = np.arange(-before, size + after)
    if mode == "replicate":
        return np.clip(index, 0, size - 1)
    if mode == "circular":  # what a negative amount cuts off is not wrapped around
        first = max(-before, 0)
        return first + (index - first) % max(size - first - max(-after, 0), 1)
    period = max(2 * (size - 1), 1)  # reflect, without repeating the edge
    index = np.abs(index) % period
    return np.where(index >= size, period - index, index)


@functools.lru_cache(maxsize=256)
def padding_tables(size: int, before: int, after: int, mode: str) -> tuple[Table, Table]:
    """Tables, forward and back, of an axis padded with its own values."""
    table = (_padded_places(size, before, after, mode)[:, None], None)
    return table, transposed(table, size)


# --- resizing ---


def _ratio(size: int, count: int, scale: float | None, align_corners: bool, real: type) -> np.floating:
    """How far the source moves for one step of the output."""
    if align_corners:
        return real(size - 1) / real(count - 1) if count > 1 else real(0)
    return real(1.0 / scale) if scale is not None and scale > 0 else real(size) / real(count)


def _nearest(size: int, count: int, scale: float | None, exact: bool) -> Table:
    # torch computes places of the nearest neighbour in float32 for every dtype.
    step = _ratio(size, count, scale, False, np.float32)
    index = np.arange(count, dtype=np.float32)
    places = np.floor((index + np.float32(0.5)) * step if exact else index * step).astype(np.intp)
    if not exact and count == size:
        places = np.arange(size)
    elif not exact and count == 2 * size:
        places = np.arange(count) >> 1
    return np.minimum(places, size - 1)[:, None], None


def _source(size: int, count: int, scale: float | None, align_corners: bool, cubic: bool, real: type) -> np.ndarray:
    step = _ratio(size, count, scale, align_corners, real)
    index: np.ndarray = np.arange(count, dtype=real)
    if align_corners:
        return index * step
    position = (index + real(0.5)) * step - real(0.5)
    return position if cubic else np.maximum(position, 0)


def _linear(size: int, count: int, scale: float | None, align_corners: bool, real: type) -> Table:
    if size == count:
        return np.arange(size)[:, None], None
    position = _source(size, count, scale, align_corners, False, real)
    low = np.minimum(position.astype(np.intp), size - 1)
    share = np.minimum(np.maximum(position - low.astype(real), 0), 1).astype(real)
    places = np.stack((low, np.minimum(low + 1, size - 1)), axis=1)
    return places, np.stack((1 - share, share), axis=1).astype(real)


def cubic_weights(t: Any, a: float = -0.75) -> list[Any]:
    """Weights of the four neighbours for an offset t in [0, 1) from the second; arrays and tensors alike."""

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(size: int, count: int, scale: float | None, align_corners: bool, real: type) -> Table:
    if size == count:
        return np.arange(size)[:, None], None
    position = _source(size, count, scale, align_corners, True, real)
    low = np.floor(position)
    places = np.clip(low.astype(np.intp)[:, None] + np.arange(-1, 3), 0, size - 1)
    share = np.minimum(np.maximum(position - low, 0), 1)
    return places, np.stack(cubic_weights(share), axis=1).astype(real)


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0)


def _keys(x: np.ndarray) -> np.ndarray:
    x, a = np.abs(x), -0.5
    return np.where(x < 1, ((a + 2) * x - (a + 3)) * x * x + 1, np.where(x < 2, (((x - 5) * x + 8) * x - 4) * a, 0))


def _lanczos(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "linear": (_triangle, 2), "bilinear": (_triangle, 2), "bicubic": (_keys, 4), "lanczos": (_lanczos, 6),
}  # fmt: skip


def _smoothed(mode: str, size: int, count: int, scale: float | None, align_corners: bool, real: type) -> Table:
    """Antialiased: the filter is as wide as the part of the input one output stands for."""
    function, taps = _FILTERS[mode]
    step = _ratio(size, count, scale, align_corners, real)
    stretch = max(float(step), 1.0)
    support = taps * 0.5 * stretch
    centre = step * (np.arange(count, dtype=real) + real(0.5))
    first = np.maximum((centre - support + 0.5).astype(np.intp), 0)
    last = np.minimum((centre + support + 0.5).astype(np.intp), size)
    width = max(int((last - first).max()), 1)
    offsets = np.arange(width)
    weights = function((offsets + first[:, None] - centre[:, None] + 0.5) / stretch)
    weights = np.where(offsets < (last - first)[:, None], weights, 0)
    total = weights.sum(1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    return np.minimum(first[:, None] + offsets, size - 1), weights.astype(real)


@functools.lru_cache(maxsize=256)
def resize_tables(
    mode: str, size: int, count: int, scale: float | None, align_corners: bool, antialias: bool, double: bool
) -> tuple[Table, Table]:
    """Tables, forward and back, that resize an axis of `size` to `count`."""
    real = np.float64 if double else np.float32
    if scale is not None and math.isnan(scale):
        scale = None
    if mode in ("nearest", "nearest-exact"):
        table = _nearest(size, count, scale, mode == "nearest-exact")
    elif antialias:
        table = _smoothed(mode, size, count, scale, align_corners, real)
    elif mode == "bicubic":
        table = _cubic(size, count, scale, align_corners, real)
    else:
        table = _linear(size, count, scale, align_corners, real)
    return table, transposed(table, size)


def fixed_point(table: Table) -> Table:
    """A table for bytes: its weights rounded to as many binary places as let the largest fit in 16 bits."""
    places, weights = table
    if weights is None:
        return table
    weights = weights.copy()
    for k in range(places.shape[1] - 1, 0, -1):  # at the edges one input is read several times: with the sum of weights
        again = places[:, k] == places[:, k - 1]
        weights[:, k - 1] += np.where(again, weights[:, k], 0)
        weights[:, k] = np.where(again, 0, weights[:, k])
    digits = 0
    while digits < 22 and int(0.5 + weights.max() * 2 ** (digits + 1)) < 1 << 15:
        digits += 1
    return places, np.trunc(weights * 2.0**digits + np.copysign(0.5, weights)) / 2.0**digits

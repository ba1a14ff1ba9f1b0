"""Max pooling over any number of spatial axes: plain, adaptive, fractional, and back by indices.

Forward gives values and indices, flat in the input's plane as torch counts them. Given the indices everything else
is linear: `scatter_planes` adds values at indices (backward of pooling, forward of unpooling) and `gather_planes`
reads them, each the transpose of the other. Arrays are (n, channels, *spatial); averages live in `averages.py`.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from .half import wide_type
from .threads import parallel_rows
from .thresholds import TAPS_AT_ONCE
from .windows import Windows, windows_of

Ints = tuple[int, ...]


def pooled_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Number of pooling windows along one axis; in ceil mode the last may hang over the end, but starts inside."""
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (reach + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


@functools.lru_cache(maxsize=256)
def pooled_shape(
    spatial: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, *, ceil_mode: bool = False
) -> Ints:
    """Spatial shape after pooling; raises torch's errors for parameters that give none."""
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    if any(size <= 0 for size in kernel):
        raise RuntimeError(f"kernel size should be greater than zero, but got kernel_size={kernel}")
    if any(step <= 0 for step in stride):
        raise RuntimeError(f"stride should be greater than zero, but got stride={stride}")
    if any(step <= 0 for step in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got dilation={dilation}")
    for pad, size, step in zip(padding, kernel, dilation):
        if pad < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {pad}")
        if pad > ((size - 1) * step + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={pad}, kernel_size={size} "
                f"and dilation={step}"
            )
    output = tuple(
        pooled_size(*sizes, ceil_mode=ceil_mode) for sizes in zip(spatial, kernel, stride, padding, dilation)
    )
    if any(size < 1 for size in output):
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, spatial))}). "
            f"Calculated output size: ({'x'.join(map(str, output))}). Output size is too small"
        )
    return output


def _planes(x: np.ndarray, axes: int) -> np.ndarray:
    """`x` (..., *spatial) as (planes, elements of a plane)."""
    return x.reshape(math.prod(x.shape[: x.ndim - axes]), math.prod(x.shape[x.ndim - axes :]))


def _steps(spatial: Ints) -> Ints:
    """Distance in a flat plane between neighbours along each axis."""
    return tuple(math.prod(spatial[axis + 1 :]) for axis in range(len(spatial)))


def _lowest(dtype: np.dtype) -> object:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def max_pool(
    x: np.ndarray,
    *,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool = False,
    indices: bool = True,
) -> tuple[np.ndarray, np.ndarray | None]:
    """(largest value of each window, its flat index in the plane); indices None where not asked for."""
    axes = len(kernel)
    spatial = x.shape[x.ndim - axes :]
    output = pooled_shape(spatial, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
    windows = windows_of(spatial, kernel, stride, padding, dilation, output)
    planes = _planes(x, axes)
    lead = x.shape[: x.ndim - axes]
    if 0 < x.size and len(planes) * math.prod(output) * windows.taps <= TAPS_AT_ONCE:
        small = _small_max_pool(planes, windows)
        if small is not None:
            return small[0].reshape(*lead, *output), small[1].reshape(*lead, *output)
    out = np.empty((len(planes), *output), x.dtype)
    found = np.empty((len(planes), *output), np.int64) if indices else None
    tables = _index_tables(windows) if indices else None

    def block(start: int, stop: int) -> None:
        part = planes[start:stop].reshape(stop - start, 1, *spatial)
        views = list(windows.tap_views(windows.padded_samples(part, _lowest(x.dtype))[:, 0]))
        best = np.maximum(views[0], views[1]) if len(views) > 1 else views[0].copy()
        for view in views[2:]:
            np.maximum(best, view, out=best)
        out[start:stop] = _narrowed(windows, best)
        if found is not None and tables is not None:
            tap_offsets, base = tables
            tap = _narrowed(windows, _first_match(views, best))
            np.add(tap_offsets.take(tap), base, out=found[start:stop])  # take is twice as fast as an index

    if out.size:
        parallel_rows(block, len(planes), (planes.shape[1] + 4 * math.prod(output)) * max(x.itemsize, 4))
    if found is not None:
        _repair_indices(planes, windows, out, found)
        found = found.reshape(*lead, *output)
    return out.reshape(*lead, *output), found


@functools.lru_cache(maxsize=64)
def _window_table(windows: Windows) -> tuple[np.ndarray, np.ndarray] | None:
    """For each output position the flat indices of its taps, (positions, taps), and where its row begins.

    Taps in the padding repeat the first one inside: that changes neither the maximum nor where it is found first. None
    if a window lies in the padding altogether.
    """
    axes = len(windows.kernel)
    flat, inside = np.zeros((1,) * 2 * axes, np.int64), np.ones((1,) * 2 * axes, bool)
    for axis, step in enumerate(_steps(windows.spatial)):
        starts = np.arange(windows.output[axis]) * windows.stride[axis] - windows.padding[axis]
        places = starts[:, None] + np.arange(windows.kernel[axis]) * windows.dilation[axis]
        shape = [1] * 2 * axes
        shape[axis], shape[axes + axis] = places.shape
        places = places.reshape(shape)
        flat = flat + places * step
        inside = inside & (places >= 0) & (places < windows.spatial[axis])
    flat, inside = flat.reshape(-1, windows.taps), inside.reshape(-1, windows.taps)
    if not inside.any(axis=1).all():
        return None
    first = np.take_along_axis(flat, inside.argmax(axis=1)[:, None], axis=1)
    return np.where(inside, flat, first), np.arange(len(flat)) * windows.taps


def _small_max_pool(planes: np.ndarray, windows: Windows) -> tuple[np.ndarray, np.ndarray] | None:
    """(values, indices), each (planes, positions), by picking all taps at once: quickest where there are few."""
    known = _window_table(windows)
    if known is None:
        return None
    table, starts = known
    found = table.take(planes.take(table, 1).argmax(2) + starts)
    out = planes.take(found + _plane_starts(len(planes), planes.shape[1]))
    if out.dtype.kind == "f" and np.count_nonzero(out != out):
        shape = (len(planes), *windows.output)
        _repair_indices(planes, windows, out.reshape(shape), found.reshape(shape))
    return out, found


@functools.lru_cache(maxsize=64)
def _plane_starts(count: int, size: int) -> np.ndarray:
    return (np.arange(count) * size)[:, None]


def _narrowed(windows: Windows, values: np.ndarray) -> np.ndarray:
    """Values at positions (planes, *positions) as (planes, *output)."""
    if not windows.flat or windows.dense:
        return values.reshape(len(values), *windows.output)
    wide = np.empty((len(values), windows.wide_size), values.dtype)
    wide[:, : windows.span] = values
    return windows.narrow(wide)


def _first_match(views: list[np.ndarray], best: np.ndarray) -> np.ndarray:
    """Number of the first tap that equals `best`, in whole-array byte operations.

    From the end: a tap that matches sets the count of later taps to 0, one that does not adds 1.
    """
    kind = np.uint8 if len(views) <= 256 else np.int32
    if len(views) == 1:
        return np.zeros(best.shape, kind)
    differs = np.empty(best.shape, bool)
    tap = np.not_equal(views[-2], best).astype(kind)
    for view in views[-3::-1]:
        np.not_equal(view, best, differs)
        np.add(tap, 1, tap)
        np.multiply(tap, differs, tap)
    return tap


@functools.lru_cache(maxsize=64)
def _index_tables(windows: Windows) -> tuple[np.ndarray, np.ndarray]:
    """Flat index of each tap relative to its window's first tap, and of each window's first tap.

    Where the first tap is padding its index lies outside the plane; the sum of the two is always inside.
    """
    steps = _steps(windows.spatial)
    offsets = [
        sum(tap * spread * step for tap, spread, step in zip(taps, windows.dilation, steps))
        for taps in itertools.product(*map(range, windows.kernel))
    ]
    starts = np.zeros(windows.output, np.int64)
    for axis, (count, stride, pad, step) in enumerate(zip(windows.output, windows.stride, windows.padding, steps)):
        shape = [1] * len(windows.output)
        shape[axis] = count
        starts = starts + ((np.arange(count) * stride - pad) * step).reshape(shape)
    return np.array(offsets), starts


def _repair_indices(planes: np.ndarray, windows: Windows, out: np.ndarray, found: np.ndarray) -> None:
    """Indices where equality with the maximum does not tell: nan, and windows of nothing but the border's value."""
    doubtful = np.isnan(out) if out.dtype.kind == "f" else np.zeros(out.shape, bool)
    if windows.bordered:
        doubtful |= out == _lowest(out.dtype)
    if not doubtful.any():
        return
    plane, *position = np.nonzero(doubtful)
    steps = _steps(windows.spatial)
    best = np.full(len(plane), _lowest(out.dtype), out.dtype)
    index = np.full(len(plane), -1)
    for taps in itertools.product(*map(range, windows.kernel)):
        flat, inside = 0, True
        for place, tap, stride, pad, spread, size, step in zip(
            position, taps, windows.stride, windows.padding, windows.dilation, windows.spatial, steps
        ):
            coordinate = place * stride - pad + tap * spread
            inside = inside & (coordinate >= 0) & (coordinate < size)
            flat = flat + coordinate * step
        value = planes[plane, np.where(inside, flat, 0)]
        better = inside & (_beats(value, best) | (index < 0))
        best, index = np.where(better, value, best), np.where(better, flat, index)
    found[doubtful] = index


def _beats(value: np.ndarray, best: np.ndarray) -> np.ndarray:
    """A mask that is true where a later value replaces an earlier maximum: it is larger, or it is nan."""
    return (value > best) | (value != value)


def _flat_indices(indices: np.ndarray, axes: int, size: int) -> np.ndarray:
    """Plane indices as indices into all planes laid end to end."""
    planes = _planes(indices, axes)
    return (planes + _plane_starts(len(planes), size)).reshape(-1)


def scatter_planes(values: np.ndarray, indices: np.ndarray, *, spatial: Ints) -> np.ndarray:
    """Add `values` at flat plane `indices` of zero planes of shape `spatial`: backward of max pooling."""
    lead = values.shape[: values.ndim - len(spatial)]
    size = math.prod(spatial)
    dtype = wide_type(values.dtype)
    out = np.zeros(math.prod(lead) * size, dtype)
    # On one-dimensional arrays numpy.add.at is as fast as an assignment.
    np.add.at(out, _flat_indices(indices, len(spatial), size), values.reshape(-1).astype(dtype, copy=False))
    return out.reshape(*lead, *spatial).astype(values.dtype, copy=False)


def gather_planes(x: np.ndarray, indices: np.ndarray, *, axes: int) -> np.ndarray:
    """Values of `x` (..., *spatial) at flat plane indices (..., *output): transpose of `scatter_planes`."""
    return np.take_along_axis(_planes(x, axes), _planes(indices, axes), 1).reshape(indices.shape)


def max_unpool(x: np.ndarray, indices: np.ndarray, *, spatial: Ints) -> np.ndarray:
    """Put values back where pooling found them, zero elsewhere; the last of several at one place stays."""
    size = math.prod(spatial)
    wrong = (indices < 0) | (indices >= size)
    if wrong.any():
        raise RuntimeError(
            f"Found an invalid max index: {int(indices[wrong].flat[0])} "
            f"(output volumes are of size {'x'.join(map(str, spatial))})"
        )
    lead = x.shape[: x.ndim - len(spatial)]
    out = np.zeros(math.prod(lead) * size, x.dtype)
    out[_flat_indices(indices, len(spatial), size)] = x.reshape(-1)
    return out.reshape(*lead, *spatial)


def adaptive_bounds(size: int, count: int) -> list[tuple[int, int]]:
    """Window (start, stop) of each of `count` outputs that together cover an axis of `size`."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive_max_pool(x: np.ndarray, *, output: Ints) -> tuple[np.ndarray, np.ndarray]:
    """(largest value, flat index) of windows that divide each axis into `output` parts.

    One axis after another, the last first: the first maximum of a window is in the first row that has it.
    """
    axes = len(output)
    spatial = x.shape[x.ndim - axes :]
    lead = x.shape[: x.ndim - axes]
    values, found = x.reshape(math.prod(lead), *spatial), None
    np.empty((*lead, *output), np.intp)  # first: there may be no room for it
    step = 1
    for axis in range(axes, 0, -1):
        bounds = adaptive_bounds(spatial[axis - 1], output[axis - 1])
        longest = max((stop - start for start, stop in bounds), default=1)
        first, last = np.array(bounds, np.intp).reshape(-1, 2).T[:, :, None]
        starts = first.reshape(-1, *(1,) * (axes - axis))
        best = values.take(first[:, 0], axis)
        own = np.broadcast_to(starts, best.shape).copy()
        for tap in range(1, longest):
            inside = np.minimum(first + tap, last - 1)[:, 0]  # a shorter window has its last element twice
            other = values.take(inside, axis)
            wins = _beats(other, best)
            np.copyto(best, other, where=wins)
            np.copyto(own, inside.reshape(starts.shape), where=wins)
        values = best
        found = own * step if found is None else np.take_along_axis(found, own, axis) + own * step
        step *= spatial[axis - 1]
    return values.reshape(*lead, *output), np.asarray(found).reshape(*lead, *output)


def fractional_max_pool(
    x: np.ndarray, samples: np.ndarray, *, kernel: Ints, output: Ints
) -> tuple[np.ndarray, np.ndarray]:
    """(largest value, flat index) of windows at pseudo-random places set by `samples` (n, channels, axes) in [0, 1).

    As in torch, two-dimensional samples are (width, height), three-dimensional ones (depth, height, width).
    """
    axes = len(kernel)
    spatial = x.shape[x.ndim - axes :]
    for size, taps, count in zip(spatial, kernel, output):
        if count + taps - 1 > size:
            raise RuntimeError(
                f"fractional_max_pool{axes}d(): pool size {taps} too large relative to input size {size}"
            )
    planes = _planes(x, axes)
    draws = samples.reshape(len(planes), axes)
    if axes == 2:
        draws = draws[:, ::-1]
    steps = _steps(spatial)
    base = np.zeros((len(planes), *[1] * axes), np.int64)
    for axis in range(axes):
        beside = [len(planes), *[1] * axes]
        beside[axis + 1] = output[axis]
        starts = _fractional_starts(draws[:, axis], spatial[axis], kernel[axis], output[axis])
        base = base + (starts * steps[axis]).reshape(beside)
    base = base.reshape(len(planes), -1)
    index = base
    best = np.take_along_axis(planes, base, 1)
    for tap in itertools.islice(itertools.product(*map(range, kernel)), 1, None):
        flat = base + sum(place * step for place, step in zip(tap, steps))
        value = np.take_along_axis(planes, flat, 1)
        better = _beats(value, best)
        best, index = np.where(better, value, best), np.where(better, flat, index)
    shape = (*x.shape[: x.ndim - axes], *output)
    return best.reshape(shape), index.reshape(shape)


def _fractional_starts(draws: np.ndarray, size: int, kernel: int, count: int) -> np.ndarray:
    """First coordinate of each window along one axis, (planes, count); the last window ends with the axis."""
    starts = np.full((len(draws), count), size - kernel, np.int64)
    if count > 1:
        alpha = draws.dtype.type(size - kernel) / draws.dtype.type(count - 1)
        draws = draws[:, None]
        places = (np.arange(count - 1, dtype=draws.dtype) + draws) * alpha
        starts[:, :-1] = places.astype(np.int64) - (draws * alpha).astype(np.int64)
    return starts

"""Convolution over any number of spatial axes: the map itself and its two transposes.

`convolution(x, w)` is bilinear. `convolution_input(g, w)` is its transpose in `x` (a transposed convolution) and
`convolution_weight(g, x)` its transpose in `w`; every derivative of any of the three is another of the three.
Samples are unrolled into columns in pieces that fit the cache and multiplied by BLAS; the pieces run on all
threads. Shapes are checked by `check_convolution`; promotion, unbatched inputs and padding names are the caller's.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from .threads import get_num_threads, parallel_tasks
from .windows import Windows, windows_of

if TYPE_CHECKING:
    from collections.abc import Callable

Ints = tuple[int, ...]

COLUMN_BYTES = 1 << 21
"""Columns unrolled at a time by one thread; smaller pieces hand the interpreter over too often."""

SMALL_PRODUCT: int = 1_000_000
"""OpenBLAS multiplies matrices of at most this many multiply-adds directly, half as fast again as larger ones."""

INLINE_PRODUCTS = 1 << 22
"""Fewer multiply-adds than this (a fifth of a millisecond) stay on the calling thread."""


def check_convolution(x_shape: Ints, w_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> None:
    """Raise torch's errors for shapes and parameters that do not fit together."""
    axes = len(w_shape) - 2
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(pad < 0 for pad in padding):
        raise RuntimeError("negative padding is not supported")
    if any(step <= 0 for step in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(step <= 0 for step in dilation):
        raise RuntimeError("dilation should be greater than zero")
    if len(x_shape) != axes + 2:
        raise RuntimeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to conv{axes}d, "
            f"but got input of size: {list(x_shape)}"
        )
    if w_shape[0] % groups or w_shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(w_shape)} instead"
        )
    if x_shape[1] != w_shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w_shape)}, expected input{list(x_shape)} to have "
            f"{w_shape[1] * groups} channels, but got {x_shape[1]} channels instead"
        )
    padded = [size + 2 * pad for size, pad in zip(x_shape[2:], padding)]
    reach = [step * (size - 1) + 1 for step, size in zip(dilation, w_shape[2:])]
    if any(size < need for size, need in zip(padded, reach)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). "
            f"Kernel size: ({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )


def transposed_shape(
    spatial: Ints, kernel: Ints, stride: Ints, padding: Ints, output_padding: Ints, dilation: Ints
) -> Ints:
    """Spatial shape that a transposed convolution gives an input of shape `spatial`."""
    for extra, step, spread in zip(output_padding, stride, dilation):
        if extra >= step and extra >= spread:
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, "
                f"but got output_padding={output_padding}, stride={stride}, dilation={dilation}"
            )
    return tuple(
        (size - 1) * step - 2 * pad + spread * (taps - 1) + extra + 1
        for size, taps, step, pad, extra, spread in zip(spatial, kernel, stride, padding, output_padding, dilation)
    )


def _widened(dtype: np.dtype) -> np.dtype:
    """Type in which products are summed: half precision in float32, everything else as it is."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _pieces(samples: int, positions: int, position_bytes: int) -> list[tuple[int, int, int, int]]:
    """Split samples, or positions of single samples, into (sample range, position range) of about COLUMN_BYTES."""
    threads = get_num_threads()
    sample_bytes = max(positions * position_bytes, 1)
    if sample_bytes <= COLUMN_BYTES:
        count = -(-samples * sample_bytes // COLUMN_BYTES)
        # A multiple of the thread count, so that all threads end together.
        step = max(samples // (-(-count // threads) * threads), 1)
        return [(start, min(start + step, samples), 0, positions) for start in range(0, samples, step)]
    tiles = -(-sample_bytes // COLUMN_BYTES)
    step = -(-positions // tiles)
    return [
        (sample, sample + 1, start, min(start + step, positions))
        for sample in range(samples)
        for start in range(0, positions, step)
    ]


def _per_thread(make: Callable[[], Any]) -> Callable[[], Any]:
    """A getter that calls `make` once for each thread: scratch memory is paid for once, not once a piece."""
    made: dict[int, Any] = {}

    def get() -> Any:
        key = threading.get_ident()
        if key not in made:
            made[key] = make()
        return made[key]

    return get


def _run(task: Callable[..., object], pieces: list[tuple], work: int) -> None:
    """Run pieces on all threads, or on this one where waking another would not pay."""
    if work < INLINE_PRODUCTS:
        for piece in pieces:
            task(*piece)
    else:
        parallel_tasks(task, pieces, products=True)


def _pointwise(windows: Windows) -> bool:
    """Whether each output position reads exactly the input position of the same index."""
    return windows.taps == 1 and windows.flat and windows.output == windows.spatial


def _unrolled(windows: Windows, x: np.ndarray, pieces: list[tuple], groups: int) -> Callable[..., np.ndarray]:
    """A function of a piece that gives its columns (samples, groups, channels * taps, positions)."""
    channels = x.shape[1]
    samples = max(stop - start for start, stop, _, _ in pieces)
    inner = math.prod(windows.positions[1:])
    rows = max(stop - start for _, _, start, stop in pieces)
    padding = any(windows.padding)
    source = x if padding else windows.padded_samples(x)

    def make() -> list:
        size = channels * windows.taps * rows * inner
        padded = np.zeros((samples, channels, math.prod(windows.padded)), x.dtype) if padding else None
        return [np.empty(samples * size, x.dtype), padded, None]

    scratch = _per_thread(make)

    def columns(first: int, last: int, start: int, stop: int) -> np.ndarray:
        state = scratch()
        flat, padded, held = state
        count = last - first
        if padded is None:
            view = windows.columns(source[first:last])
        else:
            if held != (first, last):
                # The border stays zero from one piece to the next, only the inside changes.
                windows.interior(padded[:count])[...] = x[first:last]
                state[2] = (first, last)
            view = windows.columns(padded[:count])
        positions = (slice(None),) * (2 + len(windows.kernel)) + (slice(start, stop),)
        view = view[positions]
        target = flat[: view.size].reshape(view.shape)
        np.copyto(target, view)
        return target.reshape(count, groups, -1, (stop - start) * inner)

    return columns


def _multiply(matrix: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
    """`out = matrix @ columns`, in slices short enough for the BLAS path that does not repack its operands."""
    length = columns.shape[-1]
    step = SMALL_PRODUCT // (matrix.shape[-2] * matrix.shape[-1]) // 16 * 16
    if step < 96 or length <= step:
        np.matmul(matrix, columns, out=out)
        return
    # Equal slices: a short last one would run at a fraction of the speed.
    step = -(-length // -(-length // step) // 16) * 16
    for start in range(0, length, step):
        part = slice(start, start + step)
        np.matmul(matrix, columns[..., part], out=out[..., part])


def _spread(windows: Windows, gradient: np.ndarray, samples: int) -> Callable[[int, int], np.ndarray]:
    """A function of a sample range that gives its wide gradient (samples, outputs, positions)."""
    if windows.dense:
        flat = gradient.reshape(*gradient.shape[:2], -1)
        return lambda first, last: flat[first:last]
    # Positions between the rows stay zero from one piece to the next.
    shape = (samples, gradient.shape[1], math.prod(windows.wide_shape))
    scratch = _per_thread(lambda: np.zeros(shape, gradient.dtype))

    def wide(first: int, last: int) -> np.ndarray:
        buffer = scratch()[: last - first]
        windows.narrow(buffer)[...] = gradient[first:last]
        return buffer[:, :, : windows.span]

    return wide


def convolution(
    x: np.ndarray,
    weight: np.ndarray,
    *,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int = 1,
    bias: np.ndarray | None = None,
) -> np.ndarray:
    """Cross-correlate `x` (n, channels, *spatial) with `weight` (out, channels / groups, *kernel)."""
    dtype = np.result_type(x, weight)
    wide_type = _widened(dtype)
    x, weight = x.astype(wide_type, copy=False), weight.astype(wide_type, copy=False)
    n, outputs = x.shape[0], weight.shape[0]
    windows = windows_of(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    out = np.empty((n, outputs, *windows.output), wide_type)
    if out.size == 0:
        return out.astype(dtype, copy=False)
    matrix = np.ascontiguousarray(weight).reshape(groups, outputs // groups, -1)
    if _pointwise(windows):
        grouped = x.reshape(n, groups, x.shape[1] // groups, -1)
        np.matmul(matrix, grouped, out=out.reshape(n, groups, outputs // groups, -1))
        if bias is not None:
            out += bias.reshape(-1, *[1] * len(windows.output))
        return out.astype(dtype, copy=False)
    _convolve(x, matrix, bias, windows, groups, out)
    return out.astype(dtype, copy=False)


def _convolve(
    x: np.ndarray, matrix: np.ndarray, bias: np.ndarray | None, windows: Windows, groups: int, out: np.ndarray
) -> None:
    """Columns times weight, piece by piece; the result is written wide and narrowed into `out` where they differ."""
    n, outputs = out.shape[:2]
    column_rows = x.shape[1] * windows.taps
    inner = math.prod(windows.positions[1:])
    pieces = _pieces(n, windows.positions[0], column_rows * inner * x.itemsize)
    columns = _unrolled(windows, x, pieces, groups)
    split = len(pieces) > 0 and pieces[0][3] - pieces[0][2] < windows.positions[0]
    wide_size = math.prod(windows.wide_shape)
    bias_column = None if bias is None else bias.reshape(-1, 1)
    shape = (n, outputs, wide_size)
    # Narrowing happens inside the piece while it is in cache, unless a sample is spread over several pieces.
    whole = out.reshape(shape) if windows.dense else np.empty(shape, x.dtype) if split else None
    samples = max(stop - start for start, stop, _, _ in pieces)
    scratch = _per_thread(lambda: np.empty((samples, outputs, wide_size), x.dtype))

    def piece(first: int, last: int, start: int, stop: int) -> None:
        target = scratch()[: last - first] if whole is None else whole[first:last]
        part = target[:, :, start * inner : stop * inner]
        # Splitting the channel axis of a strided slice gives a view, so BLAS writes in place.
        grouped = part.reshape(last - first, groups, -1, part.shape[-1])
        _multiply(matrix, columns(first, last, start, stop), grouped)
        if whole is None:
            values = windows.narrow(target)
            if bias is None:
                np.copyto(out[first:last], values)
            else:
                np.add(values, bias.reshape(-1, *[1] * len(windows.output)), out=out[first:last])
        elif bias_column is not None:
            np.add(part, bias_column, out=part)

    _run(piece, pieces, column_rows * out.size)
    if whole is not None and not windows.dense:
        np.copyto(out, windows.narrow(whole))


def convolution_input(
    gradient: np.ndarray,
    weight: np.ndarray,
    *,
    spatial: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int = 1,
    bias: np.ndarray | None = None,
) -> np.ndarray:
    """Transpose of `convolution` in its first argument: spread `gradient` (n, out, *positions) over `spatial`."""
    dtype = np.result_type(gradient, weight)
    wide_type = _widened(dtype)
    gradient, weight = gradient.astype(wide_type, copy=False), weight.astype(wide_type, copy=False)
    n, outputs = gradient.shape[:2]
    channels = weight.shape[1] * groups
    windows = windows_of(spatial, weight.shape[2:], stride, padding, dilation, gradient.shape[2:])
    if gradient.size == 0 or channels == 0:
        out = np.zeros((n, channels, *spatial), wide_type)
    elif _pointwise(windows):
        matrix = weight.reshape(groups, outputs // groups, -1)
        out = np.matmul(np.swapaxes(matrix, 1, 2), gradient.reshape(n, groups, outputs // groups, -1))
        out = out.reshape(n, channels, *spatial)
    elif windows.flat and outputs <= 2 * channels and _mirrored_padding(windows) is not None:
        out = _correlate_back(gradient, weight, windows, groups)
    else:
        out = _scatter_columns(gradient, weight, windows, groups, channels)
    if bias is not None:
        out += bias.reshape(-1, *[1] * len(spatial))
    return out.astype(dtype, copy=False)


def transposed_convolution(
    x: np.ndarray,
    weight: np.ndarray,
    *,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    dilation: Ints,
    groups: int = 1,
    bias: np.ndarray | None = None,
) -> np.ndarray:
    """Transposed convolution of `x` (n, channels, *spatial) with `weight` (channels, out / groups, *kernel)."""
    if x.shape[1] != weight.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected input{list(x.shape)} to have "
            f"{weight.shape[0]} channels, but got {x.shape[1]} channels instead"
        )
    spatial = transposed_shape(x.shape[2:], weight.shape[2:], stride, padding, output_padding, dilation)
    if any(size < 1 for size in spatial):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, x.shape[2:]))}). Calculated output size per channel: "
            f"({' x '.join(map(str, spatial))}). Output size is too small"
        )
    return convolution_input(
        x, weight, spatial=spatial, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias
    )


def _mirrored_padding(windows: Windows) -> Ints | None:
    """Padding under which a stride-1 convolution of the output gives the input back, where there is one."""
    padding = tuple(d * (k - 1) - p for d, k, p in zip(windows.dilation, windows.kernel, windows.padding))
    exact = all(
        o == p - d * (k - 1)
        for o, p, d, k in zip(windows.output, windows.padded, windows.dilation, windows.kernel)
    )
    return padding if exact and min(padding) >= 0 else None


def _correlate_back(gradient: np.ndarray, weight: np.ndarray, windows: Windows, groups: int) -> np.ndarray:
    """With stride 1 the transpose is a convolution with the mirrored kernel and channels exchanged."""
    outputs, group_channels = weight.shape[:2]
    flipped = weight[(slice(None), slice(None), *[slice(None, None, -1)] * len(windows.kernel))]
    flipped = flipped.reshape(groups, outputs // groups, group_channels, *windows.kernel).swapaxes(1, 2)
    flipped = flipped.reshape(groups * group_channels, outputs // groups, *windows.kernel)
    ones = (1,) * len(windows.kernel)
    padding = _mirrored_padding(windows)
    assert padding is not None  # the caller asked
    return convolution(
        gradient, flipped, stride=ones, padding=padding, dilation=windows.dilation, groups=groups
    )


def _scatter_columns(
    gradient: np.ndarray, weight: np.ndarray, windows: Windows, groups: int, channels: int
) -> np.ndarray:
    """Gradient of the columns by one product, then each tap added where it was read; pieces are whole samples."""
    n, outputs = gradient.shape[:2]
    taps = windows.taps
    matrix = np.swapaxes(weight.reshape(groups, outputs // groups, -1), 1, 2)
    positions = math.prod(windows.positions)
    out = np.empty((n, channels, *windows.spatial), gradient.dtype)
    step = max(COLUMN_BYTES // max(positions * channels * taps * gradient.itemsize, 1), 1)
    step = min(step, -(-n // get_num_threads()))
    pieces = [(start, min(start + step, n)) for start in range(0, n, step)]
    padding = any(windows.padding)

    def make() -> tuple[np.ndarray, np.ndarray | None]:
        columns = np.empty((step, groups, channels // groups * taps, positions), gradient.dtype)
        buffer = np.empty((step, channels, math.prod(windows.padded)), gradient.dtype) if padding else None
        return columns, buffer

    scratch = _per_thread(make)
    spread = _spread(windows, gradient, step)

    def piece(first: int, last: int) -> None:
        columns, buffer = scratch()
        count = last - first
        columns = columns[:count]
        wide = spread(first, last)
        _multiply(matrix, wide.reshape(count, groups, outputs // groups, wide.shape[-1]), columns)
        buffer = out[first:last].reshape(count, channels, -1) if buffer is None else buffer[:count]
        buffer.fill(0)
        by_tap = columns.reshape(count, channels, taps, *windows.positions)
        for tap, view in enumerate(windows.tap_views(buffer)):
            np.add(view, by_tap[:, :, tap], out=view)
        if padding:
            np.copyto(out[first:last], windows.interior(buffer))

    _run(piece, pieces, outputs * out.size * taps)
    return out


def convolution_weight(
    gradient: np.ndarray,
    x: np.ndarray,
    *,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int = 1,
) -> np.ndarray:
    """Transpose of `convolution` in its second argument: (out, channels / groups, *kernel) from `gradient` and `x`."""
    dtype = np.result_type(gradient, x)
    wide_type = _widened(dtype)
    gradient, x = gradient.astype(wide_type, copy=False), x.astype(wide_type, copy=False)
    n, outputs = gradient.shape[:2]
    channels = x.shape[1]
    windows = windows_of(x.shape[2:], kernel, stride, padding, dilation, gradient.shape[2:])
    shape = (outputs, channels // groups, *kernel)
    if gradient.size == 0 or x.size == 0:
        return np.zeros(shape, dtype)
    if _pointwise(windows):
        left = gradient.reshape(n, groups, outputs // groups, -1)
        right = x.reshape(n, groups, channels // groups, -1)
        return np.add.reduce(np.matmul(left, right.swapaxes(2, 3)), axis=0).reshape(shape).astype(dtype, copy=False)
    inner = math.prod(windows.positions[1:])
    rows = channels * windows.taps
    pieces = _pieces(n, windows.positions[0], rows * inner * x.itemsize)
    columns = _unrolled(windows, x, pieces, groups)
    spread = _spread(windows, gradient, max(stop - start for start, stop, _, _ in pieces))
    parts: dict[tuple, np.ndarray] = {}

    def piece(first: int, last: int, start: int, stop: int) -> None:
        wide = spread(first, last)[:, :, start * inner : stop * inner]
        wide = wide.reshape(last - first, groups, outputs // groups, wide.shape[-1])
        # The longer of the two outer axes first: BLAS is markedly faster that way round.
        product = np.matmul(columns(first, last, start, stop), wide.swapaxes(2, 3))
        parts[first, start] = np.add.reduce(product, axis=0)

    _run(piece, pieces, rows * gradient.size)
    # Added in the order of the pieces, so that the result does not depend on which thread was faster.
    total = parts[0, 0]
    for key in sorted(parts)[1:]:
        total += parts[key]
    return np.ascontiguousarray(total.swapaxes(1, 2)).reshape(shape).astype(dtype, copy=False)

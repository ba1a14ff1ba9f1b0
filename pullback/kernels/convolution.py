"""Convolution over any number of spatial axes: the map itself and its two transposes.

`convolution(x, w)` is bilinear. `convolution_input(g, w)` is its transpose in `x` (a transposed convolution) and
`convolution_weight(g, x)` its transpose in `w`; every derivative of any of the three is another of the three.
Samples are unrolled into columns in pieces that fit the cache and multiplied by BLAS; the pieces run on all
threads. Shapes are checked by `check_convolution`; promotion, unbatched inputs and padding names are the caller's.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from . import few_columns
from .columns import multiply, padded_samples, per_thread, pieces_of, run_pieces, spread_gradient, unrolled
from .half import wide_type
from .threads import threads_to_share
from .thresholds import BAND_BYTES, COLUMN_BYTES, KEPT_COLUMN_BYTES, REARRANGED_POSITIONS
from .windows import Windows, windows_of

if TYPE_CHECKING:
    from collections.abc import Callable

Ints = tuple[int, ...]


def _where_channels_are(x_shape: Ints, expected: int) -> str:
    """The end of an error message: how to mend an input with the wrong number of channels."""
    if x_shape[-1] == expected:
        return f". Channels come right after the batch: x.movedim(-1, {1 - len(x_shape)}) brings them there."
    return f". Channels come right after the batch; a layer for this input has in_channels={x_shape[1]}."


@functools.lru_cache(maxsize=256)
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
            f"{_where_channels_are(x_shape, w_shape[1] * groups)}"
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


def _pointwise(windows: Windows) -> bool:
    """True if each output position reads exactly the input position of the same index."""
    return windows.taps == 1 and windows.flat and windows.output == windows.spatial


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
    wide = wide_type(dtype)
    x, weight = x.astype(wide, copy=False), weight.astype(wide, copy=False)
    n, outputs = x.shape[0], weight.shape[0]
    windows = windows_of(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    if outputs and few_columns.suits(n, x.shape[1], groups, windows, wide):
        return few_columns.convolution(x, weight, bias, windows)[0].astype(dtype, copy=False)
    out = np.empty((n, outputs, *windows.output), wide)
    if out.size == 0:
        return out.astype(dtype, copy=False)
    matrix = np.ascontiguousarray(weight).reshape(groups, outputs // groups, -1)
    if _pointwise(windows):
        grouped = x.reshape(n, groups, x.shape[1] // groups, -1)
        np.matmul(matrix, grouped, out=out.reshape(n, groups, outputs // groups, -1))
        if bias is not None:
            out += bias.reshape(-1, *[1] * len(windows.output))
        return out.astype(dtype, copy=False)
    many = n * math.prod(windows.output) >= REARRANGED_POSITIONS
    if groups == 1 and many and outputs <= x.shape[1] and _suits_bands(windows, x, outputs):
        _convolve_bands(x, weight, bias, windows, out)
    else:
        _convolve(x, matrix, bias, windows, groups, out)
    return out.astype(dtype, copy=False)


def _convolve(
    x: np.ndarray,
    matrix: np.ndarray,
    bias: np.ndarray | None,
    windows: Windows,
    groups: int,
    out: np.ndarray,
    kept: np.ndarray | None = None,
) -> None:
    """Weight times columns, piece by piece; the result is written wide and narrowed into `out` where they differ."""
    n, outputs = out.shape[:2]
    column_rows = x.shape[1] * windows.taps
    inner = math.prod(windows.positions[1:])
    pieces = pieces_of(n, windows.positions[0], column_rows * inner * x.itemsize)
    ones = bias is not None and groups == 1
    if bias is not None and ones:
        matrix = np.concatenate((matrix, bias.reshape(1, -1, 1)), axis=2)
    columns = unrolled(windows, x, pieces, ones, kept)
    split = len(pieces) > 0 and pieces[0][3] - pieces[0][2] < windows.positions[0]
    wide_size = windows.wide_size
    shape = (n, outputs, wide_size)
    # Narrowing happens inside the piece while it is in cache, unless a sample is spread over several pieces.
    whole = out.reshape(shape) if windows.dense else np.empty(shape, x.dtype) if split else None
    samples = max(stop - start for start, stop, _, _ in pieces)
    scratch = per_thread(lambda: np.empty((samples, outputs, wide_size), x.dtype))

    def piece(first: int, last: int, start: int, stop: int) -> None:
        target = scratch()[: last - first] if whole is None else whole[first:last]
        part = target[:, :, start * inner : stop * inner]
        # Splitting the channel axis of a strided slice gives a view, so BLAS writes in place.
        grouped = (last - first, groups, -1, part.shape[-1])
        multiply(matrix, columns(first, last, start, stop).reshape(grouped), part.reshape(grouped))
        if bias is not None and not ones:
            np.add(part, bias.reshape(-1, 1), out=part)
        if whole is None:
            np.copyto(out[first:last], windows.narrow(target))

    run_pieces(piece, pieces, column_rows * out.size)
    if whole is not None and not windows.dense:
        np.copyto(out, windows.narrow(whole))


def _suits_bands(windows: Windows, x: np.ndarray, outputs: int) -> bool:
    """True if the inner axes are worth unrolling alone, and whole samples are small enough to work on."""
    first = windows.kernel[0]
    rows = x.shape[1] * windows.taps // first + first * outputs
    worthwhile = windows.flat and 1 < first <= windows.taps // first
    return worthwhile and rows * math.prod(windows.padded) * x.itemsize <= 2 * COLUMN_BYTES


def _convolve_bands(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, windows: Windows, out: np.ndarray
) -> None:
    """Only the inner axes are unrolled; the weights of all first taps multiply this band, and the results are added.

    Where outputs are few their product with columns is thin and slow. This one is higher, and there is less to copy:
    a tap of the first axis reads, and adds, whole rows further down.
    """
    n, outputs = out.shape[:2]
    channels, taps = x.shape[1], windows.kernel[0]
    matrix = weight.reshape(outputs, channels, taps, -1).transpose(2, 0, 1, 3).reshape(taps * outputs, -1)
    plane, wide_size = math.prod(windows.padded), windows.wide_size
    length = plane - windows.offsets[windows.taps // taps - 1]
    shift = windows.dilation[0] * windows.steps[0]
    step = -(-n // (-(-n * sum(matrix.shape) * plane * x.itemsize // BAND_BYTES) * threads_to_share()))
    pieces = [(first, min(first + step, n), 0, 1) for first in range(0, n, step)]
    padded = padded_samples(windows, x, pieces)
    scratch = per_thread(
        lambda: (np.empty((step, matrix.shape[1], length), x.dtype), np.empty((step, len(matrix), plane), x.dtype))
    )

    def piece(first: int, last: int, *_: int) -> None:
        count = last - first
        band, product = (buffer[:count] for buffer in scratch())
        view = windows.bands(padded(first, last), length)
        np.copyto(band.reshape(view.shape), view)
        multiply(matrix, band, product[:, :, :length])
        by_tap = product.reshape(count, taps, outputs, plane)
        wide = [by_tap[:, tap, :, tap * shift : tap * shift + wide_size] for tap in range(taps)]
        for tap in range(1, taps - 1):
            np.add(wide[0], wide[tap], out=wide[0])
        if bias is not None:
            np.add(wide[0], bias.reshape(-1, 1), out=wide[0])
        np.add(windows.narrow(wide[0]), windows.narrow(wide[-1]), out=out[first:last])

    run_pieces(piece, pieces, channels * windows.taps * out.size)


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
    wide = wide_type(dtype)
    gradient, weight = gradient.astype(wide, copy=False), weight.astype(wide, copy=False)
    n, outputs = gradient.shape[:2]
    channels = weight.shape[1] * groups
    windows = windows_of(spatial, weight.shape[2:], stride, padding, dilation, gradient.shape[2:])
    if gradient.size == 0 or channels == 0:
        out = np.zeros((n, channels, *spatial), wide)
    elif few_columns.suits(n, channels, groups, windows, wide):
        out = few_columns.input_gradient(gradient, weight, windows)
    elif _pointwise(windows):
        matrix = weight.reshape(groups, outputs // groups, -1)
        out = np.matmul(np.swapaxes(matrix, 1, 2), gradient.reshape(n, groups, outputs // groups, -1))
        out = out.reshape(n, channels, *spatial)
    elif windows.flat and outputs <= 2 * channels and _correlates_back(n, windows):
        out = _correlate_back(gradient, weight, windows, groups)
    else:
        out = _scatter_columns(gradient, weight, windows, groups, channels)
    if bias is not None:
        out += bias.reshape(-1, *[1] * len(spatial))
    return out.astype(dtype, copy=False)


def _mirrored_padding(windows: Windows) -> Ints | None:
    """Padding under which a stride-1 convolution of the output gives the input back, where there is one."""
    padding = tuple(d * (k - 1) - p for d, k, p in zip(windows.dilation, windows.kernel, windows.padding))
    exact = all(
        o == p - d * (k - 1) for o, p, d, k in zip(windows.output, windows.padded, windows.dilation, windows.kernel)
    )
    return padding if exact and min(padding) >= 0 else None


def _correlates_back(samples: int, windows: Windows) -> bool:
    many = samples * math.prod(windows.output) >= REARRANGED_POSITIONS
    return many and _mirrored_padding(windows) is not None


def _correlate_back(gradient: np.ndarray, weight: np.ndarray, windows: Windows, groups: int) -> np.ndarray:
    """With stride 1 the transpose is a convolution with the mirrored kernel and channels exchanged."""
    outputs, group_channels = weight.shape[:2]
    flipped = weight[(slice(None), slice(None), *[slice(None, None, -1)] * len(windows.kernel))]
    flipped = flipped.reshape(groups, outputs // groups, group_channels, *windows.kernel).swapaxes(1, 2)
    flipped = flipped.reshape(groups * group_channels, outputs // groups, *windows.kernel)
    ones = (1,) * len(windows.kernel)
    padding = _mirrored_padding(windows)
    assert padding is not None  # the caller asked
    return convolution(gradient, flipped, stride=ones, padding=padding, dilation=windows.dilation, groups=groups)


def _scatter_columns(
    gradient: np.ndarray, weight: np.ndarray, windows: Windows, groups: int, channels: int
) -> np.ndarray:
    """Gradient of the columns by one product, then each tap added where it was read; pieces are whole samples."""
    n, outputs = gradient.shape[:2]
    taps = windows.taps
    matrix = np.swapaxes(weight.reshape(groups, outputs // groups, -1), 1, 2)
    # Of one output a group, a product of matrices is only one number times another: taps are taken one at a time.
    factors = np.moveaxis(weight.reshape(groups, -1, taps, 1), 2, 0).copy() if outputs == groups else None
    positions = math.prod(windows.positions)
    out = np.empty((n, channels, *windows.spatial), gradient.dtype)
    step = max(COLUMN_BYTES // max(positions * channels * taps * gradient.itemsize, 1), 1)
    step = min(step, -(-n // threads_to_share()))
    pieces = [(start, min(start + step, n)) for start in range(0, n, step)]
    padding = any(windows.padding)

    def make() -> tuple[np.ndarray, np.ndarray | None]:
        rows = channels // groups * (taps if factors is None else 1)
        columns = np.empty((step, groups, rows, positions), gradient.dtype)
        buffer = np.empty((step, channels, math.prod(windows.padded)), gradient.dtype) if padding else None
        return columns, buffer

    scratch = per_thread(make)
    spread = spread_gradient(windows, gradient, step)

    def piece(first: int, last: int) -> None:
        columns, buffer = scratch()
        count = last - first
        columns = columns[:count]
        wide = spread(first, last)
        wide = wide.reshape(count, groups, outputs // groups, wide.shape[-1])
        if factors is None:
            multiply(matrix, wide, columns)
        buffer = out[first:last].reshape(count, channels, -1) if buffer is None else buffer[:count]
        buffer.fill(0)
        by_tap = columns.reshape(count, channels, -1, *windows.positions)
        for tap, view in enumerate(windows.tap_views(buffer)):
            if factors is not None:
                np.multiply(wide, factors[tap], out=columns)
            np.add(view, by_tap[:, :, 0 if factors is not None else tap], out=view)
        if padding:
            np.copyto(out[first:last], windows.interior(buffer))

    run_pieces(piece, pieces, outputs * out.size * taps)
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
    wide = wide_type(dtype)
    gradient, x = gradient.astype(wide, copy=False), x.astype(wide, copy=False)
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
    pieces = pieces_of(n, windows.positions[0], rows * inner * x.itemsize)
    total = _products_of_columns(unrolled(windows, x, pieces), gradient, windows, pieces, groups, rows)
    return total.reshape(shape).astype(dtype, copy=False)


def _products_of_columns(
    columns: Callable[..., np.ndarray],
    gradient: np.ndarray,
    windows: Windows,
    pieces: list[tuple],
    groups: int,
    rows: int,
) -> np.ndarray:
    """Gradients times columns (groups, out / groups, rows / groups), added up over all samples and positions."""
    inner = math.prod(windows.positions[1:])
    # The longer of the two outer axes comes first: BLAS is markedly faster that way round, if not for few positions.
    turned = len(gradient) * math.prod(windows.output) >= REARRANGED_POSITIONS
    spread = spread_gradient(windows, gradient, max(last - first for first, last, _, _ in pieces))
    parts: dict[tuple, np.ndarray] = {}

    def piece(first: int, last: int, start: int, stop: int) -> None:
        wide = spread(first, last)[:, :, start * inner : stop * inner]
        grouped = (last - first, groups, -1, wide.shape[-1])
        left, right = wide.reshape(grouped), columns(first, last, start, stop).reshape(grouped)
        if turned:
            left, right = right, left
        products = np.matmul(left, right.swapaxes(2, 3))
        parts[first, start] = products[0] if len(products) == 1 else np.add.reduce(products, axis=0)

    run_pieces(piece, pieces, rows * gradient.size)
    # Added in the order of the pieces, so that the result does not depend on which thread was faster.
    total = parts[0, 0]
    for key in sorted(parts)[1:]:
        total += parts[key]
    return np.ascontiguousarray(total.swapaxes(1, 2)) if turned else total


# --- columns kept between the passes ---


@functools.lru_cache(maxsize=256)
def worth_keeping(
    x_shape: Ints, w_shape: Ints, dtype: np.dtype, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> bool:
    """True if a convolution of these shapes is one for `convolution_keeping`."""
    if groups != 1 or dtype not in (np.float32, np.float64) or w_shape[0] == 0 or 0 in x_shape:
        return False
    windows = windows_of(x_shape[2:], w_shape[2:], stride, padding, dilation)
    size = x_shape[0] * (math.prod(w_shape[1:]) + 1) * math.prod(windows.positions) * dtype.itemsize
    return size <= KEPT_COLUMN_BYTES and not _pointwise(windows)


def convolution_keeping(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, *, stride: Ints, padding: Ints, dilation: Ints
) -> tuple[np.ndarray, np.ndarray]:
    """(`convolution`, its columns); if they are many and there is a bias, they end with a row of ones."""
    n, outputs = x.shape[0], weight.shape[0]
    windows = windows_of(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    if few_columns.suits(n, x.shape[1], 1, windows, x.dtype):
        return few_columns.convolution(x, weight, bias, windows)
    rows = x.shape[1] * windows.taps + (bias is not None)
    kept = np.empty((n, rows, math.prod(windows.positions)), x.dtype)
    out = np.empty((n, outputs, *windows.output), x.dtype)
    matrix = np.ascontiguousarray(weight).reshape(1, outputs, -1)
    _convolve(x, matrix, bias, windows, 1, out, kept)
    return out, kept


def gradients_from_columns(
    gradient: np.ndarray,
    columns: np.ndarray,
    weight_shape: Ints,
    x_shape: Ints,
    *,
    biased: bool,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Cotangents of weight and bias (None without one) from what `convolution_keeping` kept."""
    windows = windows_of(x_shape[2:], weight_shape[2:], stride, padding, dilation)
    if few_columns.suits(x_shape[0], x_shape[1], 1, windows, columns.dtype):
        return few_columns.parameter_gradients(gradient, columns, weight_shape, biased)
    rows = math.prod(weight_shape[1:])
    inner = math.prod(windows.positions[1:])
    pieces = pieces_of(len(columns), windows.positions[0], columns.shape[1] * inner * columns.itemsize)

    def part(first: int, last: int, start: int, stop: int) -> np.ndarray:
        return columns[first:last, :, start * inner : stop * inner]

    total = _products_of_columns(part, gradient, windows, pieces, 1, columns.shape[1])[0]
    return np.ascontiguousarray(total[:, :rows]).reshape(weight_shape), total[:, rows].copy() if biased else None

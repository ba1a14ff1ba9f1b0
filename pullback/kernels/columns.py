"""Samples unrolled into columns: what convolution multiplies by its weights, piece by piece on all threads.

A column holds what one output position reads (channels by taps). A piece is a range of samples and a range of positions
whose columns fit the cache; scratch memory belongs to the thread that works on it. Which product of columns is wanted
is the caller's business.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from .threads import parallel_tasks, pieces_worth, threads_worth
from .thresholds import COLUMN_BYTES, UNCUT_COLUMN_BYTES, UNPACKED_PRODUCT, WOKEN_PRODUCTS
from .windows import Windows

if TYPE_CHECKING:
    from collections.abc import Callable


def pieces_of(samples: int, positions: int, position_bytes: int) -> list[tuple[int, int, int, int]]:
    """Split samples, or positions of single samples, into (sample range, position range) of about COLUMN_BYTES."""
    sample_bytes = max(positions * position_bytes, 1)
    if sample_bytes <= COLUMN_BYTES:
        count = -(-samples * sample_bytes // COLUMN_BYTES)
        # A multiple of what pays, so that all threads end together; sums over pieces depend on them, so the shape decides.
        multiple = pieces_worth(count, 2) if samples * sample_bytes > UNCUT_COLUMN_BYTES else 1
        step = max(samples // (-(-count // multiple) * multiple), 1)
        return [(start, min(start + step, samples), 0, positions) for start in range(0, samples, step)]
    tiles = -(-sample_bytes // COLUMN_BYTES)
    step = -(-positions // tiles)
    return [
        (sample, sample + 1, start, min(start + step, positions))
        for sample in range(samples)
        for start in range(0, positions, step)
    ]


def per_thread(make: Callable[[], Any]) -> Callable[[], Any]:
    """A getter that calls `make` once for each thread: scratch memory is paid for once, not once a piece."""
    made: dict[int, Any] = {}

    def get() -> Any:
        key = threading.get_ident()
        if key not in made:
            made[key] = make()
        return made[key]

    return get


def run_pieces(task: Callable[..., object], pieces: list[tuple], work: int) -> None:
    """Run pieces on all threads, or on this one where waking another would not pay."""
    if work < WOKEN_PRODUCTS:
        for piece in pieces:
            task(*piece)
    else:
        parallel_tasks(task, pieces, products=True, threads=threads_worth(work, WOKEN_PRODUCTS))


def padded_samples(windows: Windows, x: np.ndarray, pieces: list[tuple]) -> Callable[[int, int], np.ndarray]:
    """A function of a sample range that gives these samples with their border (samples, channels, padded elements)."""
    if not any(windows.padding):
        source = windows.padded_samples(x)
        return lambda first, last: source[first:last]
    shape = (max(last - first for first, last, _, _ in pieces), x.shape[1], math.prod(windows.padded))
    scratch = per_thread(lambda: [np.zeros(shape, x.dtype), None])

    def padded(first: int, last: int) -> np.ndarray:
        state = scratch()
        buffer = state[0][: last - first]
        if state[1] != (first, last):
            # The border stays zero from one piece to the next, only the inside changes.
            windows.interior(buffer)[...] = x[first:last]
            state[1] = (first, last)
        return buffer

    return padded


def unrolled(
    windows: Windows, x: np.ndarray, pieces: list[tuple], ones: bool = False, kept: np.ndarray | None = None
) -> Callable[..., np.ndarray]:
    """A function of a piece that gives its columns (samples, channels * taps, positions).

    `ones` adds a last row of ones, for a bias. Columns stay in `kept` where there is one, else in each thread's scratch.
    """
    samples = max(last - first for first, last, _, _ in pieces)
    inner = math.prod(windows.positions[1:])
    length = max(stop - start for _, _, start, stop in pieces) * inner
    rows = x.shape[1] * windows.taps
    padded = padded_samples(windows, x, pieces)
    scratch = per_thread(lambda: np.empty(samples * (rows + ones) * length, x.dtype))

    def columns(first: int, last: int, start: int, stop: int) -> np.ndarray:
        part = (slice(None),) * (2 + len(windows.kernel)) + (slice(start, stop),)
        view = windows.columns(padded(first, last))[part]
        if kept is None:
            shape = (last - first, rows + ones, (stop - start) * inner)
            target = scratch()[: math.prod(shape)].reshape(shape)
        else:
            target = kept[first:last, :, start * inner : stop * inner]
        # Splitting axes of a strided array gives a view, never a copy.
        np.copyto(target[:, :rows].reshape(view.shape), view)
        if ones:
            target[:, rows] = 1
        return target

    return columns


def multiply(matrix: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
    """`out = matrix @ columns`, in slices short enough for the BLAS path that does not repack its operands."""
    length = columns.shape[-1]
    step = UNPACKED_PRODUCT // (matrix.shape[-2] * matrix.shape[-1]) // 16 * 16
    if step < 96 or length <= step:
        np.matmul(matrix, columns, out=out)
        return
    # Equal slices: a short last one would run at a fraction of the speed.
    step = -(-length // -(-length // step) // 16) * 16
    for start in range(0, length, step):
        part = slice(start, start + step)
        np.matmul(matrix, columns[..., part], out=out[..., part])


def spread_gradient(windows: Windows, gradient: np.ndarray, samples: int) -> Callable[[int, int], np.ndarray]:
    """A function of a sample range that gives its wide gradient (samples, outputs, positions)."""
    if windows.dense:
        flat = gradient.reshape(*gradient.shape[:2], -1)
        return lambda first, last: flat[first:last]
    # Positions between the rows stay zero from one piece to the next.
    shape = (samples, gradient.shape[1], windows.wide_size)
    scratch = per_thread(lambda: np.zeros(shape, gradient.dtype))

    def wide(first: int, last: int) -> np.ndarray:
        buffer = scratch()[: last - first]
        windows.narrow(buffer)[...] = gradient[first:last]
        return buffer[:, :, : windows.span]

    return wide

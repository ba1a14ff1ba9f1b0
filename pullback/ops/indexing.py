"""`x[...]` with index arrays: picking elements, its transpose (adding them back), and writing.

`index` is a tuple NumPy understands, with one entry for each axis of x: slices and integer arrays already checked
against the bounds. Basic indices (views) are in `shape.py`, picking along one axis in `scatter.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.op import Op, linear, op
from .fusing import choose, drop, keep
from .striding import in_order


def _pick(x: Any, index: tuple) -> Any:
    if len(index) == 1 and x.flags.c_contiguous and index[0].dtype.char == "l":
        return x.take(index[0], 0)  # the same in a third of the time, where there is little to take
    out = x[index]
    return out if out.flags.c_contiguous else np.ascontiguousarray(out)  # NumPy promises no order


def _add_back(x: Any, shape: tuple, index: tuple) -> Any:
    """Add the elements of `x` to zeros at `index`; repeated indices accumulate."""
    out = np.zeros(shape, x.dtype)
    add_at_index(out, index, x, fresh=True)
    return out


def add_at_index(out: Any, index: tuple[Any, ...], values: Any, fresh: bool = False) -> None:
    """`out[index] += values`, repeats added up. `fresh`: out is all zeros."""
    arrays = [(axis, part) for axis, part in enumerate(index) if type(part) is np.ndarray]
    if len(arrays) == 1 and arrays[0][1].dtype.kind == "b":  # a mask: no repeats
        out[index] += values
    elif len(arrays) == 1 and arrays[0][0] == 0:
        rows = arrays[0][1]
        add_rows(out, rows.reshape(-1), np.broadcast_to(values, (*rows.shape, *out.shape[1:])), fresh)
    elif len(arrays) == out.ndim and out.flags.c_contiguous:
        flat = np.zeros((), np.intp)
        for n, (_, part) in zip(out.shape, arrays, strict=True):
            flat = flat * n + np.where(part < 0, part + n, part)
        values = np.broadcast_to(values, flat.shape).reshape(-1).astype(out.dtype, copy=False)
        np.add.at(out.reshape(-1), flat.reshape(-1), values)
    else:
        np.add.at(out, index, values)


def add_rows(out: Any, rows: np.ndarray, values: Any, fresh: bool = False) -> None:
    """`out[rows] += values` for one index array, repeats added up. `fresh`: out is all zeros."""
    count = rows.size
    if not count or not out.size:
        return
    values = values.reshape(count, *out.shape[1:])
    if out.ndim == 1:
        np.add.at(out, rows, values.astype(out.dtype, copy=False))
        return
    if count < 16:  # too few to sort
        for row, value in zip(rows.tolist(), values, strict=True):
            out[row] += value
        return
    rows = np.where(rows < 0, rows + out.shape[0], rows)
    width = out[0].size
    # Element by element, in the order of the rows, where the sums of runs are short or few elements are at stake.
    if (values.size <= 4096 or width <= 64 and count <= 100 * len(out)) and _plain(out):
        places = (rows[:, None] * width + np.arange(width)).reshape(-1)
        np.add.at(out.reshape(-1), places, values.reshape(-1).astype(out.dtype, copy=False))
        return
    # Sixteen bits are sorted by counting, ten times as fast as by comparing.
    order = np.argsort(rows.astype(np.uint16) if out.shape[0] <= 65536 else rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if starts.size * 4 < count:
        _add_sums(out, ordered, starts, values[order])
    else:
        _add_rounds(out, ordered, starts, order, values, fresh)


def _plain(out: Any) -> bool:
    """Whether elements are numbers that `np.add.at` is quick with, in order."""
    return bool(out.flags.c_contiguous) and out.dtype.kind in "fiu" and out.dtype.itemsize >= 4


def _add_sums(out: Any, ordered: np.ndarray, starts: np.ndarray, values: Any) -> None:
    """Few long runs of equal indices: sum each."""
    if values[0].size < 32:
        out[ordered[starts]] += np.add.reduceat(values, starts, axis=0)
        return
    # Of wide rows NumPy would sum column after column, past every cache.
    ends = (*starts[1:].tolist(), ordered.size)
    for row, start, end in zip(ordered[starts].tolist(), starts.tolist(), ends, strict=True):
        out[row] += np.add.reduce(values[start:end], axis=0)


def _add_rounds(out: Any, ordered: np.ndarray, starts: np.ndarray, order: np.ndarray, values: Any, fresh: bool) -> None:
    """Many short runs: add the first of every run at once, then the second, and so on; sum what is left of long "
    "ones."""
    lengths = np.diff(starts, append=ordered.size)
    if fresh:
        out[ordered[starts]] = values[order[starts]]
        starts, lengths = starts[lengths > 1] + 1, lengths[lengths > 1] - 1
    for _ in range(6):
        if not starts.size:
            return
        out[ordered[starts]] += values[order[starts]]
        starts, lengths = starts[lengths > 1] + 1, lengths[lengths > 1] - 1
    if starts.size:
        firsts = np.cumsum(lengths) - lengths
        left = np.repeat(starts - firsts, lengths) + np.arange(int(lengths.sum()))
        _add_sums(out, ordered[left], firsts, values[order[left]])


pick: Op = linear("IndexBackward0", _pick, x=lambda g, x_shape, index: add_back(g, shape=x_shape, index=index))
add_back: Op = linear("IndexPutBackward0", _add_back, x=lambda g, index: pick(g, index=index))


def _put(x: Any, value: Any, index: tuple, accumulate: bool) -> Any:
    out = np.array(x, order="C")
    write(out, value, index, accumulate)
    return out


def write(out: Any, value: Any, index: tuple[Any, ...], accumulate: bool) -> None:
    """`put` on memory as it is."""
    if accumulate:
        add_at_index(out, index, value)
    else:
        out[index] = value


def _zero_at(x: Any, index: tuple) -> Any:
    out = np.array(x)
    out[index] = 0
    return out


zero_at: Op = linear("IndexPutBackward0", _zero_at, x=lambda g, index: zero_at(g, index=index))
put: Op = linear(
    "IndexPutBackward0",
    _put,
    x=lambda g, index, accumulate: g if accumulate else zero_at(g, index=index),
    value=lambda g, index: pick(g, index=index),
)
pick.keeps_params = put.keeps_params = True


def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return in_order(choose(mask, value if value.dtype is x.dtype else np.asarray(value).astype(x.dtype), x))


def write_masked(out: Any, mask: Any, value: Any) -> None:
    """`masked_fill` on memory as it is."""
    np.copyto(out, value, where=mask, casting="unsafe")


def _unmasked(g: Any, mask: Any) -> Any:
    return drop(mask, g)


masked_fill: Op = op("MaskedFillBackward0", _masked_fill, kind="elementwise_pull", x=_unmasked, mask=None, value=None)
masked_fill_from: Op = op(
    "MaskedFillBackward1",
    _masked_fill,
    kind="elementwise_pull",
    x=_unmasked,
    mask=None,
    value=lambda g, mask: np.sum(keep(mask, g)),
)

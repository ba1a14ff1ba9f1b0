"""`x[...]` with index arrays: picking elements, its transpose (adding them back), and writing.

`index` is a tuple NumPy understands, with one entry for each axis of x: slices and integer arrays already checked
against the bounds. Basic indices (views) are in `shape.py`, picking along one axis in `scatter.py`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..autograd.op import Op, linear, op
from ..kernels.like import copy, zeros
from ..kernels.order import common_order, in_dims, ordered
from ..kernels.thresholds import MASKED_BY_BITS, PLACES_ONE_BY_ONE
from .fusing import choose, drop, in_blocks, keep
from .layouts import FILLED, PICKED, PUT


def _pick(x: Any, index: tuple) -> Any:
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


def _add_back(x: Any, shape: tuple, index: tuple) -> Any:
    """Add the elements of `x` to zeros at `index`; repeated indices accumulate."""
    out = zeros(shape, x)
    add_at_index(out, index, x, fresh=True)
    return out


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
    if out.ndim == 1:
        np.add.at(out, places, values.reshape(-1).astype(out.dtype, copy=False))
        return
    if places.size < PLACES_ONE_BY_ONE and not axis:  # too few to sort
        for place, value in zip(places.tolist(), values.reshape(places.size, *out.shape[1:]), strict=True):
            out[place] += value
        return
    from ..kernels.groups import accumulate  # not part of every program

    if places.size and np.minimum.reduce(places) < 0:
        places = np.where(places < 0, places + out.shape[axis], places)
    values = values.reshape(*out.shape[:axis], places.size, *out.shape[axis + 1 :])
    accumulate(np.add, out, places, values, axis, fresh)


pick: Op = linear(
    "IndexBackward0",
    _pick,
    x=lambda g, x_shape, index: add_back(g, shape=x_shape, index=index),
    batch=PICKED,
    keeps_params=True,
    aten="index.Tensor",
)
add_back: Op = linear("IndexPutBackward0", _add_back, x=lambda g, index: pick(g, index=index), batch=PUT)


def _put(x: Any, value: Any, index: tuple, accumulate: bool) -> Any:
    out = copy(x)
    write(out, value, index, accumulate)
    return out


def write(out: Any, value: Any, index: tuple[Any, ...], accumulate: bool) -> None:
    """`put` on memory as it is."""
    if accumulate:
        add_at_index(out, index, value)
    else:
        out[index] = value


def _zero_at(x: Any, index: tuple) -> Any:
    out = copy(x)
    out[index] = 0
    return out


zero_at: Op = linear("IndexPutBackward0", _zero_at, x=lambda g, index: zero_at(g, index=index), batch=PUT)
put: Op = linear(
    "IndexPutBackward0",
    _put,
    x=lambda g, index, accumulate: g if accumulate else zero_at(g, index=index),
    value=lambda g, index: pick(g, index=index),
    batch=PUT,
    keeps_params=True,
)


@functools.partial(ordered, deciding=())
def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    value = value if value.dtype is x.dtype else np.asarray(value).astype(x.dtype)
    return np.where(mask, value, x) if x.size < MASKED_BY_BITS else in_blocks(choose, mask, value, x)


def write_masked(out: Any, mask: Any, value: Any) -> None:
    """`masked_fill` on memory as it is."""
    np.copyto(out, value, where=mask, casting="unsafe")


def _unmasked(g: Any, mask: Any) -> Any:
    return drop(mask, g)


masked_fill: Op = op(
    "MaskedFillBackward0",
    _masked_fill,
    kind="elementwise_pull",
    x=_unmasked,
    mask=None,
    value=None,
    batch=FILLED,
    aten="masked_fill.Scalar",
)
masked_fill_from: Op = op(
    "MaskedFillBackward1",
    _masked_fill,
    kind="elementwise_pull",
    x=_unmasked,
    mask=None,
    value=lambda g, mask: np.sum(keep(mask, g)),
    batch=FILLED,
    aten="masked_fill.Tensor",
)

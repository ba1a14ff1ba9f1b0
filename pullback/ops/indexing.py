"""Advanced indexing: picking elements by integer and boolean arrays, and its transpose, adding them back.

`index` is a tuple NumPy understands; arrays in it are integer arrays already checked against the bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.op import linear, op


def _pick(x: Any, index: tuple) -> Any:
    return x[index]


def _scatter_add(x: Any, shape: tuple, index: tuple) -> Any:
    """Add the elements of `x` to zeros at `index`; repeated indices accumulate."""
    out = np.zeros(shape, x.dtype)
    if len(index) == 1 and isinstance(index[0], np.ndarray) and index[0].dtype.kind == "i":
        add_rows(out, index[0], x)
    else:
        np.add.at(out, index, x)
    return out


def add_rows(out: Any, rows: np.ndarray, values: Any) -> None:
    """`out[rows] += values` with repeats, by sorting instead of one element at a time."""
    flat = rows.reshape(-1)
    values = values.reshape(flat.size, *out.shape[1:])
    if flat.size < 16:
        np.add.at(out, flat, values)
        return
    flat = np.where(flat < 0, flat + out.shape[0], flat)
    order = np.argsort(flat, kind="stable")
    sorted_rows = flat[order]
    starts = np.flatnonzero(np.concatenate(([True], sorted_rows[1:] != sorted_rows[:-1])))
    out[sorted_rows[starts]] += np.add.reduceat(values[order], starts, axis=0)


pick = linear("IndexBackward0", _pick, x=lambda g, x_shape, index: scatter_add(g, shape=x_shape, index=index))
scatter_add = linear("IndexPutBackward0", _scatter_add, x=lambda g, index: pick(g, index=index))


def _put(x: Any, value: Any, index: tuple, accumulate: bool) -> Any:
    out = np.array(x)
    if accumulate:
        np.add.at(out, index, value)
    else:
        out[index] = value
    return out


def _zero_at(x: Any, index: tuple) -> Any:
    out = np.array(x)
    out[index] = 0
    return out


zero_at = linear("IndexPutBackward0", _zero_at, x=lambda g, index: zero_at(g, index=index))
put = linear(
    "IndexPutBackward0",
    _put,
    x=lambda g, index, accumulate: g if accumulate else zero_at(g, index=index),
    value=lambda g, index: pick(g, index=index),
)
masked_fill = op(
    "MaskedFillBackward0",
    lambda x, mask, value: np.where(mask, x.dtype.type(value), x),
    kind="elementwise_pull",
    x=lambda g, mask: np.where(mask, 0, g),
    mask=None,
    value=lambda g, mask: np.sum(np.where(mask, g, 0)),
)

"""`x[...]` with index arrays: picking elements, its transpose (adding them back), and writing.

`index` is a tuple NumPy understands, with one entry for each axis of x: slices and integer arrays already checked
against the bounds. Basic indices (views) are in `shape.py`, picking along one axis in `scatter.py`, by a mask in `taking.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.kernel import kernel
from ..core.op import Op, linear, op
from ..kernels import indices as kernels
from ..kernels.like import brought, copy, counted, zeros
from ..kernels.order import ordered
from ..kernels.thresholds import MASKED_BY_BITS
from .fusing import choose, drop, in_blocks, keep
from .layouts import FILLED, PICKED, PUT
from .samples import Draw, Sample

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array
    from ..core.basics.types import Shape


def _add(out: Array, index: tuple[Any, ...], values: Array) -> Array:
    """`out`, which is contiguous, with values added at an index; repeats add up."""
    places = np.reshape(counted(out.size, out), out.shape)[brought(index, out)]
    values = np.broadcast_to(values, places.shape).astype(out.dtype, copy=False)
    np.add.at(np.reshape(out, -1), np.reshape(places, -1), np.reshape(values, -1))
    return out


def _fast_add_back(x: Array, shape: Shape, index: tuple[Any, ...]) -> Array:
    out = zeros(shape, x)
    kernels.add_at_index(out, index, x, fresh=True)
    return out


def _drawn(draw: Draw) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Arrays, and indices of them: rows, elements, masks, and places between slices, some of them repeated."""
    whole = slice(None)
    for shape in ((4, 3), (4, 3, 2), (0, 3), (300, 40)):
        x, count = draw(*shape), 2 * shape[0]
        rows, columns = draw.whole((count,), max(shape[0], 1)), draw.whole((count,), shape[1])
        yield x, (rows,)
        yield x, (rows, columns)
        yield x, (whole, np.reshape(columns, (2, -1)))
        yield x, (draw(*shape[:2]) > 0,)
        yield x, (rows[:, None], columns)
    yield draw(9000), (draw.whole((100,), 9000),)


pick: Op = linear(
    "IndexBackward0",
    lambda x, index: x[brought(index, x)],
    x=lambda g, x_shape, index: add_back(g, shape=x_shape, index=index),
    kernel=kernel(kernels.picked),
    batch=PICKED,
    keeps_params=True,
    aten="index.Tensor",
    samples=lambda draw: [((x,), {"index": index}) for x, index in _drawn(draw)],
)
add_back: Op = linear(
    "IndexPutBackward0",
    lambda x, shape, index: _add(zeros(shape, x), index, x),
    x=lambda g, index: pick(g, index=index),
    kernel=kernel(_fast_add_back),
    batch=PUT,
    samples=lambda draw: [((x[index],), {"shape": x.shape, "index": index}) for x, index in _drawn(draw)],
)


def _put(x: Array, value: Array, index: tuple[Any, ...], accumulate: bool) -> Array:
    out = copy(x, "C")
    if accumulate:
        return _add(out, index, value)
    out[brought(index, out)] = brought(value, out)
    return out


def _fast_put(x: Array, value: Array, index: tuple[Any, ...], accumulate: bool) -> Array:
    out = copy(x)
    write(out, value, index, accumulate)
    return out


def _put_samples(draw: Draw) -> Iterator[Sample]:
    """Repeats are added up; of those that are written, which one stays is not promised."""
    for x, index in _drawn(draw):
        yield (x, draw(*x[index].shape)), {"index": index, "accumulate": True}
        yield (x, draw(1)[0]), {"index": index, "accumulate": False}


def write(out: Array, value: Array, index: tuple[Any, ...], accumulate: bool) -> None:
    """`put` on memory as it is."""
    if accumulate:
        kernels.add_at_index(out, index, value)
    else:
        out[index] = value


def _zero_at(x: Array, index: tuple[Any, ...]) -> Array:
    out = copy(x)
    out[brought(index, x)] = 0
    return out


zero_at: Op = linear("IndexPutBackward0", _zero_at, x=lambda g, index: zero_at(g, index=index), batch=PUT)
put: Op = linear(
    "IndexPutBackward0",
    _put,
    x=lambda g, index, accumulate: g if accumulate else zero_at(g, index=index),
    value=lambda g, index: pick(g, index=index),
    kernel=kernel(_fast_put),
    batch=PUT,
    keeps_params=True,
    samples=_put_samples,
)


@functools.partial(ordered, deciding=())
def _masked_fill(x: Array, mask: Array, value: Array) -> Array:
    value = value if value.dtype is x.dtype else np.asarray(value).astype(x.dtype)
    return np.where(mask, value, x) if x.size < MASKED_BY_BITS else in_blocks(choose, mask, value, x)


def write_masked(out: Array, mask: Array, value: Array) -> None:
    """`masked_fill` on memory as it is."""
    np.copyto(out, value, where=mask, casting="unsafe")


def _unmasked(g: Array, mask: Array) -> Array:
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
    samples=lambda draw: [((draw(2, 3), draw(2, 3) > 0, draw()), {})],
)

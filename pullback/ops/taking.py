"""Taking elements by their places in the array as one long row, or by a mask, and putting elements there.

Indices and masks are inputs without a gradient; indices are in bounds by the time they get here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..core.op import Op, linear
from ..kernels.like import brought, copy, zeros
from ..kernels.order import like
from .layouts import PUT_FLAT, TAKEN

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array
    from ..core.basics.types import Shape

# --- by place ---


def _take(x: Array, index: Array) -> Array:
    return x.reshape(-1)[brought(index, x)]


def _put(x: Array, index: Array, source: Array, accumulate: bool) -> Array:
    out = copy(x, "C")
    index, flat = brought(index, x), out.reshape(-1)
    if accumulate:
        np.add.at(flat, index.reshape(-1), source.reshape(-1).astype(out.dtype, copy=False))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return like(out, x) if type(x) is np.ndarray else out


take: Op = linear(
    "TakeBackward0",
    _take,
    x=lambda g, x_shape, index: place_flat(g, index, shape=x_shape),
    index=None,
    batch=TAKEN,
    samples=lambda draw: [((draw(2, 3), draw.whole((4,), 6)), {})],
)
place_flat: Op = linear(
    "PutBackward0",
    lambda x, index, shape: _put(zeros(shape, x), index, x, True),
    x=lambda g, index: take(g, index),
    index=None,
    batch=PUT_FLAT,
    samples=lambda draw: [((draw(4), draw.whole((4,), 6)), {"shape": (2, 3)})],
)


def _clear_flat(x: Array, index: Array) -> Array:
    out = copy(x, "C")
    out.reshape(-1)[brought(index, x).reshape(-1)] = 0
    return out


clear_flat: Op = linear(
    "PutBackward0",
    _clear_flat,
    x=lambda g, index: clear_flat(g, index),
    index=None,
    batch=PUT_FLAT,
    samples=lambda draw: [((draw(2, 3), draw.whole((4,), 6)), {})],
)
put: Op = linear(
    "PutBackward0",
    _put,
    x=lambda g, index, accumulate: g if accumulate else clear_flat(g, index),
    index=None,
    source=lambda g, index, source_shape: np.reshape(take(g, index), source_shape),
    batch=PUT_FLAT,
    samples=lambda draw: [((draw(2, 3), draw.whole((4,), 6), draw(4)), {"accumulate": True})],
)

# --- by mask ---


def _masked_select(x: Array, mask: Array) -> Array:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return np.broadcast_to(x, shape)[np.broadcast_to(brought(mask, x), shape)]


def _place_masked(x: Array, mask: Array, shape: Shape) -> Array:
    full = np.broadcast_shapes(shape, mask.shape)
    out = zeros(full, x)
    out[np.broadcast_to(brought(mask, x), full)] = x
    return out


# The cotangent has the broadcast shape; the tape's edge sums it to the tensor's own.
masked_select: Op = linear(
    "MaskedSelectBackward0",
    _masked_select,
    x=lambda g, x_shape, mask: place_masked(g, mask, shape=x_shape),
    mask=None,
)
place_masked: Op = linear("MaskedScatterBackward0", _place_masked, x=lambda g, mask: masked_select(g, mask), mask=None)


def _masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    out = copy(np.broadcast_to(x, shape), "C")
    mask = np.broadcast_to(brought(mask, x), shape)
    out[mask] = source.reshape(-1)[: int(np.count_nonzero(mask))]
    return out


def _masked_source(g: Array, mask: Array, source_shape: Shape) -> Array:
    """The picked elements fill the source from its start; what was not used has no gradient."""
    from .rearranging import pad

    picked = masked_select(g, mask)
    missing = math.prod(source_shape) - picked.shape[0]
    return np.reshape(pad(picked, before=(0,), after=(missing,), value=0), source_shape)


masked_scatter: Op = linear(
    "MaskedScatterBackward0",
    _masked_scatter,
    x=lambda g, mask: np.where(mask, 0, g),
    mask=None,
    source=_masked_source,
    samples=lambda draw: [((draw(2, 3), draw(2, 3) > 0, draw(6)), {})],
)

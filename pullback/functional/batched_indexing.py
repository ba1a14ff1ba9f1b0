"""`x[index]` where entries of the index are batches: every example picks or writes elements of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tape import apply
from ..core.tensor import Tensor
from ..core.writes import in_place
from ..ops.indexing import pick, put
from ..transforms.arrays.batched import Batched, DynamicShape, NotBatchable
from ..transforms.arrays.fallback import call_example_by_example
from .index_parsing import FULL, parse
from .indexing import as_value, check_fits, drop_ones, view
from .registry import FUNCTIONS


def pick_by_batch(x: Tensor, index: Any, error: RuntimeError) -> Tensor:
    """Pick by integer batches; anything else about a batch raises `error`, which reading the index as values gave."""
    target, entries = _parsed(x, index, error)
    try:
        return apply(pick, (target,), {"index": entries})
    except NotBatchable as nested:  # the index belongs to an outer batch
        return call_example_by_example(lambda x, index: x[index], (x, index), {}, nested)


def put_by_batch(x: Tensor, index: Any, value: Tensor, accumulate: bool, error: NotBatchable) -> Tensor:
    """A copy with values written (or added) by integer batches; anything else about a batch raises `error`."""
    return _put(x, _parsed(x, index, error)[1], value, accumulate)


def write_by_batch(x: Tensor, index: Any, value: Any, error: NotBatchable) -> None:
    """`x[index] = value` where every example writes to places of its own."""
    if isinstance(index, Tensor) and index._array.dtype.kind == "b" and index.shape == x.shape[: index.ndim]:
        if not isinstance(value, Tensor) or not value.ndim:
            mask = index.reshape((*index.shape, *(1,) * (x.ndim - index.ndim)))
            in_place(x, FUNCTIONS["masked_fill"], mask, value)
            return
    given = value if isinstance(value, Tensor) else as_value(value, x)
    try:
        target, entries = _parsed(x, index, error)
    except NotBatchable:
        target, entries = x, ()
    if entries and given.dtype == x.dtype:
        in_place(target, _put, entries, drop_ones(given), False)
    else:
        in_place(x, lambda old: call_example_by_example(_written, (old, index, value), {}, error))


def _put(x: Tensor, entries: tuple, value: Tensor, accumulate: bool) -> Tensor:
    one = tuple(np.zeros(item.shape, np.intp) if type(item) is Batched else item for item in entries)
    check_fits(value._array.shape, x._array.shape, one)
    return apply(put, (x, value), {"index": entries, "accumulate": accumulate})


def _written(x: Tensor, index: Any, value: Any) -> Tensor:
    """A copy with a value at an index."""
    result = FUNCTIONS["empty_like"](x)  # room for a value with a history, which a clone may not have
    result.copy_(x)
    result[index] = value
    return result


def _parsed(x: Tensor, index: Any, error: RuntimeError) -> tuple[Tensor, tuple[Any, ...]]:
    """The view of `x` that slices and numbers make, and an index for it of arrays, batches and full slices."""
    if not isinstance(error, NotBatchable):
        raise error
    batches: dict[int, Batched] = {}

    def stand_in(item: Any) -> Any:
        array = item._array if isinstance(item, Tensor) else None
        if type(array) is not Batched:
            return item
        if array.dtype.kind not in "iu":
            raise error if array.dtype.kind != "b" else DynamicShape(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
                "indexing with a boolean mask. Use torch.where, or vmap(..., fallback=\"loop\")."
            )  # fmt: skip
        places = np.zeros(array.shape, np.intp)
        batches[id(places)] = array
        return places

    items = tuple(stand_in(item) for item in (index if isinstance(index, tuple) else (index,)))
    basic, entries = parse(items, x._array)
    target = x if all(part == FULL for part in basic) else view(x, basic)
    return target, tuple(batches.get(id(entry), entry) for entry in entries)

"""`x[index]` where entries of the index are batches: every example picks or writes elements of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.tape import apply
from ..autograd.views import in_place
from ..functional.registry import FUNCTIONS
from ..ops.indexing import pick
from ..tensor import Tensor
from .batched import Batched, DynamicShape, NotBatchable
from .fallback import call_example_by_example


def pick_by_batch(x: Tensor, index: Any, error: RuntimeError) -> Tensor:
    """Pick by integer batches; anything else about a batch raises `error`, which reading the index as values gave."""
    if not isinstance(error, NotBatchable):
        raise error
    items = list(index) if isinstance(index, tuple) else [index]
    position = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    items[position : position + 1] = [slice(None)] * (x.ndim - len(items) + (position < len(items)))
    arrays = [_entry(item, error) for item in items]
    try:
        return apply(pick, (x,), {"index": tuple(arrays)})
    except NotBatchable as nested:  # the index belongs to an outer batch
        return call_example_by_example(lambda x, index: x[index], (x, index), {}, nested)


def write_by_batch(x: Tensor, index: Any, value: Any, error: NotBatchable) -> None:
    """`x[index] = value` where every example writes to places of its own."""
    in_place(x, lambda old: call_example_by_example(_written, (old, index, value), {}, error))


def _written(x: Tensor, index: Any, value: Any) -> Tensor:
    """A copy with a value at an index."""
    result = FUNCTIONS["empty_like"](x)  # room for a value with a history, which a clone may not have
    result.copy_(x)
    result[index] = value
    return result


def _entry(item: Any, error: RuntimeError) -> Any:
    if isinstance(item, Tensor):
        array = item._array
        if array.dtype.kind == "b":
            raise DynamicShape(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
                "indexing with a "
                'boolean mask. Use torch.where, or vmap(..., fallback="loop").'
            )
        if array.dtype.kind not in "iu":
            raise error
        return array if type(array) is Batched else np.asarray(array)
    if isinstance(item, int):
        return np.asarray(item)
    if isinstance(item, slice) and item == slice(None):
        return item
    if isinstance(item, (list, np.ndarray)) and np.asarray(item).dtype.kind in "iu":
        return np.asarray(item)
    raise error

"""Functions that look at values, run example by example on the batches they are given.

Taking one example out of a batch and putting results together again are operations, so gradients pass through. The
public functions come here when something in them raised `NotBatchable`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.general import payload_of
from ...core.op import Op, linear
from ...core.tape import apply, wrap
from ...core.tensor import Tensor
from ...ops.layouts import Layout
from ...utils._pytree import tree_flatten, tree_unflatten
from ..forward_mode import batch_levels, set_tangent
from .batched import CONTROL_FLOW, Batched, DynamicShape, NotBatchable, level_of, raw

if TYPE_CHECKING:
    from ...core.basics.types import Arguments, Array, Function, Keywords, Params, Result


def _batch_take(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    level = params["level"]
    return Batched(values[0][params["number"]] if flags[0] else values[0], level, False)


def _batch_gather(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    return Batched(np.stack(values), params["level"])


def _batch_place(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """A batch of one example and zeros for the others: the transpose of taking that example."""
    (value,), number = values, params["number"]
    if flags[0]:
        value = value[number]
    zeros = value * 0
    return Batched(np.stack([value if i == number else zeros for i in range(params["size"])]), params["level"])


def _identity(x: Array, **_: Any) -> Array:
    return x


take_example: Op = linear(
    "SelectBackward0", _identity, batch=Layout(_batch_take, always=True),
    x=lambda g, number, size, level: place_example(g, number=number, size=size, level=level),
    aten="select.int",
)  # fmt: skip
place_example: Op = linear(
    "SelectBackward0", _identity, batch=Layout(_batch_place, always=True),
    x=lambda g, number, size, level: take_example(g, number=number, size=size, level=level),
    aten="select.int",
)  # fmt: skip
gather_examples: Op = linear(
    "StackBackward0",
    lambda *values, level: np.stack(values),
    batch=Layout(_batch_gather, always=True),
    variadic=True,
    inputs=(),
    joint=lambda g, needs, level: [
        take_example(g, number=number, size=len(needs), level=level) for number in range(len(needs))
    ],
)


_ANY_SIZE = ("nonzero", "argwhere", "masked_select", "unique", "unique_consecutive")


def call_example_by_example(function: Function, args: Arguments, kwargs: Keywords, error: NotBatchable) -> Array:
    """Call a function of tensors once for each example, and put the results together."""
    flat, spec = tree_flatten((args, kwargs))
    flat = [_leave_shared_levels(value) for value in flat]
    level = max((level_of(value._array) for value in flat if isinstance(value, Tensor)), default=0)
    sizes = [
        raw(value._array.array).shape[0]
        for value in flat
        if isinstance(value, Tensor) and level and level_of(value._array) == level and value._array.batched
    ]
    if not sizes or isinstance(error, DynamicShape) and function.__name__ in _ANY_SIZE:
        raise error
    size = sizes[0]
    results = []
    for number in range(size):
        one_args, one_kwargs = tree_unflatten([_take_from(value, number, size, level) for value in flat], spec)
        results.append(function(*one_args, **one_kwargs))
    flats, specs = zip(*(tree_flatten(result) for result in results), strict=True)
    joined = [_join(parts, level) for parts in zip(*flats, strict=True)]
    return tree_unflatten(joined, specs[0])


def _leave_shared_levels(value: Array) -> Array:
    """A tensor without history, out of the levels whose examples all share it."""
    while isinstance(value, Tensor) and type(value._array) is Batched and not value._array.batched:
        if value.requires_grad or value._tangent is not None:
            break
        inside = value._array.array
        value = inside if isinstance(inside, Tensor) else wrap(inside)
    return value


def _take_from(value: Array, number: int, size: int, level: int) -> Array:
    if isinstance(value, Tensor) and (level_of(value._array) == level or _has_tangent_at(value, level)):
        # also what all examples share: what each of them does with it is its own, and so is its gradient
        return apply(take_example, (value,), {"number": number, "size": size, "level": level})
    return value


def _has_tangent_at(value: Tensor, level: int) -> bool:
    """True if tangents of a tensor differ between the examples of a level."""
    return value._tangent is not None and any(level in batch_levels(tangent) for tangent in value._tangent.values())


def _join(parts: tuple[Any, ...], level: int) -> Array:
    if not isinstance(parts[0], Tensor):
        if all(part == parts[0] for part in parts):
            return parts[0]
        raise NotBatchable(CONTROL_FLOW)
    shapes = {part._array.shape for part in parts}
    if len(shapes) > 1:
        raise DynamicShape(
            "vmap: We do not support batching operators that can output dynamic shape: examples have results of "
            'different sizes. Use vmap(..., fallback="loop").'
        )
    inside = tuple(part if level_of(part._array) == level else _enter_level(part, level) for part in parts)
    return apply(gather_examples, inside, {"level": level})


def _enter_level(part: Tensor, level: int) -> Tensor:
    """A result that has no axis of the level, as one of it; tangents from inside the level stay with it."""
    entered = wrap(Batched(payload_of(part, level), level, False))
    for number, tangent in (part._tangent or {}).items():
        if number > level:
            set_tangent(entered, number, tangent)
    return entered

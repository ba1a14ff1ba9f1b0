"""Layers on a batch of examples (vmap): the batch joins an axis that is there already, instead of a loop.

Rules as in `transforms/arrays/batching_rules.py`: `rule(op, values, flags, params, size)`. Values may be tensors too, so only
functions that NumPy dispatches are used. A combination nobody needs fast goes through the loop.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import seams
from ..kernels.thresholds import WINDOWS_AT_ONCE
from .casting import cast

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array
    from ..core.basics.types import Params
    from ..core.op import Op

Rule = Callable[[Any, list[Any], list[Any], dict[Any, Any], int], Any]


def _loop(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
    return seams.example_by_example(op, values, flags, params, size)


def folding(rule: Rule) -> Rule:
    """A rule that folds examples into another axis, which none at all would leave without a size."""

    @functools.wraps(rule)
    def checked(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
        return (rule if size else _loop)(op, values, flags, params, size)

    return checked


def _full(value: Array | None, flag: bool, size: int) -> Any:
    return value if value is None else seams.with_batch_axis(value, flag, size)


def _all_full(values: list[Any], flags: list[bool], size: int) -> list[Any]:
    return [_full(value, flag, size) for value, flag in zip(values, flags, strict=True)]


def _fold(value: Array) -> Array:
    """(batch, n, ...) as (batch * n, ...)."""
    return np.reshape(value, (value.shape[0] * value.shape[1], *value.shape[2:]))


def _unfold(value: Array, size: int) -> Array:
    return np.reshape(value, (size, value.shape[0] // size, *value.shape[1:]))


def leading(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
    """Operations that leave all leading axes alone: the batch is one more of them."""
    return op(*_all_full(values, flags, size), **params)


@folding
def samples(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
    """Operations on arrays of samples: more examples are more samples."""
    return _unfold(op(*map(_fold, _all_full(values, flags, size)), **params), size)


def resampled(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
    return op(values[0], **{**params, "axes": tuple(axis + 1 for axis in params["axes"])})


# --- convolutions ---


def _into_channels(value: Array) -> Array:
    """(batch, n, channels, ...) as (n, batch * channels, ...): each example becomes a group of channels."""
    value = np.swapaxes(value, 0, 1)
    return np.reshape(value, (value.shape[0], value.shape[1] * value.shape[2], *value.shape[3:]))


def _from_channels(value: Array, size: int) -> Array:
    shape = (value.shape[0], size, value.shape[1] // size, *value.shape[2:])
    return np.swapaxes(np.reshape(value, shape), 0, 1)


@folding
def convolved(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
    """`convolution` and its transpose: samples join the batch where the weight is shared, groups do where it is not."""
    x, weight = values[:2]
    if not flags[1]:
        alone = op_without_bias(op)
        out = _unfold(alone(_fold(x), weight, **params), size) if flags[0] else alone(x, weight, **params)[None]
        return _plus_bias(out, values, flags)
    x, weight = _full(x, flags[0], size), _full(weight, True, size)
    grouped = {**params, "groups": params["groups"] * size}
    out = op_without_bias(op)(_into_channels(x), _fold(weight), **grouped)
    return _plus_bias(_from_channels(out, size), values, flags)


def op_without_bias(op: Op) -> Op:
    from . import convolution

    pairs = {
        convolution.convolution_biased: convolution.convolution,
        convolution.convolution_input_biased: convolution.convolution_input,
    }
    return pairs.get(op, op)


def _plus_bias(out: Array, values: list[Any], flags: list[bool]) -> Array:
    if len(values) < 3:
        return out
    bias = values[2]
    ones = (1,) * (len(out.shape) - 3)
    shape = (bias.shape[0], 1, bias.shape[1], *ones) if flags[2] else (bias.shape[0], *ones)
    return out + np.reshape(bias, shape)


@folding
def convolved_weight(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Any:
    """Gradients of weights, one for each example: groups of channels again."""
    g, x = _all_full(values, flags, size)
    if type(g) is np.ndarray is type(x) and size > 1:
        return _weights_by_parts(op, g, x, params)
    out = op(_into_channels(g), _into_channels(x), **{**params, "groups": params["groups"] * size})
    return _unfold(out, size)


def _weights_by_parts(op: Op, g: Array, x: Array, params: Params) -> Array:
    """The same for a few examples at a time: the windows of one are several times as large as the example."""
    size, taps = len(g), math.prod(params["kernel"])
    windows = x.shape[2] * taps * math.prod(g.shape[3:]) * x.shape[1]
    step = max(WINDOWS_AT_ONCE // max(windows, 1), 1)
    answer: Any = None
    for first in range(0, size, step):
        part = slice(first, min(first + step, size))
        count = part.stop - part.start
        out = op(_into_channels(g[part]), _into_channels(x[part]), **{**params, "groups": params["groups"] * count})
        out = _unfold(out, count)
        if count == size:
            return out
        answer = np.empty((size, *out.shape[1:]), out.dtype) if answer is None else answer
        answer[part] = out
    return answer


# --- normalization ---


@folding
def channels_normalized(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Any:
    """Batch norm: the channels of all examples side by side."""
    x, *parameters = _all_full(values, flags, size)
    folded = [None if value is None else _fold(value) for value in parameters]
    results = op(_into_channels(x), *folded, **params)
    if not isinstance(results, tuple):
        return _from_channels(results, size)
    out, *statistics = results
    return (_from_channels(out, size), *(_unfold(value, size) for value in statistics))


def normalized(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> tuple[Any, ...]:
    """Norms over trailing axes: parameters that differ between examples are applied afterwards."""
    x, *parameters = values
    x = _full(x, flags[0], size)
    if not any(flags[1:]):
        return op(x, *parameters, **params)
    out, *statistics = op(x, *(None for _ in parameters), **params)
    for number, (value, flag) in enumerate(zip(parameters, flags[1:], strict=True)):
        if value is None:
            continue
        if flag:
            middle = (1,) * (len(x.shape) - len(value.shape))
            value = np.reshape(value, (value.shape[0], *middle, *value.shape[1:]))
        out = out + value if number else out * value
    return (out, *statistics)


# --- losses ---


def elementwise_loss(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
    """Each example's losses reduced on their own."""
    full = _all_full(values, flags, size)
    losses = op(*full, **{**params, "reduction": "none"})
    return _reduced(losses, params["reduction"])


def _reduced(losses: Array, reduction: str) -> Array:
    axes = tuple(range(1, len(losses.shape)))
    if reduction == "none" or not axes:
        return losses
    return np.sum(losses, axis=axes) if reduction == "sum" else np.mean(losses, axis=axes)


def _counts(target: Array, weight: Array | None, ignore_index: int, dtype: np.dtype) -> Any:
    """The weight of each target in a mean; None if all have the same."""
    kept = target != ignore_index
    if weight is None:
        return None if isinstance(kept, np.ndarray) and kept.all() else cast(kept, dtype=dtype)
    return np.where(kept, np.asarray(weight)[np.where(kept, target, 0)], 0)


def _shared_classes(values: list[Any], flags: list[bool]) -> bool:
    """True if all examples share the weights of classes, and targets and weights are NumPy arrays inside."""
    return values[2] is None or not flags[2] and all(isinstance(seams.raw(value), np.ndarray) for value in values[1:])


@folding
def class_loss(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Any:
    """Losses of classes; where examples have weights of their own for the classes, example by example."""
    if not _shared_classes(values, flags):
        return _loop(op, values, flags, params, size)
    x, target = _full(values[0], flags[0], size), _full(seams.raw(values[1]), flags[1], size)
    alone = len(x.shape) == 2  # one sample an example
    folded = (x, target) if alone else (_fold(x), _fold(target))
    results = op(*folded, values[2], **{**params, "reduction": "none"})
    losses, *rest = results if isinstance(results, tuple) else (results,)
    if not alone:
        losses, rest = _unfold(losses, size), [_unfold(value, size) for value in rest]
    counts = None
    if params["reduction"] == "mean":
        counts = _counts(
            target, values[2] if values[2] is None else seams.raw(values[2]), params["ignore_index"], seams.raw(x).dtype
        )
    if counts is None:
        losses = _reduced(losses, params["reduction"])
    else:
        losses = _reduced(losses, "sum") / _reduced(counts, "sum")
    return (losses, *rest) if rest else losses


@folding
def placed_classes(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
    """The transpose of `class_loss`."""
    if not _shared_classes(values, flags):
        return _loop(op, values, flags, params, size)
    g, target, shape = _full(values[0], flags[0], size), _full(seams.raw(values[1]), flags[1], size), params["shape"]
    if params["reduction"] == "mean":
        counts = _counts(
            target, values[2] if values[2] is None else seams.raw(values[2]), params["ignore_index"], seams.raw(g).dtype
        )
        g = g / (max(math.prod(target.shape[1:]), 1) if counts is None else _reduced(counts, "sum"))
    changed = {**params, "reduction": "none"}
    if len(shape) == 1:
        return op(g, target, values[2], **{**changed, "shape": (size, *shape)})
    if params["reduction"] != "none":
        g = np.broadcast_to(np.reshape(g, (size, *(1,) * (len(target.shape) - 1))), tuple(target.shape))
    placed = op(_fold(g), _fold(target), values[2], **{**changed, "shape": (size * shape[0], *shape[1:])})
    return _unfold(placed, size)


# --- tables and attention ---


def _one_table(indices: Array, size: int, rows: int) -> Array:
    """Indices into the tables of all examples, one below the other."""
    return indices + np.arange(size).reshape(-1, *(1,) * (len(indices.shape) - 1)) * rows


@folding
def collected(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
    """A table of gradients for each example."""
    if params["by_frequency"]:
        return _loop(op, values, flags, params, size)
    g, indices = _full(values[0], flags[0], size), _full(seams.raw(values[1]), flags[1], size)
    if params["padding"] is not None:
        g = g * cast(indices != params["padding"], dtype=seams.raw(g).dtype)[..., None]
    places = _one_table(indices, size, params["size"])
    return _unfold(op(g, places, **{**params, "size": params["size"] * size, "padding": None}), size)


@folding
def looked_up(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
    """Rows of a table, or of a table for each example."""
    if not flags[0]:
        return op(*values, **params)
    table, indices = values[0], seams.raw(values[1])
    if params["by_frequency"] or params["padding"] is not None and not isinstance(table, np.ndarray):
        return _loop(op, values, flags, params, size)
    if isinstance(indices, np.ndarray) and indices.size and not 0 <= indices.min() <= indices.max() < table.shape[1]:
        return _loop(op, values, flags, params, size)  # which says what is wrong
    return op(
        _fold(table), _one_table(_full(indices, flags[1], size), size, table.shape[1]), **{**params, "padding": None}
    )


def attended(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
    """Attention leaves leading axes alone; a mask with fewer of them gets the missing ones behind the batch."""
    query, key, value, mask, dropout = values
    operands = [_full(v, f, size) for v, f in zip((query, key, value), flags[:3], strict=True)]
    ndim = len(operands[0].shape)
    if mask is not None and flags[3] and len(mask.shape) < ndim:
        mask = np.reshape(mask, (size, *(1,) * (ndim - len(mask.shape)), *mask.shape[1:]))
    return op(*operands, mask, _full(dropout, flags[4], size), **params)

"""Batching rules of operations on places in memory: strided views, and writes through views.

All examples have the layout that the parameters describe, so places are found for one example and used for all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...core import seams
from ...core.views import after_steps
from .batched import Batched, raw
from .batching_rules import Rule, align_axes, example_by_example, is_tensor, with_batch_axes, with_batch_axis

if TYPE_CHECKING:
    from ...core.basics.types import Array, Params, Result
    from ...core.op import Op

_ALL = slice(None)


def batch_view_steps(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Repeat the steps of a view, each by its own rule; with a strided step among them, by the places it leads to."""
    from ...ops.indexing import pick
    from ...ops.striding import as_strided
    from ..batched_grad import batch_level

    steps = params["steps"]
    if any(step is as_strided for step, _, _ in steps):
        shape = tuple(raw(values[0]).shape[1:])
        count = math.prod(shape)
        places = after_steps(np.arange(1, count + 1).reshape(shape), steps)
        picked = pick(np.reshape(values[0], (size, count)), index=(_ALL, np.maximum(places, 1) - 1))
        return picked if places.all() else np.where(places > 0, picked, 0)
    with batch_level() as level:
        result = Batched(values[0], level)
        for step, step_params, _ in steps:
            result = step(result, **(step_params or {}))
    return result.array


def batch_edit_through_views(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """A copy with other values (or zeros) at the places that the steps of a view lead to."""
    from ...ops.indexing import put, zero_at

    x = with_batch_axis(values[0], flags[0], size)
    shape = tuple(raw(x).shape[1:])
    count = math.prod(shape)
    places = after_steps(np.arange(1, count + 1).reshape(shape), params["steps"])
    known = places > 0
    index = (_ALL, places[known] - 1)
    flat = np.reshape(x, (size, count))
    if len(values) == 1:
        return np.reshape(zero_at(flat, index=index), (size, *shape))
    value = np.broadcast_to(align_axes(values[1], flags[1], places.ndim), (size, *places.shape))
    chosen = np.reshape(value, (size, places.size))
    if not known.all():
        chosen = chosen[:, known.reshape(-1)]
    return np.reshape(put(flat, chosen, index=index, accumulate=False), (size, *shape))


def _lay_out(array: np.ndarray, own: np.ndarray, places: int) -> np.ndarray:
    """Put every example into a row of memory, its elements at the places `own`, zeros elsewhere."""
    memory = np.zeros((len(array), places), array.dtype)
    memory[:, own] = array
    return memory


def _for_arrays_only(rule: Rule) -> Rule:
    """A rule that runs on arrays alone; tensors, which have a history, go example by example."""

    def checked(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
        if any(is_tensor(value) or type(value) is Batched for value in values):
            return example_by_example(op, values, flags, params, size)
        full = with_batch_axes(values, flags, size)
        return rule(op, full, flags, params, size)

    return checked


def batch_strided(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Take a strided view: of contiguous examples one view of all, which writes go through; else a copy."""
    from ...ops.striding import contiguous_geometry

    x, array = values[0], raw(values[0])
    shape = tuple(array.shape[1:])
    last = params["offset"] + sum((n - 1) * step for n, step in zip(params["size"], params["stride"], strict=True))
    if (
        type(array) is not np.ndarray or not flags[0] or not array.flags.c_contiguous or not math.prod(params["size"])
        or last >= math.prod(shape) or params["geometry"] != contiguous_geometry(shape)
    ):  # fmt: skip
        return _strided_copy(op, values, flags, params, size)
    whole, steps = (size, *params["size"]), (math.prod(shape), *params["stride"])
    if is_tensor(x):
        return seams.as_strided(x, whole, steps, x.storage_offset() + params["offset"])
    start = x.reshape(size, -1)[:, params["offset"] :]
    return np.lib.stride_tricks.as_strided(start, whole, tuple(step * x.itemsize for step in steps))


def _copy_strided(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    from ...ops.striding import _places, positions

    own = positions(params["geometry"])
    target = positions((params["size"], params["stride"], params["offset"]))
    return _lay_out(values[0], own, _places(own, target))[:, target]


def _restride(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    from ...ops.striding import _places, positions

    out_of, into, shared = (positions(params[name]) for name in ("source", "target", "shared"))
    places = _places(out_of, into, shared)
    memory = np.zeros((size, places), values[0].dtype)
    np.add.at(memory, (_ALL, out_of.reshape(-1)), values[0].reshape(size, -1))  # type: ignore[arg-type]
    share = np.bincount(shared.reshape(-1), minlength=places) if shared.size else np.ones(places, np.intp)
    if places and share.max() > 1:
        memory /= np.maximum(share, 1).astype(memory.real.dtype)
    return memory[:, into]


def _write_strided(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    from ...ops.striding import _places, positions

    own = positions(params["geometry"])
    target = positions((params["size"], params["stride"], params["offset"]))
    memory = _lay_out(values[0], own, _places(own, target))
    memory[:, target] = values[1] if len(values) == 2 else 0
    return memory[:, own]


_strided_copy, batch_restrided, batch_write_strided = map(_for_arrays_only, (_copy_strided, _restride, _write_strided))

"""Batches of recurrent layers whose weights all examples share: the examples are more sequences for the same kernel.

Weights that differ between examples, packed sequences and projections are left to the composition of other operations
(see `functional/recurrence.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ops.batching import folding
from .batched import Batched, raw
from .batching_rules import example_by_example, with_batch_axis

if TYPE_CHECKING:
    from ...core.basics.types import Array, Operands, Params, Result
    from ...core.op import Op


def can_fold_batch(inputs: Operands, sizes: Any) -> bool:
    """True if a layer with these inputs can take the examples of a batch as more sequences."""
    weights = [value._array for value in inputs[3:] if value is not None]
    return sizes is None and inputs[7] is None and all(_shared(array) for array in weights)


def _shared(array: Array) -> bool:
    """True if a value is the same for all examples of all levels."""
    while type(array) is Batched:
        if array.batched:
            return False
        array = raw(array.array)
    return type(array) is np.ndarray


def _fold_axis(value: Array, flag: bool, size: int, axis: int) -> Array:
    """Merge the batch axis into an axis of the examples."""
    moved = np.moveaxis(with_batch_axis(value, flag, size), 0, axis)
    shape = raw(moved).shape
    return np.reshape(moved, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def _unfold_axis(value: Array, size: int, axis: int) -> Array:
    shape = raw(value).shape
    parts = np.reshape(value, (*shape[:axis], size, shape[axis] // size, *shape[axis + 1 :]))
    return np.moveaxis(parts, axis, 0)


def _by_step(kept: Array, steps: int, gates: int, lead: tuple[int, ...]) -> Array:
    """Reshape the values that a layer saved for each row to axes (step, gate, sequence, unit), after the axes `lead`."""
    *_, rows, width = raw(kept).shape
    steps = steps if rows else 0  # not every kind of layer keeps all
    return np.reshape(kept, (*lead, steps, gates, rows // max(steps, 1), width // gates))


def _by_row(kept: Array, lead: tuple[int, ...]) -> Array:
    steps, gates, sequences, units = raw(kept).shape[-4:]
    return np.reshape(kept, (*lead, steps * sequences, gates * units))


def _gate_counts(mode: str) -> tuple[int, int, int]:
    """The number of gates in each of the saved arrays."""
    from ...kernels.recurrence import LAYERS

    return LAYERS[mode].gates, 1, 1


@folding
def batch_recurrence(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Run all steps of a layer, with the examples as more sequences."""
    if any(flags[3:]):
        return example_by_example(op, values, flags, params, size)
    states = [
        None if value is None else _fold_axis(value, flag, size, axis)
        for value, flag, axis in zip(values[:3], flags, (1, 0, 0))
    ]
    output, *kept_and_last = op(*states, *values[3:], **params)
    steps = raw(output).shape[0]
    kept = [
        _by_row(_unfold_axis(_by_step(part, steps, gates, ()), size, 2), (size,))
        for part, gates in zip(kept_and_last[:3], _gate_counts(params["mode"]))
    ]
    return _unfold_axis(output, size, 1), *kept, *(_unfold_axis(part, size, 0) for part in kept_and_last[3:])


def batch_recurrence_pullback(
    cotangents: tuple[Array, ...], arrays: tuple[Array, ...], kept: tuple[Array, ...], needs: tuple[bool, ...],
    params: Params
) -> tuple[Array, ...] | None:  # fmt: skip
    """The gradients, of the weights too for each example; None for values that kernels cannot take."""
    from ...kernels import recurrence

    given = (*cotangents, *arrays, *kept)
    level = max((value.level for value in given if type(value) is Batched), default=0)
    flags = [type(value) is Batched and value.level == level and value.batched for value in given]
    values = [value.array if type(value) is Batched and value.level == level else value for value in given]
    if any(type(value) is not np.ndarray and value is not None for value in values):
        return None
    if any(flags[6:11]) or values[10] is not None or params["sizes"] is not None:
        return None
    size = next((len(value) for value, flag in zip(values, flags) if flag), 0)
    if not size:
        return None
    axes = (1, 0, 0, 1, 0, 0)  # of outputs and the last states, of inputs and the first states
    states: list[Array] = [
        None if value is None else _fold_axis(value, flag, size, axis) for value, flag, axis in zip(values, flags, axes)
    ]
    steps = len(states[3])
    saved = [
        _by_row(_fold_axis(_by_step(part, steps, gates, part.shape[:-2]), flag, size, 2), ())
        for part, flag, gates in zip(values[11:], flags[11:], _gate_counts(params["mode"]))
    ]
    slopes, inputs = tuple(states[:3]), (*states[3:], *values[6:11])
    found = recurrence.backward(slopes, inputs, tuple(saved), needs=needs, samples=size, **params)
    apart = [
        None if part is None else Batched(_unfold_axis(part, size, axis), level) for part, axis in zip(found, axes[3:])
    ]
    return *apart, *(None if part is None else Batched(part, level) for part in found[3:])

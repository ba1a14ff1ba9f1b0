"""The general form of `tape.apply`, for everything beyond plain recording.

Anomaly mode, saved-tensor hooks, inference mode, forward mode and profiling all come through here, so that the plain
form can stay a straight line.
"""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import tape, views
from .mode import Mode
from .op import Op


def apply_special(op: Op, inputs: tuple, params: dict | None, mode: Mode) -> Any:
    if mode.profiler is not None:
        with mode.profiler.operation(op.name, inputs):
            return _apply(op, inputs, params, mode)
    return _apply(op, inputs, params, mode)


def _apply(op: Op, inputs: tuple, params: dict | None, mode: Mode) -> Any:
    if mode.dual_level and any(isinstance(value, Tensor) and value._tangent for value in inputs):
        from .forward_mode import apply_dual

        return apply_dual(op, inputs, params)
    if op.view:
        inputs[0].memory()
    arrays = [value._array if isinstance(value, Tensor) else value for value in inputs]
    out = op.forward(*arrays, **(params or {}))
    several = op.outputs != 1
    results = tuple(tape.wrap(part) for part in (out if several else (out,)))
    mask = tape.needs_gradient(op, inputs) if mode.grad else 0
    for number, result in enumerate(results):
        if op.view:
            if several:
                views.link_output(result, inputs[0], op, params, number)
            else:
                views.link(result, inputs[0], op, params, mode)
        if mode.inference and not (op.view and not inputs[0]._inference):
            result._inference = True
    if mask:
        _record(op, inputs, params, mask, results, several, mode)
    if mode.anomaly is not None:
        from .anomaly_mode import check_forward

        check_forward(op.name, inputs, results, mode.anomaly)
    return results if several else results[0]


def _record(op: Op, inputs: tuple, params: dict | None, mask: int, results: tuple, several: bool, mode: Mode) -> None:
    if several:
        node = tape.record_many(op, inputs, params, mask, results)
    else:
        node = tape.record(op, inputs, params, mask, results[0], results[0]._array)
    if node is None:
        return
    if mode.anomaly is not None:
        from .anomaly_mode import note_forward

        note_forward(node, results, mode.anomaly)
    if mode.saved_hooks and node.saved:
        from .saved import pack_saved

        pack_saved(node, mode.saved_hooks[-1])

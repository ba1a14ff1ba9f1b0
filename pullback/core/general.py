"""The general form of `tape.apply`, for everything beyond plain recording.

Anomaly mode, saved-tensor hooks, inference mode, forward mode, profiling and dispatch modes all come through here, so
that the plain form can stay a straight line.
"""

from __future__ import annotations

import math
from operator import is_
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from ..kernels.like import brought, is_elsewhere
from ..transforms.arrays.batched import Batched, params_level
from . import seams, tape, views
from .basics.quiet import quiet
from .mode import IN_RULES, Mode, set_mode
from .op import Op
from .tensor import Tensor

if TYPE_CHECKING:
    from .basics.types import Array, Operands, Params, Result
    from .node import Node
    from .saved import SavedTensor


def apply_special(op: Op, inputs: Operands, params: Params | None, mode: Mode) -> Result:
    """Run an operation while some mode is on: autocast, batches, tangents, anomalies, inference, profiling."""
    if mode.autocast is not None:
        from ..transforms.autocast import cast_inputs

        inputs = cast_inputs(op, inputs, mode.autocast)
    if mode.safe == IN_RULES:
        from ..transforms.safe_mode import counterpart

        op = counterpart(op)
    if mode.batch_level and not (
        mode.dual_level
        or mode.inference
        or mode.anomaly
        or mode.profiler
        or mode.saved_hooks
        or mode.dispatch
        or mode.node_hooks
    ):
        return _apply_in_batch(op, inputs, params, mode)
    if mode.profiler is not None:
        with mode.profiler.operation(op, inputs) as event:
            result = _apply(op, inputs, params, mode)
            mode.profiler.note_results(event, result)
            return result
    return _apply(op, inputs, params, mode)


def _apply_in_batch(op: Op, inputs: Operands, params: Params | None, mode: Mode) -> Result:
    """`_apply` when nothing but batches is special."""
    level = held = params_level(params) if params else 0
    if op.view:
        inputs[0].memory()
    for value in inputs:
        if isinstance(value, Tensor):
            if value._view is not None:
                seams.repeat_view_steps(value)
                views.refresh(value, op)
            value = value._array
        if type(value) is Batched and value.level > level:
            level = value.level
    given, arrays = [], []
    mask, bit = 0, 1
    for value in inputs:
        array = value
        if isinstance(value, Tensor):
            array = value._array
            if level and (type(array) is not Batched or array.level != level):
                array = Batched(payload_of(value, level), level, False)
                value = tape.wrap(array)
            elif value._requires_grad:
                mask |= bit
        given.append(value)
        arrays.append(array)
        bit += bit
    inputs = tuple(given)
    out = (
        _run(seams.apply_batched, op, arrays, params, level, held)
        if level
        else _run(op.forward, *arrays, **(params or {}))
    )
    mask = mask & op.differentiable_inputs if mode.grad else 0
    if op.outputs != 1:
        return tape.finish_many(op, inputs, params, out, mask)
    result = tape.wrap(out)
    if op.view:
        views.link(result, inputs[0], op, params, mode)
    if mask:
        tape.record(op, inputs, params, mask, result, out)
    return result


def _run(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except (RuntimeWarning, FloatingPointError):  # as in `tape.apply`
        return quiet(function)(*args, **kwargs)


def _apply(op: Op, inputs: Operands, params: Params | None, mode: Mode, below: float = math.inf) -> Result:
    """`below`: levels of forward mode from here up have been dealt with; those inside the current one have ended."""
    batch = 0
    if mode.dual_level or mode.batch_level:
        dual, batch = top_levels(inputs, params, min(below, mode.dual_level + 1))
        if dual > batch:
            return seams.apply_dual(op, inputs, params, mode, dual)
        if batch:
            inputs = as_constants_of_batch(inputs, batch)
    if op.view:
        inputs[0].memory()
    mask = tape.needs_gradient(op, inputs) if mode.grad else 0
    packed: dict[int, SavedTensor] = {}
    if mask and mode.saved_hooks:
        from .saved import pack_inputs

        # Before it runs: a checkpoint that has seen all it needs stops here, and spares its last operation.
        packed = pack_inputs(op.plan(mask, len(inputs)), inputs, mode.saved_hooks[-1])
    several = op.outputs != 1
    if mode.dispatch and not batch:
        results = seams.run_by_modes(op, inputs, params, mode)
    else:
        arrays = [value._array if isinstance(value, Tensor) else value for value in inputs]
        try:
            out = (
                _run(seams.apply_batched, op, arrays, params) if batch else _run(op.forward, *arrays, **(params or {}))
            )
        except TypeError as error:
            return apply_together(op, inputs, params, error)
        results = tuple(tape.wrap(part) for part in (out if several else (out,)))
    for number, result in enumerate(results):
        if op.view:
            if several:
                views.link_output(result, inputs[0], op, params, number)
            else:
                views.link(result, inputs[0], op, params, mode)
        if mode.inference and not (op.view and not inputs[0]._inference):
            result._inference = True
    if mask and results:  # what is unbound from no rows is nothing
        _record(op, inputs, params, mask, results, packed, mode)
    if mode.anomaly is not None:
        seams.check_forward(op.name, inputs, results, mode.anomaly)
    return results if several else results[0]


def apply_together(op: Op, inputs: Operands, params: Params | None, error: TypeError) -> Result:
    """Run an operation again with the operands of NumPy's copied to where the others are: indices, masks, constants.

    Libraries do not mix arrays. If all are of one library, the error that was met was about something else.
    """
    given = (*[value._array if isinstance(value, Tensor) else value for value in inputs], *(params or {}).values())
    home = next(filter(is_elsewhere, given), None)
    arrays = None if home is None else brought(given, home)
    if arrays is None or all(map(is_, arrays, given)):
        raise error
    moved = []
    for value, array, before in zip(inputs, arrays, given):
        if array is not before and isinstance(value, Tensor):
            if value.requires_grad:
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two: this operation has an operand of "
                    f"{type(home).__module__.partition('.')[0]}'s, and one of NumPy's that requires grad, of shape "
                    f"{value.shape}. Make both of them of arrays of one library."
                ) from error
            array = tape.wrap(array)
        moved.append(value if array is before else array)
    return tape.apply(op, tuple(moved), dict(zip(params, arrays[len(moved) :])) if params else params)


def _record(
    op: Op,
    inputs: Operands,
    params: Params | None,
    mask: int,
    results: tuple[Tensor, ...],
    packed: dict[int, SavedTensor],
    mode: Mode,
) -> None:
    node: Any
    if op.outputs != 1:
        node = tape.record_many(op, inputs, params, mask, results)
    else:
        node = tape.record(op, inputs, params, mask, results[0], results[0]._array)
    if node is None:
        return
    if mode.anomaly is not None:
        from ..autograd.anomaly_mode import note_forward

        note_forward(node)
    if mode.saved_hooks and node.saved:
        from .saved import pack_saved

        pack_saved(node, mode.saved_hooks[-1], packed)
    if mode.node_hooks:
        show_new_node(node, mode)


def show_new_node(node: Node, mode: Mode) -> None:
    """Call the hooks that want to see new nodes; they see none that they make themselves."""
    set_mode(mode.replace(node_hooks=()))
    try:
        for hook in mode.node_hooks:
            hook(node.as_torch_shows_it())
    finally:
        set_mode(mode)


# --- levels of forward mode and of batches ---------------------------------------------------------------------------


def top_levels(inputs: Operands, params: Params | None, below: float) -> tuple[int, int]:
    """The innermost level of forward mode (under `below`) and of batches among the inputs."""
    dual = 0
    batch = params_level(params) if params else 0
    for value in inputs:
        array = value
        if isinstance(value, Tensor):
            if value._view is not None:
                seams.repeat_view_steps(value)
            array = value._array
            if value._view is not None and value._view.base._tangent is not None:
                seams.tangents_of(value)
            if value._tangent is not None:
                for level in value._tangent:
                    if dual < level < below:
                        dual = level
        if type(array) is Batched and array.level > batch:
            batch = array.level
    return dual, batch


def as_constants_of_batch(inputs: Operands, level: int) -> Operands:
    """Inputs from outside a batch as constants of it. Those with a history keep it: it belongs to the tape outside."""
    results = []
    for value in inputs:
        if isinstance(value, Tensor) and (type(value._array) is not Batched or value._array.level != level):
            value = tape.wrap(Batched(payload_of(value, level), level, False))
        results.append(value)
    return tuple(results)


def payload_of(value: Tensor, level: int) -> Tensor | Array:
    """The value that a batch holds for a tensor: the tensor if an outer tape or level follows it, else its array."""
    tangents = value._tangent
    if tangents is not None and any(number >= level for number in tangents):
        value = seams.below_level(value, level)
    if value.requires_grad or value._tangent is not None:
        return value
    array = value._array
    return array if type(array) is ndarray else value.memory()

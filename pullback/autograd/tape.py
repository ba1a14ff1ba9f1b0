"""The tape: run an operation on the arrays inside tensors, and record a `Node` when somebody will want its gradient.

`apply` is the one door for every operation. In the plain modes (recording, or not) it is a short straight line;
anomaly mode, saved-tensor hooks, forward mode, inference mode and profiling take `general.apply`. Promotion and argument checks
belong to `functional/`; views and in-place writes to `views.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, anchor_of
from . import views
from .mode import current_mode
from .node import Node
from .op import Op

new_object = object.__new__
ndarray = np.ndarray


def wrap(array: Any) -> Tensor:
    """A tensor without history around an array (or a NumPy scalar standing for a 0-d array)."""
    tensor = new_object(Tensor)
    tensor._array = array
    return tensor


def apply(op: Op, inputs: tuple, params: dict | None = None) -> Any:
    """Run `op` on tensors, numbers, arrays or None, recording it if grad mode is on and an input requires grad."""
    mode = current_mode()
    if mode.special:
        from .general import apply_special

        return apply_special(op, inputs, params, mode)
    if op.view:
        inputs[0].memory()  # a view needs memory to look at, not a NumPy scalar
    arrays = [value._array if isinstance(value, Tensor) else value for value in inputs]
    out = op.forward(*arrays, **params) if params else op.forward(*arrays)
    if op.outputs != 1:
        return finish_many(op, inputs, params, out, mode.grad)
    result = new_object(Tensor)
    result._array = out
    if op.view:
        views.link(result, inputs[0], op, params, mode)
    if mode.grad:
        mask = needs_gradient(op, inputs)
        if mask:
            record(op, inputs, params, mask, result, out)
    return result


def needs_gradient(op: Op, inputs: tuple) -> int:
    """The inputs that require grad and can have one, as a bit set."""
    mask = 0
    for position, value in enumerate(inputs):
        if isinstance(value, Tensor):
            if value._view is not None:
                views.refresh(value)
            if value._requires_grad and op.differentiable(position):
                mask |= 1 << position
    return mask


def record(op: Op, inputs: tuple, params: dict | None, mask: int, result: Tensor, out: Any) -> Node | None:
    """Make the node of a single-output operation and hang it on the result."""
    if out.dtype.kind not in "fcV":  # integer results cannot carry a gradient ('V' is bfloat16)
        return None
    node = make_node(op, inputs, params, mask, (out,))
    node.shape = out.shape
    node.dtype = out.dtype
    result._node = node
    result._requires_grad = True
    return node


def make_node(op: Op, inputs: tuple, params: dict | None, mask: int, outs: tuple) -> Node:
    plan = op.plans.get(mask) if not op.variadic else None
    if plan is None:
        plan = op.plan(mask, len(inputs))
    edges, slots = edges_of(inputs, plan.needs)
    saved = save(plan, inputs, outs) if plan.saves else ()
    node = op.node_type(edges, saved, params, plan, (), None)
    node.slots = slots
    if saved:
        note_versions(node, plan, inputs)
    return node


def edges_of(inputs: tuple, needs: tuple) -> tuple[tuple, tuple | None]:
    """Where the cotangents of the inputs go. A leaf tensor stands for its own accumulator."""
    edges = []
    slots = None
    for position, value in enumerate(inputs):
        if not needs[position]:
            edges.append(None)
            continue
        node = value._node
        edges.append(anchor_of(value) if node is None else node)
        if value._output_nr and node is not None:
            if slots is None:
                slots = [0] * len(inputs)
            slots[position] = value._output_nr
    return tuple(edges), None if slots is None else tuple(slots)


def save(plan: Any, inputs: tuple, outs: tuple) -> tuple:
    """Gather what the rules of `plan` named."""
    saved: list[Any] = []
    for code in plan.saves:
        if type(code) is int:
            saved.append(kept(inputs[code]) if code >= 0 else outs[-1 - code])
        elif type(code) is tuple:
            saved.append(shape_of(inputs[code[1]]))
        elif code == "shapes":
            saved.append(tuple(shape_of(value) for value in inputs))
        elif code == "dtypes":
            saved.append(tuple(getattr(getattr(value, "_array", value), "dtype", None) for value in inputs))
        else:  # 'arrays' or 'outs'
            saved.append(SavedList(map(kept, inputs) if code == "arrays" else outs))
    return tuple(saved)


def kept(value: Any) -> Any:
    """What a graph holds of an input: of a leaf that requires grad, its anchor."""
    if isinstance(value, Tensor) and value._node is None and value._requires_grad:
        return anchor_of(value)
    return value


def shape_of(value: Any) -> tuple:
    return getattr(getattr(value, "_array", value), "shape", ())


class SavedList(tuple):
    """Several saved values under one name (`arrays`, `outs`)."""


def note_versions(node: Node, plan: Any, inputs: tuple) -> None:
    """Remember the version of each saved input that has been written before; the rest are at 0."""
    versions = None
    for position, value in enumerate(inputs):
        if isinstance(value, Tensor):
            if value._inference:
                raise RuntimeError(
                    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
                    "mode in computation tracked by autograd. To work around this, you can make a clone to get a "
                    "normal tensor and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
                )
            if value._storage is not None and value._storage.version:
                if versions is None:
                    versions = {}
                versions[position] = value._storage.version
    node.versions = versions


def finish_many(op: Op, inputs: tuple, params: dict | None, outs: Any, recording: bool) -> tuple:
    """Wrap and record the results of an operation with several outputs."""
    results = tuple(wrap(out) for out in outs)
    mask = needs_gradient(op, inputs) if recording else 0
    if op.view:
        for number, result in enumerate(results):
            views.link_output(result, inputs[0], op, params, number)
    if mask:
        record_many(op, inputs, params, mask, results)
    return results


def record_many(op: Op, inputs: tuple, params: dict | None, mask: int, results: tuple) -> Node:
    outs = tuple(result._array for result in results)
    node = make_node(op, inputs, params, mask, outs)
    node.outputs = tuple((out.shape, out.dtype) for out in outs)
    for number, result in enumerate(results):
        if result._array.dtype.kind in "fcV":
            result._node = node
            result._output_nr = number
            result._requires_grad = True
    return node

"""The tape: run an operation on the arrays inside tensors, and record a `Node` when somebody will want its gradient.

`apply` is the door for every operation; `apply_unary` and `apply_binary` are the same for one and two tensors, written
out because everything waits on them. In the plain modes (recording, or not) each is a short straight line; anomaly
mode, saved-tensor hooks, forward mode, inference mode and profiling take `general.apply_special`. Promotion and
argument checks belong to `functional/`; views and in-place writes to `views.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from ..storage import next_order
from ..tensor import Tensor, anchor_of
from . import views
from .mode import RECORD, current_mode
from .node import Node
from .op import Op

new_object: Callable[..., Any] = object.__new__
LARGE = 1 << 15  # elements from which elementwise operations run block by block


def wrap(array: Any) -> Tensor:
    """A tensor without history around an array (or a NumPy scalar standing for a 0-d array)."""
    tensor = new_object(Tensor)
    tensor._array = array
    # The class has the same defaults; set on the instance, operations read them twice as fast.
    tensor._requires_grad = False
    tensor._node = None
    tensor._output_nr = 0
    tensor._view = None
    tensor._storage = None
    tensor._inference = False
    return tensor


def apply(op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None = None) -> Any:
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
    result = wrap(out)
    if op.view:
        views.link(result, inputs[0], op, params, mode)
    if mode.grad:
        mask = needs_gradient(op, inputs)
        if mask:
            record(op, inputs, params, mask, result, out)
    return result


def by_blocks(function: Any, *arrays: Any) -> Any:
    """An elementwise function on large arrays, in blocks that fit the cache and on all threads."""
    from ..kernels.large import by_blocks as run  # not part of every program

    return run(function, *arrays)


def apply_unary(op: Op, x: Tensor, params: dict[Any, Any] | None = None) -> Tensor:
    """`apply` for an operation of one tensor that is no view and always differentiable."""
    mode = current_mode()
    if mode.special:
        return apply(op, (x,), params)
    array = x._array
    if params:
        out = op.forward(array, **params)
    elif op.blocked and type(array) is ndarray and array.size >= LARGE:
        out = by_blocks(op.forward, array)
    else:
        out = op.forward(array)
    result = wrap(out)
    if mode is RECORD:
        if x._view is not None:
            views.refresh(x)
        if x._requires_grad and out.dtype.kind in "fcV":
            plans = op.plans if out.dtype.kind == "f" else op.complex_plans
            plan = plans.get(1) or op.plan(1, 1, out.dtype.kind == "c")
            node = new_object(op.node_type)
            source = x._node
            edge = anchor_of(x) if source is None else source
            node.edges = (edge,)
            if x._output_nr:
                node.slots = (x._output_nr,)
            node.plan = plan
            node.order = next_order()
            node.shape = out.shape
            node.dtype = out.dtype
            if params:
                node.params = params
            form = plan.form
            if form:
                if form == 4:
                    node.saved = node.arrays = (out,)
                elif form == 5:
                    node.saved = node.arrays = (array.shape,)
                elif form == 6:
                    node.saved, node.arrays = (edge if source is None else x, out), (array, out)
                else:
                    node.saved, node.arrays = (edge if source is None else x,), (x._array,)
            elif form is None:
                node.saved = save(plan, (x,), (out,))
            if x._inference and form != 0:
                refuse_inference()
            result._node = node
            result._requires_grad = True
    return result


def apply_binary(op: Op, a: Tensor, b: Tensor) -> Tensor:
    """`apply` for a differentiable operation of two tensors without parameters that is no view."""
    mode = current_mode()
    if mode.special:
        return apply(op, (a, b))
    out = op.forward(a._array, b._array)
    result = wrap(out)
    if mode is RECORD:
        if a._view is not None:
            views.refresh(a)
        if b._view is not None:
            views.refresh(b)
        mask = (1 if a._requires_grad else 0) | (2 if b._requires_grad else 0)
        if mask:
            record_binary(op, mask, a, b, out, result)
    return result


def record_binary(op: Op, mask: int, a: Tensor, b: Any, out: Any, result: Tensor) -> None:
    """Make the node of an operation on two operands; the second may be a number."""
    kind = out.dtype
    plans = op.plans if kind.kind == "f" else op.complex_plans
    plan = plans.get(mask)
    if plan is None:
        if kind.kind not in "fcV":
            return
        plan = op.plan(mask, 2, kind.kind == "c")
    first = second = None
    if mask & 1:
        first = a._node
        if first is None:
            a = first = anchor_of(a)
    if mask & 2:
        second = b._node
        if second is None:
            b = second = anchor_of(b)
    node = new_object(op.node_type)
    node.edges = (first, second)
    node.plan = plan
    node.order = next_order()
    node.shape = out.shape
    node.dtype = kind
    form = plan.form
    if form != 0:
        if form == 3:
            node.saved, node.arrays = (b, a), (b._array, a._array)
        elif form == 2:
            node.saved, node.arrays = (b,), (b._array if isinstance(b, Tensor) else b,)
        elif form == 1:
            node.saved, node.arrays = (a,), (a._array,)
        elif form == 4:
            node.saved = node.arrays = (out,)
        else:
            node.saved = save(plan, (a, b), (out,))
        if a._inference or isinstance(b, Tensor) and b._inference:
            refuse_inference()
    if mask & 1 and a._output_nr or mask & 2 and b._output_nr:
        node.slots = (a._output_nr if mask & 1 else 0, b._output_nr if mask & 2 else 0)
    result._node = node
    result._requires_grad = True


def needs_gradient(op: Op, inputs: tuple[Any, ...]) -> int:
    """The inputs that require grad and can have one, as a bit set."""
    mask = 0
    always = op.always_differentiable
    for position, value in enumerate(inputs):
        if isinstance(value, Tensor):
            if value._view is not None:
                views.refresh(value)
            if value._requires_grad and (always or op.differentiable(position)):
                mask |= 1 << position
    return mask


def record(
    op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, mask: int, result: Tensor, out: Any
) -> Node | None:
    """Make the node of a single-output operation and hang it on the result."""
    if out.dtype.kind not in "fcV":  # integer results cannot carry a gradient ('V' is bfloat16)
        return None
    node = make_node(op, inputs, params, mask, (out,))
    node.shape = out.shape
    node.dtype = out.dtype
    result._node = node
    result._requires_grad = True
    return node


def make_node(op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, mask: int, outs: tuple[Any, ...]) -> Node:
    """The node of one application, with what its rules need saved."""
    plan = op.plan(mask, len(inputs), outs[0].dtype.kind == "c")
    edges, slots = edges_of(inputs, plan.needs)
    saved = save(plan, inputs, outs) if plan.saves else ()
    node = op.node_type(edges, saved, params, plan, (), None)
    if slots is not None:
        node.slots = slots
    return node


def edges_of(inputs: tuple[Any, ...], needs: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    """Where the cotangents of the inputs go: to the node that made each, or to the anchor of a leaf."""
    edges: list[Any] = []
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


# --- saving ---


class SavedList(tuple):
    """Several saved values under one name (`arrays`, `outs`, or `extras`: all outputs but the first)."""


def save(plan: Any, inputs: tuple[Any, ...], outs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Gather what the rules of `plan` named."""
    for value in inputs:
        if isinstance(value, Tensor) and value._inference:
            refuse_inference()
    return tuple([saved_value(code, inputs, outs) for code in plan.saves])


def saved_value(code: Any, inputs: tuple[Any, ...], outs: tuple[Any, ...]) -> Any:
    """What one code of a plan stands for."""
    if type(code) is int:
        return kept(inputs[code]) if code >= 0 else outs[-1 - code]
    if type(code) is tuple:
        return shape_of(inputs[code[1]])
    if code == "shapes":
        return tuple(shape_of(value) for value in inputs)
    if code == "dtypes":
        return tuple(getattr(getattr(value, "_array", value), "dtype", None) for value in inputs)
    if code == "extras":
        return SavedList(outs[1:])
    return SavedList(map(kept, inputs) if code == "arrays" else outs)


def kept(value: Any) -> Any:
    """What a graph holds of an input: of a leaf that requires grad, its anchor."""
    if isinstance(value, Tensor) and value._node is None and value._requires_grad:
        return anchor_of(value)
    return value


def shape_of(value: Any) -> tuple[Any, ...]:
    """The shape of a tensor, an array or a number."""
    return getattr(getattr(value, "_array", value), "shape", ())


def refuse_inference() -> None:
    """Raise torch's error about inference tensors in a recorded operation."""
    raise RuntimeError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
        "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
        "`torch.no_grad()` instead of `torch.inference_mode()`."
    )


# --- several outputs ---


def finish_many(
    op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, outs: Any, recording: bool
) -> tuple[Any, ...]:
    """Wrap and record the results of an operation with several outputs."""
    results = tuple([wrap(out) for out in outs])
    mask = needs_gradient(op, inputs) if recording else 0
    if op.view:
        for number, result in enumerate(results):
            views.link_output(result, inputs[0], op, params, number)
    if mask:
        record_many(op, inputs, params, mask, results)
    return results


def record_many(
    op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, mask: int, results: tuple[Any, ...]
) -> Node:
    """Record an operation with several results."""
    outs = tuple([result._array for result in results])
    node = make_node(op, inputs, params, mask, outs)
    node.outputs = outputs = tuple([(out.shape, out.dtype) for out in outs])
    node.general = True
    for number, result in enumerate(results):
        if outputs[number][1].kind in "fcV":
            result._node = node
            result._output_nr = number
            result._requires_grad = True
    return node

"""Making views quickly: `tape.apply` for views, written out because indexing and reshaping call it all the time.

Both functions do what `apply` does with a view operation in the plain recording mode, and hand everything else to it.
What a view is, and what a write does to it, is in `views.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .basics.constants import FLOAT32
from .basics.storage import storage_of
from .mode import RECORD, Mode, current_mode
from .node import Node, fill
from .op import Op
from .tape import apply, needs_gradient, record, wrap
from .tensor import Tensor, anchor_of, new_object
from .views import View, link, refresh

if TYPE_CHECKING:
    from .basics.types import Array, Params


def view_of(op: Op, x: Tensor, params: Params, out: Array) -> Tensor:
    """`tape.apply(op, (x,), params)` for a view whose array `out` is already at hand, in a straight line."""
    mode = current_mode()
    storage = x._storage
    parent = x._view
    if (
        mode is not RECORD
        or storage is None
        or parent is not None
        and parent.origin != "default"
        or x._moves
        or x._inference
    ):
        return _view_carefully(op, x, params, out, mode)
    result = wrap(out)
    result._storage = storage
    result._view = view = new_object(View)
    view.version = version = storage.version
    node = x._node
    if parent is None:
        source = x
        if node is None and x._requires_grad:
            anchor = x._anchor
            source = anchor_of(x) if anchor is None else anchor
        view.base = source
        view.steps = ((op, params),)
    else:
        if parent.version != version or parent.waits:
            refresh(x)
            node = x._node
        source = x if node is not None or not x._requires_grad else anchor_of(x)
        view.base = parent.base
        view.steps = (*parent.steps, (op, params))
        if parent.moves:
            view.moves = parent.moves
    kind = out.dtype
    if x._requires_grad and (kind is FLOAT32 or kind.kind in "fcV"):
        plan = op.ready[1] if kind is FLOAT32 else None
        if plan is None:
            plan = op.plan(1, 1, kind.kind == "c")
        # a view's rule can ask for nothing but the shape it started from
        saved = (x._array.shape,) if plan.saves else ()
        slots = (x._output_nr,) if x._output_nr else None
        edges = (source if node is None else node,)
        made = fill(Node(), plan, edges, slots, saved, saved, params, out.shape, kind)
        result._node = made
        result._requires_grad = True
    else:
        view.waits = True
    return result


def views_of(op: Op, x: Tensor, params: Params) -> tuple[Tensor, ...]:
    """`tape.apply(op, (x,), params)` for an operation that gives several views, in a straight line."""
    mode = current_mode()
    storage, parent = x._storage, x._view
    if mode is not RECORD or parent is not None or storage is None or x._moves or x._inference:
        return apply(op, (x,), params)
    if type(x._array) is not np.ndarray:
        return apply(op, (x,), params)
    outs = op.forward(x._array, **params)
    node = None
    base = anchor_of(x) if x._node is None and x._requires_grad else x
    if x._requires_grad and x._array.dtype.kind in "fcV":
        edges, slots = (base if x._node is None else x._node,), (x._output_nr,) if x._output_nr else None
        node = fill(Node(), op.plan(1, 1), edges, slots, (), (), params, None, None, True)
        node.outputs = tuple([(out.shape, out.dtype) for out in outs])
    results = []
    recorded, version = node is not None, storage.version
    output_step = op.rare.output_step
    for number, out in enumerate(outs):
        result = wrap(out)
        if recorded:
            result._node, result._output_nr, result._requires_grad = node, number, True
        result._storage = storage
        result._view = view = new_object(View)
        view.base = base
        view.steps = (output_step(params, number, out.shape),)
        view.version = version
        view.origin = "several"
        view.waits = not recorded
        results.append(result)
    return tuple(results)


def _view_carefully(op: Op, x: Tensor, params: Params, out: Array, mode: Mode) -> Tensor:
    if mode.special:
        return apply(op, (x,), params)
    if x._storage is None and not x._moves and x._view is None:
        storage_of(x)
        if mode is RECORD:
            return view_of(op, x, params, out)
    result = wrap(out)
    link(result, x, op, params, mode)
    if mode.grad:
        mask = needs_gradient(op, (x,))
        if mask:
            record(op, (x,), params, mask, result, out)
    return result

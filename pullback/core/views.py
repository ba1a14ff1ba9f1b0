"""Views: who shares memory with whom, and how a view follows the history of its base.

A view remembers its base and the steps that lead from the base to it. A write through a view gives the base a new
history (`CopySlices`); every other view of that base finds out when it is next used (`refresh`) and replays its steps
on the new history. Version counters live on the `Storage` that all of them share. The writes are in `writes.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.like import copy
from ..ops.layouts import Layout
from .basics.storage import storage_of
from .grad_mode import is_view_replay_enabled
from .kernel import rule_names
from .mode import Mode, current_mode
from .node import Node, fill
from .op import Op, linear
from .tensor import Anchor, Tensor, anchor_of

if TYPE_CHECKING:
    from .basics.types import Array, Cotangent, Operand, Params, Steps


class View:
    """How a tensor looks at the memory of its base."""

    base: Tensor
    steps: tuple[Any, ...]  # ((op, params), ...) from the base to this view
    version: int  # the storage's version that the view's node belongs to
    origin: str = "default"  # or 'no_grad', 'inference', or 'several' for one of many outputs
    moves: int = 0  # how often the base itself had been reshaped in place
    waits: bool = False  # for its base to require grad, which it did not when the view was made
    unrecorded: bool = False  # made itself in no_grad or inference mode, not a later view of such a view

    def __init__(self, base: Tensor, steps: Steps, version: int, origin: str, moves: int = 0) -> None:
        self.base = base
        self.steps = steps
        self.version = version
        self.origin = origin
        self.moves = moves


def base_of(view: View) -> Tensor:
    """The tensor a view looks at; a leaf that graphs know by its anchor is itself as long as it lives."""
    base = view.base
    return base.owner_or_self() if type(base) is Anchor else base


def steps_of(view: View, base: Tensor) -> Steps:
    """The steps from the base as it is now. What was reshaped in place is first taken back to what the view saw."""
    moves = base._moves
    return (*reversed(moves[view.moves :]), *view.steps) if moves else view.steps


def link(result: Tensor, source: Tensor, op: Op, params: Params | None, mode: Mode) -> None:
    """Make `result` a view of `source` (or of what `source` is a view of)."""
    _link(result, source, (op, params), "default" if mode.grad else "inference" if mode.inference else "no_grad")


def link_output(result: Tensor, source: Tensor, op: Op, params: Params | None, number: int) -> None:
    """Make `result` a view that is output `number` of an operation with several views as outputs."""
    mode = current_mode()
    step = op.rare.output_step(params, number, source._array.shape)
    _link(result, source, step, "several" if mode.grad else "inference" if mode.inference else "no_grad")


def _link(result: Tensor, source: Tensor, step: tuple[Op, Params | None], origin: str) -> None:
    storage = source._storage or storage_of(source)
    parent = source._view
    made_in = origin
    result._storage = storage
    if source._inference:  # nothing is known of views of inference tensors: whoever writes them does it inside the mode
        result._inference = True
        return
    if parent is None:
        if source._requires_grad and source._node is None:
            source = anchor_of(source)
        view = View(source, (step,), storage.version, origin, len(source._moves))
    else:
        if origin == "default":
            origin = parent.origin
        base = parent.base
        if step[0].rare.step_from_base is not None:  # a view of memory does not pass through other views
            steps: Steps = ((step[0], step[0].rare.step_from_base(step[1], base._array)),)
            view = View(base, steps, storage.version, origin, len(base._moves))
        else:
            view = View(base, (*parent.steps, step), storage.version, origin, parent.moves)
    result._view = view
    if not source._requires_grad:
        view.waits = True
    if made_in in ("no_grad", "inference"):
        view.unrecorded = True
        if source._requires_grad:
            # Torch lets such a view lose its gradient silently. Here it follows the base: `refresh` will give it
            # a node when it is first used with grad mode on. A negative version says that, and when it was made.
            result._requires_grad = True
            view.version = -1 - storage.version


def as_own(result: Tensor) -> Tensor:
    """A new result that was reached through views of memory which nobody else has: no view, as far as programs see."""
    result._view = None
    return result


def refresh(tensor: Tensor, op: Op | None = None) -> None:
    """Bring a view's node up to date with what has been written to its base, for an operation on it if one is given."""
    view = tensor._view
    version = tensor._storage.version
    if view.version == version:
        if view.waits and view.base._requires_grad:
            _begin_to_follow(tensor, view)
        return
    base = base_of(view)
    if view.origin == "inference" and view.version < 0 and -1 - view.version != version and base._requires_grad:
        if not current_mode().grad:
            return
        raise RuntimeError(
            "A view was created in inference mode and its base or another view of its base has been modified inplace "
            f"in normal mode. {AMBIGUOUS}inside the inference_mode block or both outside."
        )
    if is_broken(tensor):
        if not current_mode().grad or op is not None and not op.differentiable_inputs:
            return  # nobody asks for the history
        raise _broken(tensor)
    if base._requires_grad:
        if tensor._array.dtype.kind in "fcV":
            replay_on(base, tensor)
    elif tensor._node is not None:
        tensor._node = None
        tensor._requires_grad = False
    view.version = version


def _begin_to_follow(tensor: Tensor, view: View) -> None:
    """A view of something that has begun to require grad. Torch lets such a view lose its gradient silently."""
    view.waits = False
    if not tensor._requires_grad and view.origin not in ("custom", "inference") and tensor._array.dtype.kind in "fcV":
        replay_on(base_of(view), tensor)


def is_broken(tensor: Tensor) -> bool:
    """Return True if a view has lost its history: its base was written, and the steps from there cannot be replayed."""
    view = tensor._view
    return (
        view.origin in FINAL
        and view.version != tensor._storage.version
        and (tensor._node is not None or base_of(view)._requires_grad)
    )


def _broken(tensor: Tensor) -> RuntimeError:
    return RuntimeError(
        f"{made_by(tensor)} and its base or another view of its base has been modified inplace. "
        f"{FINAL[tensor._view.origin]}"
    )


def refresh_or_raise(tensor: Tensor) -> None:
    """`refresh_if_usable` for what needs the history itself: it is an error if there is none any more, even in no_grad mode."""
    if is_broken(tensor):
        raise _broken(tensor)
    refresh_if_usable(tensor)


def refresh_if_usable(tensor: Tensor) -> None:
    """`refresh` for attributes: looking at a tensor that can no longer be used is no error."""
    if tensor._view.origin not in FINAL:
        if tensor._view.version >= 0 or current_mode().grad:  # a view without history gets one when it is wanted
            refresh(tensor)
    elif tensor._node is None and base_of(tensor._view)._requires_grad and tensor._array.dtype.kind in "fcV":
        if tensor._view.waits and tensor._view.version == tensor._storage.version:
            refresh(tensor)
        tensor._requires_grad = True


SEVERAL: str = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one."
)
CUSTOM: str = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
    "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
    "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)
FINAL: dict[str, str] = {"several": SEVERAL, "custom": CUSTOM}  # views whose way from the base cannot be replayed


AMBIGUOUS: str = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both "
)


def made_by(tensor: Tensor) -> str:
    """The beginning of torch's complaints about views of functions that give several."""
    if tensor._node is None:
        return "A view was created in no_grad mode"
    name = tensor._node.name().removesuffix("Backward0").removesuffix("Backward")
    return f"Output {tensor._output_nr} of {name} is a view"


def replay_on(base: Tensor, tensor: Tensor) -> None:
    """Give `tensor` a node that leads from the base's present history through the view's steps."""
    if is_view_replay_enabled():
        from .tape import apply

        value = base
        for op, params in steps_of(tensor._view, base):
            value = apply(op, (value,), params)
        if value._node is not None:
            adopt_history(tensor, value._node, value._output_nr)
            return
    steps = with_shapes(steps_of(tensor._view, base), base._array)
    edge = anchor_of(base) if base._node is None else base._node
    slots, array = (base._output_nr,) if base._node is not None and base._output_nr else None, tensor._array
    node = fill(Node(), replay.plan(1, 1), (edge,), slots, (), None, {"steps": steps}, array.shape, array.dtype)
    adopt_history(tensor, node, 0)


def adopt_history(tensor: Tensor, node: Node, output_nr: int) -> None:
    """Move a tensor to a new node. A tensor that retains its gradient goes on retaining it."""
    old = tensor._node
    tensor._node, tensor._output_nr, tensor._requires_grad = node, output_nr, True
    if old is not None and old.hooks is not None:
        retained = old.hooks.retained
        for number, reference in list(retained.items()):
            if reference() is tensor:
                del retained[number]
                node.ensure_hooks().retained[output_nr] = reference


def with_shapes(steps: Steps, array: Array) -> Steps:
    """The steps with the shape of what each is applied to, which their transposes need."""
    described = []
    for op, params in steps:
        described.append((op, params, array.shape))
        array = op(array, **(params or {}))
    return tuple(described)


# --- the operations on histories -------------------------------------------------------------------------------------


def after_steps(x: Array, steps: Steps) -> Array:
    """Apply the steps, which come with their shapes, to an array."""
    for op, params, _ in steps:
        x = op(x, **(params or {}))
    return x


def _replay_transpose(g: Cotangent, steps: Steps) -> Cotangent:
    for op, params, shape in reversed(steps):
        rule = op.rules[op.inputs[0]]
        given = {"x_shape": shape, **(params or {})}
        g = rule(g, *[given[name] for name in rule_names(rule)])
    return g


replay: Op = linear(
    "AsStridedBackward0",
    after_steps,
    x=lambda g, steps: _replay_transpose(g, steps),
    batch=Layout("transforms.arrays.memory_rules:batch_view_steps"),
)


def _edited(x: Array, value: Operand, steps: Steps) -> Array:
    """A copy of x with `value` where the steps lead to."""
    out = copy(x, "C")
    region = after_steps(out, steps)
    if np.may_share_memory(region, out) or not region.size:
        region[...] = value
        return out
    # The steps made a copy (a reshape that needed the base's own strides, as_strided): follow the places instead.
    places = after_steps(np.arange(1, out.size + 1).reshape(out.shape), steps)
    known = places > 0
    out.reshape(-1)[places[known] - 1] = np.broadcast_to(value, places.shape)[known]
    return out


without_region: Op = linear(
    "torch::autograd::CopySlices",
    lambda x, steps: _edited(x, 0, steps),
    x=lambda g, steps: without_region(g, steps=steps),
    batch=Layout("transforms.arrays.memory_rules:batch_edit_through_views"),
    aten="copy_",
)
copy_slices: Op = linear(
    "torch::autograd::CopySlices",
    _edited,
    base=lambda g, steps: without_region(g, steps=steps),
    value=lambda g, steps: replay(g, steps=steps),
    inputs=("base", "value"),
    batch=Layout("transforms.arrays.memory_rules:batch_edit_through_views"),
    aten="copy_",
)

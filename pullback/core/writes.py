"""Writes in place: what is refused, what the operation reads, and what the write does to history.

Any operation becomes one in place by `in_place`, which computes the result and writes it over the tensor; operations that
change some elements only have `write_in_place`. A write through a view rebases the history of the base (`rebase`), and
is counted on the `Storage` that all views share. How views find out is in `views.py`.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.like import is_elsewhere
from ..transforms.arrays.batched import Batched, NotBatchable
from ..transforms.arrays.without_elements import is_form
from . import seams, tape
from .basics.dtypes import can_cast, from_numpy_dtype
from .basics.storage import Storage, storage_of
from .mode import Mode, current_mode
from .node import Node, fill
from .op import Op
from .tensor import Anchor, Tensor, anchor_of
from .views import (
    AMBIGUOUS,
    FINAL,
    View,
    adopt_history,
    base_of,
    copy_slices,
    made_by,
    refresh,
    refresh_if_usable,
    replay_on,
    steps_of,
    with_shapes,
)

if TYPE_CHECKING:
    from .basics.types import Array, Function, Operands, Params, Steps


def _view_of(tensor: Tensor) -> str:
    """A view made in no_grad or inference mode, or a view with a history of such a view."""
    if tensor._node is None or tensor._view.unrecorded:
        return "A view"
    return f"{made_by(tensor)} of a view which"


def check_writable(tensor: Tensor, mode: Mode, recording: bool) -> None:
    """RuntimeError, with torch's words, where a write in place is not allowed."""
    if tensor._inference and not mode.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )
    view = tensor._view
    if view is not None:
        refresh_if_usable(tensor)
        # The base may have been asked for gradients after the view was made.
        recording = recording or mode.grad and tensor._array.dtype.kind in "fcV" and base_of(view)._requires_grad
    if not recording:
        return
    if view is not None:
        base = base_of(view)
        if view.origin == "no_grad" and (base._requires_grad or tensor._requires_grad):
            raise RuntimeError(
                f"{_view_of(tensor)} was created in no_grad mode and is being modified inplace with grad mode "
                f"enabled. {AMBIGUOUS}inside the no_grad block (if you don't want the inplace to be tracked) or both "
                "outside (if you want the inplace to be tracked)."
            )
        if view.origin == "inference":
            raise RuntimeError(
                f"{_view_of(tensor)} was created in inference mode and is being modified inplace in normal mode. "
                f"{AMBIGUOUS}inside the inference_mode block (if you don't want the inplace to be tracked) or both "
                "outside (if you want the inplace to be tracked)."
            )
        if view.origin in FINAL:
            raise RuntimeError(f"{made_by(tensor)} and is being modified inplace. {FINAL[view.origin]}")
        if base._node is None and (base._requires_grad or tensor._requires_grad):
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation. "
                f"Update the data under torch.no_grad(), or work on a copy: x.clone(). {_described(base)}"
            )
    if tensor._requires_grad and tensor._node is None:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. "
            f"Update it under torch.no_grad() (as optimizers do), or work on a copy: x.clone(). {_described(tensor)}"
        )


def _described(tensor: Tensor) -> str:
    return seams.describe_tensor(tensor)


def check_early(tensor: Tensor, *others: Any) -> None:
    """`check_writable` ahead of any other check of an in-place operation on these tensors (or numbers)."""
    mode = current_mode()
    check_writable(tensor, mode, mode.grad and _any_requires_grad(tensor, others))


def _any_requires_grad(tensor: Tensor, others: Operands) -> bool:
    if tensor.requires_grad:
        return True
    for other in others:
        if isinstance(other, Tensor) and other.requires_grad:
            return True
    return False


def _place(array: np.ndarray) -> tuple[object, ...]:
    return array.ctypes.data, array.shape, array.strides, array.dtype


def check_no_overlap(array: Array, source: Array | None = None) -> None:
    """Complain about a write to memory in which several elements share a place, unless `source` is that very memory."""
    if 0 not in array.strides or array.size == 0:
        return
    if array.flags.c_contiguous:
        return
    for size, stride in zip(array.shape, array.strides, strict=True):
        if stride == 0 and size > 1:
            if type(source) is np.ndarray and _place(source) == _place(array):
                return
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )


def detach_from_tape(tensor: Tensor) -> Tensor:
    """The same memory without the history of this tape: inside a batch, the tapes outside still follow it."""
    result = tensor.detach()
    result._array = tensor._array
    return result


def alias_of(tensor: Tensor) -> Tensor:
    """A second tensor object on the same memory and history: what an in-place operation reads from."""
    alias = object.__new__(Tensor)
    alias._array = tensor._array
    alias._node = tensor._node
    alias._output_nr = tensor._output_nr
    alias._requires_grad = tensor._requires_grad
    alias._storage = tensor._storage
    if tensor._view is not None and tensor._node is not None and _is_watched(tensor._node, tensor._view):
        # A write leaves behind the old nodes of all views it goes through: hooks on them, and custom backwards, do not run.
        alias._view = tensor._view
        replay_on(base_of(tensor._view), alias)
        alias._view = None
    if tensor._tangent is not None:
        alias._tangent = tensor._tangent
    return alias


def _is_watched(node: Any, view: View) -> bool:
    """True if there are hooks, or a custom backward, on the way from a view's node to its base."""
    for _ in view.steps:
        if type(node) is Anchor or node is base_of(view)._node:
            return False
        if node.hooks is not None or node.op is None:
            return True
        node = node.edges[0]
    return False


def keep_tangents(alias: Tensor) -> None:
    """Give what an in-place operation reads from, if it has tangents, memory of its own, and tangents of its own.

    What tangents are computed from may be kept in many places, and the write will change the tangents, too.
    """
    if alias._tangent is not None:
        alias._array, alias._storage = np.copy(alias._array), None
        alias._tangent = {level: tangent.clone() for level, tangent in alias._tangent.items()}


def in_place(tensor: Tensor, function: Function, *args: Any, **kwargs: Any) -> Tensor:
    """Compute `function(tensor, ...)` and write the result over `tensor`, keeping history right."""
    mode = current_mode()
    tensor.memory()
    check_writable(tensor, mode, mode.grad and tensor._requires_grad)
    if mode.saved_hooks:
        from ..transforms.mutation import keep_saved

        keep_saved(tensor)
    storage = storage_of(tensor)
    if not mode.grad and not mode.special:
        result = function(tensor, *args, **kwargs)
        if result is not tensor:
            write(tensor, result, storage)
        return tensor
    aliases = _aliases_to_read(tensor)
    if mode.dispatch or mode.saved_hooks:
        # Dispatch modes are shown `add_`, not `add`, and the tensor itself; hooks a copy of what is still to be read.
        aliases[0]._is_written = tensor
    result = _computed(function, aliases[0], args, kwargs, mode)
    if result is aliases[0]:  # nothing to do, as for the conjugate of real numbers
        return tensor
    check_result(tensor, result)
    recording = mode.grad and result._requires_grad
    if recording:
        check_writable(tensor, mode, True)
    _keep_old_values(aliases)
    write(tensor, result, storage)
    if result._tangent is not None or tensor._tangent is not None:
        from ..transforms.forward_mode import write_tangents

        write_tangents(tensor, result)
    if recording:
        rebase(tensor, result)
    return tensor


def _aliases_to_read(tensor: Tensor) -> list[Tensor]:
    """The tensor that an in-place operation reads: an alias of the one it writes. For a batch also aliases of those inside."""
    view = tensor._view
    if view is not None and base_of(view)._tangent is not None:
        from ..transforms.forward_mode import tangents_of

        tangents_of(tensor)
    if tensor._requires_grad and tensor._node is None:
        alias = detach_from_tape(tensor)  # no_grad with forward mode: a leaf may be written
    else:
        alias = alias_of(tensor)
    keep_tangents(alias)
    if type(alias._array) is not Batched:
        return [alias]
    from ..transforms.arrays.own_memory import alias_inner_tensors

    return [alias, *alias_inner_tensors(alias)]


def _computed(function: Function, alias: Tensor, args: Operands, kwargs: dict[str, object], mode: Mode) -> Tensor:
    try:
        return function(alias, *args, **kwargs)
    except NotBatchable as error:
        from ..transforms.arrays.fallback import call_example_by_example

        return call_example_by_example(function, (alias, *args), kwargs, error)
    finally:
        if alias._is_written is not None:
            alias._is_written = None


def _keep_old_values(aliases: list[Tensor]) -> None:
    """Forget the aliases. Where one lives on, a rule wants the old value: it gets a copy that the write will not change."""
    references = [weakref.ref(alias) for alias in aliases]
    aliases.clear()
    for reference in references:
        saved = reference()
        if saved is not None and not is_form(saved._array):
            saved._array = np.copy(saved._array)
            saved._storage = None


def write_in_place(
    tensor: Tensor,
    op: Op,
    others: Operands,
    params: Params,
    writer: Function,
    overlap: bool = False,
) -> Tensor:
    """`in_place` for an operation that changes some elements only and whose rules need neither old nor new values.

    `writer(array, *others, **params)` changes the array as it is, without a copy of the rest. With `overlap`, elements
    may share memory (as in an expanded tensor).
    """
    mode = current_mode()
    if mode.special or is_elsewhere(tensor._array):
        return in_place(tensor, lambda x, *values: tape.apply(op, (x, *values), params), *others)
    array = tensor.memory()
    recording = mode.grad and _any_requires_grad(tensor, others)
    check_writable(tensor, mode, recording)
    if not overlap:
        check_no_overlap(array, others[0]._array if others and isinstance(others[0], Tensor) else None)
    storage = storage_of(tensor)
    mask = 0
    if recording:
        inputs = (alias_of(tensor), *others)
        mask = tape.needs_gradient(op, inputs)
    bump(storage)
    writer(array, *[value._array if isinstance(value, Tensor) else value for value in others], **params)
    if mask:
        result = object.__new__(Tensor)
        if tape.record(op, inputs, params, mask, result, array) is not None:
            if mode.node_hooks:
                _show_new_node(result._node, mode)
            rebase(tensor, result)
    return tensor


def check_result(tensor: Tensor, result: Tensor) -> None:
    """The result of an in-place operation must fit where it is to be written."""
    target, value = tensor._array, result._array
    if value.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(value.shape)}"
        )
    if value.dtype is not target.dtype and value.dtype != target.dtype:
        have, want = from_numpy_dtype(value.dtype), from_numpy_dtype(target.dtype)
        if not can_cast(have, want):
            raise RuntimeError(
                f"result type {have.type_name} can't be cast to the desired output type {want.type_name}. "
                "Make a new tensor (x = x / 2 instead of x /= 2), or convert this one first, as in x.float()."
            )


def write(tensor: Tensor, result: Tensor, storage: Storage) -> None:
    """Write a result over a tensor's memory and count the write."""
    check_result(tensor, result)
    check_no_overlap(tensor._array)
    if type(result._array) is Batched:
        from ..transforms.arrays.own_memory import follow_memory, is_followed

        if is_followed(result._array):
            follow_memory(tensor)
    bump(storage)
    if result._array is not tensor._array and not is_form(tensor._array):
        try:
            np.copyto(tensor.memory(), result._array, casting="unsafe")
        except (RuntimeWarning, FloatingPointError):
            pass  # all is written: somebody made errors of warnings


def copy_what_readers_saved(storage: Storage) -> None:
    """Give nodes that asked for it their copies of memory that is about to change."""
    if storage.readers is not None:
        from .saved import copy_for_readers

        copy_for_readers(storage)


def bump(storage: Storage) -> None:
    """Count a write that is about to come. In anomaly mode, remember which line did it."""
    copy_what_readers_saved(storage)
    storage.bump()
    if current_mode().anomaly is not None:
        from ..autograd.anomaly_mode import user_line

        storage.writer = user_line()


def rebase(tensor: Tensor, result: Tensor) -> None:
    """Make the history of `result` that of `tensor`, and of the base it is a view of."""
    node, output_nr, view = result._node, result._output_nr, tensor._view
    if view is None:
        # Of a wider result the tensor keeps what it can.
        if node.outputs is None and node.dtype != tensor._array.dtype:
            node.dtype = tensor._array.dtype
        adopt_history(tensor, node, output_nr)
        return
    base = base_of(view)
    steps = with_shapes(steps_of(view, base), base._array)
    edges = (None if not base._requires_grad else base._node or anchor_of(base), node)
    plan = copy_slices.plan((1 if base._requires_grad else 0) | 2, 2)
    slots, array = (base._output_nr if base._node is not None else 0, output_nr), base._array
    copied = fill(Node(), plan, edges, slots, (), None, {"steps": steps}, array.shape, array.dtype)
    adopt_history(base, copied, 0)
    refresh(tensor)
    if (mode := current_mode()).node_hooks:
        _show_new_node(copied, mode)


def _show_new_node(node: Node, mode: Mode) -> None:
    from .general import show_new_node

    show_new_node(node, mode)


# --- other shapes in place -------------------------------------------------------------------------------------------


def reshape_in_place(tensor: Tensor, op: Op, params: Params, back: Steps) -> Tensor:
    """Give the tensor itself the shape that a view operation gives. `back` is the step that undoes it.

    Of a base, other views are still to be replayed: they saw it in its old shape, which `back` restores.
    """
    mode = current_mode()
    check_writable(tensor, mode, mode.grad and tensor._requires_grad)
    storage = storage_of(tensor)
    copy_what_readers_saved(storage)  # while the tensor has the shape that they saw
    alias = alias_of(tensor)
    alias._view = tensor._view
    result = tape.apply(op, (alias,), params)
    tensor._array = result._array
    if tensor._anchor is not None:
        tensor._anchor._array = result._array
    bump(storage)
    if tensor._view is None:
        tensor._moves = (*tensor._moves, back)
    else:
        tensor._view.steps, tensor._view.moves = result._view.steps, result._view.moves
    if result._node is not None:
        adopt_history(tensor, result._node, result._output_nr)
        if tensor._view is not None:
            tensor._view.version = storage.version
    return tensor

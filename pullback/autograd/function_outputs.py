"""The outputs of a custom function get their place in the graph: new tensors, views, inputs written in place.

Torch's rules for each are kept, and its complaints where a write would go around the function's own backward. The
functions themselves are in `function.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import writes
from ..core.basics.notices import warn_user
from ..core.basics.storage import storage_of
from ..core.grad_mode import no_grad
from ..core.mode import current_mode
from ..core.recording import edges_of
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..ops.pointwise import identity

if TYPE_CHECKING:
    from ..core.basics.types import Arguments, Operand
    from .function import CustomNode


def connect_outputs(
    ctx: CustomNode, args: Arguments, needs: tuple[bool, ...], raw: tuple[Operand, ...], recording: bool
) -> tuple[Any, ...]:
    """Connect outputs to the node; inputs that come back become views, or are rebased if they were written."""
    returned = {id(value) for value in raw}
    if not {id(tensor) for tensor in ctx.dirty_tensors} <= returned:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )
    connection = _Connection(ctx, args, raw, recording)
    if recording:
        ctx.edges, ctx.slots = edges_of(args, tuple([position for position, needed in enumerate(needs) if needed]))
        ctx.outputs = tuple(
            (value._array.shape, value._array.dtype) if isinstance(value, Tensor) else ((), None) for value in raw
        )
        if not ctx._materialize_non_diff_grads:
            ctx.not_filled = frozenset(number for number, value in enumerate(raw) if id(value) in connection.constant)
    outputs: list[Any] = []
    made: dict[int, Tensor] = {}  # an output that is returned twice stays one tensor
    for number, value in enumerate(raw):
        if isinstance(value, Tensor):
            if id(value) in made:
                value = made[id(value)]
                if value._node is ctx:
                    value._output_nr = number
            else:
                value = made[id(value)] = connection.connected(value, number)
        outputs.append(value)
    return tuple(outputs)


class _Connection:
    """Give the outputs of one call of a custom function their place in the graph."""

    def __init__(self, ctx: CustomNode, args: Arguments, raw: tuple[Operand, ...], recording: bool) -> None:
        self.ctx: CustomNode = ctx
        self.recording: bool = recording
        self.mode = current_mode()
        self.inputs = {id(value) for value in args if isinstance(value, Tensor)}
        self.dirty = {id(tensor) for tensor in ctx.dirty_tensors}
        self.constant = {id(tensor) for tensor in ctx.non_differentiable}
        tensors = [value for value in raw if isinstance(value, Tensor)]
        self.count = len(tensors)
        # Several outputs, or a backward of one's own: writing through such a view would go around the function.
        self.origin = "several" if sum(id(value) not in self.constant for value in tensors) > 1 else "custom"
        if ctx._is_pure_view:
            if self.count != 1 or len(self.inputs) != 1:
                raise RuntimeError(
                    "Pure view custom Function can only have one input Tensor and one output Tensor. Open an issue if "
                    "you need to support more."
                )
            self.origin = "default"

    def connected(self, value: Tensor, number: int) -> Tensor:
        ctx = self.ctx
        differentiable = self.recording and id(value) not in self.constant and value._array.dtype.kind in "fcV"
        if id(value) in self.dirty:
            return self.rebased(value, number, differentiable)
        if id(value) in self.inputs or value._node is not None and value._view is not None:
            value = self.returned_as_is(value)  # a view that `forward` used has a history by now, as an input has
        elif value._node is not None:
            value = writes.detach_from_tape(value)
        if id(value) in self.constant:
            return writes.detach_from_tape(value) if value._requires_grad else value
        if value._view is not None and self.mode.grad:
            value._view.origin = self.origin
            value._view.version = value._storage.version
        if differentiable:
            value._node, value._output_nr, value._requires_grad = ctx, number, True
        elif self.mode.grad:
            value._requires_grad = False
        return value

    def returned_as_is(self, value: Tensor) -> Tensor:
        """Another tensor for an input that `forward` gave back; a subclass says itself what that is."""
        with no_grad():
            alias = apply(identity, (value,)) if type(value) is Tensor else value.view_as(value)
        if not self.mode.grad and alias._view is not None:  # what is made here has no history, then or later
            alias._requires_grad, alias._view.version = False, alias._storage.version
        return alias

    def rebased(self, value: Tensor, number: int, differentiable: bool) -> Tensor:
        """An output that `forward` wrote over one of its inputs."""
        if self.recording and value._requires_grad and value._node is None and value._view is None:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if id(value) not in self.inputs:
            self.complain_about(value)
        if differentiable and value._view is not None:
            writes.check_writable(value, self.mode, True)
            if self.count > 1:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
                    "cannot return more than one Tensor. Make sure the input is not a view (with .clone()), or split "
                    "the Function in two: one that works in place and returns a single Tensor, and one for the rest."
                )
        if id(value) in self.inputs:
            storage = storage_of(value)
            storage.readers = None  # too late for copies
            writes.bump(storage)
        if not differentiable:
            return value
        result = wrap(value._array)
        result._node, result._output_nr, result._requires_grad = self.ctx, number, True
        writes.rebase(value, result)
        return value

    @staticmethod
    def complain_about(value: Tensor) -> None:
        message = (
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
            "should be passed to ctx.mark_dirty()."
        )
        if value._view is not None:
            raise RuntimeError(message)
        warn_user(message)

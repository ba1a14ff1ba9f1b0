"""Custom functions with `generate_vmap_rule`, where tapes or tangents outside the batch follow its values.

The function, run on a whole batch, is one operation to what is outside. Its derivatives there are the function's own
`backward` and `jvp`, run on batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..autograd.function import Function
from ..core.general import payload_of
from ..core.tape import wrap
from ..core.tensor import Tensor
from .arrays.batched import Batched, level_of
from .arrays.batching_rules import is_tensor
from .batched_grad import batch_level
from .custom_transforms import Context, _ForwardContext, outside_batch

if TYPE_CHECKING:
    from ..core.basics.types import Arguments, Result


class _Call:
    """One call of a function on a batch: which arguments are tensors, and which of these differ between examples."""

    def __init__(self, cls: type[Function], args: Arguments, level: int) -> None:
        self.cls: type[Function] = cls
        self.args: list[Any] = list(args)
        self.positions: list[int] = [number for number, value in enumerate(args) if isinstance(value, Tensor)]
        self.payloads: list[Tensor] = []
        self.batched: list[bool] = []
        self.size: int = 0
        for number in self.positions:
            array = args[number]._array
            own = level_of(array) == level
            inside = array.array if own else args[number]
            self.payloads.append(inside if is_tensor(inside) else wrap(inside))
            self.batched.append(own and array.batched)
            self.args[number] = None
            if self.batched[-1]:
                self.size = self.payloads[-1]._array.shape[0]
        self.outputs_batched: list[bool] = []
        self.single: bool = True

    def inputs(self, payloads: Iterable[Tensor | None], level: int) -> Arguments:
        """The arguments, as batches of a level."""
        values = list(self.args)
        for number, inside in zip(self.positions, enter_level(payloads, self.batched, level), strict=True):
            values[number] = inside
        return tuple(values)


def enter_level(payloads: Iterable[Tensor | None], batched: list[bool], level: int) -> list[Tensor | None]:
    """Tensors as batches of a level; None stays None."""
    return [
        None if payload is None else wrap(Batched(payload_of(payload, level), level, flag))
        for payload, flag in zip(payloads, batched, strict=True)
    ]


def leave_level(value: Tensor | None, level: int, size: int, batched: bool) -> Tensor | None:
    """The value inside a batch: with a batch axis if `batched`, else the sum over all examples, which share the value."""
    if value is None:
        return None
    array = value._array
    own = level_of(array) == level
    inside = array.array if own else value
    tensor = inside if is_tensor(inside) else wrap(inside)
    if batched:
        return tensor if own and array.batched else tensor.expand(size, *tensor.shape)
    return tensor.sum(0) if own and array.batched else tensor * size


class _OnBatch(Function):
    """A custom function on a whole batch."""

    generate_vmap_rule: bool = True

    @staticmethod
    def forward(call: _Call, *payloads: Tensor) -> Result:
        with batch_level() as level:
            output = call.cls.forward(*call.inputs(payloads, level))
            call.single = not isinstance(output, tuple)
            outputs = (output,) if call.single else output
            results = tuple(leave_level(part, level, call.size, True) for part in outputs)
            call.outputs_batched = [True] * len(results)
        return results[0] if call.single else results

    @staticmethod
    def setup_context(ctx: Any, inputs: Arguments, output: Result) -> None:
        ctx.call = inputs[0]
        outputs = (output,) if inputs[0].single else output
        ctx.save_for_backward(*inputs[1:], *outputs)
        ctx.save_for_forward(*inputs[1:], *outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        call = ctx.call
        with batch_level() as level:
            inner = _context(call, ctx.saved_tensors, level)
            inner.needs_input_grad = _spread_out(call, ctx.needs_input_grad[1:])
            found = call.cls.backward(inner, *enter_level(gradients, call.outputs_batched, level))
            found = found if isinstance(found, tuple) else (found,)
            answers = [
                leave_level(found[number], level, call.size, flag)
                for number, flag in zip(call.positions, call.batched, strict=True)
            ]
        return None, *answers

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> Result:
        call = ctx.call
        with batch_level() as level:
            inner = _context(call, ctx.saved_tensors, level)
            moving = list(call.args)
            for number, tangent in zip(call.positions, enter_level(tangents, call.batched, level), strict=True):
                moving[number] = tangent
            for number, value in enumerate(moving):
                moving[number] = value if isinstance(value, Tensor) else None
            found = call.cls.jvp(_ForwardContext(inner), *moving)
            found = found if isinstance(found, tuple) else (found,)
            answers = tuple(leave_level(part, level, call.size, True) for part in found)
        return answers[0] if call.single else answers


def _spread_out(call: _Call, needs: tuple[bool, ...]) -> tuple[bool, ...]:
    flags = [False] * len(call.args)
    for number, needed in zip(call.positions, needs, strict=True):
        flags[number] = needed
    return tuple(flags)


def _context(call: _Call, saved: tuple[Tensor | None, ...], level: int) -> Context:
    """The ctx that `setup_context` fills from inputs and outputs, given to it as batches."""
    count = len(call.positions)
    outputs = tuple(enter_level(saved[count:], call.outputs_batched, level))
    return Context(call.cls, call.inputs(saved[:count], level), outputs[0] if call.single else outputs)


def run_on_payloads(cls: type[Function], args: Arguments, level: int, recording: bool) -> Result:
    """Run a function on the values inside batches of a level, where it may be recorded."""
    call = _Call(cls, args, level)
    with outside_batch(level, recording):
        if any(call.batched):
            output = _OnBatch.apply(call, *call.payloads)
        else:  # the same for all examples
            for number, payload in zip(call.positions, call.payloads, strict=True):
                call.args[number] = payload
            output = cls.apply(*call.args)
            call.single = not isinstance(output, tuple)
            call.outputs_batched = [False] * (1 if call.single else len(output))
    results = enter_level((output,) if call.single else output, call.outputs_batched, level)
    return results[0] if call.single else tuple(results)

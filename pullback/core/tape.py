"""The tape: run an operation on the arrays inside tensors, and record a `Node` when somebody will want its gradient.

Every operation goes through `apply`, written once for any number of inputs. What runs for one and two tensors is the same
text with the calls and the loop written out (straightened.py, by tools/straighten.py). Anomaly mode, saved-tensor hooks,
forward mode, inference mode and profiling, views and operations with several results take `general.apply_special`.
Promotion and argument checks belong to `functional/`; views to `views.py`, writes in place to `writes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from ..kernels.order import ordered
from . import seams, views
from .basics.constants import FLOAT32, FLOAT64, doubles, numbers
from .basics.constants import number as constant
from .basics.quiet import quiet
from .basics.storage import Storage
from .mode import current_mode
from .node import Node
from .op import Op
from .recording import record_any
from .tensor import Tensor, wrap

if TYPE_CHECKING:
    from .basics.types import Array, Function, Operand, Operands, Params, Result


def apply(op: Op, inputs: Operands, params: Params | None = None) -> Result:
    """Run `op` on tensors, numbers, arrays or None; record it if grad mode is on and an input requires grad."""
    mode = current_mode()
    if mode.special or not op.plain:
        return seams.apply_special(op, inputs, params, mode)
    arrays = [*inputs]
    mask = 0
    for number, value in enumerate(inputs):
        if isinstance(value, Tensor):
            if value._view is not None:
                views.refresh(value, op)
            if value._requires_grad:
                mask |= 1 << number
            arrays[number] = value._array
    large = op.large_from > 0 and type(arrays[0]) is ndarray and arrays[0].size >= op.large_from
    try:
        if params:
            out = op.forward(*arrays, **params)
        elif large and op.forward_by_blocks:
            out = by_blocks(op.forward, *arrays)
        elif op.reorders and arrays[0].ndim > 1 and not arrays[0].flags.c_contiguous:
            out = op.forward(*arrays)
        else:
            out = op.bare_forward(*arrays)
    except (RuntimeWarning, FloatingPointError):  # somebody made errors of warnings; torch would not have warned
        out = quiet(op.forward)(*arrays, **(params or {}))
    except TypeError as error:  # perhaps an operand is another library's, and one NumPy's
        return seams.apply_together(op, inputs, params, error)
    result = wrap(out)
    if mask and mode.grad:
        kind = out.dtype
        plan = op.ready[mask] if (kind is FLOAT32 or kind is FLOAT64) and not large else None
        if plan is None:
            plan = op.plan_for(mask, len(inputs), out, large)
        if plan is not None:
            result._node = plan.record(out, kind, params, *inputs, *arrays)
            result._requires_grad = True
    return result


def by_blocks(function: Any, *arrays: Array, into: Array | None = None) -> Array:
    """An elementwise function on large arrays, in blocks that fit the cache and on all threads."""
    from ..kernels.large import by_blocks as run  # not part of every program

    if hasattr(function, "is_ordered"):  # the whole is put in order, and not each block
        return ordered(lambda *given: run(function.__wrapped__, *given), function.deciding)(*arrays)
    return run(function, *arrays, into=into)


def apply_unary(op: Op, x: Tensor, params: Params | None = None) -> Result:
    """`apply` for one tensor."""
    return apply(op, (x,), params)


def binary(op: Op, otherwise: Function | None = None, itself: Op | None = None) -> Callable[[Tensor, Operand], Result]:
    """`apply` for an operation of two operands without parameters, as a function of its own.

    The function takes a tensor and anything. It deals with a second tensor of the same real dtype, or a number, in one
    straight line; anything else goes to `otherwise`. For an operand with itself there may be another operation (`x * x`
    saves less).
    """
    carefully: Function = otherwise or (lambda a, b: apply(op, (a, b)))
    itself = itself or op

    def apply_two(a: Operand, b: Operand) -> Result:
        x = a._array
        kind = x.dtype
        if kind is not FLOAT32 and kind is not FLOAT64:
            return carefully(a, b)
        other = type(b)
        if other is Tensor or other is not float and other is not int and isinstance(b, Tensor):
            if b._array.dtype is not kind:
                return carefully(a, b)
        elif other is float or other is int:
            if type(x) is ndarray:
                y = (numbers if kind is FLOAT32 else doubles).get(b)
                b = constant(b, kind) if y is None else y
        else:
            return carefully(a, b)
        chosen = op if a is not b or current_mode().special else itself
        try:
            return apply(chosen, (a, b))
        except ValueError:
            return carefully(a, b)  # which says in torch's words why the operands do not go together

    return apply_two


def needs_gradient(op: Op, inputs: Operands) -> int:
    """The inputs that require grad and can have one, as a bit set."""
    mask = 0
    for position, value in enumerate(inputs):
        if isinstance(value, Tensor):
            if value._view is not None:
                views.refresh(value, op)
            if value._requires_grad:
                mask |= 1 << position
    return mask & op.differentiable_inputs


def record(op: Op, inputs: Operands, params: Params | None, mask: int, result: Tensor, out: Array) -> Node | None:
    """Make the node of a single-output operation and hang it on the result."""
    kind = out.dtype
    if kind.kind not in "fcV" or result._inference:  # integers ('V' is bfloat16), views of inference tensors
        return None
    plan = op.plan_for(mask, len(inputs), out, 0 < op.large_from <= out.size)
    if plan is None:
        return None
    arrays = [value._array if isinstance(value, Tensor) else value for value in inputs]
    result._node = node = plan.record(out, kind, params, *inputs, *arrays)
    result._requires_grad = True
    return node


def make_node(op: Op, inputs: Operands, params: Params | None, mask: int, outs: tuple[Array, ...]) -> Node:
    """The node of one application, with what its rules need saved."""
    out = outs[0]
    plan = op.plan(mask, len(inputs), out.dtype.kind == "c", 0 < op.large_from <= out.size)
    return record_any(plan, outs, params, inputs)


# --- several outputs ---


def finish_many(
    op: Op, inputs: Operands, params: Params | None, outs: Sequence[Array], mask: int
) -> tuple[Tensor, ...]:
    """Wrap and record the results of an operation with several outputs."""
    results = tuple([wrap(out) for out in outs])
    if op.view:
        for number, result in enumerate(results):
            views.link_output(result, inputs[0], op, params, number)
    if mask and results:
        record_many(op, inputs, params, mask, results)
    return results


def record_many(op: Op, inputs: Operands, params: Params | None, mask: int, results: tuple[Tensor, ...]) -> Node:
    """Record an operation with several results."""
    outs = tuple([result._array for result in results])
    node = make_node(op, inputs, params, mask, outs)
    if not op.first_only:
        node.shape = node.dtype = None
        node.outputs = tuple([(out.shape, out.dtype) for out in outs])
        node.general = True
        if node.plan.joint is None:
            node.arrays = None
    storages = None
    for number, result in enumerate(results):
        if outs[number].dtype.kind in "fcV":
            if number and op.first_only:
                continue
            result._node = node
            result._output_nr = number
            result._requires_grad = True
        elif node.plan.keeps_output:  # indices that a rule needs: a later write to them must be seen
            if storages is None:
                storages = node.output_storages = {}
            result._storage = storages[number] = Storage()
    return node


# What runs for one and two tensors: the same functions, with `apply` written out.
from .straightened import apply_unary, binary  # noqa: E402, F401, F811

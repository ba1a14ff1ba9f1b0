"""The tape: run an operation on the arrays inside tensors, and record a `Node` when somebody will want its gradient.

Every operation goes through `apply`. `apply_unary`, and the functions that `binary` makes, do the same for one and two
tensors: they are written out because they are called all the time. In the plain modes (recording, or not) each is a short
straight line; anomaly mode, saved-tensor hooks, forward mode, inference mode and profiling take
`general.apply_special`. Promotion and argument checks belong to `functional/`; views to `views.py`,
writes in place to `writes.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from .. import tensor as _tensor
from ..constants import FLOAT32, FLOAT64, doubles, numbers
from ..constants import number as constant
from ..kernels.order import ordered
from ..quiet import quiet
from ..storage import Storage, add_reader, next_order, storage_of
from ..tensor import Tensor, anchor_of, new_object
from . import views
from .mode import RECORD, current_mode, transform_depth
from .node import Node
from .op import Op

LARGE = 5 << 14  # elements from which elementwise operations may run block by block (`kernels.large.SMALL_BYTES`)
LARGE_FACTOR = 1 << 14  # elements of a factor from which two products may run side by side


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
        return apply_special(op, inputs, params, mode)
    if op.single and isinstance(inputs[0], Tensor):
        return apply_unary(op, inputs[0], params)
    if op.double and not params and isinstance(inputs[0], Tensor) and isinstance(inputs[1], Tensor):
        if op.pair is None:
            op.pair = binary(op, lambda a, b: apply_any(op, (a, b), None, current_mode()))
        return op.pair(*inputs)
    return apply_any(op, inputs, params, mode)


def apply_any(op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, mode: Any) -> Any:
    """`apply` for any number of inputs, views and several results."""
    if op.view:
        inputs[0].memory()  # a view needs memory to look at, not a NumPy scalar
    arrays = []
    mask, bit = 0, 1
    for value in inputs:
        if isinstance(value, Tensor):
            if value._view is not None:
                views.refresh(value)
            if value._requires_grad:
                mask |= bit
            arrays.append(value._array)
        else:
            arrays.append(value)
        bit += bit
    try:
        out = op.forward(*arrays, **params) if params else op.forward(*arrays)
    except (RuntimeWarning, FloatingPointError):  # somebody made errors of warnings; torch would not have warned
        out = quiet(op.forward)(*arrays, **(params or {}))
    mask = mask & op.differentiable_inputs if mode.grad else 0
    if op.outputs != 1:
        return finish_many(op, inputs, params, out, mask)
    result = wrap(out)
    if op.view:
        views.link(result, inputs[0], op, params, mode)
    if mask:
        record(op, inputs, params, mask, result, out)
    return result


def apply_special(op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, mode: Any) -> Any:
    """The function of this name in `general.py`, which takes this place when it is first needed."""
    from . import general

    return general.apply_special(op, inputs, params, mode)


def by_blocks(function: Any, *arrays: Any, into: Any = None) -> Any:
    """An elementwise function on large arrays, in blocks that fit the cache and on all threads."""
    from ..kernels.large import by_blocks as run  # not part of every program

    return run(function, *arrays, into=into)


def apply_unary(op: Op, x: Tensor, params: dict[Any, Any] | None = None) -> Tensor:
    """`apply` for an operation of one tensor that is no view and always differentiable."""
    mode = current_mode()
    if mode.special:
        return apply(op, (x,), params)
    array = x._array
    large = False
    try:
        if params:
            out = op.forward(array, **params)
        elif op.blocked and array.size >= LARGE and type(array) is ndarray:
            out = by_blocks(op.forward, array)
            large = True
        else:
            out = op.forward(array)
    except (RuntimeWarning, FloatingPointError):
        out = quiet(op.forward)(array, **(params or {}))
    result = new_object(Tensor)
    result._array = out
    result._output_nr = 0
    result._view = None
    result._inference = False
    if mode is RECORD:
        if x._view is not None:
            views.refresh(x)
        if x._requires_grad:
            kind = out.dtype
            plan = op.first_plan if kind is FLOAT32 or kind is FLOAT64 else None
            if plan is None or large:
                if kind.kind not in "fcV":  # integer results cannot carry a gradient ('V' is bfloat16)
                    result._node = None
                    result._requires_grad = False
                    return result
                plan = op.plan(1, 1, kind.kind == "c", large)
            node = Node()
            source = x._node
            if source is None:
                anchor = x._anchor
                source = x = anchor_of(x) if anchor is None else anchor
            elif x._output_nr:
                node.slots = (x._output_nr,)
            node.edges = (source,)
            node.plan = plan
            node.order = next_order()
            node.shape = out.shape
            node.dtype = kind
            if params:
                node.params = params
            saving = plan.saving
            if saving == 4:
                node.saved = node.arrays = (out,)
            elif saving == 1:
                node.saved, node.arrays = (x,), (array,)
            elif saving == 0:
                node.saved = node.arrays = ()
            elif saving == 5:
                node.saved = node.arrays = (array.shape,)
            elif saving == 6:
                node.saved, node.arrays = (x, out), (array, out)
            else:
                node.saved, node.arrays = save(plan, (x,), (out,))
            if x._inference and saving != 0:
                refuse_inference()
            result._node = node
            result._requires_grad = True
            return result
    result._node = None
    result._requires_grad = False
    return result


def binary(
    op: Op, otherwise: Callable[..., Any] | None = None, itself: Op | None = None, forward: Any = None
) -> Callable[[Any, Any], Any]:
    """`apply` for an operation of two operands without parameters, as a function of its own.

    The function takes a tensor and anything. It deals with a second tensor of the same real dtype, or a number, in one
    straight line; anything else goes to `otherwise`. For an operand with itself there may be another operation (`x * x`
    saves less), and for plain arrays another `forward`.
    """
    forward = forward or getattr(op.forward, "__wrapped__", op.forward)
    blocked, apart = op.blocked, op.blocked or op.side_by_side
    many = LARGE_FACTOR if op.side_by_side else LARGE
    plans, plans_of_one = op.pair_plans, (itself or op).pair_plans
    spread = blocked or op.kind == "linear"  # sums: their rules are nothing to spread over threads
    carefully: Callable[..., Any] = otherwise or (lambda a, b: apply(op, (a, b)))
    whatever_order = forward  # for operands that need not lie in memory in the order of their dims
    if spread:
        whatever_order = ordered(lambda x, y: by_blocks(forward, x, y) if x.size >= many else forward(x, y))

    def apply_two(a: Any, b: Any) -> Any:
        mode = current_mode()
        if mode.special:
            return carefully(a, b)
        x = a._array
        kind = x.dtype
        if kind is not FLOAT32 and kind is not FLOAT64:
            return carefully(a, b)
        other = type(b)
        if other is Tensor or other is not float and other is not int and isinstance(b, Tensor):
            y = b._array
            if y.dtype is not kind:
                return carefully(a, b)
            if b._view is not None:
                views.refresh(b)
            right = b._requires_grad
        elif other is float or other is int:
            y = b
            if type(x) is ndarray:
                y = (numbers if kind is FLOAT32 else doubles).get(b)
                if y is None:
                    y = constant(b, kind)
            right = False
        else:
            return carefully(a, b)
        large = x.size >= many
        try:
            if other is not float and other is not int and spread and not x.flags.c_contiguous:
                out = whatever_order(x, y)
            else:
                out = by_blocks(forward, x, y) if large and spread else forward(x, y)
        except (RuntimeWarning, FloatingPointError):
            out = quiet(whatever_order)(x, y)
        except ValueError:
            return carefully(a, b)  # which says in torch's words why the operands do not go together
        result = new_object(Tensor)
        result._array = out
        result._output_nr = 0
        result._view = None
        result._inference = False
        if a._view is not None:
            views.refresh(a)
        left = a._requires_grad
        if mode is not RECORD or not (left or right):
            result._node = None
            result._requires_grad = False
            return result
        node = Node()
        same = a is b
        if left:
            plan = plans[1]
            first = a._node
            if first is None:
                anchor = a._anchor
                first = a = anchor_of(a) if anchor is None else anchor
            elif a._output_nr:
                node.slots = (a._output_nr, 0)
        else:
            first = None
        if right:
            plan = plans[2] if first is None else plans[3] if not same else plans_of_one[3]
            second = b._node
            if second is None:
                anchor = b._anchor
                second = b = anchor_of(b) if anchor is None else anchor
            elif b._output_nr:
                node.slots = (a._output_nr if left else 0, b._output_nr)
            node.edges = (first, second)
        else:
            node.edges = (first, None)
        if plan is None or large and apart:
            plan = (op if not same else itself or op).plan(left + 2 * right, 2, large=large and apart)
        node.plan = plan
        node.order = next_order()
        node.shape = out.shape
        node.dtype = kind
        saving = plan.saving
        if saving == 0:
            node.saved = node.arrays = ()
        elif saving == 3:
            node.saved, node.arrays = (b, a), (y, x)
            if a._inference or b._inference:
                refuse_inference()
        elif saving == 2:
            node.saved, node.arrays = (b,), (y,)
            if other is not float and other is not int and b._inference:
                refuse_inference()
        elif saving == 1:
            node.saved, node.arrays = (a,), (x,)
            if a._inference:
                refuse_inference()
        elif saving == 4:
            node.saved = node.arrays = (out,)
        else:
            node.saved, node.arrays = save(plan, (a, b), (out,))
        result._node = node
        result._requires_grad = True
        return result

    return apply_two


def needs_gradient(op: Op, inputs: tuple[Any, ...]) -> int:
    """The inputs that require grad and can have one, as a bit set."""
    mask = 0
    for position, value in enumerate(inputs):
        if isinstance(value, Tensor):
            if value._view is not None:
                views.refresh(value)
            if value._requires_grad:
                mask |= 1 << position
    return mask & op.differentiable_inputs


def record(
    op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, mask: int, result: Tensor, out: Any
) -> Node | None:
    """Make the node of a single-output operation and hang it on the result."""
    kind = out.dtype
    if kind.kind not in "fcV" or result._inference:  # integers ('V' is bfloat16), views of inference tensors
        return None
    result._node = node = make_node(op, inputs, params, mask, (out,))
    node.shape = out.shape
    node.dtype = kind
    result._requires_grad = True
    return node


def make_node(op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, mask: int, outs: tuple[Any, ...]) -> Node:
    """The node of one application, with what its rules need saved."""
    out = outs[0]
    size, letter = out.size, out.dtype.kind
    plan = op.plans.get(mask << 2) if letter == "f" and size < LARGE_FACTOR else None
    if plan is None:
        large = size >= LARGE and op.blocked or size >= LARGE_FACTOR and op.side_by_side
        plan = op.plan(mask, len(inputs), letter == "c", large)
    node = Node()
    node.edges, slots = edges_of(inputs, plan.wanted)
    if slots is not None:
        node.slots = slots
    if plan.saves:
        node.saved, node.arrays = save(plan, inputs, outs)
    else:
        node.saved = node.arrays = ()
    if params:
        node.params = params
    if plan.joint is not None:
        node.general = True
    node.plan = plan
    node.order = next_order()
    node.shape = node.dtype = None
    if op.copies_before_writes:
        read_by(node, inputs)
    return node


def read_by(node: Node, inputs: tuple[Any, ...]) -> None:
    """Let a node have copies of what it saved of these inputs, but for indices, before somebody writes to them."""
    for code in node.plan.saves:
        if type(code) is int and code >= 0:
            value = inputs[code]
            if isinstance(value, Tensor) and value._array.dtype.kind != "i":
                add_reader(value._storage or storage_of(value), node)


def edges_of(inputs: tuple[Any, ...], wanted: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    """Where the cotangents of the wanted inputs go: to the node that made each, or to the anchor of a leaf."""
    edges: list[Any] = [None] * len(inputs)
    slots: list[Any] | None = None
    for position in wanted:
        value = inputs[position]
        node = value._node
        if node is None:
            anchor = value._anchor
            edges[position] = anchor_of(value) if anchor is None else anchor
            continue
        edges[position] = node
        if value._output_nr:
            if slots is None:
                slots = [0] * len(inputs)
            slots[position] = value._output_nr
    return tuple(edges), None if slots is None else tuple(slots)


# --- saving ---


class SavedList(tuple):
    """Several saved values under one name (`arrays`, `outs`, or `extras`: all outputs but the first, or first few)."""


def save(plan: Any, inputs: tuple[Any, ...], outs: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Gather what the rules of `plan` named; the second time as bare arrays, for the engine."""
    saved: list[Any] = []
    arrays: list[Any] = []
    for code in plan.saves:
        if type(code) is int:
            if code < 0:
                value = outs[-1 - code]
            else:
                value = inputs[code]
                if isinstance(value, Tensor):
                    if value._inference:
                        refuse_inference()
                    arrays.append(value._array)
                    saved.append(value if value._node is not None or not value._requires_grad else anchor_of(value))
                    continue
        elif code == "extras":
            value = SavedList(outs[plan.op.extras_from :])
        else:
            value = saved_under_name(code, inputs, outs)
            if code == "arrays":
                arrays.append(tuple([getattr(item, "_array", item) for item in value]))
                saved.append(value)
                continue
        arrays.append(value)
        saved.append(value)
    return tuple(saved), tuple(arrays)


def saved_under_name(code: Any, inputs: tuple[Any, ...], outs: tuple[Any, ...]) -> Any:
    """What a code of a plan that is no number stands for."""
    if type(code) is tuple:
        value = inputs[code[1]]
        return value._array.shape if isinstance(value, Tensor) else shape_of(value)
    if code == "shapes":
        return tuple(shape_of(value) for value in inputs)
    if code == "dtypes":
        return tuple(getattr(getattr(value, "_array", value), "dtype", None) for value in inputs)
    return SavedList(map(kept, inputs) if code == "arrays" else outs)


def kept(value: Any) -> Any:
    """What a graph holds of an input: of a leaf that requires grad, its anchor."""
    if isinstance(value, Tensor) and value._inference:
        refuse_inference()
    if isinstance(value, Tensor) and value._node is None and value._requires_grad:
        return anchor_of(value)
    return value


def shape_of(value: Any) -> tuple[Any, ...]:
    """The shape of a tensor, an array or a number."""
    return getattr(getattr(value, "_array", value), "shape", ())


def refuse_inference() -> None:
    """Raise torch's error about inference tensors in a recorded operation; the graphs of transforms may keep them."""
    if transform_depth.get():
        return
    raise RuntimeError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
        "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
        "`torch.no_grad()` instead of `torch.inference_mode()`."
    )


# --- several outputs ---


def finish_many(
    op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, outs: Any, mask: int
) -> tuple[Any, ...]:
    """Wrap and record the results of an operation with several outputs."""
    results = tuple([wrap(out) for out in outs])
    if op.view:
        for number, result in enumerate(results):
            views.link_output(result, inputs[0], op, params, number)
    if mask and results:  # what is unbound from no rows is nothing
        record_many(op, inputs, params, mask, results)
    return results


def record_many(
    op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, mask: int, results: tuple[Any, ...]
) -> Node:
    """Record an operation with several results."""
    outs = tuple([result._array for result in results])
    node = make_node(op, inputs, params, mask, outs)
    if op.first_only:
        node.shape, node.dtype = outs[0].shape, outs[0].dtype
    else:
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


_tensor._apply = apply

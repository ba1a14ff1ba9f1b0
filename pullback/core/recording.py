"""Making the node of one application: where cotangents go next, and what the rules need saved.

`make_recorder` writes a function for each plan, of straight lines that do just this; plans that need the same share it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .basics.storage import add_reader, next_order, storage_of
from .mode import transform_depth
from .node import Node, fill
from .tensor import Tensor, anchor_of

if TYPE_CHECKING:
    from .basics.types import Array, Edge, Edges, Function, Operand, Operands, Params, SaveCode, Saved, Shape, Slots
    from .op import Op
    from .plan import Plan


def make_recorder(plan: Plan, count: int) -> Function:
    """The function `record(out, dtype, params, *inputs, *arrays)` that makes the node of one application."""
    unusual = plan.op.outputs != 1 or plan.op.rare.copies_before_writes
    if unusual or count > 4 or any(type(code) is str for code in plan.saves):
        return lambda out, dtype, params, *given: record_any(plan, (out,), params, given[:count])
    return _write_recorder(count, plan.needs, plan.saves)(plan)


def record_any(plan: Plan, outs: tuple[Array, ...], params: Params | None, inputs: Operands) -> Node:
    """The node of one application of any operation."""
    edges, slots = edges_of(inputs, plan.wanted)
    saved, arrays = save(plan, inputs, outs) if plan.saves else ((), ())
    out = outs[0]
    node = fill(Node(), plan, edges, slots, saved, arrays, params or None, out.shape, out.dtype)
    if plan.op.rare.copies_before_writes:
        read_by(node, inputs)
    return node


def read_by(node: Node, inputs: Operands) -> None:
    """Let a node have copies of what it saved of these inputs, but for indices, before somebody writes to them."""
    for code in node.plan.saves:
        if type(code) is int and code >= 0:
            value = inputs[code]
            if isinstance(value, Tensor) and value._array.dtype.kind != "i":
                add_reader(value._storage or storage_of(value), node)


@cache
def _write_recorder(count: int, needs: tuple[bool, ...], saves: tuple[SaveCode, ...]) -> Function:
    places = range(count)
    inputs, arrays = [f"x{i}" for i in places], [f"a{i}" for i in places]
    lines = [f"def record({', '.join(['out', 'dtype', 'params', *inputs, *arrays])}):", "    slots = None"]
    for i in places:
        if needs[i]:
            lines += [
                f"    e{i} = x{i}._node",
                f"    if e{i} is None:  # a leaf: graphs know it by its anchor",
                f"        e{i} = x{i}._anchor",
                f"        x{i} = e{i} = anchor_of(x{i}) if e{i} is None else e{i}",
                f"    elif x{i}._output_nr:",
                f"        slots = slots_of(({', '.join(inputs)},), plan.wanted)",
            ]
        elif i in saves:
            lines += [f"    if x{i} is not a{i} and x{i}._requires_grad: x{i} = anchor_or_self(x{i})"]
    tensors = [code for code in saves if type(code) is int and code >= 0]
    if tensors:
        asked = " or ".join(
            [f"x{i}._inference" if needs[i] else f"x{i} is not a{i} and x{i}._inference" for i in tensors]
        )
        lines += [f"    if {asked}: refuse_inference()"]

    def found(code: SaveCode, values: str) -> str:
        if type(code) is tuple:
            return f"a{code[1]}.shape" if needs[code[1]] else f"shape_of(x{code[1]})"
        return "out" if code < 0 else f"{values}{code}"

    edges = "".join([f"e{i}, " if needs[i] else "None, " for i in places])
    saved, held = ["".join([f"{found(code, values)}, " for code in saves]) for values in "xa"]
    lines += [
        f"    saved = arrays = ({saved})" if saved == held else f"    saved, arrays = ({saved}), ({held})",
        "    node = Node()",
        *[f"    node.{field} = {field}" for field in ("plan", "slots", "saved", "arrays", "params", "dtype")],
        f"    node.edges, node.shape, node.general, node.order = ({edges}), out.shape, False, next_order()",
        "    return node",
    ]
    text = "\n".join(["def make(plan):", *["    " + line for line in lines], "    return record"])
    names: dict[str, Any] = {
        function.__name__: function
        for function in (Node, anchor_of, anchor_or_self, refuse_inference, shape_of, slots_of)
    }
    made: dict[str, Any] = {}
    exec(text, names | {"next_order": next_order}, made)
    return made["make"]


def slots_of(inputs: Operands, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Which outputs of their nodes the wanted inputs are."""
    return tuple([value._output_nr if number in wanted else 0 for number, value in enumerate(inputs)])


def edges_of(inputs: Operands, wanted: tuple[int, ...]) -> tuple[Edges, Slots | None]:
    """Where the cotangents of the wanted inputs go: to the node that made each, or to the anchor of a leaf."""
    edges: list[Edge] = [None] * len(inputs)
    slots: list[int] | None = None
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


class SavedList(tuple[Any, ...]):
    """Several saved values under one name (`arrays`, `outs`, or `extras`: all outputs but the first, or first few)."""


def save(plan: Plan, inputs: Operands, outs: tuple[Array, ...]) -> tuple[Saved, Saved]:
    """Gather what the rules of `plan` named; the second time as bare arrays, for the engine."""
    saved: list[Operand] = []
    arrays: list[Array] = []
    for code in plan.saves:
        value = array = value_of(code, plan.op, inputs, outs)
        if type(code) is int and code >= 0:
            array = getattr(value, "_array", value)
            value = anchor_or_self(value)
        elif code == "arrays":
            array = tuple([getattr(item, "_array", item) for item in value])
            value = SavedList(map(anchor_or_self, value))
        elif code in ("outs", "extras"):
            value = array = SavedList(value)
        saved.append(value)
        arrays.append(array)
    return tuple(saved), tuple(arrays)


def value_of(code: SaveCode, op: Op, inputs: Operands, outs: tuple[Array, ...]) -> Operand:
    """The value that a code of `Plan.saves` stands for in one application of an operation (see `Op.save_code`)."""
    if type(code) is int:
        return inputs[code] if code >= 0 else outs[-1 - code]
    if type(code) is tuple:
        return shape_of(inputs[code[1]])
    if code == "shapes":
        return tuple([shape_of(value) for value in inputs])
    if code == "dtypes":
        return tuple([getattr(getattr(value, "_array", value), "dtype", None) for value in inputs])
    return inputs if code == "arrays" else outs[op.rare.extras_from :] if code == "extras" else outs


def anchor_or_self(value: Operand) -> Operand:
    """The object that a graph keeps for an input: for a leaf that requires grad its anchor, else the input itself."""
    if isinstance(value, Tensor) and value._inference:
        refuse_inference()
    if isinstance(value, Tensor) and value._node is None and value._requires_grad:
        return anchor_of(value)
    return value


def shape_of(value: Operand) -> Shape:
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

"""Run a backward pass under observation, and write down what every operation got and gave.

The pass is the engine's own with one step replaced: no hooks run, nothing is freed and nothing is written to `.grad`.
The state of the random generator is put back in case a custom function or a checkpoint draws from it. How much each
element of the loss contributed is in `contributions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.basics.quiet import restore, silence, warning_settings
from ..core.cotangents import metadata_of
from ..core.engine import Sweep
from ..core.mode import current_mode, set_mode
from ..core.node import FREED, Node
from ..core.recording import SavedList
from ..core.roots import _as_tuple
from ..core.saved import SavedTensor, arrays_of
from ..core.tensor import Anchor, Tensor
from .names import Names, infer_modules, line_of, parent
from .records import Arrow, Leaf, Operation, Saved, measure
from .rules import describe_rule, is_square, rule_texts

Watch = Callable[[Node, list[Any], Any, Any, list[Any]], None]


class ObservedSweep(Sweep):
    """A backward pass that tells `watch(node, arrived, cotangent, values, sent)` about each step and touches nothing."""

    plain: bool = False  # every node takes `step`

    def __init__(self, roots: list[Any], watch: Watch | None = None) -> None:
        super().__init__(roots)
        self.watch: Watch | None = watch

    def step(self, node: Node, cotangent: Any) -> None:
        incoming = list(cotangent) if node.outputs is not None else [cotangent]
        if node.outputs is not None:
            cotangent = self.fill_missing(node, cotangent)
        # some saved values can be unpacked once only
        values = () if node.op is None else arrays_of(node)
        results = self.call_rules(node, cotangent) if node.op is None else self.run_rules(node, cotangent, values)
        sent: list = []
        for position, target in enumerate(node.edges):
            gradient = results[position]
            if target is None or gradient is None:
                sent.append(None)
                continue
            slot = 0 if node.slots is None else node.slots[position]
            gradient = gradient._array if isinstance(gradient, Tensor) else gradient
            gradient = self.unbroadcast(gradient, *metadata_of(target, slot))
            sent.append(gradient)
            if target.is_node:
                self.deliver(target, slot, gradient)
            else:
                self.deliver_leaf(target, gradient, False)
        self.executed.append(node)
        if self.watch is not None:
            self.watch(node, incoming, cotangent, values, sent)


def tensors_of(loss: Any) -> tuple:
    """The tensors to start from."""
    if isinstance(loss, (int, float, complex, np.ndarray, np.generic)):
        raise TypeError(
            f"There is no graph behind a {type(loss).__name__}: give the tensor itself, before .item() or .numpy()."
        )
    return _as_tuple(loss)


@contextmanager
def without_side_effects() -> Iterator[None]:
    """Return a context without recording or warnings, after which the random generator is as it was before."""
    from ..random import get_rng_state, set_rng_state

    state, mode = get_rng_state(), current_mode()
    set_mode(mode.replace(grad=False, inference=False, anomaly=None, profiler=None, dispatch=()))
    settings = warning_settings()
    try:
        silence()
        yield
    finally:
        restore(settings)
        set_mode(mode)
        set_rng_state(state)


def observe(roots: list[Any], cotangents: list[Any], watch: Callable[..., Any] | None = None) -> dict[Any, Any]:
    """Run one pass; the gradients that arrived at leaves."""
    sweep = ObservedSweep(roots, watch)
    try:
        sweep.run(cotangents)
    except RuntimeError as error:
        if "second time" in str(error):
            error.add_note("An explanation needs the graph: ask for it before backward(), or use retain_graph=True.")
        raise
    return sweep.leaves


class Collection:
    """The graph under a set of roots, numbered, with records of every operation and leaf."""

    def __init__(self, roots: list[Any], names: Names) -> None:
        self.roots: list[Any] = roots  # [(node or anchor, output number)]
        self.names: Names = names
        self.keys: dict[Any, str] = {}
        self.operations: list[Operation] = []
        self.nodes: list[Node] = []  # aligned with operations
        self.anchors: list[Anchor] = []
        self.leaves: list[Leaf] = []
        self.rules: dict[Node, list[str]] = {}  # what is sent to each input, as a formula
        self.work: int = 0  # elements of all cotangents of one pass
        self._walk()

    def _walk(self) -> None:
        """Number the operations in the order a pass runs them, and the leaves as they are met."""
        seen: set = set()
        stack = [target for target, _ in self.roots]
        while stack:
            target = stack.pop()
            if target is None or target in seen:
                continue
            seen.add(target)
            if target.is_node:
                self.nodes.append(target)
                stack.extend(target.edges)
        self.nodes.sort(key=lambda node: -node.order)
        for position, node in enumerate(self.nodes):
            self.keys[node] = f"op{position + 1}"
        for target in [target for target, _ in self.roots] + [edge for node in self.nodes for edge in node.edges]:
            if target is not None and not target.is_node and target not in self.keys:
                self.anchors.append(target)
                self.keys[target] = f"leaf{len(self.anchors)}"

    def run(self, cotangents: list[Any]) -> None:
        """Fill the records from one pass with these cotangents."""
        seen: dict[Node, tuple[list, list]] = {}

        def watch(node: Node, incoming: list, cotangent: Any, values: Any, sent: list) -> None:
            self.rules[node] = rule_texts(node, cotangent, values, sent, self._called(node))
            self.work += sum(getattr(part, "size", 0) for part in (*incoming, *sent) if part is not None)
            seen[node] = (
                [None if part is None else measure(part) for part in incoming],
                [None if part is None else measure(part) for part in sent],
            )

        totals = observe(self.roots, cotangents, watch)
        for position, node in enumerate(self.nodes):
            incoming, sent = seen.get(node, ([None] * len(outputs_of(node)), [None] * len(node.edges)))
            self.operations.append(self._operation(position + 1, node, incoming, sent))
        used: dict[str, int] = {}
        for position, anchor in enumerate(self.anchors):
            name = self.names.leaf(anchor) or f"leaf {position + 1}"
            used[name] = used.get(name, 0) + 1
            if used[name] > 1:
                name = f"{name} ({used[name]})"
            total = totals.get(anchor)
            total = None if total is None else np.array(total)
            flow = None if total is None else measure(total)
            array = anchor._array
            self.leaves.append(Leaf(self.keys[anchor], name, array.shape, str(array.dtype), total, flow))
        self._modules()

    def _operation(self, number: int, node: Node, incoming: list, sent: list) -> Operation:
        inputs = input_names(node)
        rules = self.rules.get(node) or [describe_rule(node)] * len(node.edges)
        arrows, constants = [], []
        for position, target in enumerate(node.edges):
            if target is None:
                constants.append(inputs[position])
                continue
            if is_square(node) and position:  # x * x: one rule sends what both operands get
                continue
            arrows.append(Arrow(inputs[position], self.keys[target], rules[position], sent[position]))
        variable = next(
            (name for slot in range(len(incoming)) if (name := self.names.results.get((id(node), slot)))), None
        )
        return Operation(
            self.keys[node], number, node.name(), title_of(node), variable, outputs_of(node), incoming, arrows,
            constants, saved_by(node), line_of(node),
        )  # fmt: skip

    def _called(self, node: Node) -> dict[str, str]:
        """Return the users' names of an operation's inputs and of its result, by the names its rules have for them."""
        found = {}
        slots = node.slots or (0,) * len(node.edges)
        for name, target, slot in zip(input_names(node), node.edges, slots, strict=True):
            if target is not None:
                called = self.names.results.get((id(target), slot)) if target.is_node else self.names.leaf(target)
                found[name] = called or name
        return found | {"out": self.names.results.get((id(node), 0), "out")}

    def _modules(self) -> None:
        by_key = {leaf.key: leaf for leaf in self.leaves}
        forward = list(zip(reversed(self.operations), reversed(self.nodes), strict=True))
        recorded = [(node.notes or {}).get("metadata", {}).get("module") for _, node in forward]
        touched = [{by_key[a.target].name for a in op.arrows if a.target in by_key} for op, _ in forward]
        prefix = _prefix(recorded, touched)
        recorded = [None if module is None else f"{prefix}{module}".rstrip(".") for module in recorded]
        for (operation, _), module in zip(forward, infer_modules(recorded, touched), strict=True):
            operation.module = module
        for leaf in self.leaves:
            leaf.module = parent(leaf.name)


def _prefix(recorded: list, touched: list[set[str]]) -> str:
    """Return the caller's name of a model, to stand before the module paths recorded below it: `model.` or nothing."""
    found = set()
    for module, parameters in zip(recorded, touched, strict=True):
        for name in parameters:
            if module and (parent(name) == module or parent(name).endswith(f".{module}")):
                found.add(parent(name)[: -len(module)])
    return found.pop() if len(found) == 1 else ""


# --- parts of a node -------------------------------------------------------------------------------------------------


def outputs_of(node: Node) -> list[tuple[tuple[int, ...], str]]:
    if node.outputs is not None:
        return [(tuple(shape), str(dtype)) for shape, dtype in node.outputs]
    return [(tuple(node.shape), str(node.dtype))]


def title_of(node: Node) -> str:
    """`mul` for MulBackward0; what the user called, where the operation says that it is called otherwise."""
    if node.op is not None and node.op.rare.title is not None:
        return str(node.op.rare.title)
    name = node.name().rpartition("::")[2]
    base = (name.partition("Backward")[0] or name).removeprefix("Native")
    return "".join(
        ("_" if c.isupper() and i and not base[i - 1].isupper() else "") + c.lower() for i, c in enumerate(base)
    )


def input_names(node: Node) -> list[str]:
    names = list(node.op.inputs) if node.op is not None else []
    if node.op is not None and (node.op.variadic or not names):
        names = []
    return names + [f"input {position}" for position in range(len(names), len(node.edges))]


def saved_by(node: Node) -> list[Saved]:
    """Describe the arrays that a node keeps, by the names its rules use."""
    kept: list[Saved] = []
    for name, value in saved_values(node):
        array = array_of(value)
        if array is not None:
            kept.append(Saved(name, tuple(array.shape), str(array.dtype), int(array.nbytes)))
    return kept


def saved_values(node: Node) -> list[tuple[str, Any]]:
    """Every saved value with its name."""
    if node.saved is FREED:
        return []
    saves = node.plan.saves if node.op is not None else ()
    values: list[tuple[str, Any]] = []
    for position, value in enumerate(node.saved):
        code = saves[position] if position < len(saves) else None
        name = f"saved {position}"
        if type(code) is int:
            name = "out" if code < 0 else (node.op.inputs[code] if code < len(node.op.inputs) else f"input {code}")
        elif type(code) is str:
            name = code
        values += _items(name, value)
    return values


def _items(name: str, value: Any) -> list[tuple[str, Any]]:
    if type(value) is SavedList:
        return [(f"{name}[{position}]", item) for position, item in enumerate(value)]
    return [(name, value)]


def array_of(value: Any) -> Any:
    """The array behind a saved value, without running unpack hooks; None where there is none."""
    if type(value) is SavedTensor:
        value = value.packed
    elif hasattr(value, "array") and not isinstance(value, (Tensor, np.ndarray)):
        value = value.array
    elif hasattr(value, "tensor") and not isinstance(value, Tensor):
        value = value.tensor
    if isinstance(value, Tensor):
        value = value._array
    return value if isinstance(value, (np.ndarray, np.generic)) else None

"""The engine: carry cotangents from roots back to leaves.

One sweep, iterative, latest operation first: a node's order number is larger than that of everything it was computed
from, so when the latest waiting node is taken, all its cotangents have arrived. Cotangents are bare arrays in an
ordinary pass and tensors in a recorded one (`create_graph=True`); the rules do not know the difference.

A pass is all or nothing: gradients of leaves are collected on the side and written in one uninterruptible step at the
end (`accumulate.py`), and saved values are freed only then, so a pass that failed can be run again. Leaves with a
post-accumulate hook are the exception: theirs is written, and the hook called, as soon as it is final.
"""

from __future__ import annotations

import operator
from contextvars import ContextVar
from heapq import heappop, heappush
from itertools import repeat
from typing import TYPE_CHECKING, Any

from numpy import add, ndarray

from ..kernels.memory import is_own
from ..kernels.thresholds import MAYBE_BLOCKED
from . import seams
from .accumulate import commit
from .basics.quiet import restore, silence, warning_settings
from .basics.storage import clock
from .cotangents import UNDEFINED, deliver_slot, run_joint, with_zeros
from .hooks import run_accumulated, run_after, run_before, run_leaf_hooks, run_pre_hooks
from .large_cotangents import sum_by_blocks
from .mode import IN_RULES, NO_GRAD, RECORD, current_mode, set_mode
from .mostly_zeros import Picked, Placed
from .node import FREED, Node
from .reach import nodes_leading_to
from .saved import arrays_of, tensors_of
from .tape import by_blocks, wrap
from .tensor import Anchor, Tensor
from .unbroadcast import unbroadcast_array, unbroadcast_tensor, zeros_array, zeros_tensor

if TYPE_CHECKING:
    from .basics.types import Array, Cotangent, DType, Edge, Function, Gradient, Operand, Reach, Root, Values

FIRST: Any = repeat(0)  # the numbers of outputs, where there is but one


class Sweep:
    """One backward pass and its bookkeeping."""

    # Class-level defaults: a plain pass sets almost none of these.
    record: bool = False  # cotangents are tensors and the pass itself is recorded
    reach: Reach | None = None  # where cotangents are worth sending; None: everywhere
    everywhere: bool = True  # whether that is all there is
    run_only: set[Node] | None = None  # nodes that need to run; None: all
    captures: set[Root] | None = None  # (node, output number) whose cotangents are asked for
    accumulating: bool = True  # gradients of leaves go to `.grad` (`backward`), not to the caller (`grad`)
    arrivals: Any = None  # cotangents each leaf still waits for, if any has hooks
    reached: dict[Edge, int] | None = None
    anomaly: Any = None
    profiler: Any = None
    plain: bool = True  # no captures, nobody watches: nodes may take the short path
    safe: bool = False  # rules run on tensors, on which zero is absolute
    callbacks: list[Function] | None = None  # to call when everything else is done
    place: Edge = None  # the node or leaf at work, while functions of the program may ask
    retain: bool = False  # whether the graph is kept
    number: int = -1  # of those that were asked for theirs
    level: int = 0  # of the batches that the cotangents are, in a pass for many of them
    ordinary: bool = True  # nothing has happened that a written-out pass does not do
    switched: bool = False  # whether the mode has been set to the pass's own, which bare arrays do not need
    unbroadcast: Function = staticmethod(unbroadcast_array)
    zeros: Function = staticmethod(zeros_array)

    def __init__(self, roots: list[Root]) -> None:
        self.roots: list[Root] = roots  # [(node or anchor, output number)]
        self.cotangents: dict[Node, Cotangent] = {}  # what has arrived at each waiting node
        self.heap: list[tuple[int, Node]] = []
        self.leaves: dict[Anchor, Gradient] = {}  # what has arrived at each leaf
        self.owned: dict[Anchor, Array] = {}  # of these, what nobody else refers to
        self.executed: list[Node] = []
        self.placed: set[Node] = set()  # where an array of our own waits that selections may write into

    def recorded(self) -> Sweep:
        """The same pass on tensors, for derivatives of derivatives."""
        self.record, self.unbroadcast, self.zeros = True, unbroadcast_tensor, zeros_tensor
        return self

    def towards(self, inputs: list[Root], accumulating: bool) -> Sweep:
        """The same pass, only as far as it leads to these (node or anchor, output number)."""
        self.reach, self.run_only, self.everywhere = nodes_leading_to(self.roots, {key[0] for key in inputs})
        self.accumulating = accumulating
        if accumulating:  # what `backward` was pointed at runs itself, with its hooks
            self.run_only |= {key[0] for key in inputs if key[0].is_node}
        else:
            self.captures = {key for key in inputs if key[0].is_node}
            self.captured: dict[Root, Cotangent] = {}
            self.plain = not self.captures
        return self

    def run(self, cotangents: list[Cotangent]) -> dict[Anchor, Gradient]:
        """Walk the graph from the roots, latest node first, until nothing waits; what has arrived at leaves."""
        for (target, slot), cotangent in zip(self.roots, cotangents, strict=True):
            if target.is_node:
                self.deliver(target, slot, cotangent)
            elif self.reach is None or target in self.reach:  # a leaf may be a root that was not asked for
                self.deliver_leaf(target, cotangent, False)
        self.plain = self.plain and not self.record
        run_waiting(self)
        return self.leaves if self.arrivals is None else self.finish()

    def call(self, place: Edge, function: Function, *given: Any) -> Any:
        """Call what may lead to functions of the program, which can ask what pass is running, and where it is."""
        outer, before = _running.get(), self.place
        try:  # Ctrl-C may come as soon as a call has returned: nothing is set outside of here
            _running.set(self)
            self.place = place
            return function(*given)
        finally:
            _running.set(outer)
            self.place = before

    def step(self, node: Node, cotangent: Cotangent) -> None:
        """Run one node, whatever it is: with several outputs, hooks, captures, in anomaly mode, in a recorded pass."""
        if node.hooks is not None or node.plan.op is None:
            self.prepare_for_programs()
        if cotangent is UNDEFINED:
            cotangent = None
        runs = self.run_only is None or node in self.run_only
        if runs:  # as in torch: of a node on the way to another input, what came before its hooks
            self.capture(node, cotangent)
        cotangent = cotangent if node.hooks is None else run_before(self, node, cotangent)
        if not runs:
            self.capture(node, cotangent)
            return
        observed = node.hooks is not None and bool(node.hooks.post)  # not by hooks that are registered meanwhile
        cotangent = self.with_missing_parts(
            node, cotangent if node.hooks is None else run_pre_hooks(self, node, cotangent)
        )
        results = self.gradients(node, cotangent)
        if node.hooks is not None and node.hooks.post:
            results = run_after(self, node, results, cotangent if observed else None)
        self.send(node, results, cotangent)

    def prepare_for_programs(self) -> None:
        """A program's own functions are about to be called (hooks, custom backwards): they are not to be recorded."""
        self.ordinary = False
        if not self.switched:
            self.switched = True
            if current_mode() is RECORD:
                set_mode(NO_GRAD)

    def with_missing_parts(self, node: Node, cotangent: Cotangent) -> Cotangent:
        """The cotangent that rules are given: with zeros for outputs that nothing came from; None where nothing came."""
        if node.outputs is None:
            return cotangent
        if node.op is not None and all([part is None for part in cotangent]):
            return None
        return self.fill_missing(node, cotangent)

    def send(self, node: Node, results: list[Gradient], cotangent: Cotangent) -> None:
        """Send what a node's rules gave along its edges."""
        slots = node.slots
        for position, target in enumerate(node.edges):
            if target is None or self.reach is not None and target not in self.reach:
                continue
            gradient = results[position]
            if gradient is None:
                self.skip(target)
            elif target.order:
                self.deliver(target, 0 if slots is None else slots[position], gradient)
            else:
                ours = target not in self.leaves and self.is_fresh(node, gradient, results, cotangent)
                self.deliver_leaf(target, gradient, ours)
        self.executed.append(node)

    def skip(self, target: Edge) -> None:
        """A rule had no gradient for this node or leaf."""
        self.ordinary = False
        if target.is_node:
            self.deliver_nothing(target)
        elif self.arrivals is not None:
            self.count_arrival(target)

    def is_fresh(self, node: Node, gradient: Gradient, results: list[Gradient], cotangent: Cotangent) -> bool:
        """Return True if an operation's rule made this array for one input alone: then it can become a `.grad` as it is."""
        if node.op is None or self.record or gradient is cotangent or node.hooks is not None:
            return False  # custom functions and hooks may keep what they return
        if type(cotangent) is tuple and any([gradient is part for part in cotangent]):
            return False
        return sum([other is gradient for other in results]) == 1

    def gradients(self, node: Node, cotangent: Cotangent) -> list[Gradient]:
        """The gradients for all inputs of a node, aligned with its edges; None for each where nothing has arrived."""
        if cotangent is None:
            return [None] * len(node.edges)
        if self.anomaly is not None:
            from ..autograd.anomaly_mode import watched

            return watched(self, node, cotangent)
        if self.profiler is not None:
            with self.profiler.node(node.name()) as event:
                results = self.call_rules(node, cotangent)
                self.profiler.note_results(event, results)
                return results
        return self.call_rules(node, cotangent)

    def call_rules(self, node: Node, cotangent: Cotangent) -> list[Gradient]:
        """Run the rules of one node; return the gradient for each of its edges."""
        if node.op is None:
            return node.run(self, cotangent)  # type: ignore[attr-defined]  # a custom function
        if self.safe and not self.record:
            from ..transforms.safe_mode import call_rules_on_tensors

            return call_rules_on_tensors(self, node, cotangent)
        return self.run_rules(node, cotangent, tensors_of(node) if self.record else arrays_of(node))

    def run_rules(self, node: Node, cotangent: Cotangent, values: Values) -> list[Gradient]:
        """The same, from what the node has saved."""
        plan, params, edges = node.plan, node.params, node.edges
        reach = self.reach
        if plan.joint is not None:
            return run_joint(node, cotangent, values, reach)
        results = [None] * len(edges)
        for call in plan.calls:
            if reach is None or edges[call.position] in reach:
                results[call.position] = call.run(cotangent, values, params)
        return results

    def deliver(self, target: Node, slot: int, gradient: Gradient) -> None:
        """Add a cotangent to what waits at a node."""
        waiting = self.cotangents
        if target.outputs is not None:
            if gradient is UNDEFINED:
                self.skip(target)
            else:
                gradient = gradient.dense() if type(gradient) is Placed else gradient
                deliver_slot(target, slot, gradient, waiting, self.heap, self.unbroadcast)
            return
        if gradient.shape != target.shape or gradient.dtype is not target.dtype:
            if type(gradient) is Placed:
                gradient = gradient.into(target, waiting, self.placed)
            elif gradient is UNDEFINED:
                self.skip(target)
                return
            elif type(gradient) is not Picked or not self.takes_picked(target):
                gradient = self.unbroadcast(gradient, target.shape, target.dtype)
        present = waiting.pop(target, None)
        if present is None:
            waiting[target] = gradient
            heappush(self.heap, (-target.order, target))
        elif gradient is not None:
            waiting[target] = sum_by_blocks(present, gradient)
        else:
            waiting[target] = present  # into which it was added

    def takes_picked(self, target: Node) -> bool:
        """Return True if a node can go on with the few values of a cotangent that is zero nearly everywhere."""
        return self.plain and target.hooks is None and target.plan.op.rare.takes_picked

    def deliver_nothing(self, target: Node) -> None:
        """No gradient goes this way: operations pass that on; hooks and custom functions run all the same, as in torch."""
        seen = {target}
        stack = [target]
        while stack:
            node = stack.pop()
            if node.op is None or node.hooks is not None:
                if node not in self.cotangents:
                    self.cotangents[node] = UNDEFINED if node.outputs is None else [None] * len(node.outputs)
                    heappush(self.heap, (-node.order, node))
                continue
            for edge in node.edges:
                if (
                    edge is not None
                    and edge.is_node
                    and edge not in seen
                    and (self.reach is None or edge in self.reach)
                ):
                    seen.add(edge)
                    stack.append(edge)

    def deliver_leaf(self, leaf: Anchor, gradient: Gradient, fresh: bool) -> None:
        """Add a gradient to what is collected for a leaf. `fresh`: nobody else knows this array."""
        leaves, owned, array = self.leaves, self.owned, leaf._array
        if gradient.shape != array.shape or gradient.dtype is not array.dtype:
            if gradient is UNDEFINED:
                self.skip(leaf)
                return
            if type(gradient) is Placed:
                gradient, fresh = gradient.into_leaf(leaf, self), True
                if gradient is None:
                    return
            fitted = self.unbroadcast(gradient, array.shape, self.dtype_at(leaf, gradient))
            gradient, fresh = fitted, fresh or fitted is not gradient
        present = leaves.get(leaf)
        if present is None:
            leaves[leaf] = gradient
            if fresh and not self.record and (gradient.base is None or is_own(gradient)):
                owned[leaf] = gradient
        elif leaf in owned and type(present) is ndarray is type(gradient) and present.dtype is gradient.dtype:
            if gradient.size >= MAYBE_BLOCKED:
                leaves[leaf] = owned[leaf] = by_blocks(add, present, gradient, into=present)
            else:
                add(present, gradient, present)
        else:
            leaves[leaf] = owned[leaf] = present + gradient
        if self.arrivals is not None:
            self.count_arrival(leaf)

    def dtype_at(self, leaf: Anchor, gradient: Gradient) -> DType:
        """The dtype that a leaf collects gradients in: its own, unless it asked for another, which `commit` settles."""
        if gradient.dtype is leaf._array.dtype:
            return gradient.dtype
        owner = leaf._owner()
        self.ordinary = False
        return gradient.dtype if owner is not None and owner._grad_dtype is not False else leaf._array.dtype

    def fill_missing(self, node: Node, parts: list[Cotangent]) -> tuple[Cotangent, ...]:
        """Zeros for the outputs of a node that nothing was computed from."""
        return with_zeros(node, parts, self.zeros)

    def capture(self, node: Node, cotangent: Cotangent) -> None:
        """Keep the cotangents that somebody asked for by name."""
        if not self.captures:
            return
        for slot, part in enumerate(cotangent if node.outputs is not None else (cotangent,)):
            if part is not None and (node, slot) in self.captures:
                self.captured[node, slot] = part

    # --- leaves with hooks ---

    def count_arrivals(self) -> None:
        """Count the cotangents each leaf will get, so that hooks run when the last one is in."""
        arrivals = {target: count for target, count in self.count_visits().items() if not target.is_node}
        if any(leaf._hooks is not None for leaf in arrivals):
            self.arrivals = arrivals

    def count_visits(self) -> dict[Edge, int]:
        """Everything this pass can reach, with the number of edges that lead there."""
        counts: dict[Edge, int] = {}
        stack = []

        def visit(target: Edge) -> None:
            seen = counts.get(target, 0)
            counts[target] = seen + 1
            if target.is_node and not seen and (self.run_only is None or target in self.run_only):
                stack.append(target)

        for target, _ in self.roots:
            if target.is_node or self.reach is None or target in self.reach:
                visit(target)
        while stack:
            node = stack.pop()
            for target in node.edges if node.general else node.plan.edges_with_rules(node):
                if target is not None and (self.reach is None or target in self.reach):
                    visit(target)
        return counts

    def reachable(self) -> dict[Edge, int]:
        """How often each node and leaf will be visited, counted once."""
        if self.reached is None:
            self.reached = self.count_visits()
        return self.reached

    def count_arrival(self, leaf: Edge) -> None:
        """Count an arrival at a leaf; the last one completes a leaf with hooks."""
        if leaf.is_node:
            return
        self.arrivals[leaf] -= 1
        if self.arrivals[leaf] == 0 and leaf._hooks is not None:
            self.call(leaf, self.finish_leaf, leaf)

    def finish_leaf(self, leaf: Anchor) -> None:
        """The gradient of a hooked leaf is complete: run its hooks, and write it now if somebody waits for that.

        If none has arrived, hooks are told so, as in torch.
        """
        hooks = leaf._hooks
        gradient = run_leaf_hooks(self, hooks, self.leaves.pop(leaf, None))
        self.owned.pop(leaf, None)
        if gradient is not None:
            self.leaves[leaf] = gradient
        if not self.accumulating or not (hooks.accumulated or hooks.post):
            return
        owner = leaf.owner()
        if owner is None and hooks.accumulated:
            from ..autograd.graph import revived

            owner = revived(leaf)  # the program let go of it, but not of its hooks
        first = owner is not None and owner._grad is None
        if gradient is not None:
            commit({leaf: self.leaves.pop(leaf)}, self.owned, self.record)
        if owner is not None:
            run_accumulated(hooks, owner)
        # A first gradient becomes `.grad` itself, so hooks after the fact see what others did to that.
        given = None if gradient is None else as_tensor(gradient)
        if first and owner._grad is not None:  # type: ignore[union-attr]
            given = owner._grad.detach()  # type: ignore[union-attr]
        for hook in list(hooks.post.values()):
            hook((), (given,))

    def finish(self) -> dict[Anchor, Gradient]:
        """Hooks of leaves that were still waiting (a rule gave them nothing); then everything collected."""
        for leaf, count in list(self.arrivals.items()):
            if count > 0 and leaf._hooks is not None:
                self.call(leaf, self.finish_leaf, leaf)
        return self.leaves

    def free(self) -> None:
        """Let go of what the nodes of this pass had saved."""
        free(self.executed)

    def call_back(self) -> None:
        """Run the callbacks that were queued during the pass, and those that they queue."""
        assert self.callbacks is not None
        for callback in self.callbacks:
            self.call(None, callback)


def walk(target: Node, cotangent: Cotangent, retain: bool | None = False) -> tuple[Any, Any, Any, Any]:
    """An ordinary pass from one node: the gradients of leaves, those nobody else refers to, the nodes that ran.

    Last the sweep, if something was met that a written-out pass does not do.
    """
    sweep = Sweep([(target, 0)])
    sweep.retain = bool(retain)
    sweep.cotangents[target] = cotangent
    sweep.heap.append((-target.order, target))
    run_waiting(sweep)
    return sweep.leaves, sweep.owned, sweep.executed, None if sweep.ordinary else sweep


def run_waiting(sweep: Sweep) -> None:
    """Run nodes, latest first, until nothing waits."""
    heap, waiting, executed = sweep.heap, sweep.cotangents, sweep.executed
    plain, reach, last_write = sweep.plain, None if sweep.everywhere else sweep.reach, clock.last_write
    while heap:
        node = heappop(heap)[1]
        cotangent = waiting.pop(node)
        if node.general or not plain:
            sweep.call(node, sweep.step, node, cotangent)
            continue
        values = node.arrays
        if values is None or node.order <= last_write:
            values = sweep.call(node, arrays_of, node)  # which looks for writes since
        executed.append(node)
        plan = node.plan if reach is None else node.plan.towards(node.edges, reach)
        for target, slot, gradient in zip(node.edges, node.slots or FIRST, plan.pull(cotangent, values, node.params)):
            if gradient is None:
                continue
            if not target.order:
                sweep.deliver_leaf(target, gradient, gradient is not cotangent or plan.blocked)
            elif gradient.shape == target.shape and gradient.dtype is target.dtype and target not in waiting:
                waiting[target] = gradient
                heappush(heap, (-target.order, target))
            else:
                sweep.deliver(target, slot, gradient)
        gradient = None  # a large cotangent that has but one name may be written over


_running: ContextVar[Sweep | None] = ContextVar("pullback_sweep", default=None)


def running() -> Sweep | None:
    """The pass whose hooks, custom functions or callbacks are running in this context; None outside of one."""
    return _running.get()


class Hooks:
    """Two switches, set when hooks that need extra bookkeeping are first registered: until then passes do without it."""

    in_use: bool = False  # somebody asks passes what they are: hooks of several tensors, checkpoints
    of_leaves: bool = False  # a pass has to look whether it leads to one


def sweep_back(sweep: Sweep, cotangents: list[Cotangent]) -> dict[Anchor, Gradient]:
    """Run a pass in the right mode; the gradients that arrived at leaves."""
    mode = current_mode()
    hooked = Hooks.in_use or Hooks.of_leaves
    if hooked:
        sweep.count_arrivals()
    restoring = map(operator.call, (restore, set_mode), (warning_settings(), mode))
    try:
        silence()
        if hooked or sweep.record or mode is not RECORD:
            sweep.anomaly, sweep.profiler, sweep.safe = mode.anomaly, mode.profiler, mode.safe != 0
            sweep.plain = sweep.plain and mode.anomaly is None and mode.profiler is None and not sweep.safe
            sweep.switched = True
            set_mode(mode.replace(grad=sweep.record, inference=False, safe=IN_RULES if mode.safe else 0))
        if mode.dispatch and not sweep.record:
            return seams.run_on_tensors(sweep, cotangents)
        return sweep.run(cotangents)
    finally:
        list(restoring)  # one call into C: Ctrl-C cannot come between


def free(executed: list[Node]) -> None:
    """Let go of what the nodes of a pass had saved."""
    for node in executed:
        if node.plan.frees:
            node.saved = FREED
            node.arrays = None


def as_tensor(value: Operand) -> Tensor:
    """A tensor as it is, an array wrapped."""
    return value if isinstance(value, Tensor) else wrap(value)

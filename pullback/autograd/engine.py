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
from heapq import heappop, heappush, heapreplace
from sys import maxsize
from typing import Any

import numpy as np
from numpy import add, ndarray

from ..arrays.mostly_zeros import Picked
from ..kernels.memory import is_own
from ..quiet import restore, silence, warning_settings
from ..storage import clock
from ..tensor import Anchor, Tensor
from .accumulate import commit
from .cotangents import UNDEFINED, deliver_slot, filled, run_joint
from .fit import fit_array, fit_tensor, zeros_array, zeros_tensor
from .large_cotangents import run_by_blocks, sum_by_blocks
from .mode import IN_RULES, NO_GRAD, RECORD, current_mode, set_mode
from .node import FREED, Node
from .op import BLOCKED, CALLED, NOTHING, TWO, passed_on
from .reach import nodes_leading_to
from .saved import arrays_of, tensors_of
from .tape import LARGE, by_blocks, wrap


class Sweep:
    """One backward pass and its bookkeeping."""

    # Class-level defaults: a plain pass sets almost none of these.
    record: bool = False  # cotangents are tensors and the pass itself is recorded
    reach: set[Any] | None = None  # where cotangents are worth sending; None: everywhere
    run_only: set[Any] | None = None  # nodes that need to run; None: all
    captures: Any = None  # (node, output number) whose cotangents are asked for
    accumulating: bool = True  # gradients of leaves go to `.grad` (`backward`), not to the caller (`grad`)
    arrivals: Any = None  # cotangents each leaf still waits for, if any has hooks
    reached: dict[Any, Any] | None = None
    anomaly: Any = None
    profiler: Any = None
    plain: bool = True  # no captures, nobody watches: nodes may take the short path
    safe: bool = False  # rules run on tensors, on which zero is absolute
    callbacks: list[Any] | None = None  # to call when everything else is done
    level: int = 0  # of the batches that the cotangents are, in a pass for many of them
    switched: bool = False  # whether the mode has been set to the pass's own, which bare arrays do not need
    fit: Any = staticmethod(fit_array)
    zeros: Any = staticmethod(zeros_array)

    def __init__(self, roots: list[Any]) -> None:
        self.roots: list[Any] = roots  # [(node or anchor, output number)]
        self.cotangents: dict[Node, Any] = {}  # what has arrived at each waiting node
        self.heap: list[Any] = []
        self.leaves: dict[Anchor, Any] = {}  # what has arrived at each leaf
        self.owned: dict[Anchor, Any] = {}  # of these, what nobody else refers to
        self.executed: list[Node] = []

    def recorded(self) -> Sweep:
        """The same pass on tensors, for derivatives of derivatives."""
        self.record, self.fit, self.zeros = True, fit_tensor, zeros_tensor
        return self

    def towards(self, inputs: list[Any], accumulating: bool) -> Sweep:
        """The same pass, only as far as it leads to these (node or anchor, output number)."""
        self.reach, self.run_only = nodes_leading_to(self.roots, {key[0] for key in inputs})
        self.accumulating = accumulating
        if accumulating:  # what `backward` was pointed at runs itself, with its hooks
            self.run_only |= {key[0] for key in inputs if key[0].is_node}
        else:
            self.captures = {key for key in inputs if key[0].is_node}
            self.captured: dict[Any, Any] = {}
            self.plain = not self.captures
        return self

    def run(self, cotangents: list[Any]) -> dict[Any, Any]:
        """Walk the graph from the roots, latest node first, until nothing waits; what has arrived at leaves."""
        for (target, slot), cotangent in zip(self.roots, cotangents, strict=True):
            if (
                target.is_node or self.reach is None or target in self.reach
            ):  # a leaf may be a root that was not asked for
                self.deliver(target, slot, cotangent, False)
        walk(None, None, self)
        return self.leaves if self.arrivals is None else self.finish()

    def step_generally(self, node: Node, cotangent: Any) -> bool:
        """The complete form of `step`: several outputs, joint rules, hooks, captures, anomaly mode."""
        hooks = node.hooks
        if cotangent is UNDEFINED:
            cotangent = None
        runs = self.run_only is None or node in self.run_only
        if self.captures and runs:  # as in torch: of a node on the way to another input, what came before its hooks
            self.capture(node, cotangent)
        if hooks is not None:
            from .hooks import run_before, run_pre_hooks

            cotangent = run_before(self, node, cotangent)
        if not runs:
            self.capture(node, cotangent)
            return False
        if hooks is not None and hooks.pre:
            parts = run_pre_hooks(self, hooks, list(cotangent) if node.outputs is not None else [cotangent])
            cotangent = parts if node.outputs is not None else parts[0]
        observed = hooks is not None and bool(hooks.post)
        if node.outputs is not None:
            nothing = node.op is not None and all([part is None for part in cotangent])
            cotangent = None if nothing else self.fill_missing(node, cotangent)
        results = [None] * len(node.edges) if cotangent is None else self.gradients(node, cotangent)
        if node.hooks is not None and node.hooks.post:
            from .hooks import run_after

            results = run_after(self, node, results, cotangent if observed else None)
        slots = node.slots
        for position, target in enumerate(node.edges):
            if target is None or self.reach is not None and target not in self.reach:
                continue
            gradient = results[position]
            if gradient is None:
                self.skip(target)
            elif target.order:
                self.deliver(target, 0 if slots is None else slots[position], gradient, False)
            else:
                ours = target not in self.leaves and self.is_fresh(node, gradient, results, cotangent)
                self.deliver_leaf(target, gradient, ours)
        return True

    def skip(self, target: Any) -> None:
        """A rule had no gradient for this node or leaf."""
        if target.is_node:
            self.deliver_nothing(target)
        elif self.arrivals is not None:
            self.arrived(target)

    def is_fresh(self, node: Node, gradient: Any, results: list[Any], cotangent: Any) -> bool:
        """Whether an operation's rule made this array for one input alone: then it can become a `.grad` as it is."""
        if node.op is None or self.record or gradient is cotangent or node.hooks is not None:
            return False  # custom functions and hooks may keep what they return
        if type(cotangent) is tuple and any([gradient is part for part in cotangent]):
            return False
        return sum([other is gradient for other in results]) == 1

    def gradients(self, node: Node, cotangent: Any) -> list[Any]:
        """The gradients for all inputs of a node, aligned with its edges."""
        if self.anomaly is not None:
            from .anomaly_mode import watched

            return watched(self, node, cotangent)
        if self.profiler is not None:
            with self.profiler.node(node.name()) as event:
                results = self.call_rules(node, cotangent)
                self.profiler.note_results(event, results)
                return results
        return self.call_rules(node, cotangent)

    def call_rules(self, node: Node, cotangent: Any) -> list[Any]:
        """What one node sends to each of its edges."""
        if node.op is None:
            return node.run(self, cotangent)  # type: ignore[attr-defined]  # a custom function
        if self.safe and not self.record:
            from .safe_mode import call_rules_on_tensors

            return call_rules_on_tensors(self, node, cotangent)
        plan, params, edges = node.plan, node.params, node.edges
        values = tensors_of(node) if self.record else arrays_of(node)
        reach = self.reach
        if plan.joint is not None:
            return run_joint(node, cotangent, values, reach)
        results = [None] * len(edges)
        for position, rule, _, sources in plan.calls:
            if reach is None or edges[position] in reach:
                results[position] = rule(cotangent, *[values[s] if type(s) is int else params[s] for s in sources])
        return results

    def deliver(self, target: Any, slot: int, gradient: Any, fresh: bool) -> None:
        """Add a cotangent to what waits at a node, or collect it for a leaf."""
        if not target.is_node:
            self.deliver_leaf(target, gradient, fresh)
            return
        if target.outputs is not None:
            self.deliver_slot(target, slot, gradient)
            return
        if gradient.shape != target.shape or gradient.dtype is not target.dtype:
            gradient = self.fit(gradient, target.shape, target.dtype)
        cotangents = self.cotangents
        present = cotangents.get(target)
        if present is None:
            cotangents[target] = gradient
            heappush(self.heap, (-target.order, target))
        else:
            cotangents[target] = present + gradient

    def deliver_slot(self, target: Node, slot: int, gradient: Any) -> None:
        """Add a gradient to one output of a node that has several."""
        deliver_slot(target, slot, gradient, self.cotangents, self.heap, self.fit)

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

    def deliver_leaf(self, leaf: Anchor, gradient: Any, fresh: bool) -> None:
        """Add a gradient to what is collected for a leaf."""
        array = leaf._array
        if gradient.shape != array.shape or gradient.dtype is not array.dtype:
            owner = leaf._owner()
            free = owner is not None and owner._grad_dtype is not False  # `commit` settles the dtype
            gradient = self.fit(gradient, array.shape, gradient.dtype if free else array.dtype)
        leaves = self.leaves
        if leaf not in leaves:
            leaves[leaf] = gradient
            if fresh and not self.record and (gradient.base is None or is_own(gradient)):
                self.owned[leaf] = gradient
        elif leaf in self.owned and type(leaves[leaf]) is ndarray and not self.record:
            add(leaves[leaf], gradient, leaves[leaf])
        else:
            leaves[leaf] = self.owned[leaf] = leaves[leaf] + gradient
        if self.arrivals is not None:
            self.arrived(leaf)

    def fill_missing(self, node: Node, parts: list[Any]) -> tuple[Any, ...]:
        """Zeros for the outputs of a node that nothing was computed from."""
        return filled(node, parts, self.zeros)

    def capture(self, node: Node, cotangent: Any) -> None:
        """Keep the cotangents that somebody asked for by name."""
        for slot, part in enumerate(cotangent if node.outputs is not None else (cotangent,)):
            if part is not None and (node, slot) in self.captures:
                self.captured[node, slot] = part

    # --- leaves with hooks ---

    def count_arrivals(self) -> None:
        """Count the cotangents each leaf will get, so that hooks run when the last one is in."""
        arrivals = {target: count for target, count in self.visits().items() if not target.is_node}
        if any(leaf._hooks is not None for leaf in arrivals):
            self.arrivals = arrivals

    def visits(self) -> dict[Any, Any]:
        """Everything this pass can reach, with the number of edges that lead there."""
        counts: dict = {}
        stack = []

        def visit(target: Any) -> None:
            seen = counts.get(target, 0)
            counts[target] = seen + 1
            if target.is_node and not seen and (self.run_only is None or target in self.run_only):
                stack.append(target)

        for target, _ in self.roots:
            visit(target)
        while stack:
            node = stack.pop()
            for target in node.edges if node.general else [node.edges[call[0]] for call in node.plan.calls]:
                if target is not None and (self.reach is None or target in self.reach):
                    visit(target)
        return counts

    def reachable(self) -> dict[Any, Any]:
        """How often each node and leaf will be visited, counted once."""
        if self.reached is None:
            self.reached = self.visits()
        return self.reached

    def arrived(self, leaf: Any) -> None:
        """Count an arrival at a leaf; the last one completes a leaf with hooks."""
        if leaf.is_node:
            return
        self.arrivals[leaf] -= 1
        if self.arrivals[leaf] == 0 and leaf._hooks is not None:
            self.finish_leaf(leaf)

    def finish_leaf(self, leaf: Anchor) -> None:
        """The gradient of a hooked leaf is complete: run its hooks, and write it now if somebody waits for that.

        If none has arrived, hooks are told so, as in torch.
        """
        from .hooks import run_accumulated, run_leaf_hooks

        hooks = leaf._hooks
        gradient = run_leaf_hooks(self, hooks, self.leaves.pop(leaf, None))
        self.owned.pop(leaf, None)
        if gradient is not None:
            self.leaves[leaf] = gradient
        if not self.accumulating or not (hooks.accumulated or hooks.post):
            return
        owner = leaf.owner()
        if owner is None and hooks.accumulated:
            from .graph import revived

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

    def finish(self) -> dict[Any, Any]:
        """Hooks of leaves that were still waiting (a rule gave them nothing); then everything collected."""
        for leaf, count in list(self.arrivals.items()):
            if count > 0 and leaf._hooks is not None:
                self.finish_leaf(leaf)
        return self.leaves

    def free(self) -> None:
        """Let go of what the nodes of this pass had saved."""
        free(self.executed)

    def call_back(self) -> None:
        """Run the callbacks that were queued during the pass, and those that they queue."""
        assert self.callbacks is not None
        for callback in self.callbacks:
            callback()


def walk(upcoming: Any, coming: Any, sweep: Sweep | None = None) -> tuple[Any, Any, Any, Any]:
    """Run nodes, latest first, until nothing waits: from one node and its cotangent, or from where a sweep stands.

    An ordinary pass needs no `Sweep` until it meets a node that is not ordinary. Returned are the gradients of leaves,
    the leaves whose gradient nobody else refers to, the nodes that ran, and the sweep if there was one.
    """
    if sweep is None:
        heap, waiting, leaves, owned, executed = [], {}, {}, {}, []
        record = False
        plain = simple_leaves = True
        reach, fit, last_write = None, fit_array, clock.last_write
    else:
        heap, waiting, leaves, owned, executed = sweep.heap, sweep.cotangents, sweep.leaves, sweep.owned, sweep.executed
        record, reach, fit, plain = sweep.record, sweep.reach, sweep.fit, sweep.plain
        simple_leaves = sweep.arrivals is None
        # A recorded pass takes saved values as tensors; one that is not plain takes no node as it is.
        last_write = maxsize if record or not plain else clock.last_write
    shared_by: Any = None  # the node whose joint rule gave `shares`
    placed: Any = ()  # nodes at which an array of our own waits that selections may write into
    # `upcoming` is a waiting node that is not in the heap yet, and `coming` the cotangent that waits there: in a chain
    # it is always the next one.
    while True:
        if upcoming is not None:
            if heap and -heap[0][0] > upcoming.order:
                waiting[upcoming] = coming
                node = heapreplace(heap, (-upcoming.order, upcoming))[1]
                cotangent = waiting.pop(node)
            else:
                node, cotangent = upcoming, coming
            upcoming = None
        elif heap:
            node = heappop(heap)[1]
            cotangent = waiting.pop(node)
        else:
            return leaves, owned, executed, sweep
        values = node.arrays
        if values is None or node.order <= last_write:
            if node.general or not plain:
                sweep = sweep or adopt(node, heap, waiting, leaves, owned, executed)
                if not sweep.switched:
                    sweep.switched = True
                    if current_mode() is RECORD:
                        set_mode(NO_GRAD)
                if sweep.step_generally(node, cotangent):
                    executed.append(node)
                continue
            if values is None and sweep is None:  # values behind hooks: what unpacks them may ask which pass this is
                sweep = adopt(node, heap, waiting, leaves, owned, executed)
            values = tensors_of(node) if record else arrays_of(node)
        # The rest is `gradients` and `deliver` written out for a node with one output and no hooks:
        # nearly all nodes are such, and this loop is where a small program spends its time.
        executed.append(node)
        edges, plan = node.edges, node.plan
        for position, rule, source, sources in plan.steps:
            target = edges[position]
            if reach is not None and target not in reach:
                continue
            if source >= 0:
                gradient = rule(cotangent, values[source])
            elif source == NOTHING:
                gradient = cotangent if rule is passed_on else rule(cotangent)
            elif source == TWO:
                gradient = rule(cotangent, values[sources[0]], values[sources[1]])
            elif source == CALLED:
                params = node.params
                if plan.places and type(cotangent) is ndarray:  # a selection: of many, only the first makes zeros
                    if target in placed:
                        (coming if target is upcoming else waiting[target])[(*params["index"], ...)] += cotangent
                        continue
                    if target.order:
                        if target is not upcoming and target not in waiting and target.dtype is cotangent.dtype:
                            placed = placed or set()
                            placed.add(target)
                    elif simple_leaves and type(present := owned.get(target)) is ndarray:
                        if present.dtype is cotangent.dtype:
                            present[(*params["index"], ...)] += cotangent
                            continue
                gradient = sources.call(cotangent, values, params)
            elif source == BLOCKED:
                if type(cotangent) is ndarray:
                    gradient = None  # no names for the cotangent but one: then a rule may write over it
                    coming = coming if upcoming is not None else None
                    last = position == plan.calls[-1][0]
                    gradient = run_by_blocks(rule, cotangent, values, sources, node.params, last)
                    if last:
                        cotangent = None
                else:
                    gradient = sources.call(cotangent, values, node.params)
            else:  # the share of one input in the results of a joint rule, or of rules that run side by side
                if shared_by is not node:
                    shares, shared_by = run_joint(node, cotangent, values, reach), node
                gradient = shares[position]
                if gradient is None:
                    if upcoming is not None:
                        waiting[upcoming] = coming
                        heappush(heap, (-upcoming.order, upcoming))
                        upcoming = None
                    sweep = sweep or adopt(node, heap, waiting, leaves, owned, executed)
                    sweep.skip(target)
                    continue
            if target.order:
                if record or gradient.shape != target.shape or gradient.dtype is not target.dtype:
                    if target.outputs is not None:
                        slot = 0 if node.slots is None else node.slots[position]
                        deliver_slot(target, slot, gradient, waiting, heap, fit)
                        continue
                    if (
                        type(gradient) is not Picked
                        or not plain
                        or target.hooks is not None
                        or not target.plan.op.takes_picked
                    ):
                        gradient = fit(gradient, target.shape, target.dtype)
                if target is upcoming:
                    coming = coming + gradient if not plan.blocked else sum_by_blocks(coming, gradient)
                elif target in waiting:
                    present = waiting.pop(target)
                    waiting[target] = present + gradient if not plan.blocked else sum_by_blocks(present, gradient)
                elif upcoming is None:
                    upcoming, coming = target, gradient
                elif target.order > upcoming.order:
                    waiting[upcoming] = coming
                    heappush(heap, (-upcoming.order, upcoming))
                    upcoming, coming = target, gradient
                else:
                    waiting[target] = gradient
                    heappush(heap, (-target.order, target))
                continue
            present = owned.get(target)
            if present is not None and simple_leaves and type(present) is ndarray and gradient.ndim == present.ndim:
                try:
                    if gradient.size >= LARGE and gradient.shape == present.shape:
                        leaves[target] = owned[target] = by_blocks(np.add, present, gradient, into=present)
                    else:
                        add(present, gradient, present)
                    continue
                except (TypeError, ValueError):
                    pass  # it does not fit as it is (a bias, which has an axis less, did not come this far)
            array = target._array
            if simple_leaves and gradient.shape != array.shape and gradient.dtype is array.dtype:
                gradient = fit(gradient, array.shape, array.dtype)
            if not simple_leaves or gradient.dtype is not array.dtype:
                sweep = sweep or adopt(node, heap, waiting, leaves, owned, executed)
                sweep.deliver_leaf(target, gradient, gradient is not cotangent)
            elif target not in leaves:
                leaves[target] = gradient
                if gradient is not cotangent and not record and (gradient.base is None or is_own(gradient)):
                    owned[target] = gradient
            else:
                leaves[target] = owned[target] = leaves[target] + gradient


def adopt(
    node: Any,
    heap: list[Any],
    waiting: dict[Any, Any],
    leaves: dict[Any, Any],
    owned: dict[Any, Any],
    executed: list[Any],
) -> Sweep:
    """A sweep that goes on where an ordinary pass has got to, at this node."""
    sweep = Sweep([(executed[0] if executed else node, 0)])
    sweep.heap, sweep.cotangents, sweep.leaves, sweep.owned, sweep.executed = heap, waiting, leaves, owned, executed
    return sweep


_running: ContextVar[Any] = ContextVar("pullback_sweep", default=None)


def running() -> Any:
    """The pass that is running in this context, None outside. Known only while hooks are in use."""
    return _running.get()


class Hooks:
    """Whether hooks that need extra bookkeeping were ever registered: until then passes do without it."""

    in_use: bool = False  # somebody asks passes what they are: hooks of several tensors, checkpoints
    of_leaves: bool = False  # a pass has to look whether it leads to one


def sweep_back(sweep: Sweep, cotangents: list[Any]) -> dict[Any, Any]:
    """Run a pass in the right mode; the gradients that arrived at leaves."""
    mode = current_mode()
    hooked = Hooks.in_use or Hooks.of_leaves
    if hooked:
        sweep.count_arrivals()
    restoring = map(operator.call, (restore, set_mode, _running.set), (warning_settings(), mode, _running.get()))
    try:
        silence()
        if hooked:
            _running.set(sweep)
        if hooked or sweep.record or mode is not RECORD:
            sweep.anomaly, sweep.profiler, sweep.safe = mode.anomaly, mode.profiler, mode.safe != 0
            sweep.plain = sweep.plain and mode.anomaly is None and mode.profiler is None and not sweep.safe
            sweep.switched = True
            set_mode(mode.replace(grad=sweep.record, inference=False, safe=IN_RULES if mode.safe else 0))
        if mode.dispatch and not sweep.record:
            from ..dispatch import run_on_tensors

            return run_on_tensors(sweep, cotangents)
        return sweep.run(cotangents)
    finally:
        list(restoring)  # one call into C: Ctrl-C cannot come between


def free(executed: list[Node]) -> None:
    """Let go of what the nodes of a pass had saved."""
    for node in executed:
        if node.plan.frees:
            node.saved = FREED
            node.arrays = None


def as_tensor(value: Any) -> Tensor:
    """A tensor as it is, an array wrapped."""
    return value if isinstance(value, Tensor) else wrap(value)

"""The code of a backward pass: one line for each rule, in the order the walk took.

A part that repeats is a loop, and rules that are short stand there themselves (inlining.py). The code first makes sure
that the graph in front of it has the form it was written for (the same plans along the same edges, the same shapes,
nothing written since, no hooks) and answers None if it has not, before anything has happened: then the walk goes the
long way. Where every leaf is still without a gradient, it also writes them and frees the graph, as `accumulate.commit`
would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ...kernels.memory import is_own
from ...kernels.thresholds import MAYBE_BLOCKED
from ..accumulate import DONE, lock
from ..basics.quiet import restore, silence, warning_settings
from ..cotangents import add_part, run_joint
from ..engine import free
from ..large_cotangents import sum_by_blocks
from ..mostly_zeros import Picked
from ..node import FREED, Node
from ..op import identity_rule
from ..plan import Call
from ..tensor import wrap
from ..unbroadcast import unbroadcast_array
from .forms import Form, leads_to
from .inlining import NAMES as INLINED_NAMES
from .inlining import Inlined, inlined, known_target, summed_over_rows

if TYPE_CHECKING:
    from ..basics.types import Gradient, Operand

empty: Any = np.empty


def unbroadcast_to_node(gradient: Gradient, target: Node) -> Gradient:
    """A gradient as the cotangent of a node, where it is not of its shape and dtype."""
    if type(gradient) is Picked and target.plan.op.rare.takes_picked:
        return gradient
    return unbroadcast_array(gradient, target.shape, target.dtype)


def given_up(root: Node) -> None:
    """The answer of a program that found a gradient to be no plain array after all: it is not to be tried again."""
    root.plan.repeats.give_up()


def listed(letter: str, numbers: Iterable[int]) -> str:
    """Names that differ by a number, for a tuple or a set."""
    return "".join(f"{letter}{number}, " for number in numbers)


def source(form: Form) -> tuple[str, dict[str, Any]]:
    """The code of a pass, and what it refers to by name."""
    writer = _Writer(form)
    body = writer.body()
    if body is None:
        return source(form.loosened())
    return "\n".join(["def program(n0, g0, last_write, wanted, retain):", *body]), writer.names


NAMES: dict[str, Any] = {
    "DONE": DONE, "FREED": FREED, "add_part": add_part, "unbroadcast": unbroadcast_array, "free": free,
    "unbroadcast_to_node": unbroadcast_to_node,
    "given_up": given_up, "is_own": is_own, "lock": lock, "ndarray": ndarray, "wrap": wrap, "run_joint": run_joint,
    "restore": restore, "silence": silence, "sum_by_blocks": sum_by_blocks, "warning_settings": warning_settings,
    "__name__": __name__, **INLINED_NAMES,
}  # fmt: skip


class _Writer:
    """Writes one pass: `n3` is a node, `g3` its cotangent, `v3_0` what it saved, `a1` the anchor of a leaf, `l1` its gradient.

    Of leaf 1, `x1` is the array, `s1` and `d1` are shape and dtype, `w1` says whether its gradient is new memory, `t1` is
    that as a tensor and `o1` the leaf itself; `m3` says whether what waits at node 3 is memory that selections may write
    into. Nodes of a loop are called as in its first turn; `turns` are the nodes of all turns. What is known of the next
    turn at the end of one (where edges lead to, and the cotangents there) is moved to the names of this one.
    """

    def __init__(self, form: Form) -> None:
        self.form: Form = form
        self.lines: list[str] = []
        self.indent: str = "    "
        self.names: dict[str, Any] = dict(NAMES)
        self.known: dict[Any, str] = {}
        self.seen: set[int] = {0}  # nodes that edges were found to lead to
        self.leaves: int = max([-edge for step in form.steps for edge in step.edges if edge is not None] + [0])
        self.found: int = 0  # of these, by the check so far
        self.arrived: Counter[int] = Counter()  # gradients that nodes and leaves got
        self.placed: set[int] = set()  # of these, where an array of our own waits that selections may write into
        # What needs no test: where gradients, as they come, are plain arrays of the known shape and dtype; leaves whose
        # gradient is new memory, those whose first one is a cotangent, and those where it is laid out row by row. What that
        # relies on and has to be tested: the shapes and dtypes of nodes and leaves, and the saved values that expressions
        # are made of
        self.exact: set[int] = set()
        self.own: set[int] = set()
        self.lent: set[int] = set()
        self.in_order: set[int] = set()
        self.known_results: set[int] = set()
        self.known_values: dict[int, set[int]] = {}
        self.is_useful: bool = form.leaves is None  # to know arrays
        self.calls_python: bool = False  # functions of NumPy's that give warnings in their own name, maybe
        count, start, period = len(form.steps), form.start, form.period
        self.before, self.loop, self.after = range(start), range(start, start + period), range(start + period, count)
        self.carried: list[int] = sorted(leads_to(form.steps[:start], start, start + period))

    def body(self) -> list[str] | None:
        """All lines of the code; None if what is known of arrays is of no use."""
        self.run()  # first, to know what is to be tested
        run, self.lines = self.lines, []
        if self.calls_python:
            run = [
                "    settings = warning_settings()",
                "    try:",
                "        silence()",
                *[f"    {line}" for line in run],
            ]
            run += ["    finally:", "        restore(settings)"]
        if not self.is_useful:
            return None
        self.check()
        check, self.lines = self.lines, []
        self.finish()
        return check + run + self.lines

    def write(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def name(self, letter: str, value: Operand) -> str:
        """The name of a plan or a rule in the code."""
        if value not in self.known:
            self.known[value] = f"{letter}{len(self.known)}"
            self.names[self.known[value]] = value
        return self.known[value]

    def carry(self, letter: str, backwards: bool = False) -> None:
        """Move what is known of the next turn to the names of this one, or the other way."""
        for number in self.carried if letter != "m" else self.placed.intersection(self.carried):
            this, following = f"{letter}{number}", f"{letter}{number + self.form.period}"
            self.write(f"{following} = {this}" if backwards else f"{this} = {following}")

    # --- that the graph has the form ---

    def check(self) -> None:
        """Follow the edges and see that everything is as it was; whatever is found gets its name.

        That is all the walk depends on: the same plans along the same edges; each node made before the one ahead of it,
        so that the walk takes them in this order and no two are one (leaves that are one now: see `finish`); none with
        hooks or without its saved values (`arrays` is None); nothing written since the first of them. Of arrays, what rules were
        left out for: a result that follows from its inputs needs no test, as a tensor gets other memory than its node
        was told of only by what counts as a write (`Tensor.data`, too).
        """
        root = self.form.steps[0].result
        if root is not None and root.shape and 0 in self.known_results:
            self.write("if type(g0) is not ndarray: return")
        for number in self.before:
            self.check_node(number, "return")
        if self.loop:
            nodes = ", ".join(f"n{number}" for number in self.loop)
            self.write(f"turns, last = [], n{self.loop.start - 1}")
            self.write("while True:")
            self.indent += "    "
            for number in self.loop:
                self.check_node(number, "break")
            self.write(f"turns.append(({nodes},))")
            self.write(f"last = n{self.loop.stop - 1}")
            self.carry("n")
            self.indent = "    "
            self.carry("n", backwards=True)
        for number in self.after:
            self.check_node(number, "return")
        self.write(f"if wanted is not None and wanted != {{{listed('a', range(self.leaves))}}}: return")

    def check_node(self, number: int, otherwise: str) -> None:
        """Find where the edges of one node lead."""
        edges = self.form.steps[number].edges
        tests = []
        if number == 0:
            tests += ["n0.arrays is None", *self.tests_of_result(0)]
        elif number not in self.form.steps[number - 1].edges or number == self.loop.start or number == self.loop.stop:
            last = "last" if number == self.loop.start or number == self.loop.stop else f"n{number - 1}"
            tests.append(
                f"n{number}.order >= {last}.order"
            )  # not made before the last one: sums would round differently
        if number == len(self.form.steps) - 1:  # the others are later
            tests.append(f"n{number}.order <= last_write")
        found, leaves = [], []
        for position, edge in enumerate(edges):
            if edge is None:
                found.append("_")
            elif edge < 0 and -edge > self.found:
                found.append(f"a{self.found}")
                tests += [f"a{self.found}.order", f"a{self.found}._hooks is not None"]
                leaves.append(self.found)
                self.found += 1
            elif edge >= 0 and edge not in self.seen:
                self.seen.add(edge)
                found.append(f"n{edge}")
                plan = self.name("p", self.form.steps[edge].plan)
                tests += [f"n{edge}.plan is not {plan}", f"n{edge}.arrays is None", *self.tests_of_result(edge)]
            else:
                found.append(f"e{position}")
                tests.append(f"e{position} is not {f'a{-1 - edge}' if edge < 0 else f'n{edge}'}")
        self.write(f"{', '.join(found)}, = n{number}.edges")
        if tests:
            self.write(f"if {' or '.join(tests)}: {otherwise}")
        if self.form.leaves is not None:
            self.check_arrays(number, leaves, otherwise)

    def tests_of_result(self, number: int) -> list[str]:
        """Tests that the cotangent of a node is of the known shape and dtype, unless it cannot be otherwise."""
        _, edges, result, follows, _ = self.form.steps[number]
        if result is None or number not in self.known_results or follows and self.known_results.issuperset(edges):
            return []
        return [f"n{number}.shape != {result.shape}", f"n{number}.dtype is not {result.dtype}"]

    def check_arrays(self, number: int, leaves: list[int], otherwise: str) -> None:
        """See that the arrays of new leaves are as they were, and those saved by a node where they are relied on."""
        for leaf in leaves:
            if -1 - leaf not in self.known_results:
                continue
            shape, dtype = self.form.leaves[leaf]  # type: ignore[index]
            self.write(f"x{leaf} = a{leaf}._array")
            tests = [f"type(x{leaf}) is not ndarray", f"x{leaf}.shape != {shape}", f"x{leaf}.dtype is not {dtype}"]
            if len(shape) > 1:  # one axis has but one way to lie densely
                tests.append(f"x{leaf}.strides != {empty(shape, dtype).strides}")
            self.write(f"if {' or '.join(tests)}: {otherwise}")
        if number not in self.known_values:
            return
        self.unpack(number)
        plan, edges, _, _, saved = self.form.steps[number]
        tests = []
        for source in sorted(self.known_values[number]):
            code, value, fact = plan.saves[source], f"v{number}_{source}", saved[source]
            edge = edges[code[1]] if type(code) is tuple else edges[code] if code >= 0 else number
            if type(code) is tuple:
                tests += [f"{value} != {known_target(self.form, edge).shape}"] if edge < 0 else []  # type: ignore
            elif edge is not None and edge < 0:
                tests.append(f"{value} is not x{-1 - edge}")
            else:
                tests.append(f"type({value}) is not ndarray")
                if edge not in self.known_results or known_target(self.form, edge) != fact:  # else that was tested
                    tests += [f"{value}.shape != {fact.shape}", f"{value}.dtype is not {fact.dtype}"]  # type: ignore
        if tests:
            self.write(f"if {' or '.join(tests)}: {otherwise}")

    def unpack(self, number: int) -> None:
        """Name what a node has saved."""
        self.write(
            f"{''.join(f'v{number}_{i}, ' for i in range(len(self.form.steps[number].plan.saves)))}= n{number}.arrays"
        )

    # --- the rules ---

    def run(self) -> None:
        """One rule after the other; then what has arrived at leaves, which of it is new memory, what can be freed."""
        if self.form.leaves is None:
            for number in range(self.leaves):
                self.write(f"s{number}, d{number} = a{number}._array.shape, a{number}._array.dtype")
        else:
            for number, (shape, dtype) in enumerate(self.form.leaves):
                self.names[f"s{number}"], self.names[f"d{number}"] = shape, dtype
            if self.form.steps[0].result is not None:
                self.exact.add(0)
        for number in self.before:
            self.run_node(number)
        if self.loop:
            self.run_loop()
        for number in self.after:
            self.run_node(number)
        self.own.update(number for number in range(self.leaves) if self.arrived[-1 - number] > 1)  # a sum is new memory

    def run_loop(self) -> None:
        """The rules of the part that repeats."""
        edges = [edge for number in self.loop for edge in self.form.steps[number].edges if edge is not None]
        for leaf in sorted({-1 - edge for edge in edges if edge < 0}):
            if self.arrived[-1 - leaf] == 1:  # there is more to come: into memory of our own
                self.arrived[-1 - leaf] += 1
                if leaf not in self.own:
                    self.write(f"if not w{leaf}: l{leaf} = l{leaf}.copy()")
        exact = {number + self.form.period for number in self.exact.intersection(self.carried)}
        self.write(f"for {', '.join(f'n{number}' for number in self.loop)}, in turns:")
        self.indent += "    "
        for number in self.loop:
            self.run_node(number)
        self.carry("g")
        self.carry("m")
        self.indent = "    "
        self.carry("g", backwards=True)
        self.carry("m", backwards=True)
        if not exact <= self.exact:  # the next turn would know less of its cotangents than the first
            self.is_useful = False

    def run_node(self, number: int) -> None:
        """The rules of one node, and where what they give goes."""
        plan, edges, *_ = self.form.steps[number]
        calls = plan.engine_calls() or tuple([Call(i, None, ()) for i in plan.wanted])  # of a joint rule: its shares
        texts = [self.expression(number, call) for call in calls]
        relied_on = {source for text in texts if text is not None for source in self.in_doubt(number, text)}
        if relied_on:
            self.known_values[number] = relied_on
            self.known_results.update(edge for edge in edges if edge is not None and edge < 0)
        if plan.joint is not None or plan.side_by_side:
            self.calls_python = True
            self.write(f"shares = run_joint(n{number}, g{number}, n{number}.arrays, None)")
        elif plan.saves and (number in self.loop if relied_on else None in texts):  # the check names what it looks at
            self.unpack(number)
        for call, text in zip(calls, texts, strict=True):
            edge = edges[call.position]
            assert edge is not None  # or the rule would not be in the plan
            if text is not None:
                self.deliver_exactly(text, number, edge)
            elif edge >= 0 and self.has_parts(edge):
                self.deliver_part(self.gradient(number, call), number, edge, call.position)
            elif plan.places_cotangent:
                self.place(self.gradient(number, call), number, edge)
                self.exact.discard(edge)
            else:
                self.deliver(self.gradient(number, call), number, edge, becomes_exact=plan.op.rare.gives_arrays)
        self.write(f"del g{number}")

    def expression(self, number: int, call: Call) -> Inlined | None:
        """A rule as an expression that gives exactly what its edge asks for; None if the rule has to be called."""
        plan, edges, *_ = self.form.steps[number]
        written = number in self.exact and plan.joint is None and not plan.side_by_side
        text = inlined(self.form, number, call) if written else None
        wanted = known_target(self.form, edges[call.position])
        if text is None or wanted is None or plan.places_cotangent:
            return None
        return text if text.result == wanted else summed_over_rows(text, wanted)

    def in_doubt(self, number: int, text: Inlined) -> set[int]:
        """The saved values that have to be looked at before an expression is made of them."""
        plan, edges, *_ = self.form.steps[number]
        codes = {source: plan.saves[source] for source in text.sources.values()}
        return {s for s, code in codes.items() if type(code) is int or (edges[code[1]] or 0) < 0}

    def gradient(self, number: int, call: Call) -> str:
        """The call of a rule."""
        plan, (position, rule, sources) = self.form.steps[number].plan, call
        if plan.joint is not None or plan.side_by_side:
            return f"shares[{position}]"
        if rule is identity_rule:
            return f"g{number}"
        self.calls_python = self.calls_python or hasattr(rule, "__code__")
        given = [f"v{number}_{s}" if type(s) is int else f"n{number}.params[{s!r}]" for s in sources]
        return f"{self.name('r', rule)}({', '.join([f'g{number}', *given])})"

    def has_parts(self, number: int) -> bool:
        """Return True if a node has several outputs, and so a list as its cotangent."""
        plan = self.form.steps[number].plan
        return plan.op.outputs != 1 and not plan.op.first_only

    def deliver_part(self, gradient: str, number: int, edge: int, position: int) -> None:
        """Send a gradient to one output of a node that has several."""
        if not self.arrived[edge]:
            self.write(f"g{edge} = [None] * len(n{edge}.outputs)")
        self.arrived[edge] += 1
        self.write(f"t = {gradient}")
        if gradient.startswith("shares"):
            self.write("if t is None: return")
        self.write(f"slot = n{number}.slots[{position}] if n{number}.slots else 0")
        self.write(f"add_part(g{edge}, slot, t, n{edge})")

    def place(self, gradient: str, number: int, edge: int) -> None:
        """Send the gradient of a selection: where memory of our own waits, that is written into, as the walk does."""
        arrived, leaf = self.arrived[edge], -1 - edge
        if edge >= 0:
            waits, place, ours = edge in self.placed, f"g{edge}", f"m{edge}"
        else:
            waits, place, ours = arrived > 0, f"l{leaf}", f"type(l{leaf}) is ndarray and g{number}.dtype is d{leaf}"
            ours = f"w{leaf} and {ours}" if arrived == 1 and leaf not in self.own else ours
        if waits:
            self.write(
                f"if {ours} and type(g{number}) is ndarray: {place}[(*n{number}.params['index'], ...)] += g{number}"
            )
            self.write("else:")
            self.indent += "    "
        self.deliver(gradient, number, edge)
        if waits:
            self.indent = self.indent[4:]
        elif edge >= 0 and not arrived:
            self.placed.add(edge)
            self.write(f"m{edge} = type(g{number}) is ndarray and g{number}.dtype is n{edge}.dtype")

    def deliver_exactly(self, text: Inlined, number: int, edge: int) -> None:
        """Send a gradient that is known to be what the edge asks for."""
        self.names.update(text.names)
        gradient = text.text.format(g=f"g{number}", **{name: f"v{number}_{s}" for name, s in text.sources.items()})
        place, leaf = f"l{-1 - edge}" if edge < 0 else f"g{edge}", -1 - edge
        already = self.arrived[edge]
        self.arrived[edge] += 1
        self.is_useful = self.is_useful or text.is_new
        self.known_results.update((number, edge))
        if edge >= 0:
            self.write(f"{place} = {place} + ({gradient})" if already else f"{place} = {gradient}")
            if not already:
                self.exact.add(edge)
        elif not already:
            self.write(f"{place} = {gradient}")
            self.exact.add(edge)
            if text.is_new:
                self.own.add(leaf)
            else:
                self.lent.add(leaf)
                self.write(f"w{leaf} = False")
            if text.in_order or len(text.result.shape) < 2:
                self.in_order.add(leaf)
        else:
            is_small = prod(text.result.shape) < MAYBE_BLOCKED
            if is_small and (already > 1 or leaf in self.own):
                self.write(f"{place} += {gradient}")
            elif is_small and leaf in self.lent:
                self.write(f"{place} = {place} + ({gradient})")
            else:
                self.write(f"t = {gradient}")
                self.add_to_leaf(leaf, already)

    def add_to_leaf(self, leaf: int, already: int) -> None:
        """Add `t` to what a leaf got before: into that, if it is nobody else's, as the walk does."""
        place, is_own = f"l{leaf}", already > 1 or leaf in self.own
        self.write(
            f"if {'' if is_own else f'w{leaf} and '}type(t) is ndarray and t.size < {MAYBE_BLOCKED}: {place} += t"
        )
        self.write(
            f"else: {place} = {'' if is_own else f'{place} + t if t.size < {MAYBE_BLOCKED} else '}sum_by_blocks({place}, t)"
        )

    def deliver(self, gradient: str, number: int, edge: int, becomes_exact: bool = False) -> None:
        """Send a gradient along an edge, and see that it is what the edge asks for.

        What is known to be asked for it is from then on, unless the rule may give something else than an array.
        """
        place = f"l{-1 - edge}" if edge < 0 else f"g{edge}"
        wanted, is_passed_on = known_target(self.form, edge), gradient == f"g{number}"
        already = self.arrived[edge]
        self.arrived[edge] += 1
        new = "t" if already else place
        self.write(f"{new} = {gradient}")
        if gradient.startswith("shares"):
            self.write(f"if {new} is None: return")
        if wanted is None or is_passed_on or not becomes_exact:
            self.exact.discard(edge)
        else:
            if not already:
                self.exact.add(edge)
            if wanted.shape:
                self.write(f"if type({new}) is not ndarray: return given_up(n0)")
        if edge >= 0:
            is_passed_on = is_passed_on and not self.form.steps[number].plan.op.rare.takes_picked
            have = f"n{number}" if is_passed_on else new  # a cotangent is as its node is; asking the node is quicker
            node = f"n{edge}"
            self.write(
                f"if {have}.shape != {node}.shape or {have}.dtype is not {node}.dtype: {new} = unbroadcast_to_node({new}, {node})"
            )
            if already:
                self.write(f"{place} = {place} + t")
            return
        leaf = -1 - edge
        self.known_results.add(edge)
        self.write(f"if {new}.shape != s{leaf}: {new} = unbroadcast({new}, s{leaf}, d{leaf})")
        self.write(f"if {new}.dtype is not d{leaf}: return")
        if not already:
            self.write(f"w{leaf} = {new} is not g{number} and ({new}.base is None or is_own({new}))")
        else:
            self.add_to_leaf(leaf, already)

    # --- what becomes of it ---

    def finish(self) -> None:
        """Write the gradients to leaves that have none, all at once, or answer with them."""
        leaves = range(self.leaves)
        freed = [number for number in (*self.before, *self.after) if self.form.steps[number].plan.frees]
        facts: tuple[Any, ...] = self.form.leaves or (None,) * self.leaves
        alike = [number for number in leaves if facts.count(facts[number]) > 1]
        if alike:  # what were two leaves may be one now
            self.write(f"if len({{{listed('a', alike)}}}) != {len(alike)}: return")
        simple = [f"w{n}" for n in leaves if n not in self.own]
        # sums of 0-d arrays are NumPy's scalars
        simple += [
            f"type(l{n}) is ndarray" for n in leaves if -1 - n not in self.exact or facts[n] and not facts[n].shape
        ]
        self.write(f"if {' and '.join(simple) or 'True'}:")
        self.indent += "    "
        for n in leaves:
            self.write(f"t{n} = wrap(l{n})")
        self.write("if wanted is not None:")
        self.indent += "    "
        self.write(f"found = {{{''.join(f'a{n}: t{n}, ' for n in leaves)}}}")
        self.free(freed)
        self.write("return found")
        self.indent = self.indent[4:]
        self.write(f"if {' and '.join(f'a{n}._grad_dtype is False' for n in leaves)}:")
        self.indent += "    "
        self.write("with lock:")
        self.indent += "    "
        for n in leaves:
            self.write(f"o{n} = a{n}._owner()")
        bare = [f"o{n} is not None and o{n}._grad is None and o{n}._requires_grad" for n in leaves]
        # laid out as its leaf: one axis has but one way to lie densely
        bare += [
            f"(l{n}.ndim < 2 or l{n}.strides == o{n}._array.strides)"
            for n in leaves
            if n not in self.in_order or -1 - n not in self.exact
        ]
        self.write(f"if {' and '.join(bare)}:")
        self.indent += "    "
        # One statement without a call, so that not even Ctrl-C comes between two leaves.
        self.write(f"{', '.join(f'o{n}._grad' for n in leaves)}, = {listed('t', leaves)}")
        self.free(freed)
        self.write("return DONE")
        self.indent = "    "
        self.write("owned = {}")
        for n in leaves:
            self.write(f"{'' if n in self.own else f'if w{n}: '}owned[a{n}] = l{n}")
        nodes = listed("n", freed) + ("*[node for turn in turns for node in turn]" if self.loop else "")
        self.write(f"return {{{''.join(f'a{n}: l{n}, ' for n in leaves)}}}, owned, ({nodes}), None")

    def free(self, numbers: list[int]) -> None:
        """Let go of what nodes have saved, unless it is to be retained."""
        self.write("if not retain:")
        for number in numbers:
            self.write(f"    n{number}.saved, n{number}.arrays = FREED, None")
        self.write("    for turn in turns: free(turn)" if self.loop else "    pass")

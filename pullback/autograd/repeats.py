"""Passes that repeat, written out as straight-line code.

A training loop records a graph of the same form again and again, and `engine.walk` finds its way through it each time.
When a form has come back often enough, the pass is written out as a Python function: one line for each rule, in the order
the walk took. The function first makes sure that the graph in front of it has that form (the same plans along the same
edges, nothing written since, no hooks) and answers None if it has not, before anything has happened: then the walk goes
the long way. `print(source(form))` shows the code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays.mostly_zeros import Picked
from ..kernels.memory import is_own
from .engine import run_joint
from .fit import fit_array
from .large_cotangents import sum_by_blocks
from .node import Node
from .op import JOINT, NOTHING, Plan, passed_on
from .tape import LARGE

MOST_NODES = 1024  # of a graph that is written out: code that is longer does not stay in the cache
MOST_PROGRAMS = 4  # for one kind of root

Form = tuple[tuple[Plan, tuple[int | None, ...]], ...]
"""For each node in the order they ran, its plan and where its edges lead: to node n, to leaf -1 - n, or nowhere."""


def note_walk(root: Node, executed: list[Node]) -> None:
    """Remember the form of a graph now and then; one that is found a second time is written out."""
    plan = root.plan
    plan.walks += 1
    if plan.walks < plan.next_look:
        return
    plan.next_look *= 2
    form = form_of(executed)
    if form is not None and form == plan.last_form:
        plan.programs = (write_out(form), *plan.programs[: MOST_PROGRAMS - 1])
        plan.last_form = None
    else:
        plan.last_form = form


def form_of(executed: list[Node]) -> Form | None:
    """The form of the graph that these nodes are, None if some are not ordinary."""
    if len(executed) > MOST_NODES:
        return None
    numbers = {node: number for number, node in enumerate(executed)}
    leaves: dict[Any, int] = {}
    form = []
    for node in executed:
        plan = node.plan
        if node.arrays is None or node.shape is None or plan.places or plan.blocked:
            return None
        edges: list[int | None] = []
        for target in node.edges:
            if target is None:
                edges.append(None)
            elif not target.order:
                edges.append(-1 - leaves.setdefault(target, len(leaves)))
            elif target in numbers:
                edges.append(numbers[target])
            else:
                return None
        form.append((plan, tuple(edges)))
    return tuple(form)


def write_out(form: Form) -> Callable[..., Any]:
    """The function `program(root, cotangent, last_write, wanted)` for graphs of this form.

    It returns what `walk` does, or None if the graph is another one, or its leaves are not those in the set `wanted`.
    """
    text, names = source(form)
    exec(compile(text, "<backward pass>", "exec"), names)
    return names["program"]


def fitted(gradient: Any, target: Node) -> Any:
    """A gradient as the cotangent of a node, where it is not of its shape and dtype."""
    if type(gradient) is Picked and target.plan.op.takes_picked:
        return gradient
    return fit_array(gradient, target.shape, target.dtype)


def source(form: Form) -> tuple[str, dict[str, Any]]:
    """The code of a pass, and what it refers to by name."""
    writer = _Writer(form)
    writer.check()
    writer.run()
    lines = ["def program(n0, g0, last_write, wanted):", *[f"    {line}" for line in writer.lines]]
    return "\n".join(lines), writer.names


class _Writer:
    """Writes one pass: `n3` is a node, `g3` its cotangent, `a1` the anchor of a leaf, `l1` its gradient."""

    def __init__(self, form: Form) -> None:
        self.form: Form = form
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "fit": fit_array, "fitted": fitted, "is_own": is_own, "run_joint": run_joint, "sum_by_blocks": sum_by_blocks,
        }  # fmt: skip
        self.known: dict[Any, str] = {}
        self.leaves: list[str] = []

    def name(self, letter: str, value: Any) -> str:
        """The name of a plan, a rule or a parameter's key in the code."""
        if value not in self.known:
            self.known[value] = f"{letter}{len(self.known)}"
            self.names[self.known[value]] = value
        return self.known[value]

    def check(self) -> None:
        """Follow the edges and see that everything is as it was; whatever is found gets its name."""
        seen = {0}
        leaves = 0
        for number, (_, edges) in enumerate(self.form):
            tests = []
            if number == 0:
                tests.append("n0.arrays is None")
            elif number not in self.form[number - 1][1]:  # made before the last one, or sums would round differently
                tests.append(f"n{number}.order >= n{number - 1}.order")
            if number == len(self.form) - 1:  # the others are later
                tests.append(f"n{number}.order <= last_write")
            found = []
            for position, edge in enumerate(edges):
                if edge is None:
                    found.append("_")
                elif edge < 0 and -edge > leaves:
                    leaves += 1
                    found.append(f"a{leaves - 1}")
                    tests.append(f"a{leaves - 1}.order")
                elif edge >= 0 and edge not in seen:
                    seen.add(edge)
                    found.append(f"n{edge}")
                    tests.append(f"n{edge}.plan is not {self.name('p', self.form[edge][0])} or n{edge}.arrays is None")
                else:
                    found.append(f"e{position}")
                    tests.append(f"e{position} is not {f'a{-1 - edge}' if edge < 0 else f'n{edge}'}")
            self.lines.append(f"{', '.join(found)}, = n{number}.edges")
            if tests:
                self.lines.append(f"if {' or '.join(tests)}: return")
        self.leaves = [f"a{number}" for number in range(leaves)]
        self.lines.append(f"if wanted is not None and wanted != {{{', '.join(self.leaves)}}}: return")

    def run(self) -> None:
        """One rule after the other; then what has arrived at leaves, which of it is new memory, what can be freed."""
        arrived: set[int] = set()
        self.lines.append("owned = {}")
        for number, (plan, edges) in enumerate(self.form):
            if any(call[2] == JOINT for call in plan.steps):
                self.lines.append(f"shares = run_joint(n{number}, g{number}, n{number}.arrays, None)")
            elif plan.saves:
                self.lines.append(f"{''.join(f'v{i}, ' for i in range(len(plan.saves)))}= n{number}.arrays")
            for step in plan.steps:
                edge = edges[step[0]]
                assert edge is not None  # or the rule would not be in the plan
                self.deliver(self.gradient(number, step), number, edge, edge in arrived)
                arrived.add(edge)
            self.lines.append(f"del g{number}")
        gradients = ", ".join(f"a{number}: l{number}" for number in range(len(self.leaves)))
        freed = "".join(f"n{number}, " for number, (plan, _) in enumerate(self.form) if plan.frees)
        self.lines.append(f"leaves = {{{gradients}}}")
        if len(self.leaves) > 1:  # what were two leaves may be one now
            self.lines.append(f"if len(leaves) != {len(self.leaves)}: return")
        self.lines.append(f"return leaves, owned, ({freed}), None")

    def gradient(self, number: int, step: tuple[Any, ...]) -> str:
        """The call of a rule."""
        position, rule, source, sources = step
        if source == JOINT:
            return f"shares[{position}]"
        if source == NOTHING:
            return f"g{number}" if rule is passed_on else f"{self.name('r', rule)}(g{number})"
        given = [f"v{s}" if type(s) is int else f"n{number}.params[{s!r}]" for s in sources]
        return f"{self.name('r', rule)}({', '.join([f'g{number}', *given])})"

    def deliver(self, gradient: str, number: int, edge: int, again: bool) -> None:
        """Send a gradient along an edge."""
        write = self.lines.append
        place = f"l{-1 - edge}" if edge < 0 else f"g{edge}"
        new = "t" if again else place
        write(f"{new} = {gradient}")
        if gradient.startswith("shares"):
            write(f"if {new} is None: return")
        if edge >= 0:
            target = f"n{edge}"
            write(
                f"if {new}.shape != {target}.shape or {new}.dtype is not {target}.dtype: {new} = fitted({new}, {target})"
            )
        else:
            leaf = f"a{-1 - edge}"
            write(f"x = {leaf}._array")
            write(f"if {new}.shape != x.shape: {new} = fit({new}, x.shape, x.dtype)")
            write(f"if {new}.dtype is not x.dtype: return")
        if again:
            write(f"{place} = {place} + t if t.size < {LARGE} else sum_by_blocks({place}, t)")
        if edge < 0:
            if again:
                write(f"owned[{leaf}] = {place}")
            else:
                write(
                    f"if {place} is not g{number} and ({place}.base is None or is_own({place})): owned[{leaf}] = {place}"
                )

"""The form of a graph: what has to be the same for a written-out backward pass to be the right one (see pass_writer.py).

A graph that was walked is told as a list of steps, with the shapes and dtypes in it as long as they stay the same. Where
most of them are turns of a part that repeats, as the cells of a recurrent network are, the turns are folded into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy import ndarray

from ..basics.constants import FLOAT32, FLOAT64
from ..basics.storage import clock
from ..node import Node
from ..plan import LONG, Plan

if TYPE_CHECKING:
    from ..basics.types import Operand

MOST_STEPS = 1024  # of a form: longer code does not stay in the cache
MOST_WALKED = 1 << 16  # nodes of a graph that is looked at


class Known(NamedTuple):
    """Shape and dtype of an array of real numbers, which a program relies on."""

    shape: tuple[int, ...]
    dtype: Any


class Step(NamedTuple):
    """A node of a graph, as a program knows it."""

    plan: Plan
    edges: tuple[int | None, ...]  # to step n, to leaf -1 - n, or nowhere
    result: Known | None = None  # of the operation, and so its cotangent
    follows: bool = False  # from what is known of the inputs, where it is known of all
    saved: tuple[Known | None, ...] = ()  # those of its saved values that are plain arrays; of a leaf, still its own


class Form(NamedTuple):
    """The nodes of a graph in the order they ran, for which a program is written.

    Of a part that repeats (a cell, for each step of a sequence) two turns are kept, and the second is written as a loop:
    whatever the length of the sequence, the form is the same.
    """

    steps: tuple[Step, ...]
    start: int = 0  # the first step of the loop
    period: int = 0  # steps of the loop, 0 if there is none
    leaves: tuple[Known, ...] | None = None  # None: a program for arrays of any shape and dtype

    def loosened(self) -> Form:
        """The same without what is known of arrays."""
        return self._replace(steps=tuple([Step(step.plan, step.edges) for step in self.steps]), leaves=None)


def form_of(executed: list[Node]) -> Form | None:
    """The form of the graph that these nodes are, None if some are not ordinary, or they are too many.

    Nor has one that something was written into since: no program runs it, and leaves may not be what it was made from.
    """
    if len(executed) > MOST_WALKED or executed[-1].order <= clock.last_write:
        return None
    numbers = {node: number for number, node in enumerate(executed)}
    leaves: dict[Any, int] = {}
    steps = []
    for node in executed:
        plan = node.plan
        if node.arrays is None or plan.blocked or node.shape is None and node.outputs is None:
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
        result = Known(node.shape, node.dtype) if node.dtype is FLOAT32 or node.dtype is FLOAT64 else None
        kind = plan.op.kind
        follows = None not in edges and (kind.startswith("elementwise") or kind != "op" and node.params is None)
        steps.append(Step(plan, tuple(edges), result, follows, saved_by(node)))
    facts = [known(leaf._array) if leaf._array.flags.c_contiguous else None for leaf in leaves]
    form = Form(tuple(steps), leaves=tuple([fact for fact in facts if fact is not None]))
    if len(facts) != len(form.leaves or ()):
        form = form.loosened()
    if len(steps) > LONG:
        form = folded(form) or folded(form.loosened()) or form
    return form if len(form.steps) <= MOST_STEPS else None


def known(value: Operand) -> Known | None:
    """Shape and dtype of an array of real numbers; None for any other value."""
    if type(value) is not ndarray or value.dtype is not FLOAT32 and value.dtype is not FLOAT64:
        return None
    return Known(value.shape, value.dtype)


def saved_by(node: Node) -> tuple[Known | None, ...]:
    """Shapes and dtypes of the saved values of a node; None for those that are not plain arrays."""
    facts = []
    for code, value in zip(node.plan.saves, node.arrays or (), strict=False):
        target = node.edges[code] if type(code) is int and code >= 0 else None
        others = target is not None and not target.order and target._array is not value
        facts.append(None if others else known(value))
    return tuple(facts)


def folded(form: Form) -> Form | None:
    """The form of steps most of which are turns of a part that repeats; None if they are not."""
    steps = form.steps
    count = len(steps)
    middle = count // 2
    for period in range(1, count // 8):
        if all(are_alike(steps, number, number + period) for number in range(middle, middle + period)):
            break
    else:
        return None
    first = last = middle
    while first > 0 and are_alike(steps, first - 1, first - 1 + period):
        first -= 1
    while last + period < count and are_alike(steps, last, last + period):
        last += 1
    turns = (last + period - first) // period
    start = first + period  # the first turn is written out: it is where leaves get their first gradient
    following, end = start + period, first + turns * period
    # Edges lead to the same turn, to the next, or to what comes after all of them; a loop finds the same as its first turn.
    carried = leads_to(steps[:start], start, end)
    outside = leads_to(steps[:following], end, count)
    found = leads_to(steps[start:following], following, end)
    if turns < 4 or found != {edge + period for edge in carried} or any(edge >= following for edge in carried):
        return None
    if outside & {edge + end - start for edge in carried}:
        return None
    left_out = end - following
    kept = [
        step._replace(
            edges=tuple([edge - left_out if edge is not None and edge >= end else edge for edge in step.edges])
        )
        for step in (*steps[:following], *steps[end:])
    ]
    return Form(tuple(kept), start, period, form.leaves)


def are_alike(steps: Sequence[Step], one: int, other: int) -> bool:
    """Return True if two steps, one turn apart, are the same: their edges lead equally far, or to the same place."""
    first, second = steps[one], steps[other]
    if first.plan is not second.plan or first.result != second.result or first.saved != second.saved:
        return False
    for edge, match in zip(first.edges, second.edges, strict=True):
        if edge != match and (
            edge is None or match is None or edge < 0 or match < 0
            or edge - one != match - other or steps[edge].plan is not steps[match].plan
            or steps[edge].result != steps[match].result
        ):  # fmt: skip
            return False
    return True


def leads_to(steps: Sequence[Step], first: int, end: int) -> set[int]:
    """Those from `first` up to `end` to which edges of these steps lead."""
    return {edge for step in steps for edge in step.edges if edge is not None and first <= edge < end}

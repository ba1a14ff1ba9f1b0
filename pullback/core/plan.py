"""`Plan`: for one combination of inputs that need gradients, what a node saves and which rules it runs with that.

An operation makes its plans when they are first needed (`Op.plan`). From each, two short functions are written:
`record`, which makes the node (recording.py), and `pull`, which runs the rules (pulling.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from .kernel import chosen_rule
from .node import Node
from .pulling import make_pull
from .recording import make_recorder

if TYPE_CHECKING:
    from .basics.types import Cotangent, Edge, Edges, Function, Gradient, Params, Reach, SaveCode, Source, Values
    from .written_out.forms import Form

# After how many walks a pass is looked at, to be written out: that takes as long as some hundred walks.
FIRST_LOOK = 128
# Of more nodes than LONG, a part that repeats is written as a loop. Its code is short, so these passes are looked at after
# 2**SOONER times fewer walks.
LONG, SOONER = 256, 6


class Call(NamedTuple):
    """A rule of a plan and where its arguments come from: the one binding of what rules name to values."""

    position: int  # of the input whose gradient the rule gives
    rule: Any  # a function of the cotangent and these arguments
    sources: tuple[Source, ...]  # positions in `Plan.saves`, or names of parameters

    def arguments(self, values: Values, params: Params, needs: Sequence[bool] | None = None) -> list[Any]:
        """The arguments of the rule besides the cotangent."""
        return [values[s] if type(s) is int else needs if s == "needs" else params[s] for s in self.sources]

    def run(self, cotangent: Cotangent, values: Values, params: Params) -> Gradient:
        """The gradient that the rule makes of a cotangent."""
        return self.rule(cotangent, *self.arguments(values, params))


class Repeats:
    """The passes that began at nodes of one plan: how many were walked, and what was written out for them."""

    __slots__ = ("programs", "walks", "next_look", "last_form")

    def __init__(self, first_look: int = FIRST_LOOK) -> None:
        self.programs: tuple[Function, ...] = ()  # passes that are written out (see repeats.py)
        self.walks: int = 0
        self.next_look: int = first_look  # after how many walks a pass is looked at
        self.last_form: Form | None = None  # of the pass that was looked at last

    def count_walk(self, count: int) -> bool:
        """A pass over so many nodes was walked: whether to look at it."""
        self.walks += 1
        return self.walks >= (self.next_look if count <= LONG else self.next_look >> SOONER)

    def remember(self, form: Form | None) -> None:
        """A pass that was looked at had this form. The next look is after twice as many walks."""
        self.next_look *= 2
        self.last_form = form

    def add(self, program: Function, most: int) -> None:
        """Keep a pass that was written out, and the latest others."""
        self.programs = (program, *self.programs[: most - 1])
        self.last_form = None

    def give_up(self) -> None:
        """Forget the passes that were written out: they are not tried again."""
        self.programs = ()


class Plan:
    """For one combination of inputs that need gradients: what to save, and which rule gets which of it."""

    __slots__ = (
        "op", "needs", "wanted", "saves", "calls", "joint", "keeps_output", "frees", "blocked", "side_by_side", "record", "pull",
        "narrower", "repeats",
    )  # fmt: skip

    def __init__(
        self,
        op: Any,
        needs: tuple[bool, ...] = (),
        saves: tuple[SaveCode, ...] = (),
        calls: tuple[Call, ...] = (),
        joint: Call | None = None,
        frees: bool = False,
        large: bool = False,
    ) -> None:
        self.op: Any = op  # whose plan it is; None for nodes with a `run` of their own
        self.needs: tuple[bool, ...] = needs
        self.wanted: tuple[int, ...] = tuple([position for position, needed in enumerate(needs) if needed])
        # input number, -1 - output number, ('shape', input number) or a name such as 'arrays'
        self.saves: tuple[SaveCode, ...] = saves
        self.calls: tuple[Call, ...] = calls  # one for each input that needs a gradient and has a rule of its own
        self.joint: Call | None = joint  # a rule for all inputs together
        self.keeps_output: bool = any([_is_output(code) for code in saves])
        # whether a pass lets go of what is saved: more than shapes, or a parameter
        self.frees: bool = frees or any([_is_array(code) for code in saves])
        # of large operands: rules run block by block, or each on a thread of its own
        self.blocked: bool = large and op.blocked and all([type(code) is int for code in saves])
        self.side_by_side: bool = large and op.large == "rules side by side" and len(calls) > 1
        # the node of one application: (out, dtype, params, *inputs, *arrays) -> Node
        self.record: Any = None if op is None else make_recorder(self, len(needs))
        # what goes along each edge: (cotangent, saved values, params) -> gradients
        self.pull: Any = None if op is None else make_pull(self)
        self.narrower: dict[tuple[bool, ...], Plan] = {}  # for passes that leave some of the inputs out
        self.repeats: Repeats = Repeats()

    def towards(self, edges: Edges, reach: Reach) -> Plan:
        """The plan for a pass that only goes where it leads to what is asked for."""
        needs = tuple([needed and target in reach for needed, target in zip(self.needs, edges)])
        if needs == self.needs:
            return self
        plan = self.narrower.get(needs)
        if plan is None:
            plan = self.narrower[needs] = copy(self)
            plan.needs, plan.calls = needs, tuple([call for call in self.calls if needs[call.position]])
            plan.pull = make_pull(plan)
        return plan

    @property
    def places_cotangent(self) -> bool:
        """True if the rule puts its cotangent at an `index` of zeros."""
        return bool(self.op.rare.selects)

    @property
    def takes_undefined(self) -> bool:
        """True if rules take None for outputs that nothing was computed from."""
        return self.op is None or bool(self.op.rare.undefined_allowed)

    def has_rule(self, position: int) -> bool:
        """Return True if a rule gives the gradient of this input."""
        return self.joint is not None and self.needs[position] or any(call.position == position for call in self.calls)

    def edges_with_rules(self, node: Node) -> list[Edge]:
        """Where a node sends cotangents: of `x * x`, one edge has the rule for both."""
        return [edge for position, edge in enumerate(node.edges) if self.has_rule(position)]

    def engine_calls(self) -> tuple[Call, ...]:
        """The calls as an ordinary pass makes them: some operations have rules for the engine alone."""
        own, inputs = self.op.rare.engine_rules, self.op.inputs
        if not own:
            return self.calls
        return tuple([c._replace(rule=chosen_rule(self.op, c.rule, own[inputs[c.position]])) for c in self.calls])


def _is_output(code: SaveCode) -> bool:
    return code < 0 if type(code) is int else code in ("outs", "extras")


def _is_array(code: SaveCode) -> bool:
    return type(code) is int or code in ("arrays", "outs", "extras")

"""Running the rules of one node: from its cotangent to what goes along each of its edges.

`make_pull` writes a function for each plan, of one line; plans whose rules ask for the same places share its code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from .mostly_zeros import Placed

if TYPE_CHECKING:
    from .basics.types import Cotangent, Function, Gradient, Params, Pull, Values
    from .plan import Call, Plan


def make_pull(plan: Plan) -> Pull:
    """The function `pull(cotangent, values, params)`: a gradient for each edge, None where there is none to send."""
    if plan.joint is not None:
        from .cotangents import pull_jointly

        return pull_jointly(plan)
    if plan.blocked:
        from .large_cotangents import pull_by_blocks

        return pull_by_blocks(plan)
    if plan.side_by_side:
        from .large_cotangents import pull_side_by_side

        return pull_side_by_side(plan)
    calls = {call.position: call for call in plan.engine_calls()}
    asked = tuple([None if i not in calls else sources_of(calls[i]) for i in range(len(plan.needs))])
    pull = write_pull(asked)(*[call.rule for call in calls.values()])
    return pull_placed(plan, pull) if plan.calls and plan.places_cotangent else pull


def sources_of(call: Call) -> Any:
    """The sources of a rule's arguments; "g" for the rule that returns its cotangent as it is."""
    from .op import identity_rule

    return "g" if call.rule is identity_rule else call.sources


@cache
def write_pull(asked: tuple[Any, ...]) -> Function:
    """For rules that ask for these places of what is saved, and for these parameters."""
    parts: list[str] = []
    rules: list[str] = []
    for sources in asked:
        if sources is not None:
            rules.append(f"r{len(rules)}")
        given = [f"v[{s}]" if type(s) is int else f"p[{s!r}]" for s in (() if sources in (None, "g") else sources)]
        parts.append(
            "None" if sources is None else "g" if sources == "g" else f"{rules[-1]}({', '.join(['g', *given])})"
        )
    make: Function = eval(f"lambda {', '.join(rules)}: lambda g, v, p: ({', '.join(parts)},)")
    return make


def pull_placed(plan: Plan, pull: Pull) -> Pull:
    """Of a selection: its zeros are not made yet."""

    def pull_selection(cotangent: Cotangent, values: Values, params: Params) -> Sequence[Gradient]:
        if type(cotangent) is not ndarray:
            return pull(cotangent, values, params)
        return (Placed(cotangent, params["index"], lambda g: pull(g, values, params)[0]),)

    return pull_selection

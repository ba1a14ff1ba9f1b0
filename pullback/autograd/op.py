"""`Op`: an operation's forward function and the rules that carry cotangents back through it.

Three kinds (see docs/add_an_op.md): `elementwise` gives partial derivatives, `linear` gives transposes, `op` gives
pullbacks. What a rule names is what is saved: an input, `out`, `x_shape` (the shape of input x) or a parameter; a
name that is none of these fails at import. Calling an Op works on ndarrays, on batched arrays and on Tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy import ndarray

from ..dtypes import kind_of
from ..kernels.order import ordered
from .node import Node, node_class

# Numbers for what most operations save (`Plan.saves`): `tape.py` has a line for each.
_SAVINGS: dict[tuple[Any, ...], int] = {(): 0, (0,): 1, (1,): 2, (1, 0): 3, (-1,): 4, (("shape", 0),): 5, (0, -1): 6}


NOTHING, TWO, CALLED, BLOCKED, JOINT = -1, -2, -3, -4, -5  # see `Plan.calls` and `Plan.steps`
# After how many walks a pass is looked at, to be written out (`Plan.next_look`): that takes as long as some hundred walks.
FIRST_LOOK = 128
# Of more nodes than LONG, a part that repeats is written as a loop. Its code is short, so these passes are looked at after
# 2**SOONER times fewer walks.
LONG, SOONER = 256, 6
_dispatching: dict[type[Any], bool] = {}


def _dispatches(kind: type) -> bool:
    """Whether values of a type (tensors, batched arrays) want to run operations themselves."""
    known = _dispatching.get(kind)
    if known is None:
        known = _dispatching[kind] = hasattr(kind, "_pullback_apply")
    return known


def passed_on(g: Any) -> Any:
    """The rule of what a sum adds as it is. The engine knows it and does not call it."""
    return g


class Sources(tuple):
    """Where the arguments of a rule come from, with a function that gets them and calls the rule."""

    call: Callable[[Any, Any, Any], Any]


def _sources_and_call(rule: Callable, sources: tuple) -> Sources:
    kinds = tuple(map(type, sources))
    call: Callable[[Any, Any, Any], Any]
    if kinds == (int, str):
        first, second = sources
        call = lambda g, values, params: rule(g, values[first], params[second])
    elif kinds == (int, str, str):
        first, second, third = sources
        call = lambda g, values, params: rule(g, values[first], params[second], params[third])
    elif kinds == (str,):
        (first,) = sources
        call = lambda g, values, params: rule(g, params[first])
    else:
        call = lambda g, values, params: rule(
            g, *[values[source] if type(source) is int else params[source] for source in sources]
        )
    answer = Sources(sources)
    answer.call = call
    return answer


class Plan:
    """For one combination of inputs that need gradients: what to save, and which rule gets which of it."""

    __slots__ = (
        "saves", "calls", "steps", "wanted", "keeps_output", "joint", "needs", "undefined_allowed", "frees", "saving",
        "blocked", "places", "op", "programs", "walks", "next_look", "last_form",
    )  # fmt: skip

    def __init__(
        self, saves: tuple[Any, ...], calls: tuple[Any, ...], keeps_output: bool, joint: Any, needs: tuple[bool, ...]
    ) -> None:
        # input number, -1 - output number, ('shape', input number) or a name such as 'arrays'
        self.saves: tuple[Any, ...] = saves
        # (input number, rule, source, sources): a source is a position in `saves` or a parameter's name; `source` is the
        # position if there is just one, NOTHING, or TWO positions; in all other cases the rule is CALLED by `sources.call`
        self.calls: tuple[Any, ...] = calls
        self.keeps_output: bool = keeps_output
        self.joint: Any = joint  # (rule, sources) of a rule shared by all inputs, else None
        # what the engine goes through: the calls; BLOCKED where rules are elementwise, on arrays so large that they run
        # block by block; each input that wants its share in the results of a JOINT rule, or of rules that run side by side
        self.steps: tuple[Any, ...] = calls or tuple(
            [(i, None, JOINT, ()) for i, needed in enumerate(needs) if needed and joint]
        )
        self.needs: tuple[bool, ...] = needs
        self.wanted: tuple[int, ...] = tuple([position for position, needed in enumerate(needs) if needed])
        self.places: bool = False  # the rule puts its cotangent at an `index` of zeros
        self.blocked: bool = False
        self.op: Any = None  # whose plan it is
        self.undefined_allowed: bool = False  # whether rules take None for outputs nothing was computed from
        # passes that began here (see repeats.py): written out, how many walked, when to look at the next, what the last was
        self.programs: tuple[Any, ...] = ()
        self.walks: int = 0
        self.next_look: int = FIRST_LOOK
        self.last_form: Any = None
        # the number of the commonest `saves`, else None
        self.saving: Any = _SAVINGS.get(saves) if joint is None else None
        # more than shapes is kept
        self.frees: bool = any(type(code) is int or code in ("arrays", "outs", "extras") for code in saves)


class Op:
    """One differentiable operation on arrays."""

    shown_constants: dict[str, Any] = {}  # what nodes show as saved under torch's name, where it is always the same
    extras_from: int = 1  # the output from which on rules know them as `extras`; those before are not saved
    rebuild: Any = None  # what makes a node those that torch shows, when somebody looks where it leads
    gives_arrays: bool = True  # rules give plain arrays where they are given some
    engine_rules: dict[str, Callable[..., Any]] = {}  # for the engine alone: the same, but may answer with `Picked`
    written: dict[str, str] = {}  # rules as text for small real arrays, to stand in written-out passes (inlining.py)
    written_for_axes: int | None = None  # the axes of a cotangent, where the text holds for no other number
    takes_picked: bool = False  # whether the rule knows what to do with a cotangent that is `Picked`
    # What is saved is copied before somebody writes to it: torch saves something else, and so allows the write.
    copies_before_writes: bool = False
    first_only: bool = False  # of several outputs the first alone has a gradient: rules are given its cotangent

    def __init__(
        self,
        node_name: str,
        forward: Callable[..., Any],
        *,
        inputs: tuple[str, ...],
        rules: dict[str, Callable[..., Any] | None],
        real_rules: dict[str, Callable[..., Any] | None] | None = None,
        joint: Callable[..., Any] | None = None,
        kind: str = "op",
        partials: dict[str, Callable[..., Any] | None] | None = None,
        pushforward: Callable[..., Any] | None = None,
        batch: Callable[..., Any] | None = None,
        view: bool = False,
        outputs: int = 1,
        variadic: bool = False,
        keeps_params: bool = False,
    ) -> None:
        self.node_name: str = node_name
        self.name: str = node_name.split("::")[-1].split("Backward")[0]
        several = kind in ("elementwise", "elementwise_pull") and len(inputs) > 1
        at_liberty = several and not hasattr(forward, "is_ordered")
        self.forward: Callable[..., Any] = ordered(forward) if at_liberty else forward
        self.inputs: tuple[str, ...] = inputs
        self.rules: dict[str, Callable[..., Any] | None] = rules
        self.real_rules: Any = real_rules or rules  # the same without complex conjugates: for real results
        self.joint: Callable[..., Any] | None = joint
        self.kind: str = kind  # 'elementwise', 'linear', 'bilinear' or 'op': how forward mode and vmap treat it
        self.partials: dict[str, Callable[..., Any] | None] | None = partials
        self.pushforward: Callable[..., Any] | None = pushforward
        self.batch: Callable[..., Any] | None = batch
        self.places: bool = False  # a selection: its rule puts the cotangent at `index` of zeros
        self.view: bool = view  # the result shares memory with the first input
        self.outputs: int = outputs  # 1, or 0 for "a tuple of outputs"
        self.variadic: bool = variadic
        self.blocked: bool = kind in ("elementwise", "elementwise_pull")  # large operands may be cut into blocks
        self.side_by_side: bool = False  # rules take long: on large operands each gets a thread of its own
        self.keeps_params: bool = keeps_params  # a parameter is what torch saves as a tensor (an index), and so frees
        # Plans are made when first needed. For real results of one and of two inputs they are kept where recording
        # finds them at once: by the set of inputs that need gradients.
        self.plans: dict[Any, Plan] = {}
        self.first_plan: Plan | None = None
        self.pair_plans: list[Plan | None] = [None] * 4
        self.always_differentiable: bool = (
            joint is not None or variadic or all(rules.get(name) is not None for name in inputs)
        )
        # inputs for which users see no edge in the graph
        self.unseen: tuple[int, ...] = (
            ()
            if self.always_differentiable
            else tuple([position for position, name in enumerate(inputs) if rules.get(name) is None])
        )
        # as a bit set; -1 is all of them
        self.differentiable_inputs: int = (
            -1
            if self.always_differentiable
            else sum(1 << position for position, name in enumerate(inputs) if rules.get(name) is not None)
        )
        # one input, one output, and always a gradient: what the tape's short path for one tensor takes
        self.single: bool = len(inputs) == 1 == outputs and not view and not variadic and self.always_differentiable
        # the same of two inputs: products and functions of elements, which the tape gives a function of their own
        self.double: bool = (
            len(inputs) == 2 and outputs == 1 and not view and not variadic and self.always_differentiable
            and kind in ("bilinear", "elementwise", "elementwise_pull")
        )  # fmt: skip
        self.pair: Callable[[Any, Any], Any] | None = None
        for rule in (*rules.values(), joint):
            if rule is not None:
                self._check_names(rule)

    @cached_property
    def node_type(self) -> type[Node]:
        """The class of the nodes that record this operation, as users see them."""
        return node_class(self.node_name, self)

    def differentiable(self, position: int) -> bool:
        """Whether a gradient can flow to the input at this position."""
        if self.joint is not None or self.variadic:
            return True
        return self.rules.get(self.inputs[position]) is not None

    def saved_names(self) -> set[str]:
        """Everything the rules ask for by name, and the parameters."""
        asked = {name for rule in (*self.rules.values(), self.joint) if rule is not None for name in _rule_names(rule)}
        parameters = _parameter_names(self.forward) or ()
        return asked.union(name for name in parameters if name not in self.inputs)

    # --- plans ---

    def _check_names(self, rule: Callable) -> None:
        parameters = _parameter_names(self.forward)
        for name in _rule_names(rule):
            known = (
                name in self.inputs or name in ("out", "outs", "extras", "needs", "shapes", "arrays", "dtypes")
                or name.endswith("_shape") and name[:-6] in self.inputs
                or parameters is None or name in parameters
            )  # fmt: skip
            if not known:
                raise TypeError(f"a rule of {self.node_name} asks for {name!r}, which is no input, output or parameter")

    def plan(self, mask: int, count: int, complex_: bool = False, large: bool = False) -> Plan:
        """The plan when the inputs in the bit set `mask` need gradients (`count` inputs in all)."""
        key = (mask << 2 | complex_ << 1 | large, count) if self.variadic else mask << 2 | complex_ << 1 | large
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = self._make_plan(mask, count, self.rules if complex_ else self.real_rules)
            if large and self.blocked and all(type(code) is int for code in plan.saves):
                plan.blocked = True
                plan.steps = tuple([(i, rule, BLOCKED, sources) for i, rule, _, sources in plan.calls])
            plan.op = self
            if self.engine_rules:
                plan.steps = tuple([
                    (i, rule, source, _sources_and_call(rule, sources))
                    for i, _, source, sources in plan.calls
                    for rule in (self.engine_rules[self.inputs[i]],)
                ])  # fmt: skip
            if large and self.side_by_side and len(plan.calls) > 1:
                plan.steps = tuple([(call[0], None, JOINT, ()) for call in plan.calls])
            if not complex_ and not large and not self.variadic:
                if count == 1:
                    self.first_plan = plan
                elif count == 2:
                    self.pair_plans[mask] = plan
        return plan

    def _make_plan(self, mask: int, count: int, rules: dict) -> Plan:
        saves: list[Any] = []
        needs = tuple(bool(mask >> i & 1) for i in range(count))

        def sources_of(rule: Callable) -> tuple:
            sources: list[Any] = []
            for name in _rule_names(rule):
                code = self.save_code(name)
                if code is None:
                    sources.append(name)
                    continue
                if code not in saves:
                    saves.append(code)
                sources.append(saves.index(code))
            return tuple(sources)

        if self.joint is not None:
            joint = (self.joint, sources_of(self.joint))
            calls: tuple = ()
        else:
            joint = None
            made = []
            for i, name in enumerate(self.inputs[:count]):
                rule = rules.get(name)
                if needs[i] and rule is not None:
                    sources = sources_of(self.rules[name] or rule)
                    made.append((i, rule, _summary(sources), _sources_and_call(rule, sources)))
            calls = tuple(made)
        keeps_output = any(type(code) is int and code < 0 or code in ("outs", "extras") for code in saves)
        plan = Plan(tuple(saves), calls, keeps_output, joint, needs)
        plan.frees = plan.frees or self.keeps_params
        plan.places = self.places
        return plan

    def save_code(self, name: str) -> Any:
        """What a name stands for among what is saved: as in `Plan.saves`; None for a parameter, or `needs`."""
        if name in self.inputs:
            return self.inputs.index(name)
        if name == "out":
            return -1
        if name in ("shapes", "arrays", "outs", "extras", "dtypes"):
            return name
        if name.endswith("_shape") and name[:-6] in self.inputs:
            return ("shape", self.inputs.index(name[:-6]))
        return None  # a parameter, or `needs`

    # --- calling ---

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        for value in inputs:
            if type(value) is not ndarray and _dispatches(type(value)):
                return value._pullback_apply(self, inputs, params)
        return self.forward(*inputs, **params)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def _summary(sources: tuple) -> int:
    """What a rule asks for besides the cotangent: up to two saved values, or more than that."""
    if len(sources) > 2 or not all(type(source) is int for source in sources):
        return CALLED
    return NOTHING if not sources else sources[0] if len(sources) == 1 else TWO


def _rule_names(rule: Callable) -> tuple[str, ...]:
    """What a rule asks for besides the cotangent."""
    names = getattr(rule, "names", None)
    if names is not None:
        return names
    code = rule.__code__
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def _parameter_names(forward: Callable) -> tuple[str, ...] | None:
    code = getattr(getattr(forward, "__wrapped__", forward), "__code__", None)
    if code is None:
        return None
    if code.co_flags & 0x08:  # **params: anything goes
        return None
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def conjugate(value: Any) -> Any:
    """conj for complex values; real ones as they are."""
    if isinstance(value, complex):
        return value.conjugate()
    if getattr(value, "dtype", None) is not None and kind_of(value) == "c":
        return np.conj(value)
    return value


def _times_partial(partial: Callable, conjugated: bool) -> Callable:
    """The pullback of an elementwise operation from its partial derivative; it asks for the same names."""
    names = partial.__code__.co_varnames[: partial.__code__.co_argcount]
    rule: Any
    if len(names) == 1:
        rule = (lambda g, u: g * conjugate(partial(u))) if conjugated else (lambda g, u: g * partial(u))
    elif len(names) == 2:
        rule = (lambda g, u, v: g * conjugate(partial(u, v))) if conjugated else (lambda g, u, v: g * partial(u, v))
    else:
        rule = (lambda g, *args: g * conjugate(partial(*args))) if conjugated else (lambda g, *args: g * partial(*args))
    rule.names = names
    return rule


def elementwise(node_name: str, forward: Callable[..., Any], **partials: Callable[..., Any] | None) -> Op:
    """An operation on single elements, given by its partial derivatives (functions of what they name)."""
    rules = {name: None if partial is None else _times_partial(partial, True) for name, partial in partials.items()}
    real = {name: None if partial is None else _times_partial(partial, False) for name, partial in partials.items()}
    return Op(
        node_name, forward, inputs=tuple(partials), rules=rules, real_rules=real, kind="elementwise", partials=partials
    )


def linear(
    node_name: str, forward: Callable[..., Any], *, view: bool = False, batch: Callable[..., Any] | None = None,
    joint: Callable[..., Any] | None = None, variadic: bool = False, outputs: int = 1, inputs: tuple[str, ...] | None = None,
    **transposes: Callable[..., Any] | None,
) -> Op:  # fmt: skip
    """An operation linear in all its array inputs together, given by its transposes."""
    return Op(
        node_name, forward, inputs=inputs or tuple(transposes), rules=transposes, joint=joint, kind="linear", view=view,
        batch=batch, variadic=variadic, outputs=outputs,
    )  # fmt: skip


def op(
    node_name: str, forward: Callable[..., Any], *, kind: str = "op", view: bool = False, batch: Callable[..., Any] | None = None,
    joint: Callable[..., Any] | None = None, variadic: bool = False, outputs: int = 1, inputs: tuple[str, ...] | None = None,
    pushforward: Callable[..., Any] | None = None, **pullbacks: Callable[..., Any] | None,
) -> Op:  # fmt: skip
    """Any other operation, given by its pullbacks (one for each input, or one `joint` rule that is told `needs`)."""
    return Op(
        node_name, forward, inputs=inputs or tuple(pullbacks), rules=pullbacks, joint=joint, kind=kind, view=view,
        batch=batch, variadic=variadic, outputs=outputs, pushforward=pushforward,
    )  # fmt: skip

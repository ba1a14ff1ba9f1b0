"""`Op`: an operation's forward function and the rules that carry cotangents back through it.

Three kinds (see docs/add_an_op.md): `elementwise` gives partial derivatives, `linear` gives transposes, `op` gives
pullbacks. What a rule names is what is saved: an input, `out`, `x_shape` (the shape of input x) or a parameter; a
name that is none of these fails at import. Calling an Op works on ndarrays, on batched arrays and on Tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..dtypes import kind_of
from ..kernels.order import ordered
from ..ops.layouts import ELEMENTWISE, Layout
from .node import Node, node_class
from .pulling import puller
from .recording import recorder

# After how many walks a pass is looked at, to be written out (`Plan.next_look`): that takes as long as some hundred walks.
FIRST_LOOK = 128
# Of more nodes than LONG, a part that repeats is written as a loop. Its code is short, so these passes are looked at after
# 2**SOONER times fewer walks.
LONG, SOONER = 256, 6
LARGE = 5 << 14  # elements from which elementwise operations may run block by block (`kernels.large.SMALL_BYTES`)
LARGE_FACTOR = 1 << 14  # elements of a factor from which two products may run side by side
POINTWISE_KINDS = ("elementwise", "elementwise_pull", "real_pull")
CASTS = ("as given", "short", "full")  # by autocast: not at all, to its own dtype, to float32
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


class Call(NamedTuple):
    """A rule of a plan and where its arguments come from: the one binding of what rules name to values."""

    position: int  # of the input whose gradient the rule gives
    rule: Any  # a function of the cotangent and these arguments
    sources: tuple[Any, ...]  # positions in `Plan.saves`, or names of parameters

    def arguments(self, values: Any, params: Any, needs: Any = None) -> list[Any]:
        """What the rule gets besides the cotangent."""
        return [values[s] if type(s) is int else needs if s == "needs" else params[s] for s in self.sources]

    def run(self, cotangent: Any, values: Any, params: Any) -> Any:
        """The gradient that the rule makes of a cotangent."""
        return self.rule(cotangent, *self.arguments(values, params))


class Plan:
    """For one combination of inputs that need gradients: what to save, and which rule gets which of it."""

    __slots__ = (
        "saves", "calls", "joint", "wanted", "needs", "keeps_output", "undefined_allowed", "frees", "record", "pull", "narrower",
        "together", "blocked", "places", "op", "programs", "walks", "next_look", "last_form",
    )  # fmt: skip

    def __init__(
        self,
        saves: tuple[Any, ...],
        calls: tuple[Call, ...],
        keeps_output: bool,
        joint: Call | None,
        needs: tuple[bool, ...],
    ) -> None:
        # input number, -1 - output number, ('shape', input number) or a name such as 'arrays'
        self.saves: tuple[Any, ...] = saves
        self.calls: tuple[Call, ...] = calls  # one for each input that needs a gradient and has a rule of its own
        self.keeps_output: bool = keeps_output
        self.joint: Call | None = joint  # a rule for all inputs together
        self.needs: tuple[bool, ...] = needs
        self.wanted: tuple[int, ...] = tuple([position for position, needed in enumerate(needs) if needed])
        self.together: bool = False  # rules take long: each on a thread of its own
        self.places: bool = False  # the rule puts its cotangent at an `index` of zeros
        self.blocked: bool = False
        self.op: Any = None  # whose plan it is
        self.undefined_allowed: bool = False  # whether rules take None for outputs nothing was computed from
        # passes that began here (see repeats.py): written out, how many walked, when to look at the next, what the last was
        self.programs: tuple[Any, ...] = ()
        self.walks: int = 0
        self.next_look: int = FIRST_LOOK
        self.last_form: Any = None
        # the node of one application: (out, dtype, params, *inputs, *arrays) -> Node (recording.py)
        self.record: Any = None
        # what goes along each edge: (cotangent, saved values, params) -> gradients (pulling.py)
        self.pull: Any = None
        self.narrower: dict[tuple[bool, ...], Plan] = {}  # for passes that leave some of the inputs out
        # more than shapes is kept
        self.frees: bool = any(type(code) is int or code in ("arrays", "outs", "extras") for code in saves)

    def towards(self, edges: tuple[Any, ...], reach: set[Any]) -> Plan:
        """The plan for a pass that only goes where it leads to what is asked for."""
        needs = tuple([needed and target in reach for needed, target in zip(self.needs, edges)])
        if needs == self.needs:
            return self
        plan = self.narrower.get(needs)
        if plan is None:
            plan = self.narrower[needs] = copy(self)
            plan.needs, plan.calls = needs, tuple([call for call in self.calls if needs[call.position]])
            plan.pull = puller(plan)
        return plan

    def has_rule(self, position: int) -> bool:
        """Whether a rule gives the gradient of an input."""
        return self.joint is not None and self.needs[position] or any(call.position == position for call in self.calls)

    def leads(self, node: Node) -> list[Any]:
        """Where a node sends cotangents: of `x * x`, one edge has the rule for both."""
        return [edge for position, edge in enumerate(node.edges) if self.has_rule(position)]

    def engine_calls(self) -> tuple[Call, ...]:
        """The calls as an ordinary pass makes them: some operations have rules for the engine alone."""
        own, inputs = self.op.engine_rules, self.op.inputs
        return tuple([call._replace(rule=own[inputs[call.position]]) for call in self.calls]) if own else self.calls


class Op:
    """One differentiable operation on arrays."""

    # Fields that few operations have, with what holds for all others:
    shown_constants: dict[str, Any] = {}  # what nodes show as saved under torch's name, where it is always the same
    extras_from: int = 1  # the output from which on rules know them as `extras`; those before are not saved
    rebuild: Any = None  # what makes a node those that torch shows, when somebody looks where it leads
    gives_arrays: bool = True  # rules give plain arrays where they are given some
    engine_rules: dict[str, Callable[..., Any]] = {}  # for the engine alone: the same, but may answer with `Picked`
    takes_picked: bool = False  # whether the rule knows what to do with a cotangent that is `Picked`
    # What is saved is copied before somebody writes to it: torch saves something else, and so allows the write.
    copies_before_writes: bool = False
    output_step: Any = None  # of a view with several outputs: (params, number, shape) -> the single view that one is
    step_from_base: Any = None  # of a view of memory: (params, base) -> what the same view of its base takes

    def __init__(
        self,
        node_name: str,
        forward: Callable[..., Any],
        *,
        rules: dict[str, Callable[..., Any] | None],
        inputs: tuple[str, ...] | None = None,
        real_rules: dict[str, Callable[..., Any] | None] | None = None,
        joint: Callable[..., Any] | None = None,
        kind: str = "op",
        partials: dict[str, Callable[..., Any] | None] | None = None,
        pushforward: Callable[..., Any] | None = None,
        batch: Layout | None = None,
        view: bool = False,
        outputs: int = 1,
        variadic: bool = False,
        keeps_params: bool = False,
        first_only: bool = False,
        undefined_allowed: bool = False,
        autocast: str = "as given",
        aten: str | None = None,
        selects: bool = False,
        side_by_side: bool = False,
        cut_from: int | None = None,
        hidden_inputs: tuple[int, ...] | None = None,
        differentiable_inputs: int | None = None,
        **rare: Any,
    ) -> None:
        self.node_name: str = node_name
        if not FIELDS.issuperset(rare):
            raise TypeError(f"{node_name} has no field {', '.join(rare.keys() - FIELDS)}")
        self.__dict__.update(rare)
        # of the forward function, inputs among them
        self.parameters: tuple[str, ...] | None = _parameter_names(forward)
        known = inputs or self.parameters or rules
        inputs = inputs or tuple(rules)
        self.name: str = node_name.split("::")[-1].split("Backward")[0]
        several = kind in ("elementwise", "elementwise_pull") and len(inputs) > 1
        at_liberty = several and not hasattr(forward, "is_ordered")
        self.forward: Callable[..., Any] = ordered(forward) if at_liberty else forward
        # of two operands the first alone can make a difference to the order: the tape looks at it, and calls `swift`
        self.arranges: bool = len(inputs) == 2 and getattr(self.forward, "deciding", ()) is None
        bare = getattr(self.forward, "__wrapped__", forward)
        self.swift: Callable[..., Any] = bare if self.arranges else self.forward
        self.inputs: tuple[str, ...] = inputs
        self.rules: dict[str, Callable[..., Any] | None] = rules
        self.real_rules: Any = real_rules or rules  # the same without complex conjugates: for real results
        self.joint: Callable[..., Any] | None = joint
        self.kind: str = kind  # 'elementwise', 'linear', 'bilinear' or 'op': how forward mode and vmap treat it
        self.partials: dict[str, Callable[..., Any] | None] | None = partials
        self.pushforward: Callable[..., Any] | None = pushforward
        # what it does to axes; without, it runs on batches example by example
        self.batch: Layout | None = batch or (ELEMENTWISE if kind in POINTWISE_KINDS and not variadic else None)
        self.selects: bool = selects  # its rule puts the cotangent at `index` of zeros
        self.view: bool = view  # the result shares memory with the first input
        self.outputs: int = outputs  # 1, or 0 for "a tuple of outputs"
        self.first_only: bool = first_only  # of several outputs the first alone has a gradient: rules get its cotangent
        self.undefined_allowed: bool = undefined_allowed  # rules take None for outputs nothing was computed from
        self.variadic: bool = variadic
        if autocast not in CASTS:
            raise TypeError(f"autocast of {node_name} is {autocast!r}, not one of {', '.join(map(repr, CASTS))}")
        self.aten: str | None = aten  # "name.overload" below autograd, where it does not follow from the node's name
        self.autocast: str = autocast  # the dtype of its inputs on the CPU while autocast is on: see `CASTS`
        self.side_by_side: bool = side_by_side  # rules take long: on large operands each gets a thread of its own
        if side_by_side:
            self.cut_from(LARGE_FACTOR, forward=False, rules=False)
        elif cut_from is None:
            self.cut_from(LARGE if kind in ("elementwise", "elementwise_pull") else 0)
        else:
            self.cut_from(cut_from)
        self.keeps_params: bool = keeps_params  # a parameter is what torch saves as a tensor (an index), and so frees
        # Plans are made when first needed.
        self.plans: dict[Any, Plan] = {}
        self.always_differentiable: bool = (
            joint is not None or variadic or all(rules.get(name) is not None for name in inputs)
        )
        missing: tuple[int, ...] = ()
        if not self.always_differentiable:
            missing = tuple([position for position, name in enumerate(inputs) if rules.get(name) is None])
        # inputs for which users see no edge in the graph
        self.hidden_inputs: tuple[int, ...] = missing if hidden_inputs is None else hidden_inputs
        if differentiable_inputs is None:
            everyone = (1 << len(inputs)) - 1
            differentiable_inputs = everyone - sum([1 << position for position in missing]) if missing else -1
        self.differentiable_inputs: int = differentiable_inputs  # as a bit set; -1 is all of them
        self.plain: bool = outputs == 1 and not view and not variadic and len(inputs) < 6
        # the plans of real results that are not large, by the set of inputs that require grad
        self.ready: list[Plan | None] = [None] * (1 << min(len(inputs), 5))
        for name in rules:
            if name not in known:
                raise TypeError(
                    f"{name!r} of {node_name} is no field of an operation, and no input of its forward function"
                )
        takes = getattr(forward, "nin", len(inputs))
        if takes != len(inputs):
            raise TypeError(
                f"{node_name} takes {takes} inputs: of {', '.join(inputs)} not every one is an input or a field"
            )
        for rule in (*rules.values(), joint):
            if rule is not None:
                self._check_names(rule)

    def cut_from(self, size: int, forward: bool = True, rules: bool = True) -> None:
        """Cut operands of so many elements or more into blocks (0: never), in the forward function and in the rules."""
        self.divisible: int = size
        self.spreads: bool = forward and size > 0
        self.blocked: bool = rules and size > 0

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
        return asked.union(name for name in self.parameters or () if name not in self.inputs)

    # --- plans ---

    def _check_names(self, rule: Callable) -> None:
        parameters = self.parameters
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
            plan.op = self
            plan.together = large and self.side_by_side and len(plan.calls) > 1
            plan.record, plan.pull = recorder(plan, count), puller(plan)
        return plan

    def plan_for(self, mask: int, count: int, out: Any, large: bool = False) -> Plan | None:
        """The plan for a result whose inputs in `mask` require grad; None if it cannot carry a gradient."""
        letter = out.dtype.kind
        wanted = mask & self.differentiable_inputs
        if letter not in "fcV" or not wanted:  # integers; 'V' is bfloat16
            return None
        plan = self.plan(wanted, count, letter == "c", large)
        if letter == "f" and not large and mask < len(self.ready) and not self.variadic:
            self.ready[mask] = plan
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
            joint = Call(-1, self.joint, sources_of(self.joint))
            calls: tuple[Call, ...] = ()
        else:
            joint = None
            made = []
            for i, name in enumerate(self.inputs[:count]):
                rule = rules.get(name)
                if needs[i] and rule is not None:
                    made.append(Call(i, rule, sources_of(self.rules[name] or rule)))
            calls = tuple(made)
        keeps_output = any(type(code) is int and code < 0 or code in ("outs", "extras") for code in saves)
        plan = Plan(tuple(saves), calls, keeps_output, joint, needs)
        plan.frees = plan.frees or self.keeps_params
        plan.places = self.selects
        plan.undefined_allowed = self.undefined_allowed
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
        if self.arranges and (type(inputs[0]) is not ndarray or inputs[0].ndim < 2):
            return self.swift(*inputs, **params)  # dims have but one order, as on the tape
        return self.forward(*inputs, **params)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


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


# What a constructor takes besides rules: the fields of an operation.
FIELDS: frozenset[str] = frozenset(Op.__init__.__kwdefaults__ or ()) | frozenset(Op.__annotations__)


def _card(node_name: str, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields among what a constructor was given, and the rules, one for each input in the order of the call."""
    fields: dict[str, Any] = {}
    rules: dict[str, Any] = {}
    for name, value in given.items():
        if name in FIELDS:
            fields[name] = value
        elif value is None or hasattr(value, "__code__") or hasattr(value, "names"):
            rules[name] = value
        else:
            raise TypeError(
                f"{name!r} of {node_name} is no field of an operation, and {value!r} is no rule of an input"
            )
    return fields, rules


def elementwise(node_name: str, forward: Callable[..., Any], **card: Any) -> Op:
    """An operation on single elements, given by its partial derivatives (functions of what they name)."""
    fields, partials = _card(node_name, card)
    rules = {name: None if partial is None else _times_partial(partial, True) for name, partial in partials.items()}
    real = {name: None if partial is None else _times_partial(partial, False) for name, partial in partials.items()}
    made = {"rules": rules, "real_rules": real, "partials": partials, "kind": "elementwise"}
    return Op(node_name, forward, **{**made, **fields})


def linear(node_name: str, forward: Callable[..., Any], **card: Any) -> Op:
    """An operation linear in all its array inputs together, given by its transposes."""
    return op(node_name, forward, **{"kind": "linear", **card})


def op(node_name: str, forward: Callable[..., Any], **card: Any) -> Op:
    """Any other operation, given by its pullbacks (one for each input, or one `joint` rule that is told `needs`)."""
    fields, rules = _card(node_name, card)
    return Op(node_name, forward, rules=rules, **fields)


def fused(node_name: str, forward: Callable[..., Any], **card: Any) -> Op:
    """An operation whose further outputs (statistics, indices) carry no gradient: its rule is given the first's alone."""
    return op(node_name, forward, **{"outputs": 0, "first_only": True, **card})

"""`Op`: an operation's formula, the rules that carry cotangents back through it, and what else is known of it.

Formula and rules run on any kind of array; a `kernel` beside them is a faster way to the same (kernel.py). Three kinds
(see docs/add_an_op.md): `elementwise` gives partial derivatives, `linear` gives transposes, `op` gives pullbacks. What a
rule names is what is saved: an input, `out`, `x_shape` (the shape of input x) or a parameter; a name that is none of these
fails at import. Calling an Op works on ndarrays, on batched arrays and on Tensors.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..kernels.order import ordered
from ..kernels.thresholds import FACTOR_SIDE_BY_SIDE, MAYBE_BLOCKED
from ..ops.layouts import ELEMENTWISE, Layout
from ..ops.samples import Samples
from .basics.dtypes import kind_of
from .kernel import ELEMENTWISE_KINDS, NO_KERNEL, Kernel, chosen_forward, chosen_rule, parameter_names, rule_names
from .node import Node, node_class
from .plan import Call, Plan

if TYPE_CHECKING:
    from .basics.types import (
        Array,
        Cotangent,
        Formula,
        Function,
        Gradient,
        Operand,
        Result,
        Rule,
        Rules,
        SaveCode,
        Source,
    )

# How forward mode and vmap treat an operation. On single elements: given by partial derivatives; by pullbacks, for complex
# numbers, too, or as if these were pairs of real ones. Linear in all inputs together (but for conjugates). Linear in each of
# two inputs; the same with something added, the input `bias` or the first. Anything else.
KINDS = ("elementwise", "elementwise_pull", "real_pull", "linear", "real_linear", "bilinear", "affine", "op")
# What to do with large operands: cut them into blocks, for the forward function alone or for rules as well; give each rule a
# thread of its own; nothing.
OF_LARGE = ("by blocks", "forward by blocks", "rules side by side", "nothing")
CASTS = ("as given", "short", "full")  # by autocast: not at all, to its own dtype, to float32
_dispatching: dict[type, bool] = {}


def _dispatches(kind: type) -> bool:
    """Return True if values of this type (tensors, batched arrays) run operations themselves."""
    known = _dispatching.get(kind)
    if known is None:
        known = _dispatching[kind] = hasattr(kind, "_pullback_apply")
    return known


def identity_rule(g: Cotangent) -> Gradient:
    """The rule of what a sum adds as it is. The engine knows it and does not call it."""
    return g


class Rare(NamedTuple):
    """Fields that few operations have, with what holds for all others: `op.rare`."""

    # what is saved
    keeps_params: bool = False  # a parameter is what torch saves as a tensor (an index), and so frees
    # it is copied before somebody writes to it: torch saves something else, and so allows the write
    copies_before_writes: bool = False
    extras_from: int = 1  # the output from which on rules know them as `extras`; those before are not saved
    # what nodes show
    shown_constants: dict[str, Any] = {}  # as saved under torch's name, where it is always the same
    title: str | None = None  # what users call it, where that is not the node's name (explaining/)
    # the operations that torch makes of it, which dispatch modes are shown: a name in `torch_names.aten.PARTS`
    taken_apart: str | None = None
    rebuild: Function | None = None  # what makes a node those that torch shows, when somebody looks where it leads
    # what rules get and give
    undefined_allowed: bool = False  # None for outputs that nothing was computed from
    selects: bool = False  # the rule puts the cotangent at `index` of zeros
    gives_arrays: bool = True  # rules give plain arrays where they are given some
    engine_rules: dict[str, Rule] = {}  # kernels for the engine alone: they may answer with `Picked`
    takes_picked: bool = False  # the rule knows what to do with a cotangent that is `Picked`
    multiplies: bool = False  # inside rules under `safe_gradients` the formula runs on arrays in which 0 * inf is 0
    series: str | None = None  # how power series go through it: a recurrence of func/series.py; None by the chain rule
    # of views
    output_step: Any = None  # with several outputs: (params, number, shape) -> the single view that one is
    step_from_base: Any = None  # of memory: (params, base) -> what the same view of its base takes


USUAL: Rare = Rare()


class Op:
    """One differentiable operation on arrays."""

    __slots__ = (
        # what its constructor is told
        "node_name", "formula", "inputs", "rules", "real_rules", "joint", "kernel", "kind", "partials", "pushforward", "batch",
        "view", "outputs", "first_only", "variadic", "autocast", "aten", "large", "hidden_inputs", "differentiable_inputs",
        "samples", "rare",
        # what follows from that, for the tape
        "name", "forward", "bare_forward", "reorders", "plain", "large_from", "forward_by_blocks", "ready", "_plans",
        "_node_type",
    )  # fmt: skip

    def __init__(
        self,
        node_name: str,
        formula: Formula,
        *,
        rules: Rules,
        inputs: tuple[str, ...] | None = None,
        real_rules: Rules | None = None,
        joint: Rule | None = None,
        kernel: Kernel | None = None,
        kind: str = "op",
        partials: Rules | None = None,
        pushforward: Rule | None = None,
        batch: Layout | None = None,
        view: bool = False,
        outputs: int = 1,
        first_only: bool = False,
        variadic: bool = False,
        autocast: str = "as given",
        aten: str | None = None,
        large: str | None = None,
        hidden_inputs: tuple[int, ...] | None = None,
        differentiable_inputs: int | None = None,
        samples: Samples | None = None,
        **rare: object,
    ) -> None:
        self.node_name: str = node_name
        self.name: str = node_name.split("::")[-1].split("Backward")[0]
        self.kind: str = kind  # how forward mode and vmap treat it: see `KINDS`
        self.outputs: int = outputs  # 1, or 0 for "a tuple of outputs"
        self.first_only: bool = first_only  # of several outputs the first alone has a gradient: rules get its cotangent
        self.view: bool = view  # the result shares memory with the first input
        self.variadic: bool = variadic
        # what it does to axes; without, it runs on batches example by example
        self.batch: Layout | None = batch or (ELEMENTWISE if kind in ELEMENTWISE_KINDS and not variadic else None)
        self.autocast: str = autocast  # the dtype of its inputs on the CPU while autocast is on: see `CASTS`
        self.aten: str | None = aten  # "name.overload" below autograd, where it does not follow from the node's name
        self.samples: Samples | None = samples  # what tests feed it: see `ops/samples.py`
        self.rare: Rare = _rare(node_name, rare) if rare else USUAL
        self._take_rules(inputs, rules, real_rules, joint, partials, pushforward)
        self._take_formula(formula, kernel)
        self._choose_inputs(hidden_inputs, differentiable_inputs)
        self._deal_with_large(large)
        self.plain: bool = outputs == 1 and not view and not variadic and len(self.inputs) < 6
        self._plans: dict[int | tuple[int, int], Plan] = {}  # made when first needed
        # of these, those of real results that are not large, by the set of inputs that require grad
        self.ready: list[Plan | None] = [None] * (1 << min(len(self.inputs), 5))
        self._node_type: type[Node] | None = None
        self._check(inputs)

    # --- construction ---

    def _take_rules(
        self,
        inputs: tuple[str, ...] | None,
        rules: Rules,
        real_rules: Rules | None,
        joint: Rule | None,
        partials: Rules | None,
        pushforward: Rule | None,
    ) -> None:
        self.inputs: tuple[str, ...] = inputs or tuple(rules)
        self.rules: Rules = rules
        self.real_rules: Rules = real_rules or rules  # without complex conjugates
        self.joint: Rule | None = joint  # one rule for all inputs, in place of one for each
        self.partials: Rules | None = partials
        self.pushforward: Rule | None = pushforward

    def _take_formula(self, formula: Formula, kernel: Kernel | None) -> None:
        self.formula: Formula = formula  # the truth, on any kind of array
        self.kernel: Kernel | None = kernel  # the same, faster, on NumPy's
        self._set_forward(formula if kernel is None or kernel.forward is None else self._run_first)

    def _set_forward(self, function: Function) -> None:
        several = self.kind in ("elementwise", "elementwise_pull") and len(self.inputs) > 1
        at_liberty = several and not hasattr(self.formula, "is_ordered")
        self.forward: Formula = ordered(function) if at_liberty else function  # what runs on arrays
        # of two operands the first alone can make a difference to the order: the tape looks at it, and calls `bare_forward`
        self.reorders: bool = len(self.inputs) == 2 and getattr(self.forward, "deciding", ()) is None
        self.bare_forward: Formula = getattr(self.forward, "__wrapped__", function) if self.reorders else self.forward

    def _run_first(self, *arrays: Array, **params: Any) -> Result:
        """Stands for `forward` until it is first called: to write the choice takes longer than to make it."""
        self._set_forward(chosen_forward(self))
        return self.forward(*arrays, **params)

    def _choose_inputs(self, hidden: tuple[int, ...] | None, differentiable: int | None) -> None:
        positions = range(len(self.inputs))
        missing = tuple([position for position in positions if not self.differentiable(position)])
        # inputs for which users see no edge in the graph
        self.hidden_inputs: tuple[int, ...] = missing if hidden is None else hidden
        if differentiable is None:
            everyone = (1 << len(self.inputs)) - 1
            differentiable = everyone - sum([1 << position for position in missing]) if missing else -1
        self.differentiable_inputs: int = differentiable  # as a bit set; -1 is all of them

    def _deal_with_large(self, large: str | None) -> None:
        if large is None:
            large = "by blocks" if self.kind in ("elementwise", "elementwise_pull") else "nothing"
        self.large: str = large  # what to do with large operands: see `OF_LARGE`
        # from how many elements on they are large (0: never), and whether the forward function is cut into blocks then
        self.large_from: int = (
            0 if large == "nothing" else FACTOR_SIDE_BY_SIDE if large == "rules side by side" else MAYBE_BLOCKED
        )
        self.forward_by_blocks: bool = self.large_from == MAYBE_BLOCKED

    def _check(self, inputs: tuple[str, ...] | None) -> None:
        """Refuse what cannot be meant: values of fields, rules of no input, and names that nothing goes by."""
        for field, choices in (("kind", KINDS), ("autocast", CASTS), ("large", OF_LARGE)):
            value = getattr(self, field)
            if value not in choices:
                raise TypeError(f"{field} of {self.node_name} is {value!r}, not one of {', '.join(map(repr, choices))}")
        bare = getattr(self.formula, "__wrapped__", self.formula)
        parameters = self.parameters
        known = inputs or parameters or self.rules
        for name in self.rules:
            if name not in known:
                raise TypeError(
                    f"{name!r} of {self.node_name} is no field of an operation, and no input of its forward function"
                )
        takes = getattr(bare, "nin", len(self.inputs))
        if takes != len(self.inputs):
            raise TypeError(
                f"{self.node_name} takes {takes} inputs: of {', '.join(self.inputs)} not every one is an input or a field"
            )
        for rule in self._all_rules():
            self._check_names(rule, parameters)
        if self.kernel is not None and self.kernel.rules.keys() - self.rules.keys():
            raise TypeError(
                f"a kernel of {self.node_name} is of an input without a rule: {', '.join(self.kernel.rules)}"
            )

    def _check_names(self, rule: Rule, parameters: tuple[str, ...] | None) -> None:
        for name in rule_names(rule):
            known = self.save_code(name) is not None or name == "needs" or parameters is None or name in parameters
            if not known:
                raise TypeError(f"a rule of {self.node_name} asks for {name!r}, which is no input, output or parameter")

    def computing(self, formula: Formula) -> Op:
        """The same operation, computed by another function."""
        other = copy(self)
        other._take_formula(formula, self.kernel and self.kernel._replace(forward=None))
        other._plans, other.ready = {}, [None] * len(self.ready)
        return other

    # --- what is known of it ---

    @property
    def parameters(self) -> tuple[str, ...] | None:
        """The parameters of the formula, inputs among them; None where it takes any."""
        return parameter_names(self.formula)

    @property
    def node_type(self) -> type[Node]:
        """The class of the nodes that record this operation, as users see them."""
        if self._node_type is None:
            self._node_type = node_class(self.node_name, self)
        return self._node_type

    @property
    def blocked(self) -> bool:
        """True if rules on large operands run block by block."""
        return self.large == "by blocks"

    def differentiable(self, position: int) -> bool:
        """Return True if a gradient can flow to the input at this position."""
        if self.joint is not None or self.variadic:
            return True
        return self.rules.get(self.inputs[position]) is not None

    def saved_names(self) -> set[str]:
        """Everything the rules ask for by name, and the parameters."""
        asked = {name for rule in self._all_rules() for name in rule_names(rule)}
        return asked.union(name for name in self.parameters or () if name not in self.inputs)

    def _all_rules(self) -> list[Rule]:
        """Its rules, and what may run in their place."""
        fast = self.kernel or NO_KERNEL
        rules = (*self.rules.values(), self.joint, *fast.rules.values(), fast.joint)
        return [rule for rule in rules if rule is not None]

    # --- plans ---

    def plan(self, mask: int, count: int, complex_: bool = False, large: bool = False) -> Plan:
        """The plan when the inputs in the bit set `mask` need gradients (`count` inputs in all)."""
        key = (mask << 2 | complex_ << 1 | large, count) if self.variadic else mask << 2 | complex_ << 1 | large
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._make_plan(mask, count, complex_, large)
        return plan

    def plan_for(self, mask: int, count: int, out: Array, large: bool = False) -> Plan | None:
        """The plan for a result whose inputs in `mask` require grad; None if it cannot carry a gradient."""
        letter = out.dtype.kind
        wanted = mask & self.differentiable_inputs
        if letter not in "fcV" or not wanted:  # integers; 'V' is bfloat16
            return None
        plan = self.plan(wanted, count, letter == "c", large)
        if letter == "f" and not large and mask < len(self.ready) and not self.variadic:
            self.ready[mask] = plan
        return plan

    def _make_plan(self, mask: int, count: int, complex_: bool, large: bool) -> Plan:
        rules = self.rules if complex_ else self.real_rules
        fast = NO_KERNEL if complex_ or self.kernel is None else self.kernel
        needs = tuple([bool(mask >> position & 1) for position in range(count)])
        saves: list[SaveCode] = []
        calls: list[Call] = []
        joint = None
        if self.joint is not None:
            chosen = chosen_rule(self, self.joint, fast.joint)
            joint = Call(-1, chosen, self._sources(chosen, saves))
        else:
            for position, name in enumerate(self.inputs[:count]):
                rule = rules.get(name)
                if needs[position] and rule is not None:
                    chosen = chosen_rule(self, rule, fast.rules.get(name))
                    named = (
                        self.rules[name] if chosen is rule else None
                    )  # a rule of real results may not say what it asks for
                    calls.append(Call(position, chosen, self._sources(named or chosen, saves)))
        return Plan(self, needs, tuple(saves), tuple(calls), joint, self.rare.keeps_params, large)

    def _sources(self, rule: Rule, saves: list[SaveCode]) -> tuple[Source, ...]:
        """Where what a rule names comes from: from `saves`, to which it is added, or from the parameter of that name."""
        sources: list[Source] = []
        for name in rule_names(rule):
            code = self.save_code(name)
            if code is not None and code not in saves:
                saves.append(code)
            sources.append(name if code is None else saves.index(code))
        return tuple(sources)

    def save_code(self, name: str) -> SaveCode:
        """The code in `Plan.saves` of a name that a rule asks for; None for a parameter, or `needs`."""
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

    def __call__(self, *inputs: Operand, **params: Any) -> Result:
        for value in inputs:
            if type(value) is not ndarray and _dispatches(type(value)):
                return value._pullback_apply(self, inputs, params)
        if self.reorders and (type(inputs[0]) is not ndarray or inputs[0].ndim < 2):
            return self.bare_forward(*inputs, **params)  # dims have but one order, as on the tape
        return self.forward(*inputs, **params)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def _rare(node_name: str, given: dict[str, Any]) -> Rare:
    unknown = given.keys() - set(Rare._fields)
    if unknown:
        raise TypeError(f"{node_name} has no field {', '.join(unknown)}")
    return Rare(**given)


def conjugate(value: Operand) -> Array:
    """conj for complex values; real ones as they are."""
    if isinstance(value, complex):
        return value.conjugate()
    if getattr(value, "dtype", None) is not None and kind_of(value) == "c":
        return np.conj(value)
    return value


def _times_partial(partial: Rule, conjugated: bool) -> Rule:
    """The pullback of an elementwise operation from its partial derivative; it asks for the same names."""
    names = partial.__code__.co_varnames[: partial.__code__.co_argcount]
    rule: Any  # has `names`, as rules made here do
    if len(names) == 1:
        rule = (lambda g, u: g * conjugate(partial(u))) if conjugated else (lambda g, u: g * partial(u))
    elif len(names) == 2:
        rule = (lambda g, u, v: g * conjugate(partial(u, v))) if conjugated else (lambda g, u, v: g * partial(u, v))
    else:
        rule = (lambda g, *args: g * conjugate(partial(*args))) if conjugated else (lambda g, *args: g * partial(*args))
    rule.names = names
    return rule


# What a constructor takes besides rules: the fields of an operation.
FIELDS: frozenset[str] = frozenset(Op.__init__.__kwdefaults__ or ()) | frozenset(Rare._fields)


def _card(node_name: str, given: dict[str, Any]) -> tuple[dict[str, Any], Rules]:
    """The fields among what a constructor was given, and the rules, one for each input in the order of the call."""
    fields: dict[str, Any] = {}
    rules: Rules = {}
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


def elementwise(node_name: str, forward: Formula, **card: Any) -> Op:
    """An operation on single elements, given by its partial derivatives (functions of what they name)."""
    fields, partials = _card(node_name, card)
    rules = {name: None if partial is None else _times_partial(partial, True) for name, partial in partials.items()}
    real = {name: None if partial is None else _times_partial(partial, False) for name, partial in partials.items()}
    made = {"rules": rules, "real_rules": real, "partials": partials, "kind": "elementwise"}
    return Op(node_name, forward, **{**made, **fields})


def linear(node_name: str, forward: Formula, **card: Any) -> Op:
    """An operation linear in all its array inputs together, given by its transposes."""
    return op(node_name, forward, **{"kind": "linear", **card})


def op(node_name: str, forward: Formula, **card: Any) -> Op:
    """Any other operation, given by its pullbacks (one for each input, or one `joint` rule that is told `needs`)."""
    fields, rules = _card(node_name, card)
    return Op(node_name, forward, rules=rules, **fields)


def fused(node_name: str, forward: Formula, **card: Any) -> Op:
    """An operation whose further outputs (statistics, indices) carry no gradient: its rule is given the first's alone."""
    return op(node_name, forward, **{"outputs": 0, "first_only": True, **card})

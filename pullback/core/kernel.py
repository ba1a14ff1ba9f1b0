"""Kernels: faster ways to what formulas give, on NumPy's arrays; and the one place where one of the two is chosen.

An operation states its formula and, where that pays, a `kernel` beside it: `kernel=kernel(forward, x=, weight=)` stands in
for the forward function and for the rules of inputs, `kernel(forward, joint=)` for a rule of all inputs together. A kernel
is given what the formula is given. It runs where the operands are NumPy's and, of rules, where results are real. Where it
cannot serve it answers NotImplemented, and the formula runs, as it does on tensors, on batches and on arrays of others.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy import generic, ndarray, ufunc

from .mostly_zeros import Picked

if TYPE_CHECKING:
    from .basics.types import Formula, Function, Rule
    from .op import Op


class Kernel(NamedTuple):
    """Functions that run in the place of an operation's formula and of its rules."""

    forward: Formula | None
    joint: Rule | None
    rules: dict[str, Rule]


NO_KERNEL: Kernel = Kernel(None, None, {})


def kernel(forward: Formula | None = None, joint: Rule | None = None, **rules: Rule) -> Kernel:
    """The kernels of an operation: of its formula, and of its rules, by input or for all inputs."""
    return Kernel(forward, joint, rules)


class _Types(dict[type, bool]):
    """True for each type that is a subclass of one of the bases; looking that up is faster than asking again."""

    def __init__(self, *bases: type) -> None:
        self.bases: tuple[type, ...] = bases

    def __missing__(self, kind: type) -> bool:
        found = self[kind] = issubclass(kind, self.bases)
        return found


ELEMENTWISE_KINDS = ("elementwise", "elementwise_pull", "real_pull")
_WORDS: dict[str, Any] = {
    "ndarray": ndarray,
    "__name__": __name__,  # by which warnings are known to be ours
    "numpys": _Types(ndarray, generic),  # arrays, and the numbers that NumPy gives for those without dims
    "picked": _Types(ndarray, generic, Picked),
    "plain": _Types(ndarray, generic, type(None), bool, int, float, complex),  # and what needs no array
}


def chosen_forward(op: Op) -> Formula:
    """An operation's formula, or its kernel where the first operand is NumPy's."""
    formula, inputs = op.formula, ("*arrays",) if op.variadic else op.inputs
    known = () if isinstance(formula, ufunc) else parameter_names(formula)
    params = ("**params",) if known is None else known[0 if op.variadic else len(inputs) :]
    test = "arrays and numpys[type(arrays[0])]" if op.variadic else f"numpys[type({inputs[0]})]"
    given = (*inputs, *[name if known is None else f"{name}={name}" for name in params])
    made = _choosing((*inputs, *params), (test,), given, given)((op.kernel or NO_KERNEL).forward, formula)
    made.__defaults__ = None if known is None else getattr(formula, "__defaults__", None)
    return made


def chosen_rule(op: Op, rule: Rule, fast: Rule | None) -> Rule:
    """A rule, or its kernel where the cotangent and what is saved are NumPy's. It asks for what both ask for."""
    if fast is None:
        return rule
    own, its = rule_names(rule), rule_names(fast)
    names = (*own, *[name for name in its if name not in own])
    if op.outputs != 1 and not op.first_only:
        tests = ["all([plain[type(part)] for part in g])"]  # a cotangent for each output, or None
    elif op.rare.takes_picked:
        tests = ["picked[type(g)]"]
    else:  # on one number, the formula of an operation on elements is as quick as its kernel
        tests = ["type(g) is ndarray" if op.kind in ELEMENTWISE_KINDS else "numpys[type(g)]"]
    tests += [f"plain[type({name})]" for name in names if name in op.inputs or name == "out"]
    tests += [f"plain[type({name}[0])]" for name in names if name in ("outs", "extras")]
    tests += ["all([plain[type(part)] for part in arrays])" for name in names if name == "arrays"]
    made = _choosing(("g", *names), tuple(tests), ("g", *its), ("g", *own))(fast, rule)
    made.names = names
    return made


@cache
def _choosing(names: tuple[str, ...], tests: tuple[str, ...], its: tuple[str, ...], own: tuple[str, ...]) -> Function:
    """A function of `names` that calls one of two functions, as `make(fast, formula)`."""
    found = f"(found := fast({', '.join(its)})) is not NotImplemented"
    text = f"lambda {', '.join(names)}: found if {' and '.join((*tests, found))} else formula({', '.join(own)})"
    return eval(compile(f"lambda fast, formula: {text}", __file__, "eval"), _WORDS)


def rule_names(rule: Rule) -> tuple[str, ...]:
    """The names of a rule's parameters besides the cotangent."""
    names: tuple[str, ...] | None = getattr(rule, "names", None)
    if names is not None:
        return names
    code = rule.__code__
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def parameter_names(function: Function) -> tuple[str, ...] | None:
    """The parameters of a function, or of the one it wraps; None where it takes any."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    if code is None or code.co_flags & 0x08:  # **params
        return None
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names

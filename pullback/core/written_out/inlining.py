"""Rules as expressions, for passes that are written out (see pass_writer.py).

Where shapes and dtypes are known and arrays are small, a pass holds an expression in place of a call: what the rule says
when it runs on names (`transforms/arrays/spelled.py`), with one difference: fresh memory is written over by what is computed
next. What comes of it is found by trying it on zeros.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import ndarray

from ...kernels.thresholds import PRODUCT_ON_ONE_THREAD
from ...transforms.arrays.spelled import Spelled, by_shape_alone, name_of
from ...transforms.arrays.terms import INFIX, Term, Unspeakable
from ..basics.constants import FLOAT32, FLOAT64, number, ones
from ..op import identity_rule
from ..plan import Call
from .forms import Form, Known

if TYPE_CHECKING:
    from ..basics.types import Operand

# Functions of elements that give what they give wherever they write it.
_FUNCTIONS = (*INFIX, *"negative exp log sin cos sinh cosh sqrt tanh sign".split())
NAMES: dict[str, Any] = {"float32": FLOAT32, "float64": FLOAT64, "empty": np.empty, "where": np.where}
NAMES |= {name: getattr(np, name) for name in _FUNCTIONS if name != "matmul"}
MOST_TERMS = 12  # of a rule that stands in a pass itself


class Inlined(NamedTuple):
    """An expression that gives a gradient: text with fields for the cotangent `g` and for what is saved."""

    text: str
    sources: dict[str, int]  # by the name of its field (or of the shape it was written for), which saved value it is
    result: Known
    is_new: bool = True  # memory that is nobody else's
    in_order: bool = False  # laid out row by row, however its operands are
    names: tuple[tuple[str, Any], ...] = ()  # what else it refers to, besides NAMES


def inlined(form: Form, position: int, call: Call) -> Inlined | None:
    """A rule of the step at this position, whose cotangent is a known array; None if the rule has to be called."""
    plan, edges, cotangent, _, saved = form.steps[position]
    assert cotangent is not None
    if call.rule is identity_rule:
        return Inlined("{g}", {}, cotangent, is_new=False)
    if not all(type(source) is int for source in call.sources):
        return None
    given: list[Any] = []
    values: dict[str, Known] = {"g": cotangent}
    names: dict[str, int] = {}
    for source in call.sources:
        code, name = plan.saves[source], name_of(plan.op, plan.saves[source])
        known = known_target(form, edges[code[1]]) if type(code) is tuple else saved[source]
        if known is None or name == "g":
            return None
        names[name] = source
        given.append(known.shape if type(code) is tuple else spelled_array(name, known))
        if type(code) is not tuple:
            values[name] = known
    if prod(cotangent.shape) + sum([prod(getattr(value, "shape", value)) for value in given]) > PRODUCT_ON_ONE_THREAD:
        return None
    try:
        with by_shape_alone(), np.errstate(all="ignore"):
            found = call.rule(spelled_array("g", cotangent), *given)
            writer = Expression(found)
    except Exception:  # noqa: BLE001 - whatever a rule needs that names do not have, it is called
        return None
    tried = [_run_on_zeros(writer, values, order) for order in "CF"]
    if any(type(result) is not ndarray or result.dtype is not cotangent.dtype for result in tried):
        return None
    in_order = tried[0].strides == tried[1].strides == np.empty(found.shape, cotangent.dtype).strides
    result = Known(found.shape, cotangent.dtype)
    return Inlined(writer.text, names, result, writer.is_new, in_order, tuple(writer.names.items()))


def spelled_array(name: str, known: Known) -> Spelled:
    """Any array of which no more than this is known."""
    return Spelled(Term(name, form="name"), np.zeros(known.shape, known.dtype))


def known_target(form: Form, edge: int | None) -> Known | None:
    """The shape and dtype of the array behind an edge; None if they are not known."""
    if edge is None or form.leaves is None:
        return None
    return form.steps[edge].result if edge >= 0 else form.leaves[-1 - edge]


def summed_over_rows(text: Inlined, wanted: Known) -> Inlined | None:
    """The sum that undoes the broadcasting of a bias, as `unbroadcast_array` would do it; None if something else is wanted."""
    shape, dtype = text.result
    if len(shape) != 2 or shape[1:] != wanted.shape or prod(shape) > PRODUCT_ON_ONE_THREAD or dtype is not wanted.dtype:
        return None
    name = f"ones_{shape[0]}_{dtype}"
    summed, names = f"{name}.dot({text.text})", (*text.names, (name, ones(shape[0], dtype)))
    return Inlined(summed, text.sources, wanted, in_order=True, names=names)


def _run_on_zeros(writer: Expression, values: dict[str, Known], order: Any) -> Any:
    arrays = {name: np.zeros(value.shape, value.dtype, order) for name, value in values.items()}
    with np.errstate(all="ignore"):
        return eval(writer.text.format_map({name: name for name in arrays}), {**NAMES, **writer.names, **arrays})


class Expression:
    """The result of a rule as Python for small arrays: numbers are arrays of their dtype, and fresh memory is used again."""

    def __init__(self, result: Spelled) -> None:
        self.names: dict[str, Any] = {}  # numbers
        self.count: int = 0
        everything = result.term.all()
        if len(everything) > MOST_TERMS:
            raise Unspeakable("a call: it is long")
        parts = [id(part) for term in everything for part in term.inner()]
        self.shared: set[int] = {part for part in parts if parts.count(part) > 1}
        self.written: dict[int, str] = {}
        self.text, fresh = self.write(result.term)
        self.is_new: bool = fresh is not None

    def fresh_name(self) -> str:
        self.count += 1
        return f"t{self.count}_"

    def write(self, term: Any) -> tuple[str, str | None]:
        """Text; and the name of the fresh memory that it fills: "" if it has none yet, None if it is not fresh."""
        if id(term) in self.written:
            return self.written[id(term)], None
        text, fresh = self.compute(term)
        if id(term) in self.shared and term.form != "name":
            name = self.written[id(term)] = fresh or self.fresh_name()
            return (text if fresh else f"({name} := {text})"), None
        return text, fresh

    def compute(self, term: Term) -> tuple[str, str | None]:
        form, parts = term.form, term.parts
        if form == "name":
            return f"{{{term.head}}}", None
        if form == "attribute" and term.head == "T":
            return f"{self.write(parts[0])[0]}.T", None
        if form == "index" and term.shape and parts[1] == (Ellipsis, None):
            return f"{self.write(parts[0])[0]}[..., None]", None
        if term.head == "matmul" and all([type(part) is Term and len(part.shape) in (1, 2) for part in parts]):
            left, right = [self.write(part)[0] for part in parts]
            return f"{left}.dot({right})", ""
        if term.head == "broadcast_to" and not parts[0].shape:
            name = self.fresh_name()
            return f"(({name} := empty({term.shape}, {term.dtype})).fill({self.write(parts[0])[0]}) or {name})", name
        if (form in ("infix", "prefix") or form == "call" and not term.options) and term.head in NAMES:
            return self.apply(term)
        raise Unspeakable(f"a call of {term.head}")

    def apply(self, term: Term) -> tuple[str, str | None]:
        """A function of elements, into the memory of an operand if that is fresh."""
        texts, into = [], None
        for part in term.parts:
            if type(part) is not Term:
                texts.append(self.constant(part, term))
                continue
            text, fresh = self.write(part)
            if (
                into is None
                and fresh is not None
                and term.shape
                and part.shape == term.shape
                and part.dtype is term.dtype
            ):
                into = fresh or self.fresh_name()
                text = text if fresh else f"({into} := {text})"
            texts.append(text)
        if into is not None and term.head != "where":
            return f"{term.head}({', '.join([*texts, into])})", into
        if term.form == "infix":
            return f"({texts[0]} {INFIX[term.head][0]} {texts[1]})", ""
        return f"(-{texts[0]})" if term.head == "negative" else f"{term.head}({', '.join(texts)})", ""

    def constant(self, value: Operand, term: Term) -> str:
        """A number, as an array of the dtype of what it meets: NumPy takes that sooner."""
        if not term.shape:
            return repr(value)
        operand = next((part for part in term.parts if type(part) is Term and part.dtype.kind == "f"), term)
        if type(value) not in (int, float) or operand.dtype.kind != "f":
            raise Unspeakable(f"a call: {value!r} is no number")
        shown = str(value).replace(".", "_").replace("-", "m").replace("+", "")
        self.names[f"number_{shown}_{operand.dtype}"] = number(value, operand.dtype)
        return f"number_{shown}_{operand.dtype}"

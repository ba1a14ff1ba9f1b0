"""Rules as expressions, for passes that are written out (see pass_writer.py).

An operation may say its rules a second time, as text (`Op.written`). Where shapes and dtypes are known and arrays are
small, a pass holds the text in place of the call. What comes of it is found by trying it on zeros.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..constants import FLOAT32, FLOAT64, number, ones
from ..kernels.products import FEW
from .forms import Form, Known
from .op import Call, passed_on

NAMES: dict[str, Any] = {
    "empty": np.empty, "float32": FLOAT32, "float64": FLOAT64, "multiply": np.multiply, "one_float32": number(1.0, FLOAT32),
    "one_float64": number(1.0, FLOAT64), "subtract": np.subtract, "where": np.where,
    "zero_float32": number(0.0, FLOAT32), "zero_float64": number(0.0, FLOAT64),
}  # fmt: skip


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
    place, rule, sources = call
    op = plan.op
    assert cotangent is not None
    if rule is passed_on:
        return Inlined("{g}", {}, cotangent, is_new=False)
    text = op.written.get(op.inputs[place])
    if text is None or op.written_for_axes not in (None, len(cotangent.shape)):
        return None
    if not all(type(source) is int for source in sources):
        return None
    values: dict[str, Known] = {"g": cotangent}
    names: dict[str, int] = {}
    size = prod(cotangent.shape)
    for source in sources:
        code = plan.saves[source]
        if type(code) is tuple:  # a shape
            known, name = known_target(form, edges[code[1]]), f"{op.inputs[code[1]]}_shape"
        else:
            known, name = saved[source], "out" if code < 0 else op.inputs[code]
        if known is None:
            return None
        names[name] = source
        size += prod(known.shape)
        if type(code) is tuple:
            text = text.replace(f"{{{name}}}", str(known.shape)).replace("{size}", str(prod(known.shape) or 1))
        else:
            values[name] = known
    if size > FEW:
        return None
    text = text.replace("{dtype}", str(cotangent.dtype))
    found = [_tried(text, values, order) for order in "CF"]
    if any(type(result) is not ndarray or result.dtype is not cotangent.dtype for result in found):
        return None
    shape = found[0].shape
    in_order = found[0].strides == found[1].strides == np.empty(shape, cotangent.dtype).strides
    return Inlined(text, names, Known(shape, cotangent.dtype), in_order=in_order)


def known_target(form: Form, edge: int | None) -> Known | None:
    """What is known of the array behind an edge."""
    if edge is None or form.leaves is None:
        return None
    return form.steps[edge].result if edge >= 0 else form.leaves[-1 - edge]


def summed_over_rows(text: Inlined, wanted: Known) -> Inlined | None:
    """The sum that undoes the broadcasting of a bias, as `fit_array` would do it; None if something else is wanted."""
    shape, dtype = text.result
    if len(shape) != 2 or shape[1:] != wanted.shape or prod(shape) > FEW or dtype is not wanted.dtype:
        return None
    name = f"ones_{shape[0]}_{dtype}"
    summed = f"{name}.dot({text.text})"
    return Inlined(summed, text.sources, wanted, in_order=True, names=((name, ones(shape[0], dtype)),))


def _tried(text: str, values: dict[str, Known], order: Any) -> Any:
    arrays = {name: np.zeros(value.shape, value.dtype, order) for name, value in values.items()}
    return eval(text.format_map({name: name for name in arrays}), {**NAMES, **arrays})

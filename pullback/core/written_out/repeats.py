"""Passes that repeat, written out as code: when, and what becomes of it.

A training loop records a graph of the same form again and again, and `engine.walk` finds its way through it each time.
When a form has come back often enough, the pass is written out as a Python function of one line for each rule
(pass_writer.py); `print(source(form)[0])` shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..node import Node
from ..plan import FIRST_LOOK
from .forms import Form, form_of
from .pass_writer import source

if TYPE_CHECKING:
    from ..basics.types import Function

MOST_PROGRAMS = 4  # for one kind of root


def write_out_if_repeated(root: Node, executed: list[Node]) -> None:
    """Remember the form of a graph; one that is found a second time is written out.

    If only the shapes have changed, the code will be for any.
    """
    repeats = root.plan.repeats
    form, last = form_of(executed), repeats.last_form
    if form is not None and last is not None and form != last and form.loosened() == last.loosened():
        form = last = form.loosened()
    repeats.remember(form)
    if form is not None and form == last and (form.period or repeats.walks >= 2 * FIRST_LOOK):
        repeats.add(write_out(form), MOST_PROGRAMS)


def write_out(form: Form) -> Function:
    """The function `program(root, cotangent, last_write, wanted, retain)` for graphs of this form.

    It returns what `walk` does, or None if the graph is another one, or its leaves are not those in the set `wanted`.
    Where gradients are simple it does the rest, too: the answer is a dict of them as tensors, by leaf; or DONE, if `wanted`
    is None and they were to go to their leaves.
    """
    text, names = source(form)
    exec(compile(text, "<backward pass>", "exec"), names)
    return names["program"]

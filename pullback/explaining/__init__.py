"""See what a backward pass did: `explain(loss, gradient=...)` and `memory(loss)`.

An explanation is made by running the pass under observation (`collect.py`), without touching `.grad`, the graph, version
counters or the random generator; `assemble.py` puts its parts together. It prints as text (`text.py`) and draws itself as SVG
(`grouping.py`, `layout.py`, `svg.py`), as a page one can click (`html.py`), as Graphviz or Mermaid source (`diagrams.py`).
Nothing of this package is imported before it is first used.
"""

from __future__ import annotations

from typing import Any

from .explanation import Explanation
from .memory import MemoryReport, memory
from .recording import record

__all__ = ["Explanation", "MemoryReport", "explain", "memory", "record"]


def explain(
    loss: Any,
    gradient: Any = None,
    *,
    inputs: Any = None,
    model: Any = None,
    elements: int = 64,
    title: str | None = None,
) -> Explanation:
    """Show step by step what `loss.backward(gradient)` would do, without doing it.

    `loss` is a tensor or several; `gradient` the weights of its elements, as for backward(). Leaves are named after the
    variables of the caller, or after the parameters of `model`; `inputs` lists (or names, as a dict) tensors that
    should get a gradient, and those that do not are reported. `elements` limits how many parts of the loss are followed
    one by one. Made inside `with explaining.record()`, the graph also knows lines of code and modules.
    """
    from .assemble import assemble

    return assemble(loss, gradient, inputs, model, elements, title)

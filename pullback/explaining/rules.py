"""The rule of each input of an operation, as a formula of `g`, the cotangent of its output: the rule itself, run on names.

`g * (1 - out * out)` is what the rule computed in this very pass (transforms/arrays/spelled.py), with the user's names for values
that have some. It is Python: `evaluate` computes it with NumPy's functions and the operations of `pullback.ops`. The few
rules that need elements and not names (of recurrent cells, which write into memory) are described by what they use.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .. import ops
from ..ops.pointwise import multiply_itself
from ..transforms.arrays.spelled import name_of, operations, spell
from ..transforms.arrays.terms import text
from .records import plain


def is_square(node: Any) -> bool:
    """True if a product is recorded as that of a tensor with itself."""
    return node.op is multiply_itself


def rule_texts(node: Any, cotangent: Any, values: Any, sent: list[Any], called: dict[str, str]) -> list[str]:
    """For each edge of a node what it was sent, as a formula.

    `values` are what the node has saved, `called` is what users call inputs and result.
    """
    texts = [describe_rule(node)] * len(node.edges)
    if node.op is None:
        return texts
    with np.errstate(all="ignore"):
        found = spell(node, cotangent, values, called)
    coarse = any([getattr(value, "itemsize", 8) == 2 for value in (*values, *sent)])  # half precision
    for position, (gradient, true) in enumerate(zip(found, sent, strict=True)):
        if gradient is not None and true is not None and agrees(gradient.value, true, coarse):
            texts[position] = text(gradient.term)
    return texts


def agrees(found: Any, true: Any, coarse: bool) -> bool:
    """True if a formula's value is what the engine sent, but for rounding. Formulas that do not agree are not shown."""
    tolerance = 0.1 if coarse else 0.01
    found, true = plain(found), plain(true)
    scale = float(np.max(np.abs(true), initial=0, where=np.isfinite(true)))
    return found.shape == true.shape and np.allclose(
        found, true, rtol=tolerance, atol=tolerance * scale, equal_nan=True
    )


def describe_rule(node: Any) -> str:
    """Describe a rule that cannot be shown as a formula by the values it uses."""
    if node.op is None:
        return f"backward of {node.name().removesuffix('Backward')}, a custom function"
    used = [name_of(node.op, code) for code in node.plan.saves if type(code) is not tuple]
    return f"linear in g; uses {', '.join(used)}" if used else "linear in g"


def evaluate(shown: str, values: dict[str, Any]) -> Any:
    """Return the value of a formula where its names have these values."""
    names: dict[str, Any] = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    names |= {name: operation for name, operation in operations().items() if name.isidentifier()}
    names |= {str(value.dtype): value.dtype for value in values.values() if hasattr(value, "dtype")}  # bfloat16
    names |= {"ops": ops, **values}
    tree = ast.parse(shown)
    *_, last = tree.body
    assert isinstance(last, ast.Expr)
    tree.body[-1] = ast.copy_location(ast.Assign([ast.Name("found", ast.Store())], last.value), last)
    exec(compile(ast.fix_missing_locations(tree), "<rule>", "exec"), names)
    return names["found"]

"""Write `pullback/core/straightened.py`: the functions of the tape with `apply` in place of calls of it.

The tape is written once, plainly, with a loop over inputs. An operation takes half as long when the loop and the calls are
written out, so that is what runs for one and two tensors. A test sees that the file is what this program writes.
"""

from __future__ import annotations

import ast
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1] / "pullback"
TARGET = PACKAGE / "core" / "straightened.py"
WRITTEN = ("apply_unary", "binary")
HEADER = '''"""Written by tools/straighten.py from `tape.py`: the same functions, with `apply` in place of calls of it.

Not to be edited: change `tape.py`, then run `python -m tools.straighten`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from numpy import ndarray

from . import seams, views
from .basics.constants import FLOAT32, FLOAT64, doubles, numbers
from .basics.constants import number as constant
from .basics.quiet import quiet
from .mode import current_mode
from .op import Op
from .tape import apply, by_blocks
from .tensor import Tensor, new_object

if TYPE_CHECKING:
    from .basics.types import Function, Operand, Params, Result
'''


def functions(path: Path) -> dict[str, Any]:
    """The syntax trees of the functions of a module."""
    return {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def text() -> str:
    """The file."""
    tape, tensor = functions(PACKAGE / "core" / "tape.py"), functions(PACKAGE / "core" / "tensor.py")
    writer = Writer({"apply": tape["apply"], "wrap": tensor["wrap"]})
    trees = [ast.fix_missing_locations(writer.visit(deepcopy(tape[name]))) for name in WRITTEN]
    return "\n\n".join([HEADER, *[ast.unparse(tree) + "\n" for tree in trees]])


def says_the_same(text: str, other: str) -> bool:
    """Whether two files are the same program, however they are laid out."""
    return ast.dump(ast.parse(text)) == ast.dump(ast.parse(other))


class Writer(ast.NodeTransformer):
    """Puts the text of callees in place of calls."""

    def __init__(self, callees: dict[str, Any], given: dict[str, ast.expr] | None = None) -> None:
        self.callees: dict[str, Any] = callees
        self.given: dict[str, ast.expr] = given or {}  # what stands for the parameters of the callee being written out

    def visit_Return(self, node: ast.Return) -> Any:
        return self.written_out(node.value, None) or self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.note_list(node)
        return self.written_out(node.value, node.targets[0]) or self.generic_visit(node)

    def written_out(self, call: Any, target: Any) -> Any:
        """The text of a callee, in place of its call; None if this is no call of one."""
        callee = self.callees.get(getattr(getattr(call, "func", None), "id", None))
        if callee is None:
            return None
        parameters, defaults = callee.args.args, callee.args.defaults
        values = [self.visit(deepcopy(argument)) for argument in call.args]
        values += deepcopy(defaults[len(defaults) - len(parameters) + len(values) :])
        first: list[Any] = []
        given = {}
        for parameter, value in zip(parameters, values, strict=True):
            if isinstance(value, ast.Call):  # to be called once
                first.append(ast.copy_location(ast.Assign([ast.Name(parameter.arg, ast.Store())], value), call))
            else:
                given[parameter.arg] = value
        lines = first + Writer(self.callees, given).lines(
            deepcopy(callee.body)[ast.get_docstring(callee) is not None :]
        )
        if target is not None:  # its last line returns what becomes of the name
            lines[-1] = ast.copy_location(ast.Assign([self.visit(target)], lines[-1].value), lines[-1])
        return lines

    def lines(self, body: list[Any]) -> list[Any]:
        found: list[Any] = []
        for line in body:
            new = self.visit(line)
            found += new if isinstance(new, list) else [new]
        return found

    # --- what is settled by an argument that is None ---

    def visit_If(self, node: ast.If) -> Any:
        """`if params:` without parameters: what stands under `else`."""
        if is_none(self.visit(deepcopy(node.test))):
            return self.lines(node.orelse)
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """`None or x`: x."""
        values = [self.visit(value) for value in node.values]
        if isinstance(node.op, ast.Or):
            values = [value for value in values if not is_none(value)]
        return values[0] if len(values) == 1 else ast.BoolOp(node.op, values)

    def visit_Call(self, node: ast.Call) -> Any:
        """`f(**{})`: without it."""
        call = self.generic_visit(node)
        call.keywords = [k for k in call.keywords if k.arg or not isinstance(k.value, ast.Dict) or k.value.keys]
        return call

    # --- loops over inputs ---

    def visit_For(self, node: ast.For) -> Any:
        """`for number, value in enumerate(inputs)`: the body once for each."""
        values = self.given.get(node.iter.args[0].id) if isinstance(node.iter, ast.Call) else None  # type: ignore
        if not isinstance(values, ast.Tuple):
            return self.generic_visit(node)
        lines = []
        for place, value in enumerate(values.elts):
            number, name = node.target.elts  # type: ignore[attr-defined]
            self.given |= {number.id: ast.Constant(place), name.id: value}
            lines += self.lines(deepcopy(node.body))
        return lines

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """`arrays[number]`: a variable of its own."""
        sequence, number = self.given.get(getattr(node.value, "id", "")), self.visit(node.slice)
        if isinstance(sequence, ast.Tuple) and isinstance(number, ast.Constant):
            return ast.Name(sequence.elts[number.value].id, node.ctx)  # type: ignore[attr-defined]
        return self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> Any:
        """`*arrays`: these variables."""
        sequence = self.given.get(getattr(node.value, "id", ""))
        return deepcopy(sequence.elts) if isinstance(sequence, ast.Tuple) else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        return deepcopy(self.given.get(node.id, node)) if isinstance(node.ctx, ast.Load) else node

    def note_list(self, node: ast.Assign) -> None:
        """`arrays = [*inputs]`: as many variables, which `arrays` stands for from here on."""
        star = (getattr(node.value, "elts", None) or [None])[0]
        values = (
            self.given.get(getattr(getattr(star, "value", None), "id", "")) if isinstance(star, ast.Starred) else None
        )
        if isinstance(values, ast.Tuple):
            name = node.targets[0].id  # type: ignore[attr-defined]
            self.given[name] = ast.Tuple(
                [ast.Name(f"{name}{i}", ast.Load()) for i in range(len(values.elts))], ast.Load()
            )
            names = [ast.Name(f"{name}{i}", ast.Store()) for i in range(len(values.elts))]
            node.targets, node.value = [ast.Tuple(names, ast.Store())], deepcopy(values)


def is_none(value: Any) -> bool:
    """Whether an expression is the constant None."""
    return isinstance(value, ast.Constant) and value.value is None


if __name__ == "__main__":
    TARGET.write_text(text())
    subprocess.run(["ruff", "check", "--quiet", "--fix", TARGET], check=True)
    subprocess.run(["ruff", "format", "--quiet", TARGET], check=True)

"""Sizes that decide which way something is computed stand in one file, `kernels/thresholds.py`, each with a sentence."""

import ast
from collections.abc import Iterator
from pathlib import Path

from pullback.kernels import thresholds

PACKAGE = Path(__file__).parents[2] / "pullback"
HOME = PACKAGE / "kernels" / "thresholds.py"

# Folders that compute nothing: sizes there are those of texts, files and messages.
ELSEWHERE = {"distributed", "explaining", "fx", "profiler", "serialization", "shell", "testing", "utils"}

# Numbers beside sizes that are facts and no choices.
FACTS = {
    ("core/basics/constants.py", "_KEPT"): "numbers that are kept ready at most",
    ("core/written_out/forms.py", "MOST_STEPS"): "the longest pass that is written out",
    ("core/written_out/forms.py", "MOST_WALKED"): "the longest pass that is looked at",
    ("core/written_out/inlining.py", "MOST_TERMS"): "letters of the code of a rule",
    ("core/plan.py", "LONG"): "nodes of a pass that is written as a loop",
    ("transforms/arrays/terms.py", "CONSTANT"): "elements that are shown",
    ("transforms/arrays/terms.py", "LONGEST"): "letters that are shown",
    ("transforms/arrays/terms.py", "SHARED"): "letters that are shown",
    ("functional/from_data.py", "_SHORT"): "what is written by hand is as short, and may mix kinds of numbers",
    ("functional/grids.py", "_MOST_ELEMENTS"): "what 64 bits can count",
    ("kernels/half.py", "_INFINITY"): "bits of a number",
    ("kernels/random/discrete.py", "_INSIDE_OUT_FROM"): "torch shuffles in another order from here on",
    ("kernels/random/engine.py", "_MOST_KNOWN"): "what is remembered of a generator at most",
    ("ops/embedding.py", 1000): "samples of many elements",
    ("ops/reductions.py", 1000): "samples of many elements",
    ("core/basics/size.py", "_MOST_COUNTS"): "shapes that are remembered at most",
}

COUNTS = {"size", "nbytes", "shape", "itemsize", "numel"}
COUNTING = {"len", "prod", "numel"}
COUNTED = {"size", "count", "work", "rows", "columns", "length", "elements", "total", "places"}


def counts(tree: ast.AST) -> bool:
    """Whether an expression has to do with how large something is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in COUNTS | COUNTING:
            return True
        if isinstance(node, ast.Name) and node.id in COUNTING | COUNTED:
            return True
    return False


def numbers(tree: ast.Module) -> dict[str, float]:
    """Constants of a module that are numbers, and names in capitals."""
    found: dict[str, float] = {}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            for name, value in zip(
                target.elts if isinstance(target, ast.Tuple) else [target],
                node.value.elts if isinstance(node.value, ast.Tuple) else [node.value],
                strict=False,
            ):
                if not isinstance(name, ast.Name) or name.id != name.id.upper() or value is None:
                    continue
                if any(isinstance(part, (ast.Name, ast.Attribute, ast.Call, ast.Tuple)) for part in ast.walk(value)):
                    continue
                number = eval(compile(ast.Expression(value), "", "eval"))
                if isinstance(number, (int, float)) and not isinstance(number, bool):
                    found[name.id] = number
    return found


def decided(tree: ast.Module) -> Iterator[str | int]:
    """Constants and numbers of a module that are compared with sizes, or into which sizes are divided."""
    known = numbers(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and all(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            sides = [node.left, node.right]
        elif isinstance(node, ast.keyword) and "block" in (node.arg or ""):
            sides = [node.value, ast.Name("size")]
        else:
            continue
        for side in sides:
            if not any(counts(other) for other in sides if other is not side):
                continue
            for part in ast.walk(side):
                if isinstance(part, ast.Name) and part.id in known:
                    yield part.id
            # In what says a size outright: a number that is no number of dims or bytes of an element.
            plain = isinstance(side, ast.Constant) and type(side.value) is int and side.value >= 16
            if (
                plain
                and isinstance(node, ast.Compare)
                and any(isinstance(part, ast.Attribute) and part.attr in ("size", "nbytes") for part in ast.walk(node))
            ):
                yield side.value


def test_sizes_that_decide_stand_in_one_file():
    found = {
        (str(path.relative_to(PACKAGE)), name)
        for path in PACKAGE.rglob("*.py")
        if path != HOME and path.relative_to(PACKAGE).parts[0] not in ELSEWHERE
        for name in decided(ast.parse(path.read_text()))
    }
    assert found - set(FACTS) == set()
    assert set(FACTS) - found == set(), "facts that are not needed"


def test_the_test_sees_each_form():
    """Comparisons with a name, with a number and with what was counted before; shares, and sizes of blocks."""
    seen = """
A = 1 << 12
_B, _C = 3, 1 << 18
D: int = 1_000_000
E = 512
F = 3
def f(x, work, rate):
    if x.size > A or math.prod(x.shape) < _C or work >= D or x.ndim < F or rate > _B or x.nbytes < 4096:
        return g(x, block_bytes=E)
    return D // len(x)
"""
    assert set(decided(ast.parse(seen))) == {"A", "_C", "D", "E", 4096}


def test_each_threshold_is_explained_and_used():
    lines = ast.parse(HOME.read_text()).body[1:]
    names = [line.targets[0].id for line in lines[::2]]
    assert all(isinstance(line, ast.Expr) and line.value.value.rstrip().endswith(".") for line in lines[1::2]), (
        "a threshold without a sentence"
    )
    assert names == [name for name in vars(thresholds) if not name.startswith("__")]
    texts = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py") if path != HOME)
    assert [name for name in names if name not in texts] == []

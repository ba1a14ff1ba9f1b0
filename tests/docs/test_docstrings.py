"""Docstrings state what is returned or what happens: "True if ...", "The names that ...", not "Whether ..." and "What ..."."""

import ast
from pathlib import Path

import pytest

import pullback

PACKAGE = Path(pullback.__file__).parent
RIDDLES = ("What ", "Whether ")


def texts_of(source: str) -> list[tuple[int, str]]:
    """The strings that stand alone as statements, with their lines: docstrings, also those below an assignment."""
    return [
        (node.lineno, node.value.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


def riddles_in(source: str) -> list[str]:
    return [f"line {line}: {text[:60]}" for line, text in texts_of(source) if text.startswith(RIDDLES)]


def test_riddles_are_found() -> None:
    source = '"""Facts."""\nNAME = 1\n"""What it is called."""\ndef f():\n    """Whether it is."""\n'
    assert riddles_in(source) == ["line 3: What it is called.", "line 5: Whether it is."]


@pytest.mark.parametrize("folder", sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py*")
                                           if path.suffix in (".py", ".pyi")}))  # fmt: skip
def test_docstrings_state_something(folder: str) -> None:
    place = PACKAGE / folder
    paths = [place] if place.is_file() else [path for path in place.rglob("*.py*") if path.suffix in (".py", ".pyi")]
    found = {str(path.relative_to(PACKAGE)): riddles_in(path.read_text(encoding="utf-8")) for path in sorted(paths)}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_members_of_tensor_state_something() -> None:
    members = {name: getattr(member, "__doc__", None) for name, member in vars(pullback.Tensor).items()}
    assert [name for name, text in members.items() if isinstance(text, str) and text.startswith(RIDDLES)] == []

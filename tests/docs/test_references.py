"""Files that comments, docstrings and pages speak of are there: a file that moves takes its mentions along."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
ROOMS = "pullback|core|kernels|ops|autograd|functional|transforms|shell"
MENTIONED = re.compile(rf"`([\w./]+\.py)`|`((?:{ROOMS})/[\w/]*)`")
ELSEWHERE = {"conftest.py"}  # the reader's own


def test_the_architecture_page_knows_every_file_of_the_tape():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = ("core", "core/written_out", "transforms", "autograd")
    files = {path.name for room in rooms for path in (ROOT / "pullback" / room).glob("*.py")} - {"__init__.py"}
    assert [name for name in sorted(files) if f"`{name}`" not in page] == []


def test_mentioned_files_exist():
    files = [path for room in ("pullback", "tools", "benchmarks") for path in (ROOT / room).rglob("*.py")]
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "howto").glob("*.md"),
    ]
    names = {path.name for path in (*files, *(ROOT / "tests").rglob("*.py"))}
    missing = []
    for path in [*files, *pages]:
        for match in MENTIONED.finditer(path.read_text("utf-8")):
            mentioned = match.group(1) or match.group(2)
            places = (ROOT, ROOT / "pullback", path.parent, path.parent.parent)
            if not any((place / mentioned).exists() for place in places) and mentioned not in names | ELSEWHERE:
                missing.append((path.relative_to(ROOT).as_posix(), mentioned))
    assert missing == []


def test_the_architecture_page_says_how_large_things_are():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.split("## How large it is")[1].split("##")[0]
    counted, wrong = set(), []
    for row in re.findall(r"^\| (.*`.*) \| ([\d,]+) \|", table, re.MULTILINE):
        files = {
            file
            for name in re.findall(r"`([^`]+)`", row[0])
            for place in (ROOT / "pullback").glob(name)
            for file in (place.rglob("*.py") if place.is_dir() else [place])
        }
        said = int(row[1].replace(",", ""))
        found = sum(len(file.read_text("utf-8").splitlines()) for file in files - counted)
        if abs(said - found) > max(600, said / 10):
            wrong.append((row[0], said, found))
        counted |= files
    assert wrong == []
    assert counted == set((ROOT / "pullback").rglob("*.py"))


def lines_of_code(path: Path) -> int:
    """Lines with something on them that runs: no comments, no docstrings, no blank lines."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    texts = {id(node) for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    texts |= {id(node.value) for node in nodes if id(node) in texts}
    return len({node.lineno for node in nodes if isinstance(node, (ast.stmt, ast.expr)) and id(node) not in texts})


def test_readme_says_how_large_the_core_is():
    said = re.search(r"some ([\d,]+) lines of code \(`pullback/core/\*\.py`\); the other ([\d,]+)", README)
    core, others = (int(number.replace(",", "")) for number in said.groups())
    package = ROOT / "pullback"
    found = sum(map(lines_of_code, (package / "core").glob("*.py")))
    assert abs(found - core) < core / 10
    assert abs(sum(map(lines_of_code, package.rglob("*.py"))) - found - others) < others / 10

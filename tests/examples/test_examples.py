"""The examples run, and print what they print under torch (to 4 significant digits), with fewer steps."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
spec = importlib.util.spec_from_file_location("compare", EXAMPLES / "compare.py")
compare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare)


def outputs(launcher):
    return {name: output for name, output, _ in compare.run_with(launcher, list(compare.QUICK), quick=True)}


@pytest.fixture(scope="module")
def ours():
    return outputs([sys.executable, "-m", "pullback", "run"])


@pytest.fixture(scope="module")
def theirs():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return outputs([sys.executable])


def test_every_example_is_compared():
    told = {path.stem for path in EXAMPLES.glob("*.py")} - {"compare", "tour"}
    assert {name for name in told if not name.startswith("founding_")} == set(compare.QUICK)


def test_the_page_lists_every_example():
    listed = set(re.findall(r"`([\w/]+\.py)`", (EXAMPLES / "README.md").read_text("utf-8")))
    assert {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.py")} == listed | {"compare.py"}


@pytest.mark.parametrize("name", compare.QUICK)
def test_the_example_prints_what_torch_prints(name, ours, theirs):
    assert ours[name].strip()
    assert compare.agree(ours[name], theirs[name]), f"pullback:\n{ours[name]}\ntorch:\n{theirs[name]}"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("loss 1.2345", "loss 1.2346", True), ("loss 1.234", "loss 1.239", False), ("loss 1", "lost 1", False),
     ("a 1 2", "a 1", False), ("x 0.0", "x 0.0", True), ("1e-7", "2e-7", False)],
)  # fmt: skip
def test_agreement_is_to_four_digits(a, b, expected):
    assert compare.agree(a, b) is expected


def test_an_example_is_an_ordinary_program():
    """`pullback run` of a file, as a reader would call it."""
    path = EXAMPLES / "linear_regression.py"
    done = subprocess.run([sys.executable, "-m", "pullback", "run", str(path), "20"], capture_output=True, text=True)
    assert done.returncode == 0 and "least squares" in done.stdout, done.stderr

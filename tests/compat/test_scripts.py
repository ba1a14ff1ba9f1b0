"""Whole scripts in `scripts/`, written as people write them for torch, print the same under both libraries.

Each library runs all of them in one process: starting torch takes longer than the scripts do.
"""

import contextlib
import io
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?")


def run_here(paths):
    """What the scripts print, in this process, with whatever torch is here."""
    import torch

    printed = {}
    for path in paths:
        torch.set_default_dtype(torch.float32)
        torch.set_printoptions(profile="default")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            runpy.run_path(path, run_name="__main__")
        printed[Path(path).stem] = output.getvalue().splitlines()
    return printed


def run_with(*launcher):
    command = [sys.executable, *launcher, __file__, *map(str, SCRIPTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def printed():
    pytest.importorskip("torch")
    return run_with("-m", "pullback", "run"), run_with()


def alike(a, b):
    """Whether two lines have the same words, and numbers that agree to about four digits."""
    if [text.split() for text in NUMBER.split(a)] != [text.split() for text in NUMBER.split(b)]:
        return False
    pairs = [(float(x), float(y)) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b))]
    return all(abs(x - y) <= 2e-4 * max(abs(x), abs(y)) + 2e-5 for x, y in pairs)


@pytest.mark.parametrize("script", [path.stem for path in SCRIPTS])
def test_a_script_prints_what_it_prints_under_torch(script, printed):
    ours, theirs = (each[script] for each in printed)
    assert len(ours) == len(theirs) > 5
    for mine, wanted in zip(ours, theirs):
        assert alike(mine, wanted), f"pullback: {mine}\ntorch: {wanted}"


if __name__ == "__main__":
    print(json.dumps(run_here(sys.argv[1:])))

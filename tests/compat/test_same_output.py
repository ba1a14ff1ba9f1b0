"""The programs in `programs/` print under Pullback what they print under torch."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))


def output(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=HERE, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_prints_what_it_prints_under_torch(program):
    pytest.importorskip("torch")
    assert output("-m", "pullback", "run", str(program)) == output(str(program))

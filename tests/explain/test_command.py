"""`pullback explain`: pages for the backward calls of a program written for torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import torch
x = torch.tensor([2.0, 3.0], requires_grad=True)
for step in range(5):
    y = x * x
    if step == 3:
        torch.autograd.backward(y, torch.tensor([1.0, 0.5]))
    else:
        y.sum().backward()
print(x.grad.tolist(), torch.is_anomaly_enabled())
"""


def explain(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "pullback", "explain", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=environment,
    )


@pytest.mark.parametrize(
    "options, pages",
    [
        ([], [1, 2, 3]),
        (["--calls", "1"], [1]),
        (["--only", "4"], [4]),
        (["--only", "2,4-9", "-o", "elsewhere"], [2, 4, 5]),
    ],
)
def test_pages_are_written(options, pages, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = explain(*options, "program.py", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("[20.0, 27.0]"), done.stderr
    folder = tmp_path / ("elsewhere" if "-o" in options else "explained")
    assert sorted(path.name for path in folder.iterdir()) == [f"backward-{n:03}.html" for n in pages]
    first = (folder / f"backward-{pages[0]:03}.html").read_text("utf-8")
    assert "program.py:" in first and f"Backward call {pages[0]}" in first
    if pages == [4]:
        assert '"origin":"given"' in first


def test_a_failing_program_fails_and_keeps_its_pages(tmp_path):
    (tmp_path / "program.py").write_text("import torch\nx = torch.ones(2, requires_grad=True)\n(x * 2).backward()\n")
    done = explain("program.py", cwd=tmp_path)
    assert done.returncode == 1 and "grad can be implicitly created only for scalar outputs" in done.stderr
    assert "backward() refuses" in (tmp_path / "explained" / "backward-001.html").read_text("utf-8")


@pytest.mark.parametrize(
    "arguments",
    [[], ["--calls", "x", "p.py"], ["--only", "0", "p.py"], ["--only", "a-b", "p.py"], ["-o"], ["--page", "p.py"]],
)
def test_mistakes_are_explained(arguments, tmp_path):
    done = explain(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and "usage: pullback explain" in done.stderr


def test_a_program_without_backward(tmp_path):
    done = explain("-c", "import torch; print(torch.ones(1).item())", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "1.0\n"
    assert "no page written; the program made 0 backward calls." in done.stderr

"""The examples about vector losses run, with few steps, and say what they should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# name: (arguments, what has to be printed, packages without which it cannot run)
EXAMPLES = {
    "multilabel_weights": (["15"], ["equal weights", "UPGrad", "Aligned-MTL", "cosines"], ["sklearn"]),
    "hmc": (["40"], ["40 draws", "curvature"], []),
    "newton": (["20"], ["Newton, dense", "3 sweeps"], []),
    "per_sample_norms": (["30"], ["had been spoiled", "pulls with samples"], []),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(name):
    arguments, printed, packages = EXAMPLES[name]
    for package in packages:
        pytest.importorskip(package)
    path = ROOT / "examples" / "vector_losses" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(path), *arguments], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all(words in done.stdout for words in printed), done.stdout


def test_all_of_them_are_tried():
    assert {path.stem for path in (ROOT / "examples" / "vector_losses").glob("*.py")} == set(EXAMPLES)

"""Two hundred mistakes and what torch does with each, replayed under `pullback run`.

The programs and torch's answers are kept beside the project for development and CI; without them nothing is replayed.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FACTS = Path(__file__).parents[3] / "shared" / "torch_facts"

pytestmark = pytest.mark.skipif(not FACTS.is_dir(), reason="the recorded answers of torch are not here")

# Cases where Pullback differs on purpose (docs/differences.md): it accepts what torch refuses, or warns less.
DIFFERENT = {
    "gradient is a python list", "gradient is a numpy array", "gradient is a python float", "negative step slice",
    "numpy() on conj tensor", "tensor + numpy array on left (np + tensor)", "np ufunc on tensor requires grad",
    "np ufunc on tensor no grad", "np.add(np, tensor requires grad)", "custom Function missing jvp in forward AD",
    "grad_dtype set on non-leaf", "derivative not implemented (e.g. igamma wrt first)",
}  # fmt: skip


def key_phrase(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text.split("(")[0][:50])


def test_mistakes_are_answered_as_torch_answers_them(tmp_path):
    (tmp_path / "errors.py").write_text((FACTS / "errors.py").read_text())
    subprocess.run(
        [sys.executable, "-m", "pullback", "run", "errors.py"], cwd=tmp_path, check=True, capture_output=True
    )
    answers = json.loads((tmp_path / "errors.json").read_text())
    expected = json.loads((FACTS / "errors.json").read_text())
    wrong = []
    for ours, theirs in zip(answers, expected, strict=True):
        if theirs["case"] in DIFFERENT:
            continue
        same_kind = ours["kind"].split(".")[-1] == theirs["kind"].split(".")[-1]
        said = [text[:40] for _, text in ours["warnings"]]
        warned = all(text[:40] in said for _, text in theirs["warnings"])
        if not (same_kind and warned and key_phrase(theirs["msg"]) in key_phrase(ours["msg"]) + ours["msg"]):
            wrong.append((theirs["case"], ours["kind"], ours["msg"][:100]))
    assert not wrong

"""Compare Pullback with recordings of torch's operator, module and optimizer databases.

`python -m tools.conformance FOLDER` runs the checkers in FOLDER (opinfo.py, modules.py, optims.py beside their data) and
fails when anything does not agree that did when this was written. Recordings are not part of this repository; without the
folder nothing is run.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Entries of a level that do not agree so far; everything else has to, so that any drop is noticed. These are the tangents of
# cholesky_inverse and logcumsumexp, off by 1e-5, a second derivative of linear_cross_entropy that torch has none of, and a
# sample of LBFGS that is chaotic: torch itself does not repeat it on another machine.
MAY_FAIL: dict[str, dict[str, int]] = {"opinfo.py": {"double": 1, "jvp": 2}, "modules.py": {}, "optims.py": {"mlp": 1}}
LEVELS = {
    "opinfo.py": "forward vjp double jvp vmap method inplace alias error",
    "modules.py": "construct state_dict forward backward buffers error",
    "optims.py": "quadratic mlp groups closure resume flags error lr",
}


def totals(output: str) -> dict[str, tuple[int, int]]:
    """The closing line `overall: forward 670/670  vjp 518/518 ...`."""
    line = next((line for line in reversed(output.splitlines()) if line.startswith("overall:")), "")
    return {name: (int(done), int(of)) for name, done, of in re.findall(r"(\w+) (\d+)/(\d+)", line)}


def complaints(script: str, output: str) -> list[str]:
    """What a checker's output lacks of the recorded level."""
    found = totals(output)
    lacking = [f"{level}: no result" for level in LEVELS[script].split() if level not in found]
    for level, (passed, of) in found.items():
        if passed < of - MAY_FAIL[script].get(level, 0):
            lacking.append(f"{level}: {of - passed} of {of} do not agree, {MAY_FAIL[script].get(level, 0)} may")
    return lacking


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "conformance"
    if not folder.is_dir():
        print(f"no recordings at {folder.name}: conformance was not checked")
        return 0
    failed = False
    for script in LEVELS:
        command = [sys.executable, script, "check", "--subject", "pullback", "--path", str(ROOT), "--jobs", "2"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        for level, (passed, of) in totals(done.stdout).items():
            print(f"{script[:-3]:8} {level:10} {passed:4} of {of:4}")
        lacking = complaints(script, done.stdout)
        if lacking:
            failed = True
            print(
                f"{script}: below the recorded level", *lacking, done.stdout[-2000:] + done.stderr[-2000:], sep="\n  "
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compare Pullback with recordings of torch's operator, module and optimizer databases.

`python -m tools.conformance FOLDER` runs the checkers in FOLDER (opinfo.py, modules.py, optims.py beside their data) and
fails when a level falls below its floor. Recordings are not part of this repository; without the folder nothing is run.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

# The least share of operators, modules and optimizers that must agree, for each level.
FLOORS = {
    "opinfo.py": {
        "forward": 0.95, "vjp": 0.95, "double": 0.95, "jvp": 0.95, "vmap": 0.90, "method": 0.90, "inplace": 0.90,
        "alias": 0.90, "error": 0.90,
    },
    "modules.py": {"construct": 0.95, "state_dict": 0.95, "forward": 0.95, "backward": 0.95},
    # One LBFGS sample is chaotic: torch itself does not repeat it on another machine, and it is one of fourteen.
    "optims.py": {"quadratic": 0.95, "mlp": 0.92, "groups": 0.95, "closure": 0.95, "resume": 0.95, "lr": 0.95},
}  # fmt: skip


def totals(output: str) -> dict[str, tuple[int, int]]:
    """The closing line `overall: forward 670/670  vjp 518/518 ...`."""
    line = next((line for line in reversed(output.splitlines()) if line.startswith("overall:")), "")
    return {name: (int(done), int(of)) for name, done, of in re.findall(r"(\w+) (\d+)/(\d+)", line)}


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "conformance"
    if not folder.is_dir():
        print(f"no recordings at {folder.name}: conformance was not checked")
        return 0
    failed = False
    for script, floors in FLOORS.items():
        command = [sys.executable, script, "check", "--subject", "pullback", "--path", str(ROOT), "--jobs", "2"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        found = totals(done.stdout)
        if not found:
            print(f"{script}: no result\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            failed = True
        for level, (passed, of) in found.items():
            floor = floors.get(level)
            low = floor is not None and passed < floor * of
            failed = failed or low
            below = f"  BELOW {floor:.0%}" if low else ""
            print(f"{script[:-3]:8} {level:10} {passed:4} of {of:4}  {passed / of:6.1%}{below}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

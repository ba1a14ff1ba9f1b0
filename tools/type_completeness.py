"""How much of what the package exports has a known type, as pyright counts it.

`python -m tools.type_completeness` prints the score and fails below the least that is accepted; `--missing` also lists the
names that are not known, with the reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

LEAST = 0.90


def measure() -> dict[str, Any]:
    """Pyright's report on the installed package."""
    command = [sys.executable, "-m", "pyright", "--verifytypes", "pullback", "--ignoreexternal", "--outputjson"]
    # Pyright looks the package up with whichever `python` comes first, and that is to be the one that runs this.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    answer = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    try:
        return json.loads(answer.stdout)["typeCompleteness"]
    except (ValueError, KeyError):
        sys.exit(f"pyright gave no report:\n{answer.stdout[-2000:]}{answer.stderr[-2000:]}")


def main() -> int:
    report = measure()
    counts = report["exportedSymbolCounts"]
    score = report["completenessScore"]
    if "--missing" in sys.argv:
        for symbol in report["symbols"]:
            if symbol["isExported"] and (not symbol["isTypeKnown"] or symbol["isTypeAmbiguous"]):
                reasons = [d["message"].splitlines()[0] for d in symbol["diagnostics"] if d["severity"] == "error"]
                print(symbol["name"], "-", "; ".join(dict.fromkeys(reasons)))
    known, every = counts["withKnownType"], sum(counts.values())
    print(f"type completeness: {score:.1%} ({known} of {every} exported names), at least {LEAST:.0%} wanted")
    return 0 if score >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())

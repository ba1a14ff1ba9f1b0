"""Put the times of benchmarks/results.md into the README's table: `python -m tools.figures`, after `make bench`.

Only rows that stand for a workload are written; the rest of the README is left as it is. A test fails while it differs.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README, RESULTS = ROOT / "README.md", ROOT / "benchmarks" / "results.md"

# the first column of a row of the README, and the workload it is about
ROWS = {
    "the founding example, with its tensors": "seed",
    "a graph of 1000 scalar operations, forward and backward": "scalar1000",
    "small network, Adam, one step": "mlp_adam",
    "Hessian of the 50-dimensional Rosenbrock function": "hessian",
    "16 million elements of `tanh(x) * exp(-x * x)`, forward and backward": "bigew",
    "a GPT block, forward and backward": "attention",
    "convolutional network, forward and backward": "conv",
}


def readable(microseconds: float) -> str:
    """Two or three digits, in the unit that needs no more."""
    unit, value = ("µs", microseconds) if microseconds < 1000 else ("ms", microseconds / 1000)
    return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"


def with_figures(text: str) -> str:
    """The README with the measured times; KeyError for a row or workload that is not there."""
    measured = re.findall(r"^\| (\w+) \| ([\d,.]+) \| ([\d,.]+) \|", RESULTS.read_text("utf-8"), re.MULTILINE)
    times = {name: [readable(float(part.replace(",", ""))) for part in parts] for name, *parts in measured}
    for label, workload in ROWS.items():
        row = f"| {label} | {' | '.join(times[workload])} |"
        text, count = re.subn(rf"^\| {re.escape(label)} \|.*$", row, text, flags=re.MULTILINE)
        if count != 1:
            raise KeyError(f"the README has {count} rows for {label!r}")
    return text


if __name__ == "__main__":
    README.write_text(with_figures(README.read_text("utf-8")), "utf-8")

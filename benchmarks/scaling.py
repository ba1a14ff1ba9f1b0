"""How times change with the number of threads: `python -m benchmarks.scaling [NAMES] [--threads 1,2,4] [--write FILE]`.

Each library runs alone, in a process of its own on as many processors as it has threads: threads that spin while they
wait would spoil the neighbour's times. Reported are minima. A workload that takes over a tenth longer than with the
best smaller number of threads is marked. `benchmarks/scaling.md` is such a table, from a machine of 16 cores.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from pathlib import Path

from .__main__ import LIBRARIES, Worker, measure, processor

WORKLOADS = (
    "attention",
    "conv",
    "softmax_xent",
    "gelu_ln",
    "mlp_large",
    "mlp_medium",
    "bigew",
    "embedding",
    "rnn",
    "jacobian",
)
TOLERATED = 1.1
"""Times of one program differ by as much from run to run."""


def slower_with_more(times: list[float]) -> bool:
    """Whether a time is clearly above the best one with fewer threads."""
    return any(later > TOLERATED * min(times[:place]) for place, later in enumerate(times) if place)


def row(name: str, library: str, times: list[float], theirs: list[float] | None) -> str:
    """A line of the table: microseconds at each number of threads, and their ratio to the other library's."""
    cells = [
        f"{time * 1e6:,.0f}" + (f" ({time / theirs[place]:.2f})" if theirs else "") for place, time in enumerate(times)
    ]
    return (
        f"| {name} | {library} | " + " | ".join(cells) + f" | {'slower with more' if slower_with_more(times) else ''} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(WORKLOADS))
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slice", type=float, default=0.1, help="seconds in each round")
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    counts = [int(count) for count in arguments.threads.split(",")]
    names = arguments.names or WORKLOADS
    libraries = [library for library in arguments.libraries.split(",") if importlib.util.find_spec(library)]
    times: dict[str, dict[str, list[float]]] = {name: {library: [] for library in libraries} for name in names}
    for count in counts:
        for library in libraries:
            worker = Worker(library, count)
            for name in names:
                result = measure({library: worker}, name, arguments.rounds, arguments.slice)[library]
                times[name][library].append(result["best"])
            worker.process.kill()
    lines = ["| workload | library | " + " | ".join(map(str, counts)) + " | |", "|---" * (len(counts) + 3) + "|"]
    for name in names:
        for library in libraries:
            theirs = None if library == "torch" else times[name].get("torch")
            lines.append(row(name, library, times[name][library], theirs))
    print("\n".join(lines))
    if arguments.write:
        measured = f"{processor()} with {os.cpu_count()} cores by `python -m benchmarks.scaling`"
        heading = (
            "# Times by the number of threads\n\nMinima in microseconds, each library alone; in brackets the share of "
            f"torch's time on as many threads. Measured on {measured}.\n\n"
        )
        arguments.write.write_text(heading + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

"""Run the benchmarks: `python -m benchmarks [NAMES] [--rounds N] [--write FILE]`.

One process for each library; they take turns, slice by slice, so that both meet the same weather. Reported are the
medians of the slices, their ratio, and whether the numbers agree. Memory is measured apart, in a fresh process for each
workload: how far the most that it held while a step was made lies above what it held before the workload was prepared.
`make bench` writes `benchmarks/results.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIBRARIES = ("torch", "pullback")


def worker(library: str) -> None:
    """Serve requests from standard input: prepare a workload, run a slice of it."""
    import importlib

    torch = importlib.import_module(library)
    for name in ("nn.functional", "func", "optim"):
        importlib.import_module(f"{library}.{name}")
    from .workloads import make

    step, estimate = None, 0.0
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "prepare":
                step = None
                step = make(request["name"], torch)
                results = step()
                digest = [float(abs(r.detach().double()).sum()) for r in results if r is not None]
                estimate = min(timed(step, 1) for _ in range(3))
                answer: dict = {"digest": digest}
            elif request["do"] == "memory":
                before = held("VmRSS")
                step = make(request["name"], torch)
                for _ in range(3):
                    step()
                Path("/proc/self/clear_refs").write_text("5")  # VmHWM, the most that was held, begins anew
                for _ in range(3):
                    step()
                answer = {"peak": held("VmHWM") - before}
            else:
                assert step is not None
                answer = {"time": timed(step, max(1, int(request["slice"] / max(estimate, 1e-9))))}
        except Exception as error:  # told to the driver, which goes on
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), flush=True)


def timed(step, count: int) -> float:  # type: ignore[no-untyped-def]
    start = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count


def held(name: str) -> float:
    """Megabytes that this process holds (VmRSS), or the most that it held (VmHWM)."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


class Worker:
    """A process that runs workloads with one library, on as many threads and processors as it is told, or all."""

    def __init__(self, library: str, threads: int | None = None) -> None:
        command = [sys.executable, "-m", "benchmarks", "--worker", library]
        surroundings = dict(os.environ)
        if threads is not None:
            surroundings |= {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL")}
            if hasattr(os, "sched_getaffinity") and threads <= len(os.sched_getaffinity(0)):
                cores = sorted(os.sched_getaffinity(0))[:threads]
                command = ["taskset", "-c", ",".join(map(str, cores)), *command]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=surroundings
        )

    def ask(self, **request: object) -> dict:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def measure(workers: dict[str, Worker], name: str, rounds: int, seconds: float) -> dict:
    prepared = {library: w.ask(do="prepare", name=name) for library, w in workers.items()}
    times: dict[str, list[float]] = {library: [] for library in workers}
    for turn in range(rounds):
        for library in sorted(workers, reverse=turn % 2 == 1):
            if "error" not in prepared[library]:
                time.sleep(0.02)  # let the other process's threads go to sleep
                times[library].append(workers[library].ask(do="run", slice=seconds)["time"])
    return {
        library: prepared[library] | ({"median": statistics.median(t), "best": min(t)} if t else {})
        for library, t in times.items()
    }


def measure_memory(name: str) -> dict[str, float]:
    """Peak memory of a workload, in MB, where Linux says it."""
    peaks = {}
    for library in LIBRARIES if os.path.exists("/proc/self/clear_refs") else ():
        worker = Worker(library)
        answer = worker.ask(do="memory", name=name)
        worker.process.communicate()
        if "peak" in answer:
            peaks[library] = answer["peak"]
    return peaks


def memory_cells(peaks: dict[str, float]) -> str:
    """The cells of a row about memory; below a megabyte, pages decide."""
    shown = ["" if name not in peaks else "< 1" if peaks[name] < 1 else f"{peaks[name]:,.0f}" for name in LIBRARIES]
    return f" {shown[0]} | {shown[1]} |"


def agree(a: list[float], b: list[float]) -> bool:
    return len(a) == len(b) and all(abs(x - y) <= 2e-3 * max(abs(x), abs(y), 1e-9) for x, y in zip(a, b))


def row(name: str, result: dict) -> str:
    torch, own = result["torch"], result["pullback"]
    if "median" not in torch or "median" not in own:
        return f"| {name} | | | {own.get('error') or torch.get('error')} |"
    note = "" if agree(torch["digest"], own["digest"]) else " **numbers differ**"
    ratio = torch["median"] / own["median"]
    return f"| {name} | {torch['median'] * 1e6:,.1f} | {own['median'] * 1e6:,.1f} | {ratio:.2f}{note} |"


def processor() -> str:
    """What the machine calls its processor: ratios differ between makers, those of matrix products most."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = dict(line.split(":", 1) for line in lines if ":" in line)
    known = {name.strip(): value.strip() for name, value in named.items()}
    name = known.get("model name", platform.machine())
    return f"{name} (family {known['cpu family']}, model {known['model']})" if "cpu family" in known else name


def main() -> None:
    from .workloads import WORKLOADS

    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--slice", type=float, default=0.1, help="seconds for each library in each round")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments.worker)
        return
    workers = {library: Worker(library) for library in LIBRARIES}
    lines = [
        "| workload | torch µs | Pullback µs | torch / Pullback | torch MB | Pullback MB |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for name in arguments.names or WORKLOADS:
        line = row(name, measure(workers, name, arguments.rounds, arguments.slice))
        lines.append(line + memory_cells(measure_memory(name)))
        print(lines[-1], flush=True)
    if arguments.write:
        described = "\n".join(f"- `{name}`: {function.__doc__}" for name, function in WORKLOADS.items())
        arguments.write.write_text(
            "# Benchmarks\n\nMedians of interleaved slices, torch eager and Pullback in one run. "
            "Above 1 is faster than torch. MB are the most memory held during a step, above what the process held before. "
            f"Measured on {processor()} with {os.cpu_count()} cores.\n\n" + "\n".join(lines) + "\n\n" + described + "\n"
        )


if __name__ == "__main__":
    main()

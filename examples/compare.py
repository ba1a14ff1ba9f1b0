"""Run the examples under torch and under Pullback and show what both print, and how long both take, side by side.

    python examples/compare.py                 all of them
    python examples/compare.py vae dqn         some of them
    python examples/compare.py --quick         fewer steps, a few seconds in all

Each library runs the examples in one process of its own; starting it, with the import, is timed apart. Numbers agree
if they are equal to 4 significant digits; the exit status is 1 if some do not.
"""

import argparse
import contextlib
import io
import json
import pathlib
import re
import runpy
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
# Every example takes the number of steps as its argument; here the number for a quick look.
QUICK = {
    "linear_regression": 40, "polynomial_by_hand": 40, "polynomial_autograd": 40, "polynomial_module": 40,
    "polynomial_function": 40, "digits_conv": 1, "char_rnn": 10, "tiny_gpt": 10, "vae": 40, "dqn": 24, "neural_ode": 12,
    "physics_informed": 40, "image_optimization": 15, "multi_label": 40,
}  # fmt: skip
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def run_here(names, quick):
    """Run examples in this process, whatever torch is here; a list of (name, output, seconds)."""
    import torch

    results = []
    for name in names:
        sys.argv = [str(FOLDER / f"{name}.py"), *([str(QUICK[name])] if quick else [])]
        output, start = io.StringIO(), time.perf_counter()
        with contextlib.redirect_stdout(output):
            runpy.run_path(sys.argv[0], run_name="__main__")
        results.append((name, output.getvalue(), time.perf_counter() - start))
        torch.set_default_dtype(torch.float32)
    return results


def run_with(launcher, names, quick):
    """Run examples in a process started by `launcher`; what `run_here` returns there."""
    command = [*launcher, str(FOLDER / "compare.py"), "--here", *(["--quick"] if quick else []), *names]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=FOLDER.parent)
    whole = time.perf_counter() - start
    results = json.loads(done.stdout.splitlines()[-1])
    return [("start", "", whole - sum(seconds for _, _, seconds in results)), *results]


def agree(a, b):
    """Whether two texts are equal where they are words, and to 4 significant digits where they are numbers."""
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    pairs = zip(NUMBER.findall(a), NUMBER.findall(b))
    return all(abs(float(x) - float(y)) <= 5.001e-4 * max(abs(float(x)), abs(float(y))) for x, y in pairs)


def show(name, ours, theirs, our_time, their_time):
    """Print one example: both outputs where they differ, else one."""
    same = agree(ours, theirs)
    print(f"--- {name}: {'agree' if same else 'DIFFER'}; torch {their_time:.2f} s, pullback {our_time:.2f} s")
    for ours_line, theirs_line in zip(ours.splitlines(), theirs.splitlines()):
        mark = " " if agree(ours_line, theirs_line) else "!"
        print(f"{mark} {theirs_line}" + ("" if ours_line == theirs_line else f"\n{mark} {ours_line}   <- pullback"))
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="examples to run (all unless given)")
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.names or list(QUICK)
    if options.here:
        print(json.dumps(run_here(names, options.quick)))
        return 0
    theirs = run_with([sys.executable], names, options.quick)
    ours = run_with([sys.executable, "-m", "pullback", "run"], names, options.quick)
    print(f"start: torch {theirs[0][2]:.2f} s, pullback {ours[0][2]:.2f} s")
    same = [
        show(name, output, their_output, seconds, their_seconds)
        for (name, output, seconds), (_, their_output, their_seconds) in zip(ours[1:], theirs[1:])
    ]
    total = [sum(row[2] for row in rows[1:]) for rows in (theirs, ours)]
    print(f"{sum(same)} of {len(same)} agree; torch {total[0]:.1f} s, pullback {total[1]:.1f} s")
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())

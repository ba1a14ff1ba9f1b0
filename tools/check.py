"""Everything about one operation: `python -m tools.check tanh`, or `make check OP=tanh`. Torch is not needed.

An operation is called as the variable that holds it in `pullback/ops/`, or by its node (`TanhBackward0`), or by a row of the
table of gradients. It is run on its own samples and on what functions of that table give it; the rows are run as well.
"""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from tests.ops import checks, test_gradients, test_kernels_and_formulas
from tests.ops.operations import operations, own_samples, rows_by_operation
from tests.ops.uncovered import DIFFERENCES_MISLEAD, NOT_ELSEWHERE

MOST_ROWS = 8


def found(name: str) -> dict[Any, str]:
    """The operations that a name means, with their own."""
    known = {op: place.removeprefix("pullback.ops.") for place, op in reversed(list(operations()))}
    held = {
        op: place for op, place in known.items() if name in (place, place.rpartition(".")[2], op.node_name, op.name)
    }
    return held or {op: known[op] for op, rows in rows_by_operation().items() if name in rows and op in known}


def check_of(name: str, op: Any, samples: list[Any]) -> Callable[[], str]:
    """A check on samples, which says what was done."""

    def run() -> str:
        ran, reasons = checks.run(name, op, samples)
        return f"ok, on {ran}" if ran else f"not checked: {', '.join(sorted(reasons)) or 'no samples'}"

    return run


def kernel_of(op: Any) -> str:
    """The kernel against the formula."""
    if op.kernel is None:
        return "there is none"
    for dtype in (np.float64, np.float32):
        for layout in ("in order", "with gaps", "turned"):
            test_kernels_and_formulas.test_a_kernel_gives_what_the_formula_gives(op, dtype, layout)
    return "ok, as the formula"


def row_of(name: str, complex_: bool) -> Callable[[], str]:
    """A row of the table of gradients, by finite differences."""

    def run() -> str:
        test_gradients.test_derivatives_by_finite_differences(name, complex_)
        if not complex_:
            test_gradients.test_a_recorded_pass_has_the_gradients_of_a_plain_one(name)
        return "ok"

    return run


def everything(op: Any, place: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """What there is to check, and the check."""
    rows = rows_by_operation().get(op, {})
    own = own_samples(op)
    samples = own + list(islice(rows.values(), MOST_ROWS))
    for name in checks.CHECKS:
        if place in DIFFERENCES_MISLEAD and name in ("derivatives", "forward_mode"):
            yield name, lambda: f"by the rows: {DIFFERENCES_MISLEAD[place]}"
        elif name == "other_arrays" and (place in NOT_ELSEWHERE or not own):
            yield (
                name,
                lambda: "not yet" if place in NOT_ELSEWHERE else "by the rows, in tests/core/test_other_arrays.py",
            )
        else:
            yield name, check_of(name, op, samples)
    yield "kernel", lambda: kernel_of(op)
    for name in islice(rows, MOST_ROWS):
        yield f"row {name!r}", row_of(name, False)
        if test_gradients.ROWS[name][3]:
            yield f"row {name!r}, complex", row_of(name, True)


def report(op: Any, place: str) -> bool:
    """Print what the checks of an operation say; whether all is well."""
    rows, well = rows_by_operation().get(op, {}), True
    print(f"\n{place}, the node {op.node_name}: {len(own_samples(op))} samples of its own, {len(rows)} rows apply it")
    if not own_samples(op) and not rows:
        print("  no samples: state some on its card (`samples=`, see pullback/ops/samples.py)")
        return False
    for name, check in everything(op, place):
        try:
            said = check()
        except Exception as error:  # whatever it is, the other checks are worth running
            said, well = f"FAILED: {type(error).__name__}: {str(error).strip()}", False
        print(f"  {name:<16} {said}")
    return well


def main() -> int:
    """Check the operations that are named."""
    names, started = sys.argv[1:], time.perf_counter()
    if not names:
        print(inspect.getdoc(sys.modules[__name__]))
        return 2
    well = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            held = found(name)
            if not held:
                print(f"no operation is called {name!r}: give the name that holds it in pullback/ops/, or its node's")
            well = well and bool(held) and all([report(op, place) for op, place in held.items()])
    print(f"\n{'all is well' if well else 'SOMETHING FAILED'} ({time.perf_counter() - started:.1f} s)")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())

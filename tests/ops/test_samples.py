"""Operations on the samples that their cards state: everything in checks.py is held to, for each.

An operation without samples is one that a function of the table of gradients applies: then that row is its test, and what
costs little is checked on what the row gives it. The others are listed, and the list gets no longer.
"""

import pytest

from . import checks
from .operations import operations, own_samples, rows_by_operation, samples_of
from .uncovered import DESCRIBED, DIFFERENCES_MISLEAD, NOT_ELSEWHERE, UNCOVERED

OPS = {op: name.removeprefix("pullback.ops.") for name, op in reversed(list(operations()))}
OWN = [
    (op, check)
    for op, name in OPS.items()
    if op.samples is not None
    for check in checks.CHECKS
    if name not in DIFFERENCES_MISLEAD or check not in ("derivatives", "forward_mode")
]
CHEAP = [(op, check) for op in OPS if op.samples is None for check in ("batches", "autocast")]


@pytest.mark.parametrize(("op", "check"), OWN, ids=[f"{OPS[op]}-{check}" for op, check in OWN])
def test_on_its_own_samples(op, check):
    if check == "other_arrays" and OPS[op] in NOT_ELSEWHERE:
        with pytest.raises(Exception):  # noqa: B017, PT011
            checks.run(check, op, own_samples(op))
    else:
        ran, reasons = checks.run(check, op, own_samples(op))
        assert ran or reasons & checks.FOR_OTHERS or check == "explanation" and OPS[op] in DESCRIBED, (
            f"nothing was checked: {', '.join(reasons)}"
        )


@pytest.mark.parametrize(("op", "check"), CHEAP, ids=[f"{OPS[op]}-{check}" for op, check in CHEAP])
def test_on_what_functions_give_it(op, check):
    checks.run(check, op, samples_of(op))


def test_every_operation_is_tried():
    """By samples of its own, or by a row of the table of gradients."""
    without = {name for op, name in OPS.items() if op.samples is None and op not in rows_by_operation()}
    assert not without - UNCOVERED, "give them samples=, on their cards"
    assert not UNCOVERED - without, "they are tried: take them out of the list"

"""The conformance tool notices one operator that no longer agrees, and a checker that says nothing."""

import pytest

from tools.conformance import LEVELS, MAY_FAIL, complaints, totals


def output(script, **failing):
    counts = {level: (10 - failing.get(level, 0), 10) for level in LEVELS[script].split()}
    return "a table\n\noverall: " + "  ".join(f"{level} {done}/{of}" for level, (done, of) in counts.items()) + "\n"


@pytest.mark.parametrize("script", LEVELS)
def test_any_drop_is_noticed(script):
    assert complaints(script, output(script)) == []
    for level in LEVELS[script].split():
        allowed = MAY_FAIL[script].get(level, 0)
        assert complaints(script, output(script, **{level: allowed})) == []
        (complaint,) = complaints(script, output(script, **{level: allowed + 1}))
        assert complaint.startswith(f"{level}: ")


def test_no_result_is_a_drop():
    assert totals("Traceback") == {}
    assert len(complaints("modules.py", "Traceback")) == len(LEVELS["modules.py"].split())

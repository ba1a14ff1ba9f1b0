"""`make check OP=name`: what it says of operations that are well, that are not, and that are unknown."""

import numpy as np
import pytest

from pullback.core.op import op
from tools import check


def said_of(monkeypatch, capsys, *names):
    monkeypatch.setattr("sys.argv", ["check", *names])
    return check.main(), capsys.readouterr().out


def test_an_operation_that_is_well(monkeypatch, capsys):
    code, out = said_of(monkeypatch, capsys, "softmax", "TanhBackward0")
    assert code == 0 and "all is well" in out
    for name in ("derivatives", "forward_mode", "batches", "explanation", "autocast", "other_arrays", "kernel", "row"):
        assert name in out


def test_names_that_nothing_goes_by(monkeypatch, capsys):
    code, out = said_of(monkeypatch, capsys, "softmin_of_nothing")
    assert code == 1 and "no operation is called 'softmin_of_nothing'" in out
    assert said_of(monkeypatch, capsys)[0] == 2


def bad(slope, **fields):
    return op("CubeBackward0", lambda x: x * x * x, x=slope, kind="elementwise_pull", **fields)


SAMPLES = {"samples": lambda draw: [((draw(2, 3),), {})]}


@pytest.mark.parametrize(
    ("made", "what"),
    [
        (bad(lambda g, x: g * 2 * x * x, **SAMPLES), "derivatives      FAILED"),
        (bad(lambda g, x: g * 3 * np.asarray(x) ** 2, **SAMPLES), "derivatives      FAILED"),  # the second is lost
        (bad(lambda g, x: g * 3 * x * x), "no samples"),
    ],
)
def test_an_operation_that_is_wrong(made, what, capsys):
    assert not check.report(made, "scratch.cube")
    assert what in capsys.readouterr().out


def test_an_operation_that_is_right(capsys):
    assert check.report(bad(lambda g, x: g * (3 * x * x), **SAMPLES), "scratch.cube")
    assert "FAILED" not in capsys.readouterr().out

"""A campaign finds planted faults, makes their programs small, and survives programs that hang or kill their process."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import pullback

torch = pytest.importorskip("torch")

from tools.campaign import children, expressions, judging, shrinking, worker  # noqa: E402
from tools.campaign.children import Campaign  # noqa: E402
from tools.campaign.graphs import put  # noqa: E402
from tools.campaign.running import Pair, replay  # noqa: E402
from tools.campaign.scenarios import KINDS, run_random_program  # noqa: E402

OURS = "T.__name__ == 'pullback'"
"""Lines in which the libraries differ on purpose ask this."""


def records(*programs, **options):
    """What a worker says of these programs."""
    written = io.StringIO()
    worker.Worker(written, None, strides=options.pop("strides", "none")).work(range(len(programs)), programs, 1e12)
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_planted_fault_is_found_by_random_programs_and_shrunk(monkeypatch):
    right = pullback.tanh
    monkeypatch.setattr(pullback, "tanh", lambda x: right(x) * 1.001)
    monkeypatch.setattr(worker, "SECONDS_TO_SHRINK", 60)
    written = io.StringIO()
    found: list = []
    for seed in range(60):
        worker.Worker(written, None, strides="none").run(seed)
        found = [one for one in map(json.loads, written.getvalue().splitlines()) if "T.tanh(" in one["line"]]
        if found:
            break
    smallest = found[0]["program"]
    assert len(smallest) == 2 and " = leaf(1, " in smallest[0] and "T.tanh(" in smallest[1], smallest


NOISE = ["v1 = leaf(3, (3, 2), requires_grad=True)", "v2 = v1.sin()", "v3 = v2.T", "v4 = v3*v3", "v5 = leaf(4, (2,))"]
PLANTED = {
    "value": [f"v6 = v4*(2 if {OURS} else 3)"],
    "dtype": [f"v6 = v4.float() if {OURS} else v4"],
    "shape": [f"v6 = v4[:1] if {OURS} else v4"],
    "requires_grad": [f"v6 = v4.detach() if {OURS} else v4"],
    "is_leaf": [f"v6 = v4.detach().requires_grad_() if {OURS} else v4"],
    "finiteness": [f"v6 = v4/0 if {OURS} else v4"],
    "version": ["v6 = v4.clone()", f"v6 = v6.add_(0) if {OURS} else v6"],
    "strides": [f"v6 = v4.contiguous() if {OURS} else v4"],
    "refused": [f"v6 = 1/0 if {OURS} else 1"],
    "accepted": [f"v6 = 1 if {OURS} else 1/0"],
    "exception": [f"v6 = {{}}[0] if {OURS} else 1/0"],
    "gradient value": ["v4.sum().backward()", f"None if {OURS} else v1.grad.mul_(2)"],
    "gradient type": ["v4.sum().backward()", f"v1.grad = None if {OURS} else v1.grad"],
}


@pytest.mark.parametrize("kind", PLANTED)
def test_each_kind_of_difference_is_seen_and_shrunk(kind):
    if kind == "version":  # a variable that is set anew is another one
        PLANTED[kind][1] = f"None if not {OURS} else v6.add_(0)"
    difference, *_ = records([*NOISE, *PLANTED[kind], "v9 = v5*2"], strides="results")
    assert difference["kind"] == kind, difference
    assert len(difference["program"]) <= 3 and OURS in difference["program"][-1]


def test_programs_that_agree_are_counted_and_nothing_else():
    *differences, counts = records(NOISE, [*NOISE, "v4.sum().backward()"], ["v1 = leaf(1, (2,))", "v1.nonsense()"])
    assert not differences and counts["counts"] == {"programs": 3, "lines": 13}


def test_rounding_is_told_from_a_difference():
    for size, reason in ((1e-6, "rounding, or a tie that rounding decides"), (0.3, None)):
        lines = ["v1 = leaf(1, (3,))", f"v2 = (v1*1e9).sin() + ({size} if {OURS} else 0)"]
        assert judging.verdict(lines, replay(lines), strides="none") == reason
    ties = ["v1 = leaf(1, (3,))", "v2 = v1*3", f"v3 = ((v2/3 - v1)*{{True: 1, False: -1}}[{OURS}]) > 0"]
    difference = replay(ties)
    assert difference is None or judging.verdict(ties, difference, strides="none")


def test_gradients_that_torch_refuses_are_verified():
    lines = [
        "v1 = leaf(1, (3,), requires_grad=True)",
        "v2 = v1*1",
        "v3 = v2*2.0",
        "v4 = v2.pow(2)",
        "v2.add_(1)",
        "v4.sum().backward()",
    ]
    assert judging.accepted_is_right(lines[:4] + lines[5:])
    wrong = [*lines[:4], f"None if not {OURS} else v2.data.add_(1)", lines[5]]
    assert not judging.accepted_is_right(wrong)


def test_known_differences_have_patterns_and_reasons():
    for known in judging.KNOWN + judging.OPEN:
        assert (
            known.kinds
            and known.reason
            and not judging.re.search(known.pattern, "v1 = v2 | v1: torch 1.0, pullback 2.0")
        ), known


def test_hang_is_reported(monkeypatch):
    monkeypatch.setattr(worker, "SECONDS_FOR_A_PROGRAM", 0.2)
    difference, counts = records(["v1 = leaf(1, (2,))", "while True: pass"], ["v1 = leaf(1, (2,))"])
    assert difference["kind"] == "hang" and difference["line"] == "while True: pass"
    assert counts["counts"]["programs"] == 2


def test_expressions_are_python_and_most_run():
    tables = [value for name, value in vars(expressions).items() if name.isupper() and isinstance(value, list)]
    for expression in (one for table in tables for one in table):
        compile(put(expression, x="v1", y="v2", d=0, s="v3", F="f"), expression, "exec")
    for name in ("ONE", "REDUCTIONS", "ALONG", "SMOOTH"):
        pair = Pair(strides="none")
        pair.run("v1 = leaf(1, (3, 4))")
        raised = [one for one in getattr(expressions, name) if pair.run(put(f"v2 = {one}", x="v1", a="v1", d=-1))[0]]
        assert len(raised) < 5, raised


def test_the_same_seed_is_the_same_program():
    first, again = Pair(strides="none"), Pair(strides="none")
    for seed in range(4):
        run_random_program(seed, first)
        run_random_program(seed, again)
    assert first.lines == again.lines and len(first.lines) > 9


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_kind_of_program_runs(kind):
    import random

    lines = [line for seed in range(4) for line in [kind(random.Random(seed))]]
    assert all(len(program) >= 3 for program in lines)
    raised = [Pair(strides="none").run(line)[0] for program in lines for line in program[:1]]
    assert not any(raised)


def test_script_shows_both_answers(tmp_path):
    lines = ["v1 = leaf(1, (2,), requires_grad=True)", "v1.nonsense()", f"v2 = v1*(2 if {OURS} else 3)"]
    path = tmp_path / "it.py"
    path.write_text(shrinking.script(lines, replay(lines)))
    done = subprocess.run(
        [sys.executable, path, "pullback"], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0 and "AttributeError" in done.stdout and "v2 = tensor([ 3.24" in done.stdout, (
        done.stderr + done.stdout
    )


@pytest.mark.slow
def test_processes_that_die_are_replaced(tmp_path, capsys):
    programs = [
        ["v1 = leaf(1, (2,))"],
        ["v1 = leaf(1, (2,))", "import os; os._exit(3)"],
        ["v1 = leaf(1, (2,))", *PLANTED["value"]],
    ]
    programs[2][-1] = programs[2][-1].replace("v4", "v1")
    (tmp_path / "programs.json").write_text(json.dumps(programs))
    campaign = Campaign(tmp_path, processes=1, strides="none", programs=tmp_path / "programs.json")
    campaign.run(120)
    assert {one["kind"]: one["program"] for one in campaign.found.values()} == {
        "value": programs[2],
        "crash": programs[1][1:],
    }
    assert "crash" in campaign.summary() and "difference_1.py" in capsys.readouterr().out


def test_crashes_of_torch_are_told_from_others():
    text = 'Segmentation fault\n\nCurrent thread 0x00007 (most recent call first):\n  File "{}", line 6 in f\n'
    assert children.crashed_in_torch(text.format("/lib/site-packages/torch/_tensor.py"))
    assert not children.crashed_in_torch(
        text.format("/here/pullback/tensor.py") + '  File "/lib/torch/a.py", line 1 in g'
    )
    assert not children.crashed_in_torch("")


JUDGED = {
    "torch makes of ours what pullback does": [
        "v1 = leaf(1, (3,), dtype='float32')*0", "v2 = T.special.i0e(v1)", "v3 = v2.long()"
    ],
    "operands in the other sign of zero": ["v1 = T.special.i1(T.tensor([-0.0]))", "v2 = v1.reciprocal()"],
    "a rounding of what is given": [
        "v1 = T.ones(2, 3)*6", "v2 = T.nn.functional.batch_norm(v1, None, None, training=True)"
        f" + (1e-4 if {OURS} else 0)",
    ],
    "which of equal elements": [
        "v1 = T.tensor([1.0, 1.0, 2.0], requires_grad=True)", "v2 = v1.kthvalue(1)[0]", "v2.backward()",
        f"v1.grad = v1.grad.flip(0) if {OURS} else v1.grad",
    ],
}  # fmt: skip


@pytest.mark.parametrize("what", JUDGED)
def test_what_is_no_difference_is_told(what):
    lines = JUDGED[what]
    difference = replay(lines)
    assert difference is None or judging.verdict(lines, difference, "none") is not None, difference


@pytest.mark.parametrize("line", ["v2 = v1.sin()", "v2 = v1.max()", "v2 = v1.sort()[0]"])
def test_what_is_one_is_still_told(line):
    """Even where the values are equal, or the answer is a small one."""
    lines = ["v1 = leaf(1, (3,), kind='ties')", f"{line} * (1.001 if {OURS} else 1)"]
    difference = replay(lines)
    assert difference is not None and difference.kind == "value"
    assert judging.verdict(lines, difference, "none") is None

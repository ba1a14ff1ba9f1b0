"""Each kind of warning appears where it should, and healthy programs have none."""

from __future__ import annotations

import pytest
from explain.programs import transformer_loss

import pullback
from pullback import nn

inf = float("inf")


def leaf(*values, **options):
    return pullback.tensor(values, requires_grad=True, **options)


def sqrt_at_zero():
    return leaf(0.0, 1.0).sqrt().sum()


def where_hides_nan():
    x = leaf(0.0, 1.0)
    return pullback.where(x > 0, x.log() * 0, x).sum() * inf


def dead_relu():
    return (leaf(-1.0, -2.0).relu() + 0).sum()


def dead_units():
    weight = pullback.ones(6, 4)
    weight[:, 1:] = -1
    return (weight * leaf(1.0, 1.0, 1.0, 1.0)).relu().sum()


def saturated_sigmoid():
    return leaf(20.0, -30.0, 15.0).sigmoid().sum()


def saturated_tanh():
    return leaf(20.0, -30.0, 0.1).tanh().sum()


def exploding_chain():
    x = leaf(1.0)
    for _ in range(8):
        x = x * 10
    return x.sum()


def vanishing_chain():
    x = leaf(1.0)
    for _ in range(12):
        x = x * 0.1
    return x.sum()


def exploding_step():
    return leaf(1e-6).log().sum()


def rounded():
    return leaf(0.3, 1.7).round().sum()


def clamped():
    return leaf(5.0, 7.0).clamp(-1, 1).sum()


def detached():
    x = leaf(1.0, 2.0)
    return (x * x.detach()).sum()


def zero_weighted():
    return (leaf(1.0) * 0).sum()


CASES = {
    "nan": (sqrt_at_zero, "Inf is born here: sqrt"),
    "dead relu": (dead_relu, "all 2 outputs are 0"),
    "dead relu units": (dead_units, "3 of 4 units"),
    "saturated sigmoid": (saturated_sigmoid, "Saturated sigmoid: 100 %"),
    "saturated tanh": (saturated_tanh, "Saturated tanh: 67 %"),
    "exploding": (exploding_chain, "1e\\+08 times the seed"),
    "exploding step": (exploding_step, "1e\\+06 times larger"),
    "vanishing": (vanishing_chain, "vanishing"),
    "zero round": (rounded, "derivative is 0 everywhere"),
    "zero clamp": (clamped, "becomes exactly 0 in clamp"),
    "detached": (detached, "A branch is cut: mul"),
    "zero leaf": (zero_weighted, "exactly 0"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_said(name):
    program, text = CASES[name]
    explanation = program().explain()
    kind = next(kind for kind in sorted({c.split(" ")[0] for c in CASES}) if name.startswith(kind))
    found = [
        warning for warning in explanation.warnings if warning.kind.startswith(kind) and warning.severity == "warning"
    ]
    assert found, explanation.warnings
    import re

    assert any(re.search(text, warning.text) for warning in found), [warning.text for warning in found]
    assert found[0].key is not None  # it points somewhere
    marked = [*explanation.operations, *explanation.leaves]
    assert any(found[0].text in item.warnings for item in marked)


def test_unused_leaves():
    used, unused = leaf(1.0), leaf(2.0)
    loss = (used * 2).sum()
    explanation = loss.explain(inputs={"used": used, "unused": unused})
    (warning,) = (w for w in explanation.warnings if w.kind == "unused" and w.severity == "warning")
    assert warning.text.startswith("unused requires grad but the loss does not depend on it")
    # a variable nobody asked about is only a note
    assert [w.severity for w in loss.explain().warnings if w.kind == "unused"] == ["note"]
    model = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.Linear(1, 1)})
    texts = [
        w.text for w in model["a"](pullback.ones(1, 1)).sum().explain(model=model).warnings if w.severity == "warning"
    ]
    assert len(texts) == 2 and texts[0].startswith("b.weight") and texts[1].startswith("b.bias")


@pytest.mark.parametrize(
    "cut, kind, text",
    [
        (lambda x: x.long(), "integer cast", "cast to torch.int64"),
        (lambda x: x.to(pullback.int32), "integer cast", "cast to torch.int32"),
        (lambda x: (x * 3).bool(), "integer cast", "cast to torch.bool"),
        (lambda x: (x + 1).detach(), "detached", "detach()"),
    ],
)
def test_cuts_seen_while_recording(cut, kind, text):
    lost, weight = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with pullback.explaining.record():
        loss = (cut(lost).float() + weight).sum()
    (warning,) = (w for w in loss.explain(inputs=[lost, weight]).warnings if w.severity == "warning")
    assert (
        warning.kind == kind
        and text in warning.text
        and "test_warnings.py:" in warning.text
        and "lost is lost" in warning.text
    )


def test_healthy_programs_have_no_warnings():
    model, loss = transformer_loss(1)
    assert [w.text for w in loss.explain(pullback.ones(6), model=model).warnings] == []
    pullback.manual_seed(1)
    net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 16), nn.Sigmoid(), nn.Linear(16, 3))
    loss = net(pullback.randn(8, 5)).square().mean()
    assert [w.text for w in loss.explain(model=net).warnings] == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_batch_of_causes_is_sorted_by_importance():
    explanation = (where_hides_nan()).explain()
    assert explanation.warnings[0].severity == "warning"

"""What is shown of a rule is what the rule does: it is evaluated, and compared with what the engine sent.

Every row of the table of gradients takes part, and every parameter that changes a rule.
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback
import pullback.nn.functional as F
from pullback.core.roots import root_of
from pullback.core.tape import wrap
from pullback.explaining.collect import ObservedSweep, without_side_effects
from pullback.explaining.rules import describe_rule, evaluate, rule_texts
from pullback.transforms.arrays.spelled import cotangent_name, label_of, name_of, spell
from pullback.transforms.arrays.terms import LONGEST, constants, text
from tests.ops.test_gradients import CHECKED, ROWS, inputs

rng = np.random.default_rng(0)


@pytest.fixture
def double():
    pullback.set_default_dtype(pullback.float64)
    yield
    pullback.set_default_dtype(pullback.float32)


def steps_of(out):
    """Each node of a pass with its cotangent, what it had saved and what it sent."""
    seed = np.random.default_rng(0).normal(size=tuple(out.shape))
    seed = seed + 1j * seed[::-1] if out.dtype.is_complex and seed.ndim else seed.astype(out._array.dtype)
    steps = []
    with without_side_effects():
        sweep = ObservedSweep([root_of(out, 0, wrap(seed))], lambda node, _, *step: steps.append((node, *step)))
        sweep.run([seed])
    return [step for step in steps if step[0].op is not None]


def check(out, tolerance=1e-7):
    """Evaluate what is shown of every rule behind a tensor; the names of operations that are described instead."""
    silent = set()
    for node, g, arrays, sent in steps_of(out):
        with without_side_effects(), np.errstate(all="ignore"):
            shown, found = rule_texts(node, g, arrays, sent, {}), spell(node, g, arrays, {})
            names = {name_of(node.op, code): value for code, value in zip(node.plan.saves, arrays, strict=True)}
            names |= {**(node.params or {}), cotangent_name(node.op): g}
            for rule, spelled, true in zip(shown, found, sent, strict=True):
                if true is None:
                    continue
                if spelled is None:
                    assert rule == describe_rule(node)
                    silent.add(label_of(node.op))
                    continue
                assert rule == text(spelled.term)
                got = evaluate(rule, names | constants(spelled.term))
                assert np.shape(got) == true.shape, rule
                np.testing.assert_allclose(got, true, rtol=tolerance, atol=tolerance, err_msg=rule)
    return silent


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "complex_"), CHECKED, ids=[f"{n}-{'complex' if c else 'real'}" for n, c in CHECKED])
def test_what_is_shown_computes_what_was_sent(name, complex_, double):
    function, shapes, domain, _ = ROWS[name]
    assert not check(function(*inputs(name, shapes, domain, complex_)))


def written_through_views(x, row, number):
    base = x * 1
    base[1:, [0, 2]] = row[:2]
    base.T[None, 2].mul_(number)
    return base


LABELS = pullback.tensor([0, 2, 1])
PARAMETERS = {  # each changes the rule
    "addmm": lambda x, y, z: pullback.addmm(x, y, z, beta=3, alpha=2),
    "addmm of a bias": lambda x, y, z: pullback.addmm(x[0], y, z, beta=0.5),
    "baddbmm": lambda x, y, z: pullback.baddbmm(x[None], y[None], z[None], beta=3, alpha=2),
    "batch norm, training": lambda x, y, z: F.batch_norm(x, None, None, y[0], z[0], training=True),
    "batch norm, eval": lambda x, y, z: F.batch_norm(x, y[0].detach(), z[0].detach() ** 2, y[1], z[1], training=False),
    "std": lambda x, y, z: x.std(1, correction=0),
    "std of all": lambda x, y, z: x.std(correction=2),
    "var": lambda x, y, z: x.var(1, correction=0),
    "var, corrected": lambda x, y, z: x.var(0, correction=2, keepdim=True),
    "cross entropy": lambda x, y, z: F.cross_entropy(x, LABELS),
    "cross entropy, weighted": lambda x, y, z: F.cross_entropy(x, LABELS, weight=y[0].detach() ** 2),
    "cross entropy, smooth": lambda x, y, z: F.cross_entropy(x, LABELS, label_smoothing=0.1, reduction="sum"),
    "cross entropy, all": lambda x, y, z: F.cross_entropy(
        x, LABELS, y[0].detach() ** 2, ignore_index=2, label_smoothing=0.2
    ),
    "cross entropy of probabilities": lambda x, y, z: F.cross_entropy(x, y.detach().softmax(1), label_smoothing=0.1),
    "nll": lambda x, y, z: F.nll_loss(x, LABELS, weight=y[0].detach() ** 2, ignore_index=0),
    "nll, none": lambda x, y, z: F.nll_loss(x, LABELS, ignore_index=1, reduction="none"),
    "bce": lambda x, y, z: F.binary_cross_entropy(x.sigmoid(), y.detach().sigmoid(), weight=z.detach() ** 2),
    "bce of logits": lambda x, y, z: F.binary_cross_entropy_with_logits(
        x, y.detach().sigmoid(), weight=y.detach() ** 2, pos_weight=z[0].detach() ** 2, reduction="sum"
    ),
    "gelu": lambda x, y, z: F.gelu(x, approximate="tanh"),
    "rms norm": lambda x, y, z: F.rms_norm(x, (3,), y[0]),
    "rms norm of all": lambda x, y, z: F.rms_norm(x, (3, 3), eps=0.5),
    "huber": lambda x, y, z: F.huber_loss(x, y, delta=0.5),
    "huber, sum": lambda x, y, z: F.huber_loss(x, y, delta=0.5, reduction="sum"),
    "smooth l1": lambda x, y, z: F.smooth_l1_loss(x, y, beta=0.5),
    "mse": lambda x, y, z: F.mse_loss(x, y, reduction="mean"),
    "hardswish": lambda x, y, z: F.hardswish(4 * x),
    "selu": lambda x, y, z: F.selu(x),
    "elu": lambda x, y, z: F.elu(x, alpha=0.3),
    "celu": lambda x, y, z: F.celu(x, alpha=1.3),
    "softplus": lambda x, y, z: F.softplus(x, beta=2, threshold=1),
    "leaky": lambda x, y, z: F.leaky_relu(x, 0.3),
    "a number to a power": lambda x, y, z: 2**x,
    "powers": lambda x, y, z: x**3 + (x * x) ** 1.5 + x**2 + x**1,
    "norm 0": lambda x, y, z: pullback.linalg.vector_norm(x, 0, dim=1),
    "norm 1": lambda x, y, z: pullback.linalg.vector_norm(x, 1, dim=1),
    "norm inf": lambda x, y, z: pullback.linalg.vector_norm(x, float("inf"), dim=1, keepdim=True),
    "norm -inf": lambda x, y, z: pullback.linalg.vector_norm(x, -float("inf")),
    "norm 3": lambda x, y, z: pullback.linalg.vector_norm(x, 3),
    "average pooling": lambda x, y, z: F.avg_pool1d(x, 2, 1),
    "average pooling, padded": lambda x, y, z: F.avg_pool2d(x[None], 2, 1, padding=1, count_include_pad=False),
    "rsub": lambda x, y, z: pullback.rsub(x, y, alpha=3),
    "sub": lambda x, y, z: pullback.sub(x, y, alpha=0.5),
    "add": lambda x, y, z: pullback.add(x, y[0], alpha=2),
    "a stack times a matrix": lambda x, y, z: pullback.stack([x, y]) @ z,
    "a layer of rows": lambda x, y, z: F.linear(pullback.stack([x, y]), z, x[0]),
    "layer norm of all": lambda x, y, z: F.layer_norm(x, (3, 3), y, z),
    "scaled attention": lambda x, y, z: F.scaled_dot_product_attention(
        x[None], y[None], z[None], scale=0.3, is_causal=True
    ),
    "dropout": lambda x, y, z: F.dropout(x, 0.4),
    "sum of an axis": lambda x, y, z: x.sum(0).mean(),
    "clamped": lambda x, y, z: x.clamp(y.detach(), z.detach() + 1),
    "turned or not": lambda x, y, z: x.permute(0, 1) * y.permute(1, 0) + z.transpose(1, 1) + x.mT,
    "written": lambda x, y, z: x.clone().index_put_((pullback.tensor([2, 0]),), y[0]).select(0, 1).mul_(z[0]),
    "written through views": lambda x, y, z: written_through_views(x, y[0], z[0, 0]),
    "selected": lambda x, y, z: x[1, ::2] * y[:, None, 0].sum(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PARAMETERS)
def test_what_is_shown_knows_the_parameters(name, double):
    x, y, z = (pullback.tensor(rng.normal(size=(3, 3))).requires_grad_() for _ in range(3))
    assert not check(PARAMETERS[name](x, y, z))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_casts_are_shown_where_they_change_numbers(dtype):
    x = pullback.linspace(-2, 2, 12, dtype=getattr(pullback, dtype)).reshape(3, 4).requires_grad_()
    for function in (F.gelu, F.softplus, lambda x: F.layer_norm(x, (4,)), lambda x: x.double().exp().to(x.dtype)):
        assert not check(function(x), 0.02 if dtype == "float16" else 1e-4)


def test_these_are_described(double):
    nn, x, a = pullback.nn, pullback.rand(2, 3), pullback.tensor([1.0, 2.0], requires_grad=True)
    silent = set()
    for cell in (nn.RNNCell(3, 2), nn.GRUCell(3, 2)):
        silent |= check(cell(x))
    silent |= check(nn.LSTMCell(3, 2)(x)[0]) | check(nn.LSTM(3, 2)(x)[0]) | check(nn.GRU(3, 2, 2)(x)[0])
    assert silent == {"layer", "rnn_cell", "gru_cell", "lstm_cell"}
    assert not check(pullback.special.gammainc(a, a)) and not check(pullback.special.gammaincc(a, a + 1))


@pytest.mark.parametrize("name", ["group_norm", "batch_norm", "layer_norm", "cholesky", "avg_pool2d", "logcumsumexp"])
def test_long_rules_have_named_parts(name, double):
    function, shapes, domain, _ = ROWS[name]
    longest = 0
    for step in steps_of(function(*inputs(name, shapes, domain, False))):
        for rule in rule_texts(*step, {}):
            parts = rule.split("; ")
            longest = max(longest, len(rule))
            assert all(len(part) <= LONGEST + len("s10 = ") for part in parts), parts
            assert len(parts) > 1 or len(rule) <= LONGEST
    assert longest > LONGEST


def rules_of(explanation):
    return [arrow.rule for arrow in explanation.operations[0].arrows]


def test_values_have_the_names_that_users_gave_them():
    rows, w, bias = (pullback.tensor(rng.normal(size=s)).requires_grad_() for s in ((4, 3), (2, 3), (2,)))
    ones = pullback.ones(4, 3)
    assert rules_of(F.linear(rows, w, bias).explain(ones[:, :2])) == ["g @ w", "g.T @ rows", "sum(g, axis=0)"]
    assert rules_of((rows * w[0]).explain(ones)) == ["g * b", "sum(g * rows, axis=0)"]
    height = rows.tanh()
    assert rules_of(height.explain(ones)) == ["g * (1 - height * height)"]
    turned = w.t()
    product = pullback.addmm(bias, rows, turned, alpha=2).explain(ones[:, :2])
    assert rules_of(product)[1:] == ["g @ turned.T * 2", "rows.T @ g * 2"]


def test_no_name_stands_for_two_things():
    g, exp, a, b = (pullback.tensor([2.0, 3.0], requires_grad=True) for _ in range(4))
    ones, pair = pullback.ones(2), pullback.tensor([3.0, 4.0])
    assert rules_of((g * b).explain(ones)) == ["g * b", "g * a"]
    assert rules_of((exp * b).explain(ones)) == ["g * b", "g * a"]  # a function of NumPy's
    assert rules_of((b * a).explain(ones)) == ["g * a", "g * b"]  # as the user calls them
    ops = exp.sigmoid()
    assert rules_of(ops.explain(ones)) == ["g * (out * (1 - out))"]  # where operations are found
    assert rules_of((pair * b).explain(ones)) == ["g * a"]  # the constant is `a` in the rule, the variable is not in it
    assert rules_of((b / pair).explain(ones)) == ["g / b"]
    assert rules_of((pair / b).explain(ones))[0] == "-g * (a / b / b)"
    assert rules_of((b**pair).explain(ones)) and not check((b.double() ** a.double()) * b)


def test_rules_of_pullbacks_call_their_cotangent_otherwise():
    x = pullback.tensor([0.5, 1.0], requires_grad=True)
    (first,) = pullback.autograd.grad(x.tanh().sum(), x, create_graph=True)
    assert not check(first, 1e-5)
    rules = [arrow.rule for operation in first.sum().explain().operations for arrow in operation.arrows]
    assert any("h *" in rule for rule in rules)


def test_a_custom_function_is_described():
    class Twice(pullback.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = pullback.ones(2, requires_grad=True)
    assert rules_of(Twice.apply(x).explain(pullback.ones(2))) == ["backward of Twice, a custom function"]


def test_echoing_a_tensor_does_not_change_what_is_said():
    model = pullback.nn.Sequential(pullback.nn.Linear(3, 2), pullback.nn.Linear(2, 1))
    for shape in ((4, 3), (2, 4, 3), (3,)):
        hidden = model[0](pullback.ones(shape))
        square = hidden * hidden
        loss = square.sum()
        before = str(loss.explain(model=model))
        assert "grad_fn=<MulBackward0>" in repr(square) and "Backward" in repr(hidden)
        after = str(loss.explain(model=model))
        assert after == before and "linear" in before

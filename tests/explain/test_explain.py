"""An explanation tells the truth (it agrees with backward()) and disturbs nothing."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from explain.programs import random_program, transformer_loss

import pullback
from pullback import nn


@pytest.mark.parametrize("seed", range(60))
def test_totals_are_what_grad_gets_and_contributions_add_up(seed):
    leaves, loss, weights = random_program(seed)
    explanation = pullback.explain(loss, weights, inputs=leaves)
    loss.backward(weights)
    for leaf in explanation.leaves:
        expected = leaves[leaf.name].grad.numpy()
        np.testing.assert_array_equal(leaf.total, expected)
        parts = explanation.contributions(leaf.name)
        assert len(parts) == max(loss.numel(), 1)
        np.testing.assert_allclose(sum(parts.values()), expected, rtol=1e-9, atol=1e-9)
        assert leaf.residual <= 1e-9 * (1 + abs(expected).max())
        np.testing.assert_allclose(
            leaf.shares, [np.linalg.norm(part) for part in parts.values()], rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("dtype", [pullback.float16, pullback.bfloat16, pullback.float32], ids=str)
def test_low_precision(dtype):
    leaves, loss, weights = random_program(3, pullback.float32)
    x = pullback.tensor([1.5, -2.0, 0.25], dtype=dtype, requires_grad=True)
    y = x * x + x
    w = pullback.tensor([1.0, 2.0, -1.0], dtype=dtype)
    explanation = pullback.explain(y, w)
    y.backward(w)
    np.testing.assert_array_equal(np.asarray(explanation.leaf("x").total, np.float32), x.grad.float().numpy())
    np.testing.assert_allclose(
        sum(explanation.contributions("x").values()).astype(np.float32), x.grad.float().numpy(), rtol=1e-2
    )


@pytest.mark.parametrize("count, limit, groups", [(100, 8, 8), (12, 4, 4), (64, 64, 64), (65, 64, 64), (1, 1, 1)])
def test_large_losses_are_divided_into_groups_that_add_up(count, limit, groups):
    x = pullback.linspace(-1, 1, count, dtype=pullback.float64).requires_grad_()
    loss = x.sin() * x.sum()
    weights = pullback.linspace(1, 2, count, dtype=pullback.float64)
    explanation = pullback.explain(loss, weights, elements=limit)
    assert len(explanation.elements.labels) == groups
    assert explanation.elements.grouped == (count > limit) and bool(explanation.elements.note) == (count > limit)
    loss.backward(weights)
    np.testing.assert_allclose(sum(explanation.contributions("x").values()), x.grad.numpy(), rtol=1e-10)


def test_groups_follow_the_first_axis():
    x = pullback.ones(5, 7, requires_grad=True)
    explanation = pullback.explain(x * 2, pullback.ones(5, 7), elements=6)
    assert [label.split("[")[1] for label in explanation.elements.labels] == [f"{i}]" for i in range(5)]


def test_several_roots():
    x = pullback.tensor([1.0, 2.0], requires_grad=True)
    a, b = x.sum(), x * x
    explanation = pullback.explain((a, b), (None, pullback.tensor([1.0, 10.0])))
    assert [root.origin for root in explanation.roots] == ["implicit", "given"]
    assert [root.name for root in explanation.roots] == ["a", "b"]
    assert explanation.leaf("x").total.tolist() == [3.0, 41.0]
    assert explanation.elements.labels == ["a", "b[0]", "b[1]"]


def test_seeds():
    x = pullback.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    assert pullback.explain(y.sum()).roots[0].origin == "implicit"
    given = pullback.explain(y, [1.0, 0.5])
    assert given.roots[0].origin == "given" and given.leaf("x").total.tolist() == [4.0, 3.0]
    assumed = y.explain()
    assert assumed.roots[0].origin == "assumed" and assumed.leaf("x").total.tolist() == [4.0, 6.0]
    assert "backward() refuses" in assumed.warnings[0].text
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        y.explain(pullback.ones(3))
    with pytest.raises(RuntimeError, match="does not require grad"):
        pullback.ones(2).explain()
    with pytest.raises(ValueError, match="at least 1"):
        y.explain(elements=0)


def test_complex_losses():
    z = pullback.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    loss = z * z
    weights = pullback.tensor([1j, 2 + 0j])
    explanation = pullback.explain(loss, weights)
    loss.backward(weights)
    np.testing.assert_allclose(explanation.leaf("z").total, z.grad.numpy())
    np.testing.assert_allclose(sum(explanation.contributions("z").values()), z.grad.numpy())
    explanation.to_html(), str(explanation)


def test_nothing_is_disturbed():
    model, loss = transformer_loss(1)
    hidden = model[0].weight
    calls = []
    loss.register_hook(lambda g: calls.append(g))
    hidden.register_hook(lambda g: calls.append(g))
    hidden.register_post_accumulate_grad_hook(lambda p: calls.append(p))
    loss.retain_grad()
    hidden.grad = pullback.full_like(hidden, 5.0)
    versions = [parameter._version for parameter in model.parameters()]
    state = pullback.get_rng_state().numpy().copy()
    mode = pullback.is_grad_enabled()
    explanation = pullback.explain(loss, pullback.ones(6), model=model)
    explanation.to_html(), explanation.to_svg(), str(explanation), pullback.memory(loss)
    assert calls == [] and pullback.is_grad_enabled() is mode
    assert loss._grad is None and (hidden.grad == 5).all()
    assert [parameter._version for parameter in model.parameters()] == versions
    assert (pullback.get_rng_state().numpy() == state).all()
    assert any(warning.kind == "hooks" for warning in explanation.warnings)
    loss.backward(pullback.ones(6))  # the graph is still there
    for name, parameter in model.named_parameters():
        if parameter is not hidden:
            np.testing.assert_array_equal(explanation.leaf(name).total, parameter.grad.numpy())
    with pytest.raises(RuntimeError, match="second time") as caught:
        pullback.explain(loss, pullback.ones(6))
    assert "before backward()" in "".join(caught.value.__notes__)


def test_custom_functions_and_checkpoints():
    class Cube(pullback.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            pullback.rand(3)  # a draw that must not be seen outside
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    from pullback.utils.checkpoint import checkpoint

    x = pullback.tensor([1.0, 2.0], requires_grad=True)
    y = checkpoint(lambda t: Cube.apply(t) * t.sin(), x, use_reentrant=False)
    state = pullback.get_rng_state().numpy().copy()
    explanation = pullback.explain(y, pullback.ones(2))
    assert (pullback.get_rng_state().numpy() == state).all()
    assert any("custom function" in arrow.rule for op in explanation.operations for arrow in op.arrows)
    y.backward(pullback.ones(2))
    np.testing.assert_allclose(explanation.leaf("x").total, x.grad.numpy())


def test_a_leaf_as_loss_and_an_input_given_twice():
    x = pullback.tensor([2.0], requires_grad=True)
    explanation = x.explain()
    assert explanation.operations == [] and explanation.leaf("x").total.tolist() == [1.0]
    explanation.to_svg(), explanation.to_html(), str(explanation), explanation.to_dot(), explanation.to_mermaid()
    y = x + x
    arrows = y.explain().operations[0].arrows
    assert [arrow.target for arrow in arrows] == ["leaf1", "leaf1"]
    (square,) = (x * x).explain().operations[0].arrows  # a product with itself is one rule
    assert square.target == "leaf1" and square.rule == "g * (x + x)"


def test_names_lines_and_modules():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(2, 3), nn.Linear(3, 1)

        def forward(self, x):
            return self.second(self.first(x).tanh())

    net = Net()
    inputs = pullback.ones(4, 2)
    with pullback.explaining.record():
        loss = net(inputs).sum()
    explanation = loss.explain()
    by_title = {operation.title: operation for operation in explanation.operations}
    assert by_title["sum"].variable == "loss" and by_title["sum"].line.place().startswith("test_explain.py:")
    assert "net(inputs)" in by_title["sum"].line.code
    assert [op.module for op in explanation.operations] == ["", "net.second", "net", "net.first"]
    assert {leaf.name for leaf in explanation.leaves} == {f"net.{name}" for name, _ in net.named_parameters()}
    # without recording, modules are inferred from the parameters
    assert [op.module for op in net(inputs).sum().explain().operations] == ["", "net.second", "net", "net.first"]
    w = pullback.ones(2, requires_grad=True)
    w.name = "my weights"
    assert (w * 2).sum().explain().leaves[0].name == "my weights"


def test_recording_leaves_no_trace():
    before = (pullback.Tensor.detach, pullback.Tensor.long, pullback.is_anomaly_enabled())
    with pytest.raises(ZeroDivisionError), pullback.explaining.record():
        assert pullback.is_anomaly_enabled()
        _ = 1 / 0
    assert (pullback.Tensor.detach, pullback.Tensor.long, pullback.is_anomaly_enabled()) == before
    from pullback.nn.modules import module

    assert not module._global_forward_hooks and not module._global_forward_pre_hooks


def test_an_explanation_keeps_no_graph_alive():
    x = pullback.ones(3, requires_grad=True)
    y = x * x
    node = weakref.ref(y.grad_fn)
    explanation = y.sum().explain()
    del y
    gc.collect()
    assert node() is None and explanation.leaf("x").total.tolist() == [2.0, 2.0, 2.0]


def test_nothing_is_imported_before_it_is_used():
    source = (
        "import sys, pullback; pullback.ones(2, requires_grad=True).sum().backward(); "
        "print([m for m in sys.modules if 'explaining' in m])"
    )
    assert subprocess.run([sys.executable, "-c", source], capture_output=True, text=True).stdout.strip() == "[]"


def in_place(x):
    y = x * 2
    y[0] = x[1] * x[2]
    y[:, 1].mul_(3)
    return (y * y).sum(1)


def second_order(x):
    (g,) = pullback.autograd.grad((x**3).sum(), x, create_graph=True)
    return g.sum(0) * x[0]


def hooked_values(x):
    with pullback.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        return (x.exp() * x).sum(1)


FUNCTIONS = {
    "in place": in_place,
    "second order": second_order,
    "saved tensor hooks": hooked_values,
    "views": lambda x: pullback.cat([part.flip(0) for part in x.unbind(0)]) * 2,
    "split": lambda x: sum(part.sum(1) for part in x.split(2, 1)),
    "sort": lambda x: x.sort(0).values[0] + x.topk(1, 0).values[0],
    "linalg": lambda x: pullback.linalg.inv(x.T @ x + pullback.eye(4, dtype=x.dtype))[0],
    "einsum": lambda x: pullback.einsum("ij,kj->ik", x, x.sin()).diagonal(),
    "std": lambda x: x.std(0) / x.var(0),
    "index": lambda x: x[pullback.tensor([0, 0, 1])].sum(1),
}
MODULES = {
    "convolution": (
        lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2)),
        (2, 1, 6, 6),
    ),
    "lstm": (lambda: nn.LSTM(3, 4), (5, 2, 3)),
    "gru": (lambda: nn.GRU(3, 4, bidirectional=True), (3, 1, 3)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), (2, 3, 8)),
    "norms": (lambda: nn.Sequential(nn.GroupNorm(2, 4), nn.LayerNorm(5), nn.Dropout(0.5), nn.Softmax(-1)), (3, 4, 5)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_kinds_of_graphs(name):
    pullback.manual_seed(0)
    x = pullback.randn(4, 4, dtype=pullback.float64, requires_grad=True)
    loss = FUNCTIONS[name](x)
    weights = pullback.linspace(-1, 2, loss.numel(), dtype=pullback.float64).reshape(loss.shape)
    explanation = loss.explain(weights)
    loss.backward(weights)
    np.testing.assert_array_equal(explanation.leaf("x").total, x.grad.numpy())
    np.testing.assert_allclose(sum(explanation.contributions("x").values()), x.grad.numpy(), rtol=1e-9, atol=1e-9)
    explanation.to_html(), explanation.to_svg(), str(explanation), pullback.memory(x.exp())


@pytest.mark.parametrize("name", MODULES)
def test_all_kinds_of_modules(name):
    make, shape = MODULES[name]
    pullback.manual_seed(0)
    module = make()
    with pullback.explaining.record():
        out = module(pullback.randn(*shape))
        out = out[0] if isinstance(out, tuple) else out
        loss = out.square().flatten(1).sum(1)
    explanation = loss.explain(pullback.ones(len(loss)), model=module)
    loss.backward(pullback.ones(len(loss)))
    assert len(explanation.leaves) == len(list(module.parameters()))
    for parameter_name, parameter in module.named_parameters():
        leaf = explanation.leaf(parameter_name)
        np.testing.assert_array_equal(leaf.total, parameter.grad.numpy())
        assert leaf.residual <= 1e-4 * (1 + leaf.flow.norm)
    explanation.to_html(), explanation.to_svg(), str(explanation)
    assert all(operation.line is not None for operation in explanation.operations)

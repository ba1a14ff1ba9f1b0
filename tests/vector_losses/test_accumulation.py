"""A batch of weightings in one backward pass: `.jac` at the leaves, and one gradient of its rows."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback import multi, nn


def _losses(seed=0):
    P.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 5)).double()
    data = P.randn(6, 3, dtype=P.float64)
    return model, model(data).pow(2).mean(0)


def _close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("inputs", [None, "some"])
def test_rows_are_what_backward_gives_for_each_weighting(inputs):
    model, losses = _losses()
    weightings = P.randn(3, 5, dtype=P.float64)
    chosen = None if inputs is None else [model[0].weight, model[2].bias]
    multi.backward_to_jac(losses, weightings, chosen, retain_graph=True)
    for number in range(3):
        model.zero_grad()
        losses.backward(gradient=weightings[number], retain_graph=True)
        for parameter in chosen or model.parameters():
            assert parameter.jac.shape == (3, *parameter.shape)
            _close(parameter.jac[number], parameter.grad)
    if inputs:
        assert getattr(model[0].bias, "jac", None) is None
    assert all(p.grad.shape == p.shape for p in model.parameters())


def test_without_weightings_the_jacobian_which_adds_up():
    model, losses = _losses()
    expected = P.jacobian(losses, list(model.parameters()))
    multi.backward_to_jac(losses, retain_graph=True)
    multi.backward_to_jac(losses)
    for parameter, rows in zip(model.parameters(), expected, strict=True):
        _close(parameter.jac, 2 * rows)
    with pytest.raises(RuntimeError, match="second time"):
        multi.backward_to_jac(losses)


def test_a_pass_that_does_not_fit_changes_nothing():
    model, losses = _losses()
    multi.backward_to_jac(losses, retain_graph=True)
    before = [p.jac.clone() for p in model.parameters()]
    with pytest.raises(RuntimeError, match="2 rows, but .jac has 5"):
        multi.backward_to_jac(losses, P.ones(2, 5, dtype=P.float64), retain_graph=True)
    for parameter, rows in zip(model.parameters(), before, strict=True):
        _close(parameter.jac, rows)


def test_recorded_rows_can_be_differentiated():
    x = P.tensor([1.0, 2.0], requires_grad=True)
    multi.backward_to_jac(x**3, create_graph=True)
    (second,) = P.autograd.grad(x.jac.sum(), x)
    np.testing.assert_allclose(second.numpy(), [6.0, 12.0])


@pytest.mark.parametrize("aggregator", [multi.UPGrad(), multi.Mean(), multi.ConFIG(), multi.PCGrad()], ids=repr)
def test_one_gradient_of_the_rows(aggregator):
    model, losses = _losses()
    P.manual_seed(3)
    multi.backward(losses, aggregator=aggregator, retain_graph=True)
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    multi.backward_to_jac(losses)
    P.manual_seed(3)
    weights = multi.jac_to_grad(model.parameters(), aggregator, retain_jac=True)
    assert (weights is not None) == isinstance(aggregator, multi.Weighting)
    for parameter, want in zip(model.parameters(), expected, strict=True):
        _close(parameter.grad, want)
        assert parameter.jac is not None
    multi.jac_to_grad(model.parameters(), multi.Sum())
    assert all(p.jac is None for p in model.parameters())
    with pytest.raises(ValueError, match="no .jac"):
        multi.jac_to_grad(model.parameters(), multi.Sum())


def test_against_torchjd():
    torch = pytest.importorskip("torch")
    autojac = pytest.importorskip("torchjd.autojac")
    weightings = np.random.default_rng(0).standard_normal((4, 3))
    x, y = P.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)

    def losses(z, library):
        return library.stack([z.sum(), z.prod(), (z * z).sum()])

    multi.backward_to_jac(losses(x, P), P.tensor(weightings, dtype=P.float32))
    autojac.backward(losses(y, torch), jac_tensors=torch.tensor(weightings, dtype=torch.float32))
    np.testing.assert_allclose(x.jac.numpy(), y.jac.numpy(), rtol=1e-6)


def _two_tasks(library, seed):
    library.manual_seed(seed)
    make = library.nn.Linear
    trunk, heads = make(3, 4).double(), [make(4, 2).double(), make(4, 1).double()]
    x = library.randn(5, 3, dtype=library.float64)
    features = trunk(x).tanh()
    return trunk, heads, features, [head(features).square().mean() for head in heads]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_tasks_on_shared_features(named, several):
    torch, autojac = pytest.importorskip("torch"), pytest.importorskip("torchjd.autojac")
    results = []
    for library, call in ((P, multi.mtl_backward), (torch, autojac.mtl_backward)):
        trunk, heads, features, losses = _two_tasks(library, 0)
        given = {}
        if named:
            given = {"tasks_params": [head.parameters() for head in heads], "shared_params": trunk.parameters()}
        if several:
            given["grad_tensors"] = [
                library.tensor(0.5, dtype=library.float64),
                library.tensor(2.0, dtype=library.float64),
            ]
        call(losses, features, **given)
        assert trunk.weight.grad is None and getattr(heads[0].weight, "jac", None) is None
        results.append(
            [p.jac.numpy() for p in trunk.parameters()] + [p.grad.numpy() for h in heads for p in h.parameters()]
        )
        with pytest.raises(RuntimeError):
            losses[0].backward()
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_tasks_that_do_not_fit_change_nothing():
    trunk, heads, features, losses = _two_tasks(P, 1)
    for wrong in (
        {"shared_params": heads[0].parameters()},
        {"tasks_params": [heads[0].parameters()]},
        {"grad_tensors": [P.ones(())]},
    ):
        with pytest.raises(ValueError):
            multi.mtl_backward(losses, features, **wrong)
    with pytest.raises(ValueError, match="at least one"):
        multi.mtl_backward([], features)
    everything = [*trunk.parameters(), *(p for head in heads for p in head.parameters())]
    assert all(p.grad is None and getattr(p, "jac", None) is None for p in everything)
    multi.mtl_backward(losses, features, retain_graph=True)
    multi.mtl_backward(losses, features)
    _close(heads[0].bias.grad, 2 * P.autograd.grad(heads[0](features.detach()).square().mean(), heads[0].bias)[0])

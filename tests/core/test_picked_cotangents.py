"""A classifier's loss sends the few values of its gradient; log_softmax takes them so, everybody else gets the zeros too."""

import numpy as np
import pytest

import pullback
from pullback.core.mostly_zeros import Picked
from pullback.kernels import softmax as kernels

F = pullback.nn.functional
ROWS, CLASSES = 300, 250


@pytest.fixture
def scores():
    return pullback.tensor(np.random.default_rng(0).standard_normal((ROWS, CLASSES)), requires_grad=True)


@pytest.fixture
def target():
    return pullback.tensor(np.random.default_rng(1).integers(0, CLASSES, ROWS))


@pytest.fixture
def taken(monkeypatch):
    """Counts the times that the few values were enough."""
    seen = []
    short = kernels.log_softmax_backward_picked
    monkeypatch.setattr(kernels, "log_softmax_backward_picked", lambda *given: seen.append(1) or short(*given))
    return seen


def expected(scores, target, weights):
    """The gradient of -sum(weights * log_softmax(scores)[target])."""
    x = scores.numpy(force=True)
    chances = np.exp(x - x.max(1, keepdims=True))
    chances /= chances.sum(1, keepdims=True)
    chances[np.arange(ROWS), target.numpy()] -= 1
    return chances * np.broadcast_to(weights, ROWS)[:, None]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_every_reduction(scores, target, taken, reduction):
    weights = np.random.default_rng(2).standard_normal(ROWS)
    loss = F.nll_loss(F.log_softmax(scores, dim=1), target, reduction=reduction)
    loss.backward(gradient=pullback.tensor(weights) if reduction == "none" else None)
    factor = {"mean": 1 / ROWS, "sum": 1.0, "none": weights}[reduction]
    np.testing.assert_allclose(scores.grad.numpy(), expected(scores, target, factor), rtol=1e-10, atol=1e-14)
    assert taken == [1]


def test_nobody_else_meets_it(scores, target, taken):
    """Leaves, other operations, hooks, retained gradients, a second path, captures, views and wrong axes get arrays."""
    logs = F.log_softmax(scores, dim=1).detach().requires_grad_()
    F.nll_loss(logs, target, reduction="sum").backward()
    zeros = np.zeros((ROWS, CLASSES))
    zeros[np.arange(ROWS), target.numpy()] = -1
    assert type(logs.grad.numpy()) is np.ndarray
    np.testing.assert_array_equal(logs.grad.numpy(), zeros)
    logs.grad = None
    F.nll_loss(logs * 2, target, reduction="sum").backward()
    np.testing.assert_array_equal(logs.grad.numpy(), 2 * zeros)

    whole = expected(scores, target, 1.0)
    hooked = F.log_softmax(scores, dim=1)
    seen = []
    hooked.register_hook(lambda g: seen.append(g.numpy().copy()))
    F.nll_loss(hooked, target, reduction="sum").backward()
    np.testing.assert_array_equal(seen[0], zeros)
    np.testing.assert_allclose(scores.grad.numpy(), whole, rtol=1e-10, atol=1e-14)

    kept = F.log_softmax(scores, dim=1)
    kept.retain_grad()
    F.nll_loss(kept, target, reduction="sum").backward()
    np.testing.assert_array_equal(kept.grad.numpy(), zeros)

    between = F.log_softmax(scores, dim=1)
    (captured,) = pullback.autograd.grad(F.nll_loss(between, target, reduction="sum"), between)
    np.testing.assert_array_equal(captured.numpy(), zeros)

    columns = F.log_softmax(scores.detach().t().requires_grad_(), dim=0)
    F.nll_loss(columns.t(), target, reduction="sum").backward()
    assert taken == []


@pytest.mark.parametrize("first", [True, False])
def test_it_adds_up_with_other_gradients(scores, target, taken, first):
    logs = F.log_softmax(scores, dim=1)
    losses = [F.nll_loss(logs, target, reduction="sum"), (logs * 0.5).sum(), logs[3].sum(), F.nll_loss(logs, target)]
    sum(losses if first else losses[::-1]).backward()
    direct = scores.detach().requires_grad_()
    again = F.log_softmax(direct, dim=1)
    picked = again[pullback.arange(ROWS), target]
    (-picked.sum() + (again * 0.5).sum() + again[3].sum() - picked.mean()).backward()
    np.testing.assert_allclose(scores.grad.numpy(), direct.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_second_derivatives_and_repeated_passes(scores, target):
    loss = F.nll_loss(F.log_softmax(scores, dim=1), target, reduction="sum")
    (first,) = pullback.autograd.grad(loss, scores, create_graph=True)
    (second,) = pullback.autograd.grad(first.square().sum(), scores)
    other = F.cross_entropy(scores, target, reduction="sum")
    (first_too,) = pullback.autograd.grad(other, scores, create_graph=True)
    (second_too,) = pullback.autograd.grad(first_too.square().sum(), scores)
    np.testing.assert_allclose(first.numpy(force=True), first_too.numpy(force=True), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(second.numpy(), second_too.numpy(), rtol=1e-8, atol=1e-12)
    loss = F.nll_loss(F.log_softmax(scores, dim=1), target, reduction="sum")
    loss.backward(retain_graph=True)
    loss.backward()
    np.testing.assert_allclose(scores.grad.numpy(), 2 * first.numpy(force=True), rtol=1e-9, atol=1e-12)


def test_anomaly_mode_profiler_and_explanations_see_arrays(scores, target):
    whole = expected(scores, target, 1 / ROWS)
    for context in (pullback.autograd.detect_anomaly(check_nan=True), pullback.profiler.profile()):
        with context:
            scores.grad = None
            F.nll_loss(F.log_softmax(scores, dim=1), target).backward()
        np.testing.assert_allclose(scores.grad.numpy(), whole, rtol=1e-9, atol=1e-14)


def test_arithmetic_gives_the_matrix():
    picked = Picked(np.array([1.0, 2.0]), np.array([1, 3]), (2, 3))
    matrix = np.array([[0, 1, 0], [2, 0, 0]])
    for sum_ in (picked + np.ones((2, 3)), np.ones((2, 3)) + picked, np.add(picked, 1)):
        np.testing.assert_array_equal(sum_, matrix + 1)
    np.testing.assert_array_equal(picked + picked, 2 * matrix)

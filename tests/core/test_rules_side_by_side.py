"""Two large products in a backward pass run on a thread each; nobody can tell but by the time."""

import numpy as np
import pytest

import pullback
from pullback.core import large_cotangents
from pullback.kernels import threads

F = pullback.nn.functional


@pytest.fixture(autouse=True)
def two_threads(set_threads):
    set_threads(2)


@pytest.fixture
def calls(monkeypatch):
    """The lists of rules that ran side by side."""
    seen = []

    def watched(function, arguments, **options):
        seen.append([call.position for (call,) in arguments])
        return threads.parallel_tasks(function, arguments, **options)

    monkeypatch.setattr(large_cotangents, "parallel_tasks", watched)
    return seen


def leaf(*shape, seed=0):
    return pullback.tensor(np.random.default_rng(seed).standard_normal(shape), requires_grad=True)


CASES = {
    "mm": (lambda a, b: a @ b, [(200, 300), (300, 250)]),
    "rows of a batch": (lambda a, b: a @ b, [(4, 60, 300), (300, 250)]),
    "bmm": (lambda a, b: pullback.bmm(a, b), [(8, 100, 90), (8, 90, 100)]),
    "broadcast batches": (lambda a, b: a @ b, [(8, 1, 100, 90), (4, 90, 100)]),
    "linear": (F.linear, [(200, 300), (250, 300), (250,)]),
    "linear of a batch": (F.linear, [(4, 60, 300), (250, 300), (250,)]),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_einsum(name, calls):
    function, shapes = CASES[name]
    inputs = [leaf(*shape, seed=i) for i, shape in enumerate(shapes)]
    out = function(*inputs)
    weights = pullback.tensor(np.random.default_rng(9).standard_normal(tuple(out.shape)))
    out.backward(gradient=weights)
    assert calls and len(calls[0]) == len(inputs)
    x, y = inputs[0].numpy(force=True), inputs[1].numpy(force=True)
    g = weights.numpy()
    rows, upstream = x.reshape(-1, x.shape[-1]), g.reshape(-1, g.shape[-1])
    if name.startswith("linear"):
        expected = [np.einsum("...n,nk->...k", g, y), np.einsum("mn,mk->nk", upstream, rows), upstream.sum(0)]
    elif y.ndim == 2:
        expected = [np.einsum("...n,kn->...k", g, y), np.einsum("mk,mn->kn", rows, upstream)]
    else:
        expected = [np.einsum("...mn,...kn->...mk", g, y), np.einsum("...mk,...mn->...kn", x, g)]
        if name == "broadcast batches":
            expected = [expected[0].sum(1, keepdims=True), expected[1].sum(0)]
    for tensor, value in zip(inputs, expected, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), value, rtol=1e-10, atol=1e-10)


def test_only_what_is_asked_for_is_computed(calls):
    a, b = leaf(200, 300), leaf(300, 250)
    (for_b,) = pullback.autograd.grad((a @ b).sum(), b)
    assert calls in ([], [[1]])
    np.testing.assert_allclose(for_b.numpy(), a.numpy(force=True).sum(0)[:, None] * np.ones(250))


def test_a_square_sends_both_gradients_to_one_leaf(calls):
    a = leaf(300, 300)
    (a @ a).sum().backward()
    value, ones = a.numpy(force=True), np.ones((300, 300))
    assert calls == [[0, 1]]
    np.testing.assert_allclose(a.grad.numpy(), ones @ value.T + value.T @ ones, rtol=1e-10)


def test_second_derivatives_are_recorded(calls):
    a, b = leaf(200, 300), leaf(300, 250)
    for_a, for_b = pullback.autograd.grad((a @ b).square().sum(), (a, b), create_graph=True)
    (for_a.sum() + for_b.sum()).backward()
    x, y = a.numpy(force=True), b.numpy(force=True)
    ones_a, ones_b = np.ones_like(x), np.ones_like(y)
    mixed = ones_a @ y + x @ ones_b
    np.testing.assert_allclose(a.grad.numpy(), 2 * (mixed @ y.T + (x @ y) @ ones_b.T), rtol=1e-9)
    np.testing.assert_allclose(b.grad.numpy(), 2 * (x.T @ mixed + ones_a.T @ (x @ y)), rtol=1e-9)


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_on_either_thread_changes_nothing_and_the_pass_can_be_repeated(failing, monkeypatch):
    a, b = leaf(200, 300), leaf(300, 250)
    loss = (a @ b).sum()
    plan = loss.grad_fn.next_functions[0][0].plan

    def fails(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(
        plan,
        "calls",
        tuple([call._replace(rule=fails) if i == failing else call for i, call in enumerate(plan.calls)]),
    )
    with pytest.raises(MemoryError):
        loss.backward()
    assert a.grad is None and b.grad is None
    monkeypatch.undo()
    loss.backward()
    assert a.grad is not None and b.grad is not None

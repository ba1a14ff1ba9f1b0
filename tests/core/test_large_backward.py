"""Backward passes on arrays large enough for blocks, threads, pooled memory and rules that write over their cotangents."""

import gc

import numpy as np
import pytest

import pullback
from pullback.kernels import memory

torch = pytest.importorskip("torch")

SHAPE = (700, 600)  # float32: above the pool's limit


def data(seed, shape=SHAPE):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def shared_cotangent(T, x, y):
    s = x + y  # the same cotangent goes to both leaves, and on
    return s * T.tanh(s)


def leaf_and_node(T, x, y):
    return (x + T.exp(-x * x)) * y + x


def diamond(T, x, y):
    a = T.sin(x)
    b, c = a * y, a + y
    return T.tanh(b) * T.exp(-c * c) + a


def rows(T, x, y):
    return T.sigmoid(x * y[0] + y[1]) / (1 + x * x)


def chain(T, x, y):
    for _ in range(4):
        x = T.tanh(x * y) - x
    return x


def no_float_but_views(T, x, y):
    return T.relu(x.t() * 2).t() * y.reshape(-1).view(*SHAPE) + y[:, :1]


def normalized(T, x, y):
    F = T.nn.functional
    return F.layer_norm(F.gelu(x * y), SHAPE[1:]) * F.log_softmax(y, dim=1)


PROGRAMS = [shared_cotangent, leaf_and_node, diamond, rows, chain, no_float_but_views, normalized]


def gradients(T, program, seed=0, rounds=1):
    x, y = (T.tensor(data(i + seed), requires_grad=True) for i in (0, 1))
    weight = T.tensor(data(2))
    for _ in range(rounds):
        out = program(T, x, y)
        out.backward(gradient=weight)
    assert np.array_equal(weight.detach().numpy(), data(2)), "the gradient that was passed in belongs to the caller"
    return [out.detach().numpy(), x.grad.numpy(), y.grad.numpy()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("rounds", [1, 2])
def test_large_programs_give_torchs_gradients(program, rounds):
    for ours, expected in zip(gradients(pullback, program, rounds=rounds), gradients(torch, program, rounds=rounds)):
        np.testing.assert_allclose(ours, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_graph_that_is_kept_gives_the_same_gradients_again(program):
    x, y = (pullback.tensor(data(i), requires_grad=True) for i in (0, 1))
    out = program(pullback, x, y).sum()
    out.backward(retain_graph=True)
    first = [x.grad.clone(), y.grad.clone()]
    x.grad = y.grad = None
    out.backward()
    assert all(pullback.equal(a, b) for a, b in zip(first, (x.grad, y.grad)))


def test_cotangents_that_hooks_saw_are_left_alone():
    seen = []
    x = pullback.tensor(data(0), requires_grad=True)
    y = pullback.tanh(x)
    y.register_hook(seen.append)
    pullback.sin(y).backward(gradient=pullback.ones(SHAPE))
    np.testing.assert_allclose(seen[0].numpy(), np.cos(np.tanh(data(0))), rtol=1e-5)


def test_memory_is_used_again_but_never_while_somebody_looks():
    first = memory.empty(SHAPE, np.dtype(np.float32))
    first[:] = 1
    view = first[3:, ::2].T
    address = first.ctypes.data
    assert memory.is_own(first) and not memory.is_own(view) and address % 64 == 0
    del first
    gc.collect()
    second = memory.empty(SHAPE, np.dtype(np.float32))
    second[:] = 2
    assert second.ctypes.data != address and (view == 1).all()
    del view
    gc.collect()
    third = memory.empty((SHAPE[0] - 1, SHAPE[1]), np.dtype(np.float32))  # nearly the same size
    assert third.ctypes.data == address


def test_the_pool_is_bounded(monkeypatch):
    monkeypatch.setattr(memory, "_most_kept", 8 << 20)
    memory._idle.clear()
    arrays = [memory.empty((1 << 18,), np.dtype(np.float64)) for _ in range(8)]
    arrays += [memory.empty((1 << 21,), np.dtype(np.float64))]  # larger than all that may be kept
    arrays.clear()
    gc.collect()
    assert 0 < sum(size * len(parts) for size, parts in memory._idle.items()) <= 8 << 20
    monkeypatch.setattr(memory, "_most_kept", 0)  # PULLBACK_KEEP_MEMORY=0
    assert memory.empty((1 << 20,), np.dtype(np.float64)).base is None


@pytest.mark.parametrize("leaf", [True, False])
def test_many_selections_of_one_tensor(leaf):
    """Only the first of them makes zeros of the whole; other gradients may arrive in between."""
    x = pullback.arange(12.0).reshape(4, 3).requires_grad_()
    y = x if leaf else x * 1
    loss = (y[0] * 2).sum() + y.sum() + (y[1:3] * y[1:3]).sum() + y[0, 1] + (y * y)[2].sum() + y[:, 1].sum()
    loss.backward()
    values = x.detach()
    expected = pullback.ones(4, 3)
    expected[0] += 2
    expected[1:3] += 2 * values[1:3]
    expected[0, 1] += 1
    expected[2] += 2 * values[2]
    expected[:, 1] += 1
    assert x.grad.tolist() == expected.tolist()

"""Parts of a graph that repeat are loops in the code of a pass: as many turns as there are, the same gradients."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.core.engine import walk
from pullback.core.written_out import forms, repeats
from tests.core.repeating import ROUNDS, by_walk, forget, gradients, leaf

pytestmark = pytest.mark.usefixtures("ordinary_passes")


def cells(length, x, w, b):
    """A recurrent cell, so many times; the state is used three times, and the weight twice, in each."""
    state = x
    for step in range(length):
        gate = (state @ w + b).sigmoid()
        state = gate * (state * w.mean()).tanh() + (1 - gate) * state
        if step % 2:
            state = state + b
    return state.pow(2).mean()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_part_that_repeats_is_a_loop_for_any_length(dtype, monkeypatch):
    leaves = leaf(4, 4, dtype=dtype), leaf(4, 4, seed=1, dtype=dtype), leaf(4, seed=2, dtype=dtype)
    plan = forget(cells(1, *leaves))
    for _ in range(4):
        gradients(cells(60, *leaves), leaves)
    assert len(plan.repeats.programs) == 1
    text, _ = repeats.source(plan_form := forms.form_of(executed_nodes(cells(60, *leaves))))
    assert "in turns:" in text and len(plan_form.steps) < 100
    for length in (*range(1, 12), 33, 60, 61, 200, 1001):
        expected = by_walk(lambda *leaves, length=length: cells(length, *leaves), leaves, plan)
        if length % 2 == 0 and length > 3:  # the form has two cells in a turn, one with and one without an addition
            with monkeypatch.context() as patch:
                patch.setattr("pullback.core.passes.walk", None)
                got = gradients(cells(length, *leaves), leaves)
        else:
            got = gradients(cells(length, *leaves), leaves)
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def executed_nodes(root):

    return walk(root._node, np.ones((), root._array.dtype))[2]


def gates_in_one_product(length, x, w, b):
    inputs = (x @ w)[None] * pullback.arange(1.0, length + 1, dtype=x.dtype)[:, None, None]
    state = memory = x * 0.5
    for step in range(length):
        keep, add, show, new = (pullback.cat([inputs[step], state], 1) @ w.repeat(2, 4) + b.repeat(4)).chunk(4, dim=1)
        memory = keep.sigmoid() * memory + add.sigmoid() * new.tanh()
        state = show.sigmoid() * memory.tanh()
    return state.sum() + memory.prod()


def taken_apart(length, x, w, b):
    state = b.exp()
    for row in (x.tile(length, 1) @ w).unbind():
        state = (state * row).tanh() + row
    return state.norm()


def rows_of_a_leaf(length, x, w, b):
    state = b
    for step in range(length):
        state = (state @ w + x[step % 4]).tanh() + x[:, step % 4] + x.flatten()[step % 16]
    return state.sum()


def with_layers(length, x, w, b):
    state = x
    for _ in range(length):
        state = state + pullback.nn.functional.layer_norm(pullback.nn.functional.linear(state, w, b).relu(), (4,))
    return state.sum()


@pytest.mark.parametrize("function", [gates_in_one_product, taken_apart, rows_of_a_leaf, with_layers])
def test_loops_of_every_kind(function, monkeypatch):
    leaves = leaf(4, 4), leaf(4, 4, seed=1), leaf(4, seed=2)
    program = lambda length: lambda *leaves: function(length, *leaves)  # noqa: E731
    plan = forget(function(1, *leaves))
    for _ in range(4):
        gradients(function(120, *leaves), leaves)
    assert len(plan.repeats.programs) == 1
    for turn in range(20):  # should it have relied on the length, there is another after a few others
        gradients(function(121 + turn % 3, *leaves), leaves)
    assert len(plan.repeats.programs) == (2 if function is taken_apart else 1)
    for length in (1, 2, 3, 4, 8, 40, 120, 160):
        expected = by_walk(program(length), leaves, plan)
        with monkeypatch.context() as patch:
            if length >= 8:
                patch.setattr("pullback.core.passes.walk", None)
            for one, other in zip(gradients(function(length, *leaves), leaves), expected, strict=True):
                np.testing.assert_array_equal(one, other)


def test_a_loop_in_which_one_turn_is_another(monkeypatch):
    x, w = leaf(3), leaf(3, seed=1)

    def function(x, w, odd):
        for step in range(300):
            x = x * w if step != odd else x / w
        return x.sum()

    plan = forget(function(x, w, -1))
    for _ in range(4):
        gradients(function(x, w, -1), (x, w))
    assert len(plan.repeats.programs) == 1
    for odd in (0, 1, 2, 150, 298, 299):
        expected = by_walk(lambda x, w, odd=odd: function(x, w, odd), (x, w), plan)
        for one, other in zip(gradients(function(x, w, odd), (x, w)), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    middle = x * w
    root = function(middle, w, -1)
    middle.register_hook(lambda gradient: gradient * 0)
    assert not gradients(root, (x, w))[0].any()


def test_edges_that_lead_over_several_turns():
    """What reaches further back than one turn is not written as a loop, and what reaches to the start neither."""
    x, w = leaf(3), leaf(3, seed=1)

    def far(x, w):
        values = [x * w, x + w, x - w]
        for _ in range(300):
            values.append(values[-1] * 0.5 + values[-3].sin())
        return values[-1].sum()

    def start(x, w):
        first = value = x.exp()
        for _ in range(300):
            value = value * w + first
        return value.sum()

    for function in (far, start):
        plan = forget(function(x, w))
        expected = by_walk(function, (x, w), plan)
        for _ in range(ROUNDS):
            for one, other in zip(gradients(function(x, w), (x, w)), expected, strict=True):
                np.testing.assert_array_equal(one, other)


def test_sparse_gradients_in_a_loop():
    table, weight = leaf(5, 4), leaf(4, 4, seed=1)

    def loss():
        state = pullback.zeros(2, 4, dtype=pullback.float64)
        for turn in range(120):
            rows = pullback.nn.functional.embedding(pullback.tensor([turn % 5, 1]), table, sparse=True)
            state = (rows + state @ weight).tanh()
        return state.sum()

    plan = forget(loss())
    found = []
    for _ in range(12):
        table.grad = weight.grad = None
        loss().backward()
        assert table.grad.is_sparse
        found.append((table.grad.to_dense().numpy(), weight.grad.numpy()))
    assert plan.repeats.programs
    for rows, matrix in found:
        np.testing.assert_array_equal(rows, found[0][0])
        np.testing.assert_array_equal(matrix, found[0][1])


def test_batches_in_a_loop():
    def loss(x, weight):
        state = x
        for _ in range(120):
            state = (state @ weight).tanh() + x
        return state.sum()

    examples, weight = leaf(3, 4).detach(), leaf(4, 4, seed=1).detach()
    per_example = pullback.func.vmap(pullback.func.grad(loss, argnums=(0, 1)), in_dims=(0, None))
    expected = per_example(examples, weight)
    for _ in range(12):
        for one, other in zip(per_example(examples, weight), expected, strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())

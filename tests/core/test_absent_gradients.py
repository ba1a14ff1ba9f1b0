"""Leaves that no gradient reaches are told so; a sparse `.grad` takes a dense one; what a tensor is annotated with is there."""

from __future__ import annotations

import typing

import numpy as np
import pytest

import pullback as P


class FirstOnly(P.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * 1, b * 1

    @staticmethod
    def backward(ctx, g, h):
        return g, None


@pytest.mark.parametrize("between", [False, True])
def test_hooks_of_a_leaf_without_gradient_get_none(between):
    seen = []
    a, b = P.ones(2, requires_grad=True), P.ones(2, requires_grad=True)
    a.register_hook(lambda g: seen.append(("a", g.tolist())))
    b.register_hook(lambda g: seen.append(("b", g)))
    b.register_post_accumulate_grad_hook(lambda p: seen.append(("after b", p.grad)))
    first, second = FirstOnly.apply(a, b * 2 if between else b)
    (first.sum() + second.sum()).backward()
    assert seen == [("a", [1.0, 1.0]), ("b", None), ("after b", None)] and b.grad is None


def test_a_hook_cannot_supply_what_is_missing():
    a, b = P.ones(2, requires_grad=True), P.ones(2, requires_grad=True)
    b.register_hook(lambda g: P.full((2,), 3.0) if g is None else g)
    with pytest.raises(RuntimeError, match="can't replace a None gradient"):
        FirstOnly.apply(a, b)[0].sum().backward()
    assert a.grad is None and b.grad is None


def test_a_leaf_that_gets_one_of_two_gradients():
    seen = []
    a, b = P.ones(2, requires_grad=True), P.ones(2, requires_grad=True)
    b.register_hook(lambda g: seen.append(g.tolist()))
    (FirstOnly.apply(a, b)[0] + 2 * b).sum().backward()
    assert seen == [[2.0, 2.0]] and b.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_pass_adds_to_a_sparse_gradient(create_graph):
    x = P.tensor([1.5, 2.5], requires_grad=True)
    x.grad = P.sparse_coo_tensor(P.tensor([[1, 1]]), P.tensor([1.0, 1.0]), (2,))
    (x * x).sum().backward(create_graph=create_graph)
    np.testing.assert_array_equal(x.grad.detach().numpy(), [3.0, 7.0])


def test_annotations_of_tensors_can_be_looked_up():
    assert "_array" in typing.get_type_hints(P.Tensor)


def test_weights_of_one_output_of_several_are_not_aliased():
    """A rule may pass a cotangent on as it is; what the caller gave must not become a `.grad`, or be added to."""
    from pullback.core.op import op
    from pullback.core.tape import apply

    both = op("BothBackward0", lambda x: (x * 1, x * 2), inputs=("x",), outputs=0, joint=lambda g: (g[0],))
    x, weights = P.ones(2, requires_grad=True), P.tensor([3.0, 4.0])
    first, _ = apply(both, (x,))
    first.backward(weights)
    x.grad += 1
    assert weights.tolist() == [3.0, 4.0] and x.grad.tolist() == [4.0, 5.0]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("index", [0, slice(1, None), (slice(None), None)], ids=["element", "slice", "new axis"])
def test_a_selection_that_does_not_lead_to_the_input(index, create_graph):
    """Of one of several results: nothing arrives there, and nothing goes on."""
    x, other = P.arange(3.0).requires_grad_(), P.ones(2, requires_grad=True)
    for values in (x.sort()[0], x * 2, x):
        out = values[index]
        found = P.autograd.grad(out, other, P.ones_like(out), create_graph=create_graph, allow_unused=True)
        assert found == (None,)
        both = P.autograd.grad(values[index], (other, x), P.ones_like(out), allow_unused=True)
        assert both[0] is None and both[1] is not None

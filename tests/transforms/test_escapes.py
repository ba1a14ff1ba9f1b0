"""Tensors that outlive the transform they were made in: refused if they stand for a batch, without tangents otherwise."""

import threading

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")
X = np.array([1.0, 2.0, 3.0])

MADE = {
    "computed": lambda M, x: x.sin(),
    "the input": lambda M, x: x,
    "a view": lambda M, x: (x * 2).view(-1),
    "detached": lambda M, x: x.exp().detach(),
    "one of several": lambda M, x: (x * 2).reshape(1, -1).split(1)[0][0],
    "written": lambda M, x: M.zeros_like(x).copy_(x),
    "a custom function's": lambda M, x: _exponential(M)(x),
}
USED = {
    "times a number": lambda M, e: e * 2,
    "with another": lambda M, e: e + M.tensor(X),
    "another, written": lambda M, e: M.tensor(X).add_(e),
    "written": lambda M, e: e.add_(1),
    "unary": lambda M, e: e.sin(),
    "reduced": lambda M, e: e.sum(),
    "reshaped": lambda M, e: e.view(1, -1),
    "cloned": lambda M, e: e.clone(),
    "compared": lambda M, e: bool((e > 0).any()),
    "as an index": lambda M, e: M.tensor(X)[e.long()],
    "in a gradient": lambda M, e: M.func.grad(lambda x: (x * e).sum())(M.tensor(X)),
}  # fmt: skip


def _exponential(M):
    class Exponential(M.autograd.Function):
        @staticmethod
        def forward(x):
            return x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * ctx.saved_tensors[0]

    return Exponential.apply


def escaped(M, transform, make=MADE["computed"]):
    box = []

    def function(x):
        box.append(make(M, x))
        return x * 1

    transform(M, function)
    return box[0]


def mapped(M, function):
    return M.func.vmap(function)(M.tensor(X).reshape(3, 1))


def pushed(M, function):
    return M.func.jvp(function, (M.tensor(X),), (M.ones(3, dtype=M.float64),))


@pytest.mark.parametrize("name", USED)
def test_a_batch_is_refused(name):
    for M in (pullback, torch):
        value = escaped(M, mapped)
        with pytest.raises(RuntimeError, match="INTERNAL ASSERT|may have escaped from inside a function being vmapped"):
            USED[name](M, value)


def test_a_batch_that_escaped_still_prints_and_has_a_shape():
    value = escaped(pullback, mapped)
    assert "BatchedTensor" in repr(value)
    assert value.shape == (1,)


@pytest.mark.parametrize("name", MADE)
def test_tangents_end_with_their_level(name):
    def run(M):
        value = escaped(M, pushed, MADE[name])
        return pushed(M, lambda x: x * value)[1]

    np.testing.assert_allclose(run(pullback), run(torch))


def test_tangents_end_where_a_graph_keeps_them():
    forward_ad = pullback.autograd.forward_ad
    for function in (pullback.exp, _exponential(pullback)):
        weight, ones = pullback.tensor(X, requires_grad=True), pullback.ones(3, dtype=pullback.float64)
        out, _ = pullback.func.jvp(function, (weight,), (ones,))
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(ones, ones)
            (slope,) = pullback.autograd.grad(out.sum(), weight, create_graph=True)
            tangent = forward_ad.unpack_dual(slope * dual).tangent
        np.testing.assert_allclose(tangent.detach(), np.exp(X))


def test_levels_of_two_threads_do_not_end_each_other():
    inside, ended = threading.Event(), threading.Event()
    found = []

    def slow(x):
        y = x * x
        inside.set()
        ended.wait(10)
        return y * x

    thread = threading.Thread(target=lambda: found.append(pushed(pullback, slow)[1]))
    thread.start()
    assert inside.wait(10)
    pushed(pullback, lambda x: x.sin())
    ended.set()
    thread.join()
    np.testing.assert_allclose(found[0], 3 * X**2)

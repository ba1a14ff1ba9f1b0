"""Writes through `.data` between forward and backward, which nobody counts.

The rule: a graph keeps tensors, so backward sees the new values of what was saved, in ordinary passes and in recorded
ones, and whether the memory was written or replaced. What an operation computed in the forward pass and kept (an output,
statistics, probabilities) stays as it was, unless it is the very memory that was written.
"""

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

CALLS = {  # with torch's own numbers
    "mul": lambda t, x, y: x * y,
    "itself": lambda t, x, y: x * x,
    "div": lambda t, x, y: x / y,
    "pow": lambda t, x, y: x**3 * y,
    "sin": lambda t, x, y: x.sin(),
    "exp": lambda t, x, y: x.exp(),
    "tanh": lambda t, x, y: x.tanh() * y,
    "sigmoid": lambda t, x, y: x.sigmoid(),
    "log": lambda t, x, y: x.log(),
    "matmul": lambda t, x, y: x @ y.T.contiguous(),
    "prod": lambda t, x, y: x.prod(),
    "norm": lambda t, x, y: x.norm(),
    "gelu": lambda t, x, y: t.nn.functional.gelu(x),
    "softmax": lambda t, x, y: x.softmax(1) * y,
    "mse": lambda t, x, y: t.nn.functional.mse_loss(x, y),
    "where": lambda t, x, y: t.where(x > 1, x * y, y),
    "cumprod": lambda t, x, y: x.cumprod(1),
    "atan2": lambda t, x, y: t.atan2(x, y),
    "smooth": lambda t, x, y: t.nn.functional.smooth_l1_loss(x, y, beta=5.0),
}
WAYS = {
    "in place": lambda t, x: x.data.mul_(0.5),
    "through NumPy": lambda t, x: x.data.numpy().__imul__(0.5),
    "replaced": lambda t, x: setattr(x, "data", x.data * 0.5),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CALLS)
def test_backward_sees_what_torch_sees(name, way):
    for leaf in (True, False):
        found = []
        for library in (torch, pullback):
            for create_graph in (False, True):
                leaves = [library.tensor([[1.0, 2.0], [3.0, 0.5]]), library.tensor([[2.0, 1.0], [1.5, 4.0]])]
                for each in leaves:
                    each.requires_grad_()
                x, y = leaves if leaf else [each.clone() for each in leaves]
                out = CALLS[name](library, x, y)
                WAYS[way](library, x)
                gradients = library.autograd.grad(out.sum(), leaves, create_graph=create_graph, allow_unused=True)
                found.append([None if g is None else g.detach().numpy() for g in gradients])
        for other in found[1:]:
            for ours, theirs in zip(other, found[0], strict=True):
                assert (ours is None) is (theirs is None)
                if ours is not None:
                    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 3, 4), (4, 3)])
def test_a_transposed_input_is_seen_as_any_other(shape):
    """Torch copies some of these first, and then sees the old values."""
    for way in ("in place", "replaced"):
        for create_graph in (False, True):
            x = pullback.ones(*shape).transpose(-1, -2).detach().requires_grad_()
            w = pullback.ones(2, x.shape[-1], requires_grad=True)
            out = pullback.nn.functional.linear(x, w)
            WAYS[way](pullback, x)
            (found,) = pullback.autograd.grad(out.sum(), w, create_graph=create_graph)
            assert found.tolist() == [[0.5 * x.numel() / x.shape[-1]] * x.shape[-1]] * 2


def test_numbers_are_written_like_other_outputs():
    found = []
    for library in (torch, pullback):
        x = library.tensor(2.0, requires_grad=True)
        y = x.exp()
        y.data.mul_(0.5)
        y.backward()
        found.append(x.grad.item())
    assert found[1] == pytest.approx(found[0])


@pytest.mark.parametrize("call", [lambda x: x * x, lambda x: x.sin(), lambda x: x * 2, lambda x: x.sum()])
@pytest.mark.parametrize("create_graph", [False, True])
def test_data_of_another_shape_is_refused_by_graphs_made_before(call, create_graph):
    x = pullback.ones(3, requires_grad=True)
    out = call(x).sum()
    x.data = pullback.ones(5)
    with pytest.raises(RuntimeError, match="must match"):
        pullback.autograd.grad(out, x, create_graph=create_graph)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0] * 5


def test_data_that_was_away_in_between_is_no_change():
    x = pullback.ones(3, requires_grad=True)
    out = (x * x).sum()
    whole, x.data = x.data, pullback.ones(0)
    x.data = whole
    out.backward()
    assert x.grad.tolist() == [2.0] * 3

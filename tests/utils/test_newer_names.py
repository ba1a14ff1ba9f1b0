"""Names that torch has from 2.14 and 2.15 on, which the oracle does not know: their behaviour in a few lines."""

import pytest

import pullback as torch
from pullback.utils.checkpoint import checkpoint


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_is_a_decorator(reentrant):
    runs = []

    @checkpoint(use_reentrant=reentrant, preserve_rng_state=False)
    def f(x, *others):
        """Doc."""
        runs.append(x)
        return x.sin() * 2

    x = torch.tensor([0.5, 1.0], requires_grad=True)
    f(x).sum().backward()
    assert torch.allclose(x.grad, 2 * x.detach().cos()) and len(runs) == 2
    assert f.__name__ == "f" and f.__doc__ == "Doc."
    assert torch.equal(f(x), checkpoint(lambda a: a.sin() * 2, x, use_reentrant=False))


def test_a_decorator_takes_no_arguments_of_the_function():
    with pytest.raises(TypeError, match="is a decorator"):
        checkpoint(use_reentrant=False, scale=3)


def test_queue_callback_runs_after_the_gradients_are_there():
    x = torch.ones(2, requires_grad=True)
    seen = []
    y = x * 3
    y.register_hook(lambda g: torch.autograd.graph.queue_callback(lambda: seen.append(x.grad.tolist())))
    y.sum().backward()
    assert seen == [[3.0, 3.0]]
    with pytest.raises(RuntimeError, match="during backward pass"):
        torch.autograd.graph.queue_callback(print)


def test_functional_optimizers_and_names_of_the_compiler():
    from pullback.optim import functional, sgd

    assert functional.sgd is sgd.sgd and "adamw" in functional.__all__ and torch.optim.functional is functional
    with pytest.raises(AttributeError):
        functional.nothing
    assert torch.compiler.nonstrict_trace(print) is print
    assert torch.compiler.cudagraph_mark_warmup_incomplete() is None
    with pytest.raises(torch.compiler.PrecompileError, match="nothing is compiled"):
        torch.compiler.precompile(print)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_node_creation_hook_sees_every_new_node():
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    seen, inner = [], []
    before = x.exp()
    with torch.autograd.graph.node_creation_hook(seen.append):
        y = x.sin()
        with torch.autograd.graph.node_creation_hook(inner.append):
            z = Doubled.apply(y)
        a, b = z.split(1)
        with torch.no_grad():
            y.cos()
        w = y.clone()
        w[0] = a[0]
        (g,) = torch.autograd.grad(x.exp().sum(), x, create_graph=True)
    after = g * 2
    assert [node.name() for node in inner] == ["DoubledBackward"] and inner[0] is z.grad_fn
    assert seen[0] is y.grad_fn and seen[1] is z.grad_fn and seen[2] is a.grad_fn is b.grad_fn
    assert w.grad_fn in seen and g.grad_fn in seen and before.grad_fn not in seen and after.grad_fn not in seen
    assert len(set(map(id, seen))) == len(seen)


def test_hooks_on_nodes_made_by_a_hook():
    """What torch has it for: something around each node's backward, wherever the node was made."""
    calls, order = [], []

    def note(node):
        node.register_hook(lambda inputs, outputs: calls.append(node.name()))
        order.append((torch.ones(2, requires_grad=True) * 2).grad_fn.name())  # its own nodes are not shown to it

    x = torch.tensor([0.5, 1.0], requires_grad=True)
    with torch.autograd.graph.node_creation_hook(note):
        y = checkpoint(lambda a: a.sin() * a, x, use_reentrant=False).sum()
    y.backward()
    assert calls[:2] == ["SumBackward0", "MulBackward0"] and len(order) == 3
    assert torch.allclose(x.grad, x.detach().cos() * x.detach() + x.detach().sin())


def test_a_hook_that_fails_leaves_the_mode_as_it_was():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ZeroDivisionError), torch.autograd.graph.node_creation_hook(lambda node: 1 / 0):
        x * 2
    assert torch.is_grad_enabled() and (x * 2).requires_grad

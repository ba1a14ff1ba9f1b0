"""When graphs die: nodes, hooks and saved tensors with the last reference to them, hooks in a cycle with the collector."""

import gc
import weakref

import pytest

import pullback as torch
from pullback.autograd import Function


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        ctx.saved_tensors
        return grad * 2


class Halves(Function):
    @staticmethod
    def forward(ctx, x):
        return x[:2].clone(), x[2:].clone()

    @staticmethod
    def backward(ctx, first, second):
        return torch.cat([first, second])


class Token:
    """Something a hook refers to, so that one sees when the hook is gone."""


MADE_BY = {"operation": lambda x: x * x, "custom function": Doubled.apply}
PASSES = {
    "none": lambda y: None,
    "freeing": lambda y: y.sum().backward(),
    "retaining": lambda y: y.sum().backward(retain_graph=True),
}
HOOKS = {
    "none": lambda y, hook: None,
    "tensor": lambda y, hook: y.register_hook(hook),
    "node": lambda y, hook: y.grad_fn.register_hook(hook),
    "before the node": lambda y, hook: y.grad_fn.register_prehook(hook),
}


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def hooked_graph(made_by, register, run, refer_to_node):
    """A graph with a hook, and a reference to what the hook refers to; all else ends with the call."""
    y = MADE_BY[made_by](torch.rand(4, requires_grad=True))
    token, node = Token(), y.grad_fn if refer_to_node else None

    def hook(*grads):
        _ = token, node

    HOOKS[register](y, hook)
    PASSES[run](y)
    return y, weakref.ref(token)


@pytest.mark.parametrize("run", PASSES)
@pytest.mark.parametrize("register", HOOKS)
@pytest.mark.parametrize("made_by", MADE_BY)
def test_a_hook_dies_with_its_graph(made_by, register, run, no_collector):
    y, token = hooked_graph(made_by, register, run, refer_to_node=False)
    assert (token() is None) == (register == "none")
    del y
    assert token() is None


@pytest.mark.parametrize("run", PASSES)
@pytest.mark.parametrize("register", [name for name in HOOKS if name != "none"])
@pytest.mark.parametrize("made_by", MADE_BY)
def test_a_hook_that_refers_to_its_own_node_is_collected(made_by, register, run):
    y, token = hooked_graph(made_by, register, run, refer_to_node=True)
    gc.collect()
    assert token() is not None
    del y
    gc.collect()
    assert token() is None


def test_leaves_are_counted_while_a_graph_refers_to_them(no_collector):
    x = torch.rand(4, requires_grad=True)
    assert x._use_count() == 1 and torch.rand(2)._use_count() == 1
    y = x * 2
    z = (y + 1) * 3
    assert x._use_count() == 2
    del y, z
    assert x._use_count() == 1
    first, second = (x * 2).split(2)
    first.sum().backward(retain_graph=True)
    del first
    assert x._use_count() == 2
    del second
    assert x._use_count() == 1
    node = (x * 2).grad_fn
    assert x._use_count() == 2
    del node
    y = (x * x).sum()
    y.backward()
    del y
    assert x._use_count() == 1


@pytest.mark.parametrize("outputs", [Halves.apply, lambda x: (x * 2).split(2)])
def test_a_node_lives_as_long_as_one_of_its_outputs(outputs, no_collector):
    first, second = outputs(torch.rand(4, requires_grad=True))
    node = weakref.ref(first.grad_fn)
    first.sum().backward(retain_graph=True)
    del first
    assert node() is not None
    del second
    assert node() is None


@pytest.mark.parametrize("made_by", MADE_BY)
def test_saved_tensors_die_with_the_graph_or_the_pass(made_by, no_collector):
    x = torch.rand(4, requires_grad=True)
    for run, lives in (("none", True), ("freeing", False), ("retaining", True)):
        middle = x + 1
        saved = weakref.ref(middle)
        y = MADE_BY[made_by](middle)
        del middle
        assert saved() is not None
        PASSES[run](y)
        assert (saved() is not None) == lives
        del y
        assert saved() is None


def test_outputs_that_are_saved_do_not_keep_themselves(no_collector):
    class Grown(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    x = torch.rand(4, requires_grad=True)
    for grow in (torch.exp, Grown.apply):
        for run in PASSES.values():
            y = grow(x)
            reference = weakref.ref(y)
            run(y)
            del y
            assert reference() is None

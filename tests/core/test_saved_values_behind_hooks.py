"""Values that hooks pack, and second runs of checkpointed functions: derivatives of any order, and later writes.

The witness is the same program without hooks. A write that the packed value would not survive is refused.
"""

import gc
import weakref
from contextlib import nullcontext

import pytest

import pullback as torch
from pullback.autograd import Function
from pullback.autograd.graph import allow_mutation_on_saved_tensors, save_on_cpu, saved_tensors_hooks
from pullback.utils.checkpoint import checkpoint


class Cube(Function):
    """Saves its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * g


def first_two(function, x):
    y = function(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), x)
    return first, second


def in_hooks(hooks):
    def run(program, x):
        with hooks():
            return first_two(program, x)

    return run


WAYS = {
    "identity": in_hooks(lambda: saved_tensors_hooks(lambda x: x, lambda x: x)),
    "detached": in_hooks(lambda: saved_tensors_hooks(lambda x: x.detach(), lambda x: x)),
    "copied": in_hooks(save_on_cpu),
    "as arrays": in_hooks(lambda: saved_tensors_hooks(lambda x: x.detach().numpy(), torch.from_numpy)),
    "mutable": in_hooks(allow_mutation_on_saved_tensors),
    "checkpoint": lambda program, x: first_two(lambda x: checkpoint(program, x, use_reentrant=False), x),
    "to its end": lambda program, x: first_two(
        lambda x: checkpoint(program, x, use_reentrant=False, early_stop=False), x
    ),
    "nested": lambda program, x: first_two(
        lambda x: checkpoint(
            lambda x: checkpoint(program, x.exp(), use_reentrant=False), x.log(), use_reentrant=False
        ),
        x,
    ),
}  # fmt: skip
PROGRAMS = {
    "custom, of a leaf": Cube.apply,
    "custom, of a result": lambda x: Cube.apply(x * 1),
    "custom, its output": lambda x: Exp.apply(x * x) * x,
    "saves what it writes": lambda x: (x * x).sin_() * x,
    "writes what it saves": lambda x: (x * 2).sigmoid_() * x,
    "part of it": lambda x: (y := x * 1, y[:2].sin_())[0] * x,
    "powers": lambda x: (x * 1).pow_(3).mul_(x),
    "several outputs": lambda x: x.sort()[0] * x,
    "list of inputs": lambda x: torch.cat([x * x, x]).prod(),
    "norm": lambda x: torch.nn.functional.layer_norm(x * x, (3,)) * x,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives_are_those_without_hooks(program, way):
    x = torch.tensor([1.0, 2.0, 2.5], dtype=torch.float64, requires_grad=True)
    want = first_two(PROGRAMS[program], x)
    for found, expected in zip(WAYS[way](PROGRAMS[program], x), want, strict=True):
        torch.testing.assert_close(found, expected)


WRITTEN_LATER = {  # and the same without the write
    "an output": (lambda x: x.exp().mul_(2), lambda x: 2 * x.exp()),
    "an input": (lambda x: (y := x * 2, y.sin(), y.mul_(2))[1], lambda x: (x * 2).sin()),
    "output and input": (lambda x: (y := x.exp(), y.sin(), y.mul_(2))[1], lambda x: x.exp().sin()),
    "of a custom function": (lambda x: (y := x * 2, Cube.apply(y), y.mul_(2))[1], lambda x: (x * 2) ** 3),
    "its output": (lambda x: Exp.apply(x).mul_(2), lambda x: 2 * x.exp()),
}


@pytest.mark.parametrize("program", WRITTEN_LATER)
@pytest.mark.parametrize("keeps", ["identity", "detached", "copied", "mutable"])
def test_a_later_write_is_refused_where_what_was_packed_changes_with_it(program, keeps):
    writing, without = WRITTEN_LATER[program]
    x = torch.tensor([1.0, 2.0, 2.5], dtype=torch.float64, requires_grad=True)
    if keeps in ("identity", "detached"):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            WAYS[keeps](writing, x)
        return
    for found, expected in zip(WAYS[keeps](writing, x), first_two(without, x), strict=True):
        torch.testing.assert_close(found, expected)


def again(function, *args, **kwargs):
    return checkpoint(function, *args, use_reentrant=False, **kwargs)


def residual_in_place(w, v):
    x = w * 1
    x += again(lambda a: a.sin() * a, x)
    return x


def next_batch(hand_over):
    def program(w, v):
        data = torch.tensor([1.0, 2.0])
        out = hand_over(data, v)
        data.copy_(torch.tensor([5.0, 6.0]))
        return out

    return program


def weights_stepped(w, v):
    out = again(lambda a: (a * v).sin(), w)
    with torch.no_grad():
        v.mul_(2)
    return out


def writes_its_argument(w, v):
    return again(lambda a: a.mul_(2).sin() * a, w * 1)


def writes_what_it_has_saved(w, v):
    return again(lambda a: (b := a * 2, b.sin(), b.mul_(3))[1] * b, w * 1)


def leaf_stepped(w, v):
    out = again(lambda a: a.sin() * a, w)
    with torch.no_grad():
        w.add_(1)
    return out


@pytest.mark.parametrize(
    "program",
    [
        residual_in_place,
        next_batch(lambda data, v: again(lambda a: a.sin() * v, data)),
        next_batch(lambda data, v: again(lambda a: a.sin() * v, a=data)),
        next_batch(lambda data, v: again(lambda some: some[0].sin() * v, [data])),
        weights_stepped, leaf_stepped, writes_its_argument, writes_what_it_has_saved,
    ],
)  # fmt: skip
def test_a_second_run_that_would_see_other_values_is_refused(program):
    w, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    out = program(w, v)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    assert w.grad is None and v.grad is None


def test_arguments_of_inner_checkpoints_are_not_kept():
    kept = []

    def outer(x):
        middle = x.exp()
        kept.append(weakref.ref(middle))
        return again(lambda y: y.sin() * y, middle)

    x = torch.ones(3, requires_grad=True)
    out = again(outer, x)
    assert kept[0]() is None
    out.sum().backward()
    e = torch.e
    want = e * (torch.cos(torch.tensor(e)) * e + torch.sin(torch.tensor(e)))
    torch.testing.assert_close(x.grad, want.expand(3).to(x.dtype))


def test_outputs_behind_hooks_make_no_cycle():
    gc.collect()
    gc.disable()
    try:
        with saved_tensors_hooks(lambda x: x, lambda x: x):
            y = Exp.apply(torch.ones(3, requires_grad=True))
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_only_what_was_saved_before_is_lost_by_detaching_in_place():
    x = torch.ones(3, requires_grad=True)
    gate = torch.sigmoid(x)
    gate.detach_()
    product = x * gate
    torch.zeros(2).add_(1)
    for create_graph in (False, True):
        (found,) = torch.autograd.grad(product.sum(), x, create_graph=create_graph, retain_graph=True)
        torch.testing.assert_close(found.detach(), torch.sigmoid(torch.ones(3)))


@pytest.mark.parametrize("step", [lambda x: x.view(4), lambda x: x[:2], lambda x: x.view(2, 2).view(4)])
@pytest.mark.parametrize("context", [nullcontext, torch.enable_grad])
def test_a_custom_function_that_returns_a_view_it_has_used(step, context):
    class Shown(Function):
        @staticmethod
        def forward(ctx, x):
            with context():
                view = step(x)
                view.sin()
            return view

        @staticmethod
        def backward(ctx, g):
            return torch.cat([g * 3, torch.zeros(4 - g.numel())])

    for written in (0, 1):
        x = torch.ones(4, requires_grad=True) * 1
        y = Shown.apply(x)
        assert y._base is x and type(y.grad_fn).__name__ == "ShownBackward"
        with pytest.raises(RuntimeError, match="Output 0 of Shown is a view"):
            (x, y)[written].mul_(6)
            y.sum().backward()


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("after", [[], [torch.nn.Identity()], [torch.nn.ReLU()]])
@pytest.mark.parametrize("momentum", [0.1, None])
def test_both_runs_update_running_statistics_whatever_follows(reentrant, after, momentum):
    x = (torch.arange(24.0).reshape(2, 4, 3) ** 2).requires_grad_()
    checked, plain = (torch.nn.BatchNorm1d(4, momentum=momentum) for _ in range(2))
    weight = torch.linspace(-1, 1, 24).reshape(2, 4, 3)
    y = checkpoint(torch.nn.Sequential(checked, *after), x * 2, use_reentrant=reentrant)
    (y * weight).sum().backward()
    for _ in range(2):
        y = torch.nn.Sequential(plain, *after)(x * 2)
    (want,) = torch.autograd.grad((y * weight).sum(), x)
    assert torch.equal(x.grad, want)
    for one, other in zip(checked.buffers(), plain.buffers(), strict=True):
        assert torch.equal(one, other)

"""Hooks and custom functions in passes for many rows: they are run, on batches or row by row, and change what they should."""

import numpy as np
import pytest

import pullback as torch
from pullback import multi


def model_and_losses():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    return list(model.parameters()), model(torch.randn(5, 3))[:, 0] ** 2


def two(losses):
    return [losses.sum(), losses.mean()]


def filled(params, name):
    """What a call has put into `.grad` or `.jac`."""
    values = [getattr(p, name) for p in params]
    for p in params:
        setattr(p, name, None)
    return values


def backward(**options):
    def call(losses, params):
        multi.backward(losses, params, **options)
        return filled(params, "grad")

    return call


def batched(losses, params):
    losses.backward(batched=True)
    return filled(params, "jac")


PASSES = {
    "jacobian": multi.jacobian,
    "jacobian in chunks": lambda losses, params: multi.jacobian(losses, params, chunk_size=2),
    "jacobian of two": lambda losses, params: multi.jacobian(two(losses), params),
    "recorded": lambda losses, params: multi.jacobian(losses, params, create_graph=True),
    "of samples": multi.per_sample_gradients,
    "norms": multi.per_sample_norms,
    "gramian": multi.gramian,
    "gramian of two": lambda losses, params: multi.gramian(two(losses), params),
    "batched": batched,
    "sum": backward(),
    "UPGrad": backward(aggregator=multi.UPGrad()),
    "GradDrop": lambda losses, params: [torch.manual_seed(1), backward(aggregator=multi.GradDrop())(losses, params)][1],
    "UPGrad of two": lambda losses, params: backward(aggregator=multi.UPGrad())(two(losses), params),
}  # fmt: skip
HOOKS = {
    "an operation": lambda g: g * 2,
    "in NumPy": lambda g: torch.tensor(g.detach().numpy() * 2),
    "a choice by value": lambda g: g * 2 if g.abs().sum().item() >= 0 else g,
}


def flat(result):
    return [value for value in torch.utils._pytree.tree_flatten(result)[0] if value is not None]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("name", PASSES)
def test_hooks_of_leaves_change_every_row(name, hook):
    """Gradients are doubled, inner products four times as large."""
    params, losses = model_and_losses()
    plain = flat(PASSES[name](losses, params))
    params, losses = model_and_losses()
    for p in params:
        p.register_hook(HOOKS[hook])
    factor = 4 if name.startswith("gramian") else 2
    if name == "recorded" and hook == "in NumPy":
        return  # the numbers of what is recorded are taken without a graph: nothing to compare
    for expected, found in zip(plain, flat(PASSES[name](losses, params)), strict=True):
        np.testing.assert_allclose(found.numpy(force=True), factor * expected.numpy(force=True), rtol=2e-5, atol=1e-6)


def test_a_hook_that_answers_the_same_for_all_rows():
    params, losses = model_and_losses()
    for p in params:
        p.register_hook(torch.ones_like)
        p.register_hook(lambda g: torch.zeros(g.shape))
    for jacobian in (multi.jacobian(losses, params), multi.per_sample_gradients(losses, params)):
        assert [tuple(rows.shape) for rows in jacobian] == [(5, *p.shape) for p in params]
        assert not any(rows.any() for rows in jacobian)
    assert multi.gramian(losses, params).tolist() == [[0.0] * 5] * 5


@pytest.mark.parametrize("aggregator", [None, multi.UPGrad(), multi.GradDrop(), multi.TrimmedMean(0)])
@pytest.mark.parametrize("several", [False, True])
def test_hooks_after_accumulation_run_once_and_see_the_result(aggregator, several):
    params, losses = model_and_losses()
    seen = []
    for p in params:
        p.register_post_accumulate_grad_hook(lambda p: seen.append((p, p.grad.clone())))
    multi.backward(two(losses) if several else losses, aggregator=aggregator)
    assert sorted(id(p) for p, _ in seen) == sorted(map(id, params))
    for p, gradient in seen:
        assert torch.equal(p.grad, gradient)


def test_hooks_after_accumulation_of_rows_and_of_tasks():
    seen = []
    shared, first, second = (torch.ones(2, requires_grad=True) for _ in range(3))
    for leaf in (shared, first, second):
        leaf.register_post_accumulate_grad_hook(lambda p: seen.append(id(p)))
    features = shared * 2
    multi.mtl_backward([(features * first).sum(), (features * second).sum()], features)
    assert seen == [id(first), id(second)]
    multi.jac_to_grad([shared], multi.UPGrad())
    assert seen[2:] == [id(shared)]


class InNumPy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(g.numpy() * np.cos(x.detach().numpy()))


class ByValue(InNumPy):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos() if g.abs().sum().item() >= 0 else g


class TwoInputs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        return x.sin(), x + y

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        if bool(g.sum() == 12345):
            return None, None
        return g * x.cos() + h, None


@pytest.mark.parametrize("function", [InNumPy, ByValue], ids=lambda each: each.__name__)
@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_custom_functions_that_need_the_values_of_one_row(function, chunk_size):
    x = torch.tensor([0.3, 1.0, 2.0], requires_grad=True)
    expected = torch.diag(x.detach().cos())
    options = {"chunk_size": chunk_size}
    torch.testing.assert_close(multi.jacobian(function.apply(x), x, **options), expected)
    torch.testing.assert_close(multi.gramian(function.apply(x), x, **options), expected**2)
    torch.testing.assert_close(torch.func.jacrev(function.apply, **options)(x.detach()), expected)
    rows = multi.jacobian([function.apply(x).sum(), function.apply(2 * x)[0]], x, **options)
    torch.testing.assert_close(rows[0], x.detach().cos())
    torch.testing.assert_close(multi.per_sample_gradients(function.apply(x), x), expected)
    (found,) = torch.autograd.grad(function.apply(x), x, torch.eye(3), is_grads_batched=True)
    torch.testing.assert_close(found, expected)


def test_rows_of_several_outputs_and_inputs():
    x, y = (torch.tensor([0.3, 1.0], requires_grad=True) for _ in range(2))
    first, second = TwoInputs.apply(x, y)
    for_first, for_second = multi.jacobian([first, second], x)
    torch.testing.assert_close(for_first, torch.diag(x.detach().cos()))
    torch.testing.assert_close(for_second, torch.eye(2))


def test_a_recorded_pass_by_rows_has_second_derivatives():
    x = torch.tensor([0.3, 1.0], dtype=torch.float64, requires_grad=True)
    rows = multi.jacobian(ByValue.apply(x), x, create_graph=True)
    (found,) = torch.autograd.grad(rows.sum(), x)
    torch.testing.assert_close(found, -x.detach().sin())


def test_no_gradient_is_retained_from_a_whole_batch():
    """`.grad` has room for one gradient. Torch puts a tensor there that cannot be read."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    z = y**2
    for target in (x, y):
        torch.autograd.grad(z, target, torch.eye(2), is_grads_batched=True, retain_graph=True)
        multi.jacobian(z, target)
        torch.vmap(lambda row, target=target: torch.autograd.grad(z, target, row, retain_graph=True)[0])(torch.eye(2))
    assert y.grad is None
    z.sum().backward()
    assert y.grad.tolist() == [4.0, 8.0]


@pytest.mark.parametrize(
    "rows", [np.eye(2), [[1.0, 0.0], [0.0, 1.0]], [np.array([1.0, 0]), (0, 1)], torch.eye(2).bool()]
)
def test_rows_may_be_arrays_and_lists(rows):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    expected = torch.tensor([[2.0, 0.0], [0.0, 4.0]])
    assert torch.equal(torch.autograd.grad(x**2, x, rows, is_grads_batched=True)[0], expected)
    assert torch.equal(torch.autograd.grad([x**2], [x], [rows], is_grads_batched=True)[0], expected)
    assert torch.equal(multi.backward_batched(x**2, rows, x), expected)
    assert torch.equal(multi.backward_batched({"a": [x**2]}, {"a": [rows]}, x), expected)
    (x**2).backward(gradient=rows, batched=True)
    assert torch.equal(x.jac, expected)
    with pytest.raises(RuntimeError, match="is_grads_batched=True"):
        torch.autograd.grad(x.sum(), x, 1.0, is_grads_batched=True)
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got str"):
        torch.autograd.grad(x**2, x, "rows", is_grads_batched=True)

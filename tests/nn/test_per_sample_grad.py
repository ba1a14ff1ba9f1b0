"""`call_for_per_sample_grads` fills `.grad_sample` as torch's does, layer by layer."""

import importlib

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# A layer, the shape of its input, and whether the loss is a mean over the batch.
LAYERS = [
    ("nn.Linear(3, 2)", (4, 3), False), ("nn.Linear(3, 2)", (4, 5, 3), True), ("nn.Conv1d(2, 4, 3, padding=1)", (4, 2, 6), False),
    ("nn.Conv2d(2, 4, 3, groups=2, stride=2)", (3, 2, 6, 6), True), ("nn.LayerNorm(3)", (4, 5, 3), False),
    ("nn.GroupNorm(2, 4)", (4, 4, 5), False), ("nn.InstanceNorm1d(3, affine=True)", (4, 3, 5), False),
    ("nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2, bias=False))", (4, 3), True), ("nn.Linear(3, 2)", (1, 3), True),
]  # fmt: skip


def wrapper(library):
    return importlib.import_module(f"{library.__name__}.nn.utils._per_sample_grad").call_for_per_sample_grads


def gradients(library, layer, shape, is_mean):
    library.manual_seed(0)
    module, x = eval(layer, {"nn": library.nn}), library.randn(shape)
    call = wrapper(library)(module, batch_size=shape[0], loss_reduction="mean" if is_mean else "sum")
    losses = call(x).square()
    (losses.sum() / shape[0] if is_mean else losses.sum()).backward()
    assert all(parameter.grad is None for parameter in module.parameters())
    return [losses.detach().numpy(), *(parameter.grad_sample.numpy() for parameter in module.parameters())]


@pytest.mark.parametrize(("layer", "shape", "is_mean"), LAYERS)
def test_layer(layer, shape, is_mean):
    for ours, theirs in zip(*(gradients(library, layer, shape, is_mean) for library in (pullback, torch)), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_they_add_up_to_the_gradient():
    pullback.manual_seed(0)
    model = pullback.nn.Sequential(pullback.nn.Embedding(7, 3), pullback.nn.Linear(3, 2))
    model[1].bias.requires_grad_(False)
    x = pullback.randint(7, (4, 5))
    wrapper(pullback)(model)(x).square().sum().backward()
    model(x).square().sum().backward()
    for parameter in (model[0].weight, model[1].weight):
        np.testing.assert_allclose(parameter.grad_sample.sum(0).numpy(), parameter.grad.numpy(), rtol=1e-4, atol=1e-4)
    assert not hasattr(model[1].bias, "grad_sample")
    with pytest.raises(RuntimeError, match="accumulates the gradients, which will be incorrect"):
        wrapper(pullback)(model)


def test_batches_in_the_second_place():
    layer, x = pullback.nn.Linear(3, 2), pullback.randn(5, 4, 3)
    wrapper(pullback)(layer, batch_first=False)(x).sum().backward()
    np.testing.assert_allclose(layer.weight.grad_sample[:, 0].numpy(), x.sum(0).numpy(), rtol=1e-5)


MISTAKES = {
    "loss_reduction": lambda call, nn: call(nn.ReLU(), loss_reduction="x"), "module": lambda call, nn: call(5),
    "size": lambda call, nn: call(nn.ReLU(), batch_size=0), "kind": lambda call, nn: call(nn.ReLU(), batch_size="a"),
    "no tensor": lambda call, nn: call(nn.Linear(2, 2))(), "sizes": lambda call, nn: call(nn.Bilinear(2, 2, 1))(*rows(nn)),
}  # fmt: skip


def rows(nn):
    library = pullback if nn is pullback.nn else torch
    return library.ones(2, 2), library.ones(3, 2)


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    messages = []
    for library in (torch, pullback):
        with pytest.raises(RuntimeError) as error:
            MISTAKES[name](wrapper(library), library.nn)
        messages.append(str(error.value)[:50])
    assert messages[0] == messages[1]

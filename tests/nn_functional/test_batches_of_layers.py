"""Per-sample gradients and ensembles through vmap, against torch.func; batches join an axis instead of looping."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

rng = np.random.default_rng(0)
IMAGES = rng.standard_normal((5, 3, 8, 8))
LABELS = rng.integers(0, 4, 5)
PARAMETERS = {
    "kernel": rng.standard_normal((6, 3, 3, 3)), "bias": rng.standard_normal(6), "gain": rng.standard_normal(6),
    "shift": rng.standard_normal(6), "up": rng.standard_normal((6, 2, 2, 2)), "table": rng.standard_normal((4, 6)),
    "weight": rng.standard_normal((4, 6)),
}  # fmt: skip


def network(module, parameters, image, label):
    """The loss of one image through most kinds of layers."""
    F = module.nn.functional
    x = F.conv2d(image.unsqueeze(0), parameters["kernel"], parameters["bias"], padding=1)
    x = F.gelu(F.max_pool2d(x, 2)) + F.avg_pool2d(x, 2)
    larger = F.conv_transpose2d(x, parameters["up"], stride=2).mean(1, keepdim=True)
    x = x + F.interpolate(larger, size=(4, 4), mode="bilinear")
    x = F.pad(x, (1, 1, 1, 1), mode="reflect").flatten(2).transpose(1, 2)
    x = F.layer_norm(x, (6,), parameters["gain"], parameters["shift"])
    x = F.scaled_dot_product_attention(x, x, x).mean(1)
    x = x + F.embedding(label.unsqueeze(0), parameters["table"])
    scores = F.linear(F.rms_norm(x, (6,), parameters["gain"]), parameters["weight"])
    extra = F.mse_loss(scores, scores * 0 + 1) + F.binary_cross_entropy_with_logits(scores, scores.detach().sigmoid())
    label = label.unsqueeze(0)
    return F.cross_entropy(scores, label) + F.nll_loss(F.log_softmax(scores, 1), label) + extra


def tensors(module):
    parameters = {name: module.tensor(value) for name, value in PARAMETERS.items()}
    return parameters, module.tensor(IMAGES), module.tensor(LABELS)


def compare(ours, theirs):
    for name, want in theirs.items():
        np.testing.assert_allclose(ours[name].numpy(), want.numpy(), rtol=1e-8, atol=1e-9, err_msg=name)


def test_gradients_of_each_sample():
    results = []
    for module in (pullback, torch):
        parameters, images, labels = tensors(module)

        def loss(parameters, image, label, module=module):
            return network(module, parameters, image, label)

        results.append(module.func.vmap(module.func.grad(loss), in_dims=(None, 0, 0))(parameters, images, labels))
    compare(*results)


def test_gradients_of_an_ensemble():
    results = []
    for module in (pullback, torch):
        parameters, images, labels = tensors(module)
        several = {name: module.stack([value, value * 0.5, -value]) for name, value in parameters.items()}

        def loss(parameters, module=module, image=images[0], label=labels[0]):
            return network(module, parameters, image, label)

        results.append(module.func.vmap(module.func.grad(loss))(several))
    compare(*results)


def test_nothing_loops_over_samples():
    parameters, images, labels = tensors(pullback)
    many, more = images.repeat(4, 1, 1, 1), labels.repeat(4)  # a loop over more than 16 examples warns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient = pullback.func.grad(lambda p, x, y: network(pullback, p, x, y))
        pullback.func.vmap(gradient, in_dims=(None, 0, 0))(parameters, many, more)

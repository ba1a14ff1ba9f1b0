"""How much memory several losses take: rows of gradients are as large as all parameters, so no copy of them is made."""

import tracemalloc

import numpy as np
import pytest

import pullback as torch
from pullback import multi


def peak_of(function):
    """The most memory that a call held at once, in bytes, beyond what there was before."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def losses_and_parameters():
    parameters = [torch.ones(300, 300, requires_grad=True) for _ in range(4)]
    x = torch.ones(2, 300)
    for p in parameters:
        x = (x @ p).tanh()
    return [x[:, i::5].sum() for i in range(5)], parameters


AGGREGATORS = [(multi.UPGrad(), 1.6), (multi.Mean(), 1.6), (multi.Random(), 1.6), (multi.GradDrop(), 2.9)]


def name_of(value):
    """The name of an aggregator's class: its text may hold the address of a function, which no two processes share."""
    return type(value).__name__


@pytest.mark.parametrize(("aggregator", "times"), AGGREGATORS, ids=name_of)
def test_a_backward_pass_holds_the_rows_about_once(aggregator, times):
    losses, parameters = losses_and_parameters()
    multi.backward(losses, parameters, aggregator=aggregator)  # what is loaded and made once does not count
    losses, parameters = losses_and_parameters()
    rows = 5 * sum(p.numel() for p in parameters) * 4
    assert peak_of(lambda: multi.backward(losses, parameters, aggregator=aggregator)) < times * rows


def test_rows_that_are_kept_are_aggregated_without_a_copy():
    losses, parameters = losses_and_parameters()
    multi.backward_to_jac(losses, inputs=parameters)
    rows = 5 * sum(p.numel() for p in parameters) * 4
    assert peak_of(lambda: multi.jac_to_grad(parameters, multi.UPGrad())) < 0.9 * rows


@pytest.mark.parametrize(
    "aggregator", [multi.UPGrad(), multi.MGDA(), multi.GradDrop(), multi.TrimmedMean(1)], ids=name_of
)
def test_parts_give_what_the_whole_matrix_gives(aggregator, monkeypatch):
    """Also where a part has more columns than are looked at together."""
    monkeypatch.setattr(multi.aggregation, "COMBINED_COLUMNS", 64)
    matrix = np.random.default_rng(0).standard_normal((4, 90)).astype(np.float32)
    w = [torch.zeros(5, 8, requires_grad=True), torch.zeros(50, requires_grad=True)]
    flat = torch.cat([w[0].flatten(), w[1]])
    torch.manual_seed(3)
    multi.backward(list(torch.tensor(matrix) @ flat), w, aggregator=aggregator)
    torch.manual_seed(3)
    expected = aggregator(matrix)
    found = np.concatenate([w[0].grad.numpy().ravel(), w[1].grad.numpy()])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("call", [multi.per_sample_gradients, multi.gramian, multi.per_sample_norms])
def test_samples_of_a_convolution_are_not_all_spread_out_at_once(call):
    """The windows of an image are as many times as large as the kernel: those of all images would be far larger than the rows."""
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(64, 128, 3, padding=1)]
    model = torch.nn.Sequential(*layers)
    parameters, images = list(model.parameters()), torch.randn(32, 3, 16, 16)
    rows = 32 * sum(p.numel() for p in parameters) * 4
    losses = (model(images) ** 2).mean((1, 2, 3))
    assert peak_of(lambda: call(losses, parameters)) < 3.5 * rows


@pytest.mark.parametrize("options", [{}, {"groups": 2}, {"stride": 2, "padding": 1}, {"dilation": 2}], ids=str)
def test_gradients_of_convolutions_in_parts(options, monkeypatch):
    """Some examples at a time, or all: the rows are those of ordinary passes."""
    from pullback.ops import batching

    x = torch.tensor(np.random.default_rng(0).standard_normal((5, 4, 6, 6)))
    layer = torch.nn.Conv2d(4, 6, 3, dtype=torch.float64, **options)
    expected = torch.stack([torch.autograd.grad(layer(one[None]).square().sum(), layer.weight)[0] for one in x])
    for limit in (1, 2**11, 2**20):
        monkeypatch.setattr(batching, "WINDOWS_AT_ONCE", limit)
        found = multi.per_sample_gradients(layer(x).square().sum((1, 2, 3)), [layer.weight])[0]
        torch.testing.assert_close(found, expected)

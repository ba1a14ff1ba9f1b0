"""Per-sample gradients, their norms and Gramians from the graph of a batch, for models that keep samples apart and
not.
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback import multi, nn
from pullback.multi.rows import SampleRows

F = nn.functional
COUNT = 5


def _data(*shape):
    return P.randn(COUNT, *shape, dtype=P.float64)


def _labels(classes):
    return P.arange(COUNT) % classes


class Shared(nn.Module):
    """The same weight in two places, once transposed."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(P.randn(4, 4))
        self.scale = nn.Parameter(P.randn(4))
        self.gain = nn.Parameter(P.randn(()))

    def forward(self, x):
        h = (x @ self.weight).tanh() * self.scale
        return (h @ self.weight.t() + self.scale) * self.gain


class Vector(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(P.randn(4))
        self.rows = nn.Parameter(P.randn(1, 4))

    def forward(self, x):
        return (x * self.rows) @ self.weight


def _mlp(*extra):
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), *extra, nn.Linear(6, 3))


def _mlp_of_six():
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh())


# name: (model, input, losses, whether samples are kept apart all the way)
CASES = {
    "mlp, cross entropy": (_mlp, lambda: _data(4), lambda y: F.cross_entropy(y, _labels(3), reduction="none"), True),
    "mlp, smoothed": (
        _mlp, lambda: _data(4),
        lambda y: F.cross_entropy(y, _labels(3), reduction="none", label_smoothing=0.1), True,
    ),
    "mlp, mse": (
        _mlp, lambda: _data(4), lambda y: F.mse_loss(y, P.ones_like(y).detach(), reduction="none").mean(1), True,
    ),
    "mlp, bce of labels": (
        _mlp, lambda: _data(4),
        lambda y: F.binary_cross_entropy_with_logits(y, P.ones_like(y).detach(), reduction="none").sum(-1), True,
    ),
    "mlp, nll": (
        _mlp, lambda: _data(4), lambda y: F.nll_loss(y.log_softmax(1), _labels(3), reduction="none"), True,
    ),
    "mlp, picked": (_mlp, lambda: _data(4), lambda y: y[P.arange(COUNT), _labels(3)] ** 2, True),
    "mlp, gathered": (_mlp, lambda: _data(4), lambda y: y.gather(1, _labels(3)[:, None]).squeeze(1), True),
    "mlp, column": (_mlp, lambda: _data(4), lambda y: y[:, 1] * y[:, 0].exp(), True),
    "mlp, largest": (_mlp, lambda: _data(4), lambda y: y.softmax(1).max(1).values, True),
    "mlp, norm": (_mlp, lambda: _data(4), lambda y: y.norm(dim=1), True),
    "mlp, logsumexp": (_mlp, lambda: _data(4), lambda y: y.logsumexp(1) - y.var(1), True),
    "mlp, elements": (_mlp, lambda: _data(4), lambda y: y.sin(), True),
    "sequence": (_mlp, lambda: _data(3, 4), lambda y: (y**2).sum((1, 2)), True),
    "no bias": (lambda: nn.Linear(4, 3, bias=False), lambda: _data(4), lambda y: y.square().sum(1), True),
    "layer norm": (lambda: _mlp(nn.LayerNorm(6)), lambda: _data(4), lambda y: y.square().sum(1), True),
    "batch norm, evaluated": (
        lambda: _mlp(nn.BatchNorm1d(6)).eval(), lambda: _data(4), lambda y: y.square().sum(1), True,
    ),
    "batch norm": (lambda: _mlp(nn.BatchNorm1d(6)), lambda: _data(4), lambda y: y.square().sum(1), False),
    "shared weights": (Shared, lambda: _data(4), lambda y: y.square().sum(1), True),
    "vectors": (Vector, lambda: _data(4), lambda y: y.sin(), True),
    "convolution": (
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 4)),
        lambda: _data(2, 6, 6), lambda y: F.cross_entropy(y, _labels(4), reduction="none"), True,
    ),
    "convolution, average": (
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3, groups=2, bias=False), nn.SiLU(), nn.AvgPool1d(2)),
        lambda: _data(2, 8), lambda y: y.square().mean((1, 2)), True,
    ),
    "transposed convolution": (
        lambda: nn.Sequential(
            nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1), nn.Tanh(), nn.ConvTranspose2d(3, 2, 2, bias=False)
        ),
        lambda: _data(2, 3, 3), lambda y: y.square().sum((1, 2, 3)), True,
    ),
    "group norm": (
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4), nn.Tanh(), nn.Conv1d(4, 2, 1)),
        lambda: _data(2, 6), lambda y: y.square().sum((1, 2)), True,
    ),
    "group norm of vectors": (lambda: _mlp(nn.GroupNorm(3, 6)), lambda: _data(4), lambda y: y.square().sum(1), True),
    "instance norm": (
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.InstanceNorm1d(4, affine=True)), lambda: _data(2, 6),
        lambda y: y.sin().sum((1, 2)), True,
    ),
    **{
        f"bags, {mode}": (
            lambda mode=mode: nn.Sequential(nn.EmbeddingBag(7, 4, mode=mode), nn.Linear(4, 3)),
            lambda: P.arange(COUNT * 3).reshape(COUNT, 3) % 7, lambda y: y.square().sum(1), True,
        )
        for mode in ("sum", "mean", "max")
    },
    "bags, padded": (
        lambda: nn.EmbeddingBag(7, 4, padding_idx=1), lambda: P.arange(COUNT * 3).reshape(COUNT, 3) % 7,
        lambda y: y.square().sum(1), False,
    ),
    "steps of samples": (
        lambda: nn.Sequential(nn.Flatten(0, 1), nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 3)),
        lambda: _data(3, 4), lambda y: F.cross_entropy(y, P.arange(15) % 3, reduction="none").view(COUNT, 3).sum(1), True,
    ),
    "pictures of samples": (
        lambda: nn.Sequential(nn.Flatten(0, 1), nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Unflatten(0, (COUNT, 2))),
        lambda: _data(2, 2, 4, 4), lambda y: y.square().sum((1, 2, 3, 4)), True,
    ),
    "words of samples": (
        lambda: nn.Sequential(nn.Flatten(), nn.Unflatten(0, (COUNT, 1)), nn.Flatten(), nn.Embedding(7, 4)),
        lambda: P.arange(COUNT * 3).reshape(COUNT, 3) % 7,
        lambda y: y.reshape(-1, 4).square().sum(1).reshape(COUNT, -1).sum(1), True,
    ),
    "samples cut through": (
        _mlp, lambda: _data(4), lambda y: y.reshape(3, COUNT).cumsum(0).square().reshape(COUNT, 3).sum(1), False,
    ),
    "recurrent cell": (lambda: nn.GRUCell(4, 3), lambda: _data(4), lambda y: y.square().sum(1), True),
    "long memory cell": (lambda: nn.LSTMCell(4, 3), lambda: _data(4), lambda y: (y[0] * y[1]).sum(1), True),
    "simple cell": (lambda: nn.RNNCell(4, 3, nonlinearity="relu"), lambda: _data(4), lambda y: y.square().sum(1), True),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(7, 4, padding_idx=0), nn.Linear(4, 3)),
        lambda: P.arange(COUNT * 3).reshape(COUNT, 3) % 7, lambda y: y.square().sum((1, 2)), True,
    ),
    "prelu": (lambda: _mlp(nn.PReLU(6)), lambda: _data(4), lambda y: y.square().sum(1), True),
    "sorted and joined": (
        _mlp, lambda: _data(4), lambda y: P.cat([y.sort(1).values[:, :2], y.cumsum(1)], 1).prod(1), True,
    ),
    "attention": (
        lambda: nn.MultiheadAttention(4, 2, batch_first=True), lambda: _data(3, 4),
        lambda y: y[0].square().sum((1, 2)), None,
    ),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), lambda: _data(3, 4),
        lambda y: y.square().mean((1, 2)), None,
    ),
    "recurrent": (
        lambda: nn.GRU(4, 3, batch_first=True), lambda: _data(3, 4), lambda y: y[0].square().sum((1, 2)), None,
    ),
    "recurrent, last state": (
        lambda: nn.LSTM(4, 3, num_layers=2, bidirectional=True), lambda: _data(3, 4).transpose(0, 1),
        lambda y: (y[1][0][-1] * y[1][1][0]).sum(1), None,
    ),
    "recurrent, simple": (
        lambda: nn.RNN(4, 3, batch_first=True), lambda: _data(3, 4), lambda y: y[0][:, -1].square().sum(1), None,
    ),
    "all sizes alike": (
        lambda: nn.Sequential(
            nn.Linear(5, 5), nn.PReLU(5), nn.LayerNorm(5), nn.BatchNorm1d(5).eval(), nn.Linear(5, 5, bias=False)
        ),
        lambda: _data(5), lambda y: (y * y.softmax(1)).sum(1), True,
    ),
    "all sizes alike, planes": (
        lambda: nn.Sequential(nn.Conv1d(5, 5, 3, padding=1), nn.BatchNorm1d(5).eval(), nn.PReLU(5), nn.Conv1d(5, 5, 1)),
        lambda: _data(5, 5), lambda y: y.square().sum((1, 2)), True,
    ),
    "all sizes alike, turned": (
        lambda: nn.Linear(5, 5), lambda: _data(5, 5), lambda y: y.transpose(1, 2).square().sum(2).prod(1), True,
    ),
    "all sizes alike, turned round": (
        lambda: nn.Linear(5, 5), lambda: _data(5), lambda y: y.t().square().cumsum(0).sum(1), False,
    ),
    "a factor twice": (_mlp, lambda: _data(4), lambda y: (y * y * y.exp()).sum(1), True),
    "samples last": (_mlp, lambda: _data(4), lambda y: y.t().square().sum(0), False),
    "samples meet": (_mlp, lambda: _data(4), lambda y: (y @ y.t()).sum(1), False),
    "samples compared": (_mlp, lambda: _data(4), lambda y: y.sum(1) - y.sum(), False),
    "reversed": (_mlp, lambda: _data(4), lambda y: y.flip(0).square().sum(1), False),
    "losses of tasks": (_mlp, lambda: _data(4), lambda y: P.stack([y.mean(), y.std(), (y**3).sum()]), False),
}  # fmt: skip

# Operations with one layout do the same to samples, whatever else they do: name: (losses of (samples, features), apart)
OF_LAYOUTS = {
    "median": (lambda y: y.median(1).values + y.kthvalue(2, 1).values, True),
    "mode": (lambda y: y.round(decimals=1).mode(1).values + y.mode(1).values, True),
    "running maximum": (lambda y: y.cummax(1).values.sum(1) * y.cummin(1).values.sum(1), True),
    "logcumsumexp": (lambda y: y.logcumsumexp(1).sin().sum(1), True),
    "of samples": (lambda y: y.logcumsumexp(0).sin().sum(1), False),
    "variance and mean": (lambda y: sum(P.var_mean(y, 1)), False),
    "transform": (lambda y: P.fft.fft(y).abs().square().sum(1), False),
    "transform there and back": (lambda y: (P.fft.irfft(P.fft.rfft(y), n=y.shape[1]) ** 3).sum(1), None),
    "transform of samples": (lambda y: P.fft.fft(y, dim=0).abs().square().sum(1), False),
    "stacked": (lambda y: P.stack([y, y.sin()], 1).prod(1).sum(1), True),
    "stacked last": (lambda y: P.stack([y, y.sin()], 2).prod(2).sum(1), False),
    "stacked first": (lambda y: P.stack([y, y.sin()]).prod(0).sum(1), False),
    "cross": (lambda y: P.linalg.cross(y[:, :3], y[:, 1:4].cos()).sin().sum(1), True),
    "rolled": (lambda y: (y.roll(1, 1) * y).sum(1), True),
    "rolled over samples": (lambda y: (y.roll(1, 0) * y).sum(1), False),
    "turned": (lambda y: (y[:, None].rot90(1, (1, 2)).squeeze(2) * y).sum(1), True),
    "complex": (lambda y: (P.complex(y, y * 2).conj() * P.polar(y.exp(), y)).imag.sum(1), None),
    "pairs": (lambda y: P.view_as_real(P.complex(y, y * 2).exp()).prod(2).sum(1), None),
    "sign and angle": (lambda y: (P.complex(y, y * 2).sgn().real + P.complex(y, y.sin()).angle()).sum(1), None),
    "mantissa": (lambda y: y.frexp().mantissa.sum(1), False),
    "unbound": (lambda y: y.unbind(1)[0] * y.split(2, 1)[1].sum(1), False),
    "pooled at random": (lambda y: F.fractional_max_pool2d(y[:, None, None] * P.ones(4, 1), 2, 2, _random_samples=P.ones(
        len(y), 1, 2, dtype=y.dtype) / 3).sum((1, 2, 3)), True),
    "unpooled": (lambda y: _unpooled(y[:, None]).sin().sum((1, 2)), True),
    "products of stacks": (lambda y: P.baddbmm(y[:, None], y[:, None], y[:, :, None] * y[:, None]).sin().sum((1, 2)), True),
    "times a vector": (lambda y: P.addmv(y[:, 0], y, y[0].detach()).sin(), None),
}  # fmt: skip
for _name, (_losses, _apart) in OF_LAYOUTS.items():
    CASES[_name] = (_mlp_of_six, lambda: _data(4), _losses, _apart)
    CASES[f"{_name}, all sizes alike"] = (lambda: nn.Linear(5, 5), lambda: _data(5), _losses, _apart)


def _unpooled(y):
    values, places = F.max_pool1d(y, 2, return_indices=True)
    return F.max_unpool1d(values, places, 2)


def _graph(name):
    P.manual_seed(0)
    model, data, losses, apart = CASES[name]
    model = model().double()
    x = data()
    return list(model.parameters()), losses(model(x, x, x) if "attention" in name else model(x)), apart


def _loop(losses, params):
    rows = [
        P.autograd.grad(loss.sum(), params, retain_graph=True, allow_unused=True, materialize_grads=True)
        for loss in losses
    ]
    return [np.stack([row[number].numpy() for row in rows]) for number in range(len(params))]


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_samples_are_those_of_a_loop(name, monkeypatch):
    params, losses, apart = _graph(name)
    expected = _loop(losses, params)
    spread = []
    original = SampleRows.spread
    monkeypatch.setattr(SampleRows, "spread", lambda self: spread.append(self) or original(self))
    found = P.per_sample_gradients(losses, params)
    assert apart is None or bool(spread) is not apart, [rows.shape for rows in spread]
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_norms_and_gramian_need_no_jacobian(name):
    params, losses, _ = _graph(name)
    matrix = np.concatenate([part.reshape(len(part), -1) for part in _loop(losses, params)], 1)
    np.testing.assert_allclose(P.per_sample_norms(losses, params).numpy(), np.linalg.norm(matrix, axis=1), rtol=1e-9)
    if losses.ndim == 1:
        np.testing.assert_allclose(multi.gramian(losses, params).numpy(), matrix @ matrix.T, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(multi.gramian(losses).numpy(), matrix @ matrix.T, rtol=1e-8, atol=1e-10)
        block = P.jacobian(losses, params[0])
        np.testing.assert_allclose(block.numpy().reshape(len(matrix), -1), matrix[:, : block[0].numel()], atol=1e-12)


def test_intermediate_tensors_and_structures():
    x = _data(4).requires_grad_()
    layer = nn.Linear(4, 3).double()
    hidden = layer(x)
    losses = hidden.square().sum(1)
    found = P.per_sample_gradients(losses, {"h": hidden, "x": x, "w": layer.weight})
    np.testing.assert_allclose(found["h"].numpy(), np.einsum("ij,ik->ijk", np.eye(COUNT), 2 * hidden.detach().numpy()))
    assert found["x"].shape == (COUNT, COUNT, 4) and found["w"].shape == (COUNT, 3, 4)


def test_hooks_see_batches_and_take_part():
    layer, x = nn.Linear(4, 3).double(), _data(4)
    hidden = layer(x)
    hidden.register_hook(lambda g: g * 2)
    plain = P.per_sample_gradients(layer(x).square().sum(1), layer.weight)
    hooked = P.per_sample_gradients(hidden.square().sum(1), layer.weight)
    np.testing.assert_allclose(hooked.numpy(), 2 * plain.numpy())


def test_unused_parameters_are_zero_and_numbers_are_refused():
    layer, other = nn.Linear(4, 3).double(), P.zeros(2, 2, requires_grad=True)
    losses = layer(_data(4)).sum(1)
    assert P.per_sample_gradients(losses, [other])[0].shape == (COUNT, 2, 2)
    with pytest.raises(ValueError, match="reduction"):
        P.per_sample_gradients(losses.sum(), [layer.weight])
    with pytest.raises(RuntimeError, match="does not require grad"):
        P.per_sample_gradients(losses, [P.zeros(2)])


def test_the_graph_is_kept_unless_told_otherwise():
    layer = nn.Linear(4, 3).double()
    losses = layer(_data(4)).tanh().sum(1)
    P.per_sample_gradients(losses, layer.weight)
    P.per_sample_gradients(losses, layer.weight, retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        P.per_sample_gradients(losses, layer.weight)


def test_a_batch_of_weightings_is_many_backward_passes():
    params, losses, _ = _graph("mlp, cross entropy")
    weightings = P.randn(7, COUNT, dtype=P.float64)
    found = P.backward_batched(losses, weightings, params, retain_graph=True)
    for number in range(7):
        expected = P.autograd.grad(losses, params, weightings[number], retain_graph=True)
        for got, want in zip(found, expected, strict=True):
            np.testing.assert_allclose(got[number].numpy(), want.numpy(), atol=1e-12)
    two = P.backward_batched([losses, losses[0]], [weightings, weightings[:, 0]], {"w": params[0]}, retain_graph=True)
    assert two["w"].shape == (7, *params[0].shape)
    again = P.backward_batched(losses, np.eye(COUNT).tolist(), params[0])
    assert again.shape == (COUNT, *params[0].shape)


def test_against_torch():
    torch = pytest.importorskip("torch")
    params, losses, _ = _graph("mlp, cross entropy")
    P.manual_seed(0)
    model, data, _, _ = CASES["mlp, cross entropy"]
    model = model().double()
    x = torch.tensor(data().numpy())
    state = {name: torch.tensor(p.detach().numpy()) for name, p in model.named_parameters()}
    theirs = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3)).double()

    def loss_of_one(state, x, y):
        logits = torch.func.functional_call(theirs, state, (x[None],))
        return torch.nn.functional.cross_entropy(logits, y[None])

    expected = torch.func.vmap(torch.func.grad(loss_of_one), (None, 0, 0))(state, x, torch.arange(COUNT) % 3)
    found = P.per_sample_gradients(losses, params)
    for got, want in zip(found, expected.values(), strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-9, atol=1e-12)

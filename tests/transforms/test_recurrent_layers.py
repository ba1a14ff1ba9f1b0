"""Recurrent layers and cells under vmap: values and gradients of a loop over examples, without one."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback.func import functional_call, grad, jacrev, stack_module_state, vmap
from pullback.kernels import recurrence
from pullback.transforms.arrays import batching_rules, fallback, protocol

COUNT, STEPS, FEATURES, UNITS = 3, 4, 2, 3
LAYERS = {
    "RNN": ("RNN", {}),
    "RNN, relu": ("RNN", {"nonlinearity": "relu"}),
    "GRU": ("GRU", {}),
    "LSTM": ("LSTM", {}),
    "GRU, no bias": ("GRU", {"bias": False}),
    "LSTM, two layers, both directions": ("LSTM", {"num_layers": 2, "bidirectional": True}),
    "GRU, batch first": ("GRU", {"batch_first": True}),
    "LSTM, projected": ("LSTM", {"proj_size": 2}),
}
CELLS = {kind: (kind, {}) for kind in ("RNNCell", "GRUCell", "LSTMCell")}


def made(kind, options, seed=0):
    P.manual_seed(seed)
    return getattr(P.nn, kind)(FEATURES, UNITS, **options).double()


def numbers(*shape):
    return P.tensor(np.random.default_rng(len(shape)).standard_normal(shape))


def loss(result):
    leaves = [result] if isinstance(result, P.Tensor) else [result[0], *(result[1] if len(result) > 1 else ())]
    return sum((leaf.sin() * (place + 1)).sum() for place, leaf in enumerate(leaves))


def looped(function, *args, mapped):
    """What vmap should give: one example after the other."""
    examples = [function(*(a[i] if m else a for a, m in zip(args, mapped))) for i in range(COUNT)]
    return [P.stack(parts) for parts in zip(*map(leaves_of, examples))]


def leaves_of(tree):
    return P.utils._pytree.tree_flatten(tree)[0]


def compare(found, wanted):
    found = leaves_of(found)
    assert len(found) == len(wanted)
    for mine, other in zip(found, wanted):
        np.testing.assert_allclose(mine.detach(), other.detach(), rtol=1e-10, atol=1e-12)


@pytest.fixture
def no_loops(monkeypatch):
    """Fail where something runs example by example."""

    def refuse(*args, **kwargs):
        raise AssertionError("example by example")

    for module, name in (
        (batching_rules, "example_by_example"),
        (fallback, "call_example_by_example"),
        (protocol, "loop"),
    ):
        monkeypatch.setattr(getattr(module, name), "__code__", refuse.__code__)  # others have imported it already


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("shape", [(COUNT, STEPS, FEATURES), (COUNT, STEPS, 2, FEATURES)])
def test_values_and_gradients(name, shape, no_loops):
    layer, x = made(*LAYERS[name]), numbers(*shape)
    compare(vmap(layer)(x), looped(layer, x, mapped=(True,)))
    per_input = grad(lambda x: loss(layer(x)))
    compare(vmap(per_input)(x), looped(per_input, x, mapped=(True,)))
    (whole,) = P.autograd.grad(loss((vmap(lambda x: layer(x)[0])(x),)), [layer.weight_hh_l0])
    compare(whole, P.autograd.grad(loss((P.stack([layer(one)[0] for one in x]),)), [layer.weight_hh_l0]))


@pytest.mark.parametrize("name", [*LAYERS, *CELLS])
def test_gradients_of_the_weights_for_each_sample(name, no_loops):
    kind, options = LAYERS.get(name) or CELLS[name]
    layer = made(kind, options)
    x = numbers(COUNT, FEATURES) if name in CELLS else numbers(COUNT, STEPS, FEATURES)
    params = {key: value.detach() for key, value in layer.named_parameters()}
    slope = grad(lambda params, x: loss(functional_call(layer, params, (x,))))
    compare(vmap(slope, (None, 0))(params, x), looped(slope, params, x, mapped=(False, True)))


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_one_sample(name):
    layer, x = made(name, {}), numbers(STEPS, FEATURES)
    params = {key: value.detach() for key, value in layer.named_parameters()}
    slope = grad(lambda params, x: loss(functional_call(layer, params, (x,))))
    compare(vmap(slope, (None, 0))(params, x[None]), [part[None] for part in leaves_of(slope(params, x))])
    fixed = layer.requires_grad_(False)
    last = jacrev(lambda x: fixed(x)[0][-1, :1])(x)
    np.testing.assert_allclose(last[0], grad(lambda x: fixed(x)[0][-1, 0])(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_an_ensemble(name, no_loops):
    layers = [made(name, {}, seed) for seed in range(COUNT)]
    params, _ = stack_module_state(layers)
    params, x = {key: value.detach() for key, value in params.items()}, numbers(STEPS, 2, FEATURES)

    def run(params):
        return functional_call(layers[0], params, (x,))[0]

    compare(vmap(run)(params), [P.stack([layer(x)[0] for layer in layers])])
    slopes = vmap(grad(lambda params: run(params).sin().sum()))(params)
    for layer in layers:
        layer(x)[0].sin().sum().backward()
    compare(slopes, [P.stack(parts) for parts in zip(*([p.grad for p in layer.parameters()] for layer in layers))])


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_states_of_their_own(name):
    layer, x = made(name, {}).requires_grad_(False), numbers(STEPS, FEATURES)
    states = numbers(COUNT, 1, UNITS)

    def run(state):
        return layer(x, (state, state * 2) if name == "LSTM" else state)

    compare(vmap(run)(states), looped(run, states, mapped=(True,)))
    compare(vmap(grad(lambda s: loss(run(s))))(states), looped(grad(lambda s: loss(run(s))), states, mapped=(True,)))
    compare(
        vmap(vmap(lambda x, s: layer(x, (s, s) if name == "LSTM" else s)[0], (None, 0)), (0, None))(x[:, None], states),
        [P.stack([P.stack([layer(row, (s, s) if name == "LSTM" else s)[0] for s in states]) for row in x[:, None]])],
    )


@pytest.mark.parametrize("name", LAYERS)
def test_jacobians_take_the_kernel_once(name, monkeypatch):
    layer, x = made(*LAYERS[name]).requires_grad_(False), numbers(STEPS, FEATURES)
    calls = []
    backward = recurrence.backward
    monkeypatch.setattr(recurrence, "backward", lambda *a, **k: calls.append(1) or backward(*a, **k))
    found = jacrev(lambda x: layer(x)[0])(x)
    assert len(calls) <= 4  # one for each layer and direction
    units = found.shape[1]
    rows = [grad(lambda x, i=i, j=j: layer(x)[0][i, j])(x) for i in range(STEPS) for j in range(units)]
    np.testing.assert_allclose(found, P.stack(rows).reshape(found.shape), rtol=1e-10, atol=1e-12)

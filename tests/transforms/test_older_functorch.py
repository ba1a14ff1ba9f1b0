"""The package `functorch` of older programs: modules as functions, with and without buffers, and warned transforms."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import pullback as P
from pullback import nn
from pullback.func import older

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def _model():
    P.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1)).double()


def test_a_module_without_buffers():
    model = nn.Linear(3, 2)
    function, params = older.make_functional(model)
    x = P.randn(5, 3)
    np.testing.assert_array_equal(function(params, x).detach().numpy(), model(x).detach().numpy())
    assert params[0] is not model.weight and params[0].requires_grad
    gradients = P.func.grad(lambda params: function(params, x).sum())(params)
    np.testing.assert_allclose(gradients[1].numpy(), [5.0, 5.0])
    assert not older.make_functional(model, disable_autograd_tracking=True)[1][0].requires_grad
    with pytest.raises(ValueError, match="has buffers"):
        older.make_functional(_model())


def test_a_module_with_buffers():
    model = _model().eval()
    function, params, buffers = older.make_functional_with_buffers(model)
    assert function.param_names[0] == "0.weight" and function.buffer_names[0] == "1.running_mean"
    x = P.randn(5, 3, dtype=P.float64)
    np.testing.assert_array_equal(function(params, buffers, x).detach().numpy(), model(x).detach().numpy())
    doubled = function([2 * p for p in params], buffers, x)
    assert not np.allclose(doubled.detach().numpy(), model(x).detach().numpy())


def test_tied_weights_stay_tied():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    function, params = older.make_functional(model)
    assert len(params) == 3
    x = P.randn(2, 3)
    expected = P.nn.functional.linear(model[0](x) * 0 + P.nn.functional.linear(x, 2 * model[0].weight, model[0].bias),
                                      2 * model[0].weight, model[1].bias)  # fmt: skip
    found = function([p if p.ndim == 1 else 2 * p for p in params], x)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-6)


def test_an_ensemble():
    models = [_model().eval() for _ in range(3)]
    for number, model in enumerate(models):
        model[0].bias.data += number
    function, params, buffers = older.combine_state_for_ensemble(models)
    x = P.randn(5, 3, dtype=P.float64)
    found = P.vmap(function, in_dims=(0, 0, None))(params, buffers, x)
    for model, out in zip(models, found, strict=True):
        np.testing.assert_allclose(out.numpy(), model(x).detach().numpy(), atol=1e-12)
    with pytest.raises(RuntimeError, match="Expected at least one model"):
        older.combine_state_for_ensemble([])
    with pytest.raises(RuntimeError, match="same training/eval mode"):
        older.combine_state_for_ensemble([models[0], _model()])
    with pytest.raises(RuntimeError, match="same class"):
        older.combine_state_for_ensemble([models[0], nn.Linear(1, 1).eval()])


@pytest.mark.parametrize("name", ["vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian", "functionalize"])
def test_transforms_say_what_replaced_them(name):
    with pytest.warns(FutureWarning, match=f"functorch.{name}` is deprecated"):
        transformed = getattr(older, name)(lambda x: (x**3).sum())
    x = P.tensor([1.0, 2.0])
    expected = getattr(P.func, name)(lambda x: (x**3).sum())(x)
    found = transformed(x)
    for a, b in zip(*(value if isinstance(value, tuple) else (value,) for value in (found, expected)), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("chunks", [1, 2, 3, 7])
def test_a_map_in_parts(chunks):
    seen = []

    def function(x):
        seen.append(1)
        return x.sin() + P.rand_like(x)

    P.manual_seed(0)
    found = older.chunk_vmap(function, in_dims=1, out_dims=1, randomness="different", chunks=chunks)(P.zeros(3, 6))
    assert found.shape == (3, 6) and len(np.unique(found.numpy())) == 18 and len(seen) == min(chunks, 6)


def test_import_functorch():
    program = """
import pullback; pullback.install_as_torch()
import warnings; warnings.simplefilter("ignore")
import functorch, torch
from functorch import grad, make_functional, vmap
from functorch.experimental import chunk_vmap
from torch._functorch.eager_transforms import jacrev
assert torch.equal(vmap(grad(torch.sin))(torch.zeros(3)), torch.ones(3)) and "pullback" in functorch.__file__
pullback.uninstall_as_torch()
import sys; assert "functorch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

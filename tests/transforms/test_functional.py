"""`autograd.functional` and `utils.checkpoint` against torch, `_pytree`, modules as functions."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import pullback
from pullback.utils import _pytree
from pullback.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential, set_checkpoint_early_stop

torch = pytest.importorskip("torch")

V = np.array([0.5, -1.0, 2.0])


def _pair_function(x, y):
    return x * y.sin(), (x**2).sum()


def _value(x, y):
    return (x**3 * y).sum()


CALLS = {
    "jacobian": lambda F, t: F.jacobian(lambda x: x**2 * x.sum(), t(V)),
    "jacobian of pairs": lambda F, t: F.jacobian(_pair_function, (t(V), t(V * 2))),
    "jacobian forward": lambda F, t: F.jacobian(
        _pair_function, (t(V), t(V * 2)), vectorize=True, strategy="forward-mode"
    ),
    "jacobian vectorized": lambda F, t: F.jacobian(_pair_function, (t(V), t(V * 2)), vectorize=True),
    "jacobian unused input": lambda F, t: F.jacobian(lambda x, y: x * 2, (t(V), t(V))),
    "hessian": lambda F, t: F.hessian(lambda x: (x**3).sum(), t(V)),
    "hessian of pairs": lambda F, t: F.hessian(_value, (t(V), t(V))),
    "hessian vectorized": lambda F, t: F.hessian(_value, (t(V), t(V)), vectorize=True),
    "hessian forward": lambda F, t: F.hessian(
        _value, (t(V), t(V)), vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
    "vjp": lambda F, t: F.vjp(_pair_function, (t(V), t(V)), (t(V), t(V)[0])),
    "vjp of a scalar": lambda F, t: F.vjp(lambda x: (x**2).sum(), t(V)),
    "jvp": lambda F, t: F.jvp(_pair_function, (t(V), t(V)), (t(V), t(V * 3))),
    "hvp": lambda F, t: F.hvp(_value, (t(V), t(V)), (t(V), t(V * 2))),
    "vhp": lambda F, t: F.vhp(_value, (t(V), t(V)), (t(V), t(V * 2))),
    "vhp of a linear function": lambda F, t: F.vhp(lambda x: x.sum(), t(V), t(V)),
}


def _flat(value):
    return [item for part in value for item in _flat(part)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("name", CALLS)
def test_functional(name):
    ours = _flat(CALLS[name](pullback.autograd.functional, pullback.tensor))
    theirs = _flat(CALLS[name](torch.autograd.functional, torch.tensor))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert tuple(mine.shape) == tuple(other.shape)
        assert mine.requires_grad == other.requires_grad or "forward" in name  # torch forgets to detach these
        np.testing.assert_allclose(mine.numpy(), other.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_jacobian_keeps_the_graph_when_asked():
    x = pullback.tensor(V, requires_grad=True)
    rows = pullback.autograd.functional.jacobian(lambda x: x**3, x, create_graph=True)
    (gradient,) = pullback.autograd.grad(rows.sum(), x)
    np.testing.assert_allclose(gradient.numpy(), 6 * V)


# --- checkpoint ---


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_runs_again_and_gives_the_same_gradient(reentrant):
    calls = []

    def function(x, factor):
        calls.append(1)
        return (x * factor).sin().exp()

    x = pullback.tensor(V, requires_grad=True)
    y = checkpoint(function, x, 3.0, use_reentrant=reentrant)
    assert len(calls) == 1
    y.sum().backward()
    assert len(calls) == 2
    expected = pullback.tensor(V, requires_grad=True)
    (expected * 3).sin().exp().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected.grad.numpy())


@pytest.mark.parametrize("early", [True, False])
def test_checkpoint_stops_early(early):
    reached = []

    def function(x):
        y = x.sin().exp()
        reached.append(1)
        return y

    x = pullback.tensor(V, requires_grad=True)
    with set_checkpoint_early_stop(early):
        checkpoint(function, x, use_reentrant=False).sum().backward()
    assert len(reached) == (1 if early else 2)


def test_checkpoint_draws_the_same_random_numbers():
    x = pullback.ones(100, requires_grad=True)
    y = checkpoint(lambda x: x * pullback.rand(100), x, use_reentrant=False)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())


def test_checkpoint_notices_changes():
    sizes = iter([1, 2, 2])

    def function(x):
        return x.expand(next(sizes), 3).sin().exp().sum()

    with pytest.raises(CheckpointError, match="have different metadata than during the forward"):
        checkpoint(function, pullback.ones(3, requires_grad=True), use_reentrant=False).backward()


def test_checkpoint_twice_and_with_grad():
    x = pullback.tensor(V, requires_grad=True)
    y = checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False).sum()
    first = pullback.autograd.grad(y, x, retain_graph=True)[0]
    np.testing.assert_array_equal(first.numpy(), pullback.autograd.grad(y, x)[0].numpy())
    with pytest.raises(RuntimeError, match="incompatible with .grad()"):
        pullback.autograd.grad(checkpoint(lambda x: x.exp(), x, use_reentrant=True).sum(), x)


def test_checkpoint_sequential():
    steps = [lambda x: x.sin(), lambda x: x.exp(), lambda x: x * 2, lambda x: x.tanh()]
    x = pullback.tensor(V, requires_grad=True)
    checkpoint_sequential(steps, 2, x, use_reentrant=False).sum().backward()
    y = pullback.tensor(V, requires_grad=True)
    (y.sin().exp() * 2).tanh().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy())


# --- trees and modules ---

Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "tree", [1, [1, 2], (1, [2, {"a": 3}]), {"b": 1, "a": (2,)}, Point(1, [2]), OrderedDict(b=1, a=2), [], {}, None]
)
def test_trees(tree):
    leaves, spec = _pytree.tree_flatten(tree)
    assert _pytree.tree_unflatten(leaves, spec) == tree
    assert type(_pytree.tree_unflatten(leaves, spec)) is type(tree)
    assert spec == _pytree.tree_structure(tree)
    theirs, _ = torch.utils._pytree.tree_flatten(tree)
    assert leaves == theirs
    assert _pytree.tree_map(lambda leaf: (leaf,), tree) == torch.utils._pytree.tree_map(lambda leaf: (leaf,), tree)


def test_functional_call_and_ensembles():
    models = [pullback.nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = pullback.func.stack_module_state(models)
    x = pullback.tensor(V, dtype=pullback.float32).reshape(1, 3)
    outputs = pullback.vmap(lambda p, b: pullback.func.functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    expected = pullback.stack([model(x) for model in models])
    np.testing.assert_allclose(outputs.detach().numpy(), expected.detach().numpy(), rtol=1e-6)


ROUTES = [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}, {"create_graph": True}]
COMPLEX = {
    "sin": lambda M, z: z.sin(),
    "abs": lambda M, z: z.abs(),
    "squared length": lambda M, z: (z.real**2 + z.imag**2).sum(),
    "sum of sines": lambda M, z: z.sin().sum(),
    "of a constant": lambda M, z: (z.detach() * 2).sin(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", ROUTES, ids=str)
@pytest.mark.parametrize("name", COMPLEX)
def test_jacobians_of_complex_functions(name, options):
    """Each route gives what it gives in torch: a derivative forwards, its conjugate in reverse, or an error."""

    def answer(M):
        try:
            z = M.tensor(np.array([1 + 2j, 0.5 - 1j]))
            return M.autograd.functional.jacobian(lambda z: COMPLEX[name](M, z), z, **options)
        except RuntimeError as error:
            return str(error).split(".")[0]

    ours, theirs = answer(pullback), answer(torch)
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours.numpy(force=True), theirs.numpy(force=True), atol=1e-12)

"""Transforms, constraints and their registry against torch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import pullback
import pullback.distributions

torch = pytest.importorskip("torch")
LIBRARIES = (pullback, torch)


def real(seed, *shape):
    return np.random.RandomState(seed).randn(*shape)


TRANSFORMS = {
    "Exp": (lambda t, d: d.ExpTransform(), real(0, 3)),
    "Power": (lambda t, d: d.PowerTransform(t.tensor(2.5, dtype=t.float64)), np.abs(real(0, 3))),
    "Sigmoid": (lambda t, d: d.SigmoidTransform(), real(0, 3)),
    "Softplus": (lambda t, d: d.SoftplusTransform(), real(0, 3)),
    "Tanh": (lambda t, d: d.TanhTransform(), real(0, 3)),
    "Affine": (lambda t, d: d.AffineTransform(1.0, -2.0), real(0, 3)),
    "Affine tensors": (lambda t, d: d.AffineTransform(t.ones(3), 2 * t.ones(3), event_dim=1), real(0, 2, 3)),
    "Compose": (lambda t, d: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 3.0)]), real(0, 3)),
    "Compose events": (
        lambda t, d: d.ComposeTransform([d.AffineTransform(0.0, 2.0), d.StickBreakingTransform()]), real(0, 2, 3),
    ),
    "identity": (lambda t, d: d.identity_transform, real(0, 3)),
    "Independent": (lambda t, d: d.IndependentTransform(d.ExpTransform(), 1), real(0, 2, 3)),
    "Reshape": (lambda t, d: d.ReshapeTransform((6,), (2, 3)), real(0, 4, 6)),
    "StickBreaking": (lambda t, d: d.StickBreakingTransform(), real(0, 2, 3)),
    "CorrCholesky": (lambda t, d: d.CorrCholeskyTransform(), real(0, 2, 6)),
    "Cat": (lambda t, d: d.CatTransform([d.ExpTransform(), d.TanhTransform()], 0, [2, 3]), real(0, 5)),
    "Stack": (lambda t, d: d.StackTransform([d.ExpTransform(), d.TanhTransform()], 0), real(0, 2, 3)),
    "Cumulative": (lambda t, d: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)), real(0, 3)),
    "inverse": (lambda t, d: d.ExpTransform().inv, np.abs(real(0, 3))),
    "Abs": (lambda t, d: d.AbsTransform(), real(0, 3)),
    "Softmax": (lambda t, d: d.SoftmaxTransform(), real(0, 2, 3)),
    "LowerCholesky": (lambda t, d: d.LowerCholeskyTransform(), real(0, 2, 3, 3)),
    "PositiveDefinite": (lambda t, d: d.PositiveDefiniteTransform(), real(0, 2, 3, 3)),
}  # fmt: skip


def attempt(function):
    try:
        return function()
    except Exception as error:
        return type(error)


def close(ours, theirs):
    if isinstance(theirs, type) or not hasattr(theirs, "detach"):
        assert ours == theirs
        return
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cache", [0, 1])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, cache):
    make, values = TRANSFORMS[name]
    seen = []
    for library in LIBRARIES:
        transform = make(library, library.distributions)
        if cache:
            transform = transform.with_cache()
        x = library.tensor(values)
        y = transform(x)
        back = transform.inv(y)
        if cache and name != "identity":
            assert transform(x) is y or name.startswith("Compose")
        seen.append((
            y, back, attempt(lambda: transform.log_abs_det_jacobian(x, y)), attempt(lambda: transform.sign),
            transform.bijective, attempt(lambda: transform.event_dim), transform.domain.event_dim,
            transform.codomain.event_dim, tuple(transform.forward_shape(x.shape)),
            tuple(transform.inverse_shape(y.shape)),
            repr(transform), attempt(lambda: transform == transform), attempt(lambda: transform.inv.inv is transform),
        ))  # fmt: skip
    for ours, theirs in zip(*seen):
        close(ours, theirs)


@pytest.mark.parametrize("name", [n for n, (_, v) in TRANSFORMS.items() if n not in ("Abs", "Softmax", "identity")])
def test_jacobians_are_derivatives(name):
    make, values = TRANSFORMS[name]
    d = pullback.distributions
    transform = make(pullback, d)
    if transform.domain.event_dim > 1 or not transform.bijective or name in ("CorrCholesky", "Cat", "Stack"):
        pytest.skip("the Jacobian is not square, or not one for each event")
    flat = values.reshape(-1)[:3] if transform.domain.event_dim == 0 else values[0]
    x = pullback.tensor(flat)
    steps = 1e-6 * np.eye(len(flat))
    y = transform(x)
    size = len(flat)
    columns = [
        (transform(pullback.tensor(flat + e)) - transform(pullback.tensor(flat - e))).numpy().reshape(-1)[:size] / 2e-6
        for e in steps
    ]
    expected = np.linalg.slogdet(np.array(columns))[1]
    np.testing.assert_allclose(transform.log_abs_det_jacobian(x, y).sum().item(), expected, atol=1e-6)


def test_transforms_compare_and_pickle():
    d = pullback.distributions
    assert d.AffineTransform(0, 1) == d.AffineTransform(0, 1) != d.AffineTransform(0, 2)
    assert d.ExpTransform() != d.TanhTransform() and d.ExpTransform().inv == d.ExpTransform().inv
    assert d.PowerTransform(2.0) == d.PowerTransform(2.0)
    assert d.ComposeTransform([d.ExpTransform()]) == d.ComposeTransform([d.ExpTransform()])
    restored = pickle.loads(pickle.dumps(d.AffineTransform(1.0, 2.0)))
    assert restored(pullback.tensor(1.0)).item() == 3.0


CONSTRAINTS = {
    "real": ("real", [0.0, float("nan"), float("inf")]),
    "positive": ("positive", [-1.0, 0.0, 1.0]),
    "nonnegative": ("nonnegative", [-1.0, 0.0, 1.0]),
    "unit_interval": ("unit_interval", [-0.1, 0.0, 1.0, 1.1]),
    "boolean": ("boolean", [0.0, 0.5, 1.0]),
    "nonnegative_integer": ("nonnegative_integer", [-1.0, 0.0, 0.5, 2.0]),
    "positive_integer": ("positive_integer", [-1.0, 0.0, 1.0, 1.5]),
    "simplex": ("simplex", [[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]]),
    "one_hot": ("one_hot", [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
    "real_vector": ("real_vector", [[0.0, 1.0], [float("nan"), 1.0]]),
    "lower_cholesky": (
        "lower_cholesky", [[[1.0, 0.0], [2.0, 1.0]], [[1.0, 0.0], [2.0, -1.0]], [[1.0, 1.0], [0.0, 1.0]]],
    ),
    "lower_triangular": ("lower_triangular", [[[1.0, 0.0], [2.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]]]),
    "positive_definite": ("positive_definite", [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]]),
    "positive_semidefinite": ("positive_semidefinite", [[[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]]),
    "symmetric": ("symmetric", [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [0.0, 1.0]]]),
    "square": ("square", [[[1.0, 2.0], [2.0, 1.0]]]),
    "corr_cholesky": ("corr_cholesky", [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]]]),
}  # fmt: skip
MADE = {
    "greater_than": lambda c: c.greater_than(1.0),
    "greater_than_eq": lambda c: c.greater_than_eq(1.0),
    "less_than": lambda c: c.less_than(1.0),
    "interval": lambda c: c.interval(0.0, 2.0),
    "half_open_interval": lambda c: c.half_open_interval(0.0, 1.0),
    "integer_interval": lambda c: c.integer_interval(0, 1),
    "multinomial": lambda c: c.multinomial(2),
    "independent": lambda c: c.independent(c.positive, 1),
    "cat": lambda c: c.cat([c.positive, c.real], 0, [2, 1]),
    "stack": lambda c: c.stack([c.positive, c.real, c.unit_interval], 0),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints(name):
    attribute, values = CONSTRAINTS[name]
    ours, theirs = (getattr(t.distributions.constraints, attribute) for t in LIBRARIES)
    assert repr(ours) == repr(theirs) and ours.event_dim == theirs.event_dim and ours.is_discrete == theirs.is_discrete
    checks = [c.check(t.tensor(values)).tolist() for c, t in zip((ours, theirs), LIBRARIES)]
    assert checks[0] == checks[1]


@pytest.mark.parametrize("name", MADE)
def test_constraints_with_bounds(name):
    ours, theirs = (MADE[name](t.distributions.constraints) for t in LIBRARIES)
    if name not in ("cat", "stack", "multinomial"):
        assert repr(ours) == repr(theirs)
    assert ours.event_dim == theirs.event_dim and ours.is_discrete == theirs.is_discrete
    checks = [c.check(t.tensor([0.0, 1.0, 2.0])).tolist() for c, t in zip((ours, theirs), LIBRARIES)]
    assert checks[0] == checks[1]


def test_dependent_constraints():
    c = pullback.distributions.constraints
    assert c.is_dependent(c.dependent) and c.is_dependent(pullback.distributions.Uniform.support)
    with pytest.raises(NotImplementedError):
        c.dependent.event_dim
    with pytest.raises(ValueError):
        c.dependent.check(pullback.ones(1))
    assert c.dependent(event_dim=2).event_dim == 2


PLAIN = [
    "real", "positive", "nonnegative", "unit_interval", "simplex", "real_vector", "lower_cholesky",
    "positive_definite", "corr_cholesky",
]  # fmt: skip
WITH_BOUNDS = ["greater_than", "less_than", "interval", "half_open_interval", "independent", "cat", "stack"]
REGISTERED = {
    **{name: (lambda c, n=name: getattr(c, n)) for name in PLAIN},
    **{name: MADE[name] for name in WITH_BOUNDS},
}


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", REGISTERED)
def test_registries_map_into_the_constraint(name, registry):
    shape = {"simplex": (4,), "lower_cholesky": (3, 3), "positive_definite": (3, 3), "corr_cholesky": (3,)}.get(
        name, (3,)
    )
    results = []
    for library in LIBRARIES:
        constraint = REGISTERED[name](library.distributions.constraints)
        values = library.tensor(real(1, *shape))
        results.append(attempt(lambda: getattr(library.distributions, registry)(constraint)(values)))
    close(*results)
    if not isinstance(results[0], type):
        assert REGISTERED[name](pullback.distributions.constraints).check(results[0]).all()


def test_registering_constraints():
    d = pullback.distributions

    class Even(d.constraints.Constraint):
        pass

    d.transform_to.register(Even, lambda constraint: d.ExpTransform())
    assert isinstance(d.transform_to(Even()), d.ExpTransform)
    with pytest.raises(NotImplementedError, match="Cannot transform Even"):
        d.biject_to(Even())
    with pytest.raises(TypeError, match="Expected constraint"):
        d.transform_to.register(3, len)

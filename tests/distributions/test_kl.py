"""Divergences: every pair torch knows, and how pairs are found."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
import pullback.distributions

torch = pytest.importorskip("torch")
LIBRARIES = (pullback, torch)


def v(t, *values):
    return t.tensor(values, dtype=t.float64)


def matrix(t, scale):
    return t.eye(2, dtype=t.float64) * scale + 0.2


MAKERS = {
    "Bernoulli": lambda t, d, k: d.Bernoulli(v(t, 0.2 + k / 10, 0.0, 1.0, 0.5)),
    "Beta": lambda t, d, k: d.Beta(v(t, 1.5 + k, 0.7), v(t, 2.0, 3.0 + k)),
    "Binomial": lambda t, d, k: d.Binomial(5 - k, v(t, 0.2 + k / 10, 0.6)),
    "Categorical": lambda t, d, k: d.Categorical(v(t, 0.2 + k, 0.0 + k, 0.9)),
    "Cauchy": lambda t, d, k: d.Cauchy(v(t, 0.5, -1.0 + k), v(t, 1.5 + k, 0.3)),
    "ContinuousBernoulli": lambda t, d, k: d.ContinuousBernoulli(v(t, 0.2 + k / 10, 0.5, 0.9)),
    "Dirichlet": lambda t, d, k: d.Dirichlet(v(t, 1.5 + k, 0.7, 3.0)),
    "Exponential": lambda t, d, k: d.Exponential(v(t, 1.5 + k, 0.7)),
    "Gamma": lambda t, d, k: d.Gamma(v(t, 1.5 + k, 0.7), v(t, 2.0, 3.0 - k)),
    "Geometric": lambda t, d, k: d.Geometric(v(t, 0.2 + k / 10, 0.7)),
    "Gumbel": lambda t, d, k: d.Gumbel(v(t, 0.5 + k, -1.0), v(t, 1.5, 0.3 + k)),
    "HalfNormal": lambda t, d, k: d.HalfNormal(v(t, 1.5 + k, 0.3)),
    "Independent": lambda t, d, k: d.Independent(d.Normal(v(t, 0.5 + k, -1.0), v(t, 1.5, 0.3)), 1),
    "Laplace": lambda t, d, k: d.Laplace(v(t, 0.5 + k, -1.0), v(t, 1.5, 0.3 + k)),
    "LogNormal": lambda t, d, k: d.LogNormal(v(t, 0.5 + k, -1.0), v(t, 1.5, 0.3 + k)),
    "LowRankMultivariateNormal": lambda t, d, k: d.LowRankMultivariateNormal(
        v(t, 0.5, 1.0), v(t, 0.3, -0.4 + k).reshape(2, 1), v(t, 1.0 + k, 2.0)
    ),
    "MultivariateNormal": lambda t, d, k: d.MultivariateNormal(v(t, 0.5 + k, 1.0), matrix(t, 1.0 + k)),
    "MultivariateNormal batch": lambda t, d, k: d.MultivariateNormal(
        v(t, 0.5 + k, 1.0).expand(3, 2), t.stack([matrix(t, 1.0 + k)] * 3)
    ),
    "Normal": lambda t, d, k: d.Normal(v(t, 0.5 + k, -1.0), v(t, 1.5, 0.3 + k)),
    "OneHotCategorical": lambda t, d, k: d.OneHotCategorical(v(t, 0.2 + k, 0.3, 0.9)),
    "Pareto": lambda t, d, k: d.Pareto(v(t, 1.5 - k, 0.3), v(t, 3.0, 0.8)),
    "Poisson": lambda t, d, k: d.Poisson(v(t, 1.5 + k, 4.0)),
    "Uniform": lambda t, d, k: d.Uniform(v(t, 0.1, -1.0 - k), v(t, 0.9 + k, 1.0)),
}
NAMES = sorted(MAKERS)


@pytest.mark.parametrize("p", NAMES)
def test_every_pair_agrees_with_torch(p):
    compared = 0
    for q in NAMES:
        results = []
        for library in LIBRARIES:
            d = library.distributions
            try:
                results.append(d.kl_divergence(MAKERS[p](library, d, 0), MAKERS[q](library, d, 1)))
            except Exception as error:
                results.append(type(error))
        if isinstance(results[1], type):
            # A pair torch has no formula for, or whose shapes do not fit.
            assert isinstance(results[0], type) or results[1] is RuntimeError, q
            continue
        np.testing.assert_allclose(results[0].numpy(), results[1].numpy(), rtol=1e-9, atol=1e-10, err_msg=f"{p} || {q}")
        compared += 1
    assert compared


def test_exponential_families_fall_back_on_bregman():
    results = []
    for library in LIBRARIES:
        d = library.distributions
        kind = type("Own", (d.ExponentialFamily,), {
            "arg_constraints": {}, "_mean_carrier_measure": 0,
            "__init__": lambda self, rate: (setattr(self, "rate", rate), d.Distribution.__init__(self))[1],
            "_natural_params": property(lambda self: (-self.rate,)),
            "_log_normalizer": lambda self, x: -library.log(-x),
        })  # fmt: skip
        p, q = kind(library.tensor(1.5)), kind(library.tensor(0.4))
        results.append((d.kl_divergence(p, q).item(), p.entropy().item()))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


def test_gradients():
    results = []
    for library in LIBRARIES:
        x = library.tensor([0.4, 1.3], dtype=library.float64, requires_grad=True)
        d = library.distributions
        total = (
            d.kl_divergence(d.Normal(x[0], x[1]), d.Laplace(x[1], x[0]))
            + d.kl_divergence(d.Gamma(x, x), d.Gamma(1.0, 2.0)).sum()
        )
        total = total + d.kl_divergence(d.Categorical(logits=x), d.Categorical(logits=-x))
        total.backward()
        results.append(x.grad.numpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-9)


def test_registration_and_lookup():
    d = pullback.distributions

    class Mine(d.Normal):
        pass

    class Yours(d.Normal):
        pass

    assert d.kl_divergence(Mine(0.0, 1.0), d.Normal(0.0, 1.0)).item() == 0

    @d.register_kl(Mine, d.Normal)
    def first(p, q):
        return "first"

    assert d.kl_divergence(Mine(0.0, 1.0), Yours(0.0, 1.0)) == "first"

    @d.register_kl(d.Normal, Yours)
    def second(p, q):
        return "second"

    with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
        assert d.kl_divergence(Mine(0.0, 1.0), Yours(0.0, 1.0)) == "first"
    with pytest.raises(NotImplementedError, match="No KL"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.Cauchy(0.0, 1.0))
    with pytest.raises(TypeError, match="Distribution subclass"):
        d.register_kl(3, Mine)

"""One table of distributions, made alike from either library."""

from __future__ import annotations

import numpy as np


def vector(t, *values):
    return t.tensor(values, dtype=t.float64).requires_grad_()


def spd(t, n=3, seed=0):
    a = np.random.RandomState(seed).randn(n, n)
    return t.tensor(a @ a.T + n * np.eye(n)).requires_grad_()


CASES = {
    "Normal": lambda t, d: d.Normal(vector(t, 0.5, -1.0), vector(t, 1.5, 0.3)),
    "Normal numbers": lambda t, d: d.Normal(0.0, 2.0),
    "Normal broadcast": lambda t, d: d.Normal(vector(t, 0.5, -1.0), t.ones(3, 1, dtype=t.float64)),
    "Bernoulli": lambda t, d: d.Bernoulli(vector(t, 0.2, 0.5, 0.9)),
    "Bernoulli logits": lambda t, d: d.Bernoulli(logits=vector(t, -1.0, 0.3)),
    "Categorical": lambda t, d: d.Categorical(vector(t, 0.2, 0.5, 0.9)),
    "Categorical logits": lambda t, d: d.Categorical(logits=vector(t, -1.0, 0.3, 2.0, 0.1).reshape(2, 2)),
    "OneHotCategorical": lambda t, d: d.OneHotCategorical(vector(t, 0.2, 0.5, 0.9)),
    "OneHotCategoricalStraightThrough": lambda t, d: d.OneHotCategoricalStraightThrough(vector(t, 0.2, 0.5, 0.9)),
    "Uniform": lambda t, d: d.Uniform(vector(t, -1.0, 0.0), vector(t, 2.0, 0.5)),
    "Beta": lambda t, d: d.Beta(vector(t, 1.5, 0.7), vector(t, 2.0, 3.0)),
    "Beta numbers": lambda t, d: d.Beta(0.5, 2.0),
    "Gamma": lambda t, d: d.Gamma(vector(t, 1.5, 0.7), vector(t, 2.0, 3.0)),
    "Chi2": lambda t, d: d.Chi2(vector(t, 1.5, 7.0)),
    "Dirichlet": lambda t, d: d.Dirichlet(vector(t, 1.5, 0.7, 3.0)),
    "Dirichlet batch": lambda t, d: d.Dirichlet(vector(t, 0.5, 0.7, 3.0, 2.0).reshape(2, 2)),
    "Exponential": lambda t, d: d.Exponential(vector(t, 1.5, 0.7)),
    "Laplace": lambda t, d: d.Laplace(vector(t, 0.5, -1.0), vector(t, 1.5, 0.3)),
    "LogNormal": lambda t, d: d.LogNormal(vector(t, 0.5, -1.0), vector(t, 0.5, 0.3)),
    "HalfNormal": lambda t, d: d.HalfNormal(vector(t, 1.5, 0.3)),
    "HalfCauchy": lambda t, d: d.HalfCauchy(vector(t, 1.5, 0.3)),
    "Gumbel": lambda t, d: d.Gumbel(vector(t, 0.5, -1.0), vector(t, 1.5, 0.3)),
    "Gumbel numbers": lambda t, d: d.Gumbel(0.5, 2.0),
    "Cauchy": lambda t, d: d.Cauchy(vector(t, 0.5, -1.0), vector(t, 1.5, 0.3)),
    "MultivariateNormal": lambda t, d: d.MultivariateNormal(vector(t, 0.5, -1.0, 2.0), spd(t)),
    "MultivariateNormal precision": lambda t, d: d.MultivariateNormal(
        vector(t, 0.5, -1.0, 2.0), precision_matrix=spd(t)
    ),
    "MultivariateNormal tril": lambda t, d: d.MultivariateNormal(
        t.zeros(4, 1, 3, dtype=t.float64), scale_tril=t.stack([spd(t).tril(), spd(t, 3, 1).tril()])
    ),
    "LowRankMultivariateNormal": lambda t, d: d.LowRankMultivariateNormal(
        vector(t, 0.5, -1.0, 2.0), vector(t, 0.3, 0.1, -0.4).reshape(3, 1), vector(t, 1.0, 0.5, 2.0)
    ),
    "Poisson": lambda t, d: d.Poisson(vector(t, 1.5, 14.0)),
    "Geometric": lambda t, d: d.Geometric(vector(t, 0.2, 0.7)),
    "Geometric logits": lambda t, d: d.Geometric(logits=vector(t, 0.2, -0.7)),
    "Binomial": lambda t, d: d.Binomial(7, vector(t, 0.2, 0.7)),
    "Binomial logits": lambda t, d: d.Binomial(t.tensor([3.0, 3.0], dtype=t.float64), logits=vector(t, 0.2, -0.7)),
    "NegativeBinomial": lambda t, d: d.NegativeBinomial(5, vector(t, 0.2, 0.7)),
    "Multinomial": lambda t, d: d.Multinomial(6, vector(t, 0.2, 0.7, 0.4)),
    "StudentT": lambda t, d: d.StudentT(vector(t, 0.8, 1.5, 5.0), 0.3, vector(t, 1.0, 2.0, 0.5)),
    "Weibull": lambda t, d: d.Weibull(vector(t, 1.5, 0.3), vector(t, 2.0, 0.8)),
    "Pareto": lambda t, d: d.Pareto(vector(t, 1.5, 0.3), vector(t, 3.0, 2.5)),
    "ContinuousBernoulli": lambda t, d: d.ContinuousBernoulli(vector(t, 0.2, 0.5, 0.9)),
    "ContinuousBernoulli logits": lambda t, d: d.ContinuousBernoulli(logits=vector(t, 0.2, -2.0)),
    "Kumaraswamy": lambda t, d: d.Kumaraswamy(vector(t, 1.5, 2.3), vector(t, 2.0, 0.8)),
    "InverseGamma": lambda t, d: d.InverseGamma(vector(t, 1.5, 2.3), vector(t, 2.0, 0.8)),
    "LogisticNormal": lambda t, d: d.LogisticNormal(vector(t, 0.5, -1.0), vector(t, 0.5, 0.3)),
    "RelaxedBernoulli": lambda t, d: d.RelaxedBernoulli(vector(t, 0.7), vector(t, 0.2, 0.6)),
    "RelaxedOneHotCategorical": lambda t, d: d.RelaxedOneHotCategorical(vector(t, 0.7), vector(t, 0.2, 0.6, 0.3)),
    "FisherSnedecor": lambda t, d: d.FisherSnedecor(vector(t, 3.0, 1.5), vector(t, 5.0, 1.0)),
    "GeneralizedPareto": lambda t, d: d.GeneralizedPareto(
        # Single precision, as torch compares the concentration with a single precision zero.
        t.tensor([0.5, 0.0, 0.0]),
        t.tensor([1.0, 2.0, 1.0]),
        t.tensor([0.3, 0.0, -0.4]),
    ),
    "VonMises": lambda t, d: d.VonMises(vector(t, 0.5, -1.0), vector(t, 1.5, 4.3)),
    "Wishart": lambda t, d: d.Wishart(vector(t, 4.5), spd(t)),
    "Wishart batch": lambda t, d: d.Wishart(
        vector(t, 7.0, 5.5), scale_tril=t.stack([spd(t).tril(), spd(t, 3, 1).tril()])
    ),
    "LKJCholesky": lambda t, d: d.LKJCholesky(3, vector(t, 0.5, 2.0)),
    "Independent": lambda t, d: d.Independent(d.Normal(vector(t, 0.5, -1.0), vector(t, 1.5, 0.3)), 1),
    "TransformedDistribution": lambda t, d: d.TransformedDistribution(
        d.Normal(vector(t, 0.5, -1.0), vector(t, 1.5, 0.3)), [d.TanhTransform(), d.AffineTransform(1.0, -2.0)]
    ),
    "TransformedDistribution simplex": lambda t, d: d.TransformedDistribution(
        d.Normal(t.zeros(4, 2, dtype=t.float64), 1.0), d.StickBreakingTransform()
    ),
    "MixtureSameFamily": lambda t, d: d.MixtureSameFamily(
        d.Categorical(vector(t, 0.3, 0.7)), d.Normal(vector(t, 0.5, -1.0), vector(t, 1.5, 0.3))
    ),
    "MixtureSameFamily vectors": lambda t, d: d.MixtureSameFamily(
        d.Categorical(t.ones(2, 3, dtype=t.float64)),
        d.Independent(d.Normal(t.arange(12, dtype=t.float64).reshape(2, 3, 2), 1.0), 1),
    ),
}

"""Probability distributions under torch's names: densities, draws from torch's random streams, divergences.

Each distribution has a module of its own on top of `distribution.Distribution`; `constraints` say what parameters
and values may be, `transforms` change variables, `kl` holds the divergences. Draws follow torch's draw for draw.
"""

from __future__ import annotations

from typing import NoReturn

from pullback.distributions import constraints, transforms
from pullback.distributions.bernoulli import Bernoulli
from pullback.distributions.beta import Beta
from pullback.distributions.binomial import Binomial
from pullback.distributions.categorical import Categorical
from pullback.distributions.cauchy import Cauchy
from pullback.distributions.chi2 import Chi2
from pullback.distributions.constraint_registry import biject_to, transform_to
from pullback.distributions.continuous_bernoulli import ContinuousBernoulli
from pullback.distributions.dirichlet import Dirichlet
from pullback.distributions.distribution import Distribution
from pullback.distributions.exp_family import ExponentialFamily
from pullback.distributions.exponential import Exponential
from pullback.distributions.fishersnedecor import FisherSnedecor
from pullback.distributions.gamma import Gamma
from pullback.distributions.generalized_pareto import GeneralizedPareto
from pullback.distributions.geometric import Geometric
from pullback.distributions.gumbel import Gumbel
from pullback.distributions.half_cauchy import HalfCauchy
from pullback.distributions.half_normal import HalfNormal
from pullback.distributions.independent import Independent
from pullback.distributions.inverse_gamma import InverseGamma
from pullback.distributions.kl import kl_divergence, register_kl
from pullback.distributions.kumaraswamy import Kumaraswamy
from pullback.distributions.laplace import Laplace
from pullback.distributions.lkj_cholesky import LKJCholesky
from pullback.distributions.log_normal import LogNormal
from pullback.distributions.logistic_normal import LogisticNormal
from pullback.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from pullback.distributions.mixture_same_family import MixtureSameFamily
from pullback.distributions.multinomial import Multinomial
from pullback.distributions.multivariate_normal import MultivariateNormal
from pullback.distributions.negative_binomial import NegativeBinomial
from pullback.distributions.normal import Normal
from pullback.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from pullback.distributions.pareto import Pareto
from pullback.distributions.poisson import Poisson
from pullback.distributions.relaxed_bernoulli import RelaxedBernoulli
from pullback.distributions.relaxed_categorical import RelaxedOneHotCategorical
from pullback.distributions.studentT import StudentT
from pullback.distributions.transformed_distribution import TransformedDistribution
from pullback.distributions.transforms import *  # noqa: F403
from pullback.distributions.uniform import Uniform
from pullback.distributions.von_mises import VonMises
from pullback.distributions.weibull import Weibull
from pullback.distributions.wishart import Wishart

# The divergences register themselves.
from pullback.distributions import _kl_cross, _kl_multivariate, _kl_same  # isort: skip
from collections.abc import Callable
from typing import Any

from ..on_demand import names_on_demand

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet",
    "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric",
    "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace",
    "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraints", "kl_divergence", "register_kl",
    "transform_to", "transforms", *transforms.__all__,
]  # fmt: skip

__getattr__ = names_on_demand(__name__)

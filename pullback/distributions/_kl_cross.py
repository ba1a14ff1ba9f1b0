"""Divergences between families, as KL(p || q) = -entropy(p) - E_p[log q(x)].

The mean of log q needs a few moments of p only: the mean and variance, and the means of log x, log(1 - x),
exp(-x/s) and |x - m|. Each is written once for p, each log-density once for q, and a table says which pairs go
together. Where q leaves out part of p's support the divergence is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pullback

from ..core.tensor import Tensor
from ._kl_same import infinite_where
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

# -- moments of p


def _mean_log_interval(low: Tensor, high: Tensor) -> Tensor:
    return (pullback.xlogy(high, high) - pullback.xlogy(low, low)) / (high - low) - 1


MEAN_LOG: dict[type[Any], Callable[[Any], Tensor]] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Exponential: lambda p: -euler_constant - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_log_interval(p.low, p.high),
}

MEAN_EXP: dict[type[Any], Callable[[Any, Tensor], Tensor]] = {
    Normal: lambda p, s: (-p.loc / s + 0.5 * (p.scale / s).pow(2)).exp(),
    Gamma: lambda p, s: (1 + (p.rate * s).reciprocal()).pow(-p.concentration),
    Exponential: lambda p, s: p.rate * s / (p.rate * s + 1),
    Uniform: lambda p, s: s * ((-p.low / s).exp() - (-p.high / s).exp()) / (p.high - p.low),
}


def _mean_square(p: Any) -> Tensor:
    return p.variance + p.mean.pow(2)


def _normal_mean_distance(p: Any, center: Tensor) -> Tensor:
    away = p.loc - center
    ratio = away / p.scale
    return math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio.pow(2)).exp() + away * pullback.erf(math.sqrt(0.5) * ratio)


def _mean_log_rest(p: Any) -> Tensor:
    """The mean of log(1 - x) for a uniform p."""
    return _mean_log_interval(1 - p.high, 1 - p.low)


# -- the mean of log q over p


def _in_exponential(p: Any, q: Any) -> Tensor:
    return q.rate.log() - q.rate * p.mean


def _in_gamma(p: Any, q: Any) -> Tensor:
    mean_log = MEAN_LOG[_family(p, MEAN_LOG)](p)
    constant = q.concentration * q.rate.log() - q.concentration.lgamma()
    return constant + (q.concentration - 1) * mean_log - q.rate * p.mean


def _in_normal(p: Any, q: Any) -> Tensor:
    square = _mean_square(p) - 2 * q.loc * p.mean + q.loc.pow(2)
    return -q.scale.log() - 0.5 * math.log(2 * math.pi) - 0.5 * square / q.scale.pow(2)


def _in_gumbel(p: Any, q: Any) -> Tensor:
    tail = (q.loc / q.scale).exp() * MEAN_EXP[_family(p, MEAN_EXP)](p, q.scale)
    return -q.scale.log() - (p.mean - q.loc) / q.scale - tail


def _in_laplace(p: Any, q: Any) -> Tensor:
    return -pullback.log(2 * q.scale) - _normal_mean_distance(p, q.loc) / q.scale


def _in_beta(p: Any, q: Any) -> Tensor:
    total = q.concentration1 + q.concentration0
    constant = total.lgamma() - q.concentration1.lgamma() - q.concentration0.lgamma()
    mean_log = MEAN_LOG[_family(p, MEAN_LOG)](p)
    return constant + (q.concentration1 - 1) * mean_log + (q.concentration0 - 1) * _mean_log_rest(p)


def _in_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return p.mean * q.logits + pullback.log1p(-q.probs) + q._cont_bern_log_norm()


def _in_pareto(p: Any, q: Any) -> Tensor:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * MEAN_LOG[_family(p, MEAN_LOG)](p)


def _in_uniform(p: Any, q: Any) -> Tensor:
    return -(q.high - q.low).log()


def _in_poisson(p: Any, q: Any) -> Tensor:
    """For a p on zero and one, where the factorial is one."""
    return p.probs * q.rate.log() - q.rate


def _family(p: Any, table: dict[type, Any]) -> type:
    return next(kind for kind in type(p).__mro__ if kind in table)


# -- pairs


def _no_exception(p: Any, q: Any) -> Any:
    return None


PAIRS: list[tuple[type[Any], type[Any], Callable[[Any, Any], Tensor], Callable[[Any, Any], Any]]] = [
    (Bernoulli, Poisson, _in_poisson, _no_exception),
    (Beta, ContinuousBernoulli, _in_continuous_bernoulli, _no_exception),
    (Beta, Exponential, _in_exponential, _no_exception),
    (Beta, Gamma, _in_gamma, _no_exception),
    (Beta, Normal, _in_normal, _no_exception),
    (Beta, Uniform, _in_uniform, lambda p, q: (q.low > 0) | (q.high < 1)),
    (ContinuousBernoulli, Exponential, _in_exponential, _no_exception),
    (ContinuousBernoulli, Normal, _in_normal, _no_exception),
    (ContinuousBernoulli, Uniform, _in_uniform, lambda p, q: (q.low >= 0) | (q.high <= 1)),
    (Exponential, Gamma, _in_gamma, _no_exception),
    (Exponential, Gumbel, _in_gumbel, _no_exception),
    (Exponential, Normal, _in_normal, _no_exception),
    (Gamma, Exponential, _in_exponential, _no_exception),
    (Gamma, Gumbel, _in_gumbel, _no_exception),
    (Gamma, Normal, _in_normal, _no_exception),
    (Gumbel, Normal, _in_normal, _no_exception),
    (Laplace, Normal, _in_normal, _no_exception),
    (Normal, Gumbel, _in_gumbel, _no_exception),
    (Normal, Laplace, _in_laplace, _no_exception),
    (Pareto, Exponential, _in_exponential, lambda p, q: p.alpha <= 1),
    (Pareto, Gamma, _in_gamma, lambda p, q: p.alpha <= 1),
    (Pareto, Normal, _in_normal, lambda p, q: p.alpha <= 2),
    (Uniform, Beta, _in_beta, lambda p, q: (p.high > 1) | (p.low < 0)),
    (Uniform, ContinuousBernoulli, _in_continuous_bernoulli, lambda p, q: (p.high >= 1) | (p.low <= 0)),
    (Uniform, Exponential, _in_exponential, lambda p, q: p.low < 0),
    (Uniform, Gamma, _in_gamma, lambda p, q: p.low < 0),
    (Uniform, Gumbel, _in_gumbel, _no_exception),
    (Uniform, Normal, _in_normal, _no_exception),
    (Uniform, Pareto, _in_pareto, lambda p, q: p.low < q.scale),
]
"""p, q, the mean of log q over p, and where that is minus infinity."""

INFINITE: dict[type[Any], tuple[type[Any], ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
"""Pairs whose supports never fit."""


def _register(kind_p: type, kind_q: type, mean_log: Any, is_infinite: Any) -> None:
    @register_kl(kind_p, kind_q)
    def divergence(p: Any, q: Any) -> Tensor:
        value = -p.entropy() - mean_log(p, q)
        condition = is_infinite(p, q)
        return value if condition is None else infinite_where(condition, value)


def _always_infinite(p: Any, q: Any) -> Tensor:
    return pullback.full_like(p.mean, math.inf)


for _pair in PAIRS:
    _register(*_pair)
for _kind_p, _kinds_q in INFINITE.items():
    for _kind_q in _kinds_q:
        register_kl(_kind_p, _kind_q)(_always_infinite)

"""Kullback-Leibler divergences: the table of pairs, and how a pair is found for subclasses.

The formulas are in `_kl_same`, `_kl_cross` and `_kl_multivariate`, which the package imports; here is the general one of
exponential families.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pullback

from ..core.basics.notices import warn_user
from ..core.tensor import Tensor
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import _sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type[Any], type[Any]], Callable[..., Any]] = {}
_KL_MEMOIZE: dict[tuple[type[Any], type[Any]], Callable[..., Any] | None] = {}


def register_kl(type_p: type[Any], type_q: type[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function of `(p, q)` for a pair of distribution classes and their subclasses."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # other libraries register classes of their own
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


def _dispatch_kl(type_p: type, type_q: type) -> Callable[..., Any] | None:
    """The function of the closest pair of base classes; p's closeness counts first, then q's."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None

    def distance(pair: tuple[type, type]) -> tuple[int, int]:
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    best_by_p = min(matches, key=distance)
    best_by_q = min(matches, key=lambda pair: distance(pair)[::-1])
    if _KL_REGISTRY[best_by_p] is not _KL_REGISTRY[best_by_q]:
        warn_user(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl("
            f"{best_by_p[0].__name__}, {best_by_q[1].__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[best_by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q): the mean of log p(x) - log q(x) over draws of p, for each member of the batch."""
    pair = (type(p), type(q))
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return function(p, q)


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log-normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    params = [param.detach().requires_grad_() for param in p._natural_params]
    normalizer = p._log_normalizer(*params)
    gradients = pullback.autograd.grad(normalizer.sum(), params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for own, other, gradient in zip(params, q._natural_params, gradients):
        result = result - _sum_rightmost((other - own) * gradient, len(q.event_shape))
    return result

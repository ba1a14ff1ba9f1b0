"""Divergences between multivariate normals, with full or low-rank covariances."""

from __future__ import annotations

from typing import Any

import pullback

from ..core.tensor import Tensor
from .kl import register_kl
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, _half_log_det


def _square_sum(matrix: Tensor) -> Tensor:
    """trace(X X')."""
    return matrix.pow(2).sum((-2, -1))


def _log_det(p: Any) -> Tensor:
    if isinstance(p, MultivariateNormal):
        return 2 * _half_log_det(p._unbroadcasted_scale_tril)
    return _batch_lowrank_logdet(p._unbroadcasted_cov_diag, p._capacitance_tril)


def _roots(p: Any) -> list[Tensor]:
    """Matrices whose products with their own transposes add up to the covariance."""
    if isinstance(p, MultivariateNormal):
        return [p._unbroadcasted_scale_tril]
    return [p._unbroadcasted_cov_factor, pullback.diag_embed(p._unbroadcasted_cov_diag.sqrt())]


def _trace_in(q: Any, root: Tensor) -> Tensor:
    """trace(inverse of q's covariance times root root')."""
    if isinstance(q, MultivariateNormal):
        factor = q._unbroadcasted_scale_tril
        return _square_sum(pullback.linalg.solve_triangular(factor, root, upper=False))
    diagonal = q._unbroadcasted_cov_diag
    scaled = q._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
    solved = pullback.linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)
    return _square_sum(root * diagonal.rsqrt().unsqueeze(-1)) - _square_sum(solved @ root)


def _mahalanobis(q: Any, x: Tensor) -> Tensor:
    if isinstance(q, MultivariateNormal):
        return _batch_mahalanobis(q._unbroadcasted_scale_tril, x)
    return _batch_lowrank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, x, q._capacitance_tril)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be "
            f"computed: {tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    trace = sum(_trace_in(q, root) for root in _roots(p))
    return 0.5 * (_log_det(q) - _log_det(p) + trace + _mahalanobis(q, q.loc - p.loc) - p.event_shape[0])

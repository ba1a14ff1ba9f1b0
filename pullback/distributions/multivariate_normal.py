"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from ._covariance import (
    CovarianceParameter,
    _precision_to_scale_tril,  # noqa: F401  # others import it from here
    only_matrix,
)
from ._families import Centered
from .distribution import EMPTY
from .utils import _standard_normal


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrix times vector, over batches of both."""
    return pullback.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """Squared length of `x` in the metric of a covariance with Cholesky factor `factor`, over batches of both."""
    batch = factor.shape[:-2]
    samples = x.shape[: x.dim() - 1 - len(batch)]
    if samples and x.shape[len(samples) : -1] == batch:  # all samples are columns of one system for each factor
        columns = x.reshape(math.prod(samples), *batch, x.shape[-1]).movedim(0, -1)
        solved = pullback.linalg.solve_triangular(factor, columns, upper=False)
        return solved.pow(2).sum(-2).movedim(-1, 0).reshape(*samples, *batch)
    solved = pullback.linalg.solve_triangular(factor, x.unsqueeze(-1), upper=False)
    return solved.pow(2).sum((-2, -1))


def _half_log_det(factor: Tensor) -> Tensor:
    """Half the logarithm of the determinant of a covariance, from its Cholesky factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(CovarianceParameter, Centered):
    """Gaussian vectors, by a covariance matrix, its inverse, or its Cholesky factor."""

    arg_constraints: dict[Any, Any] = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support: Any = constraints.real_vector
    has_rsample: bool = True
    _parameters: dict[Any, Any] = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = only_matrix(
            ValueError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = pullback.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._set_factor(name, matrix)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    @property
    def variance(self) -> Tensor:
        rows = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return rows.expand((*self._batch_shape, *self._event_shape))

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        square = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + square) - _half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (entropy + _half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)

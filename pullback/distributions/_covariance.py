"""Common parts of distributions given by a covariance matrix, its inverse or its Cholesky factor.

One of the three is given; the Cholesky factor is kept as it came, the others are computed when they are needed.
"""

from __future__ import annotations

from typing import Any

import pullback

from ..core.tensor import Tensor
from .utils import lazy_property


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse, from a factorization of the matrix read backwards."""
    flipped = pullback.linalg.cholesky(pullback.flip(precision, (-2, -1)))
    inverse = pullback.flip(flipped, (-2, -1)).transpose(-2, -1)
    identity = pullback.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return pullback.linalg.solve_triangular(inverse, identity, upper=False)


def only_matrix(error: type[Exception], **matrices: Tensor | None) -> tuple[str, Tensor]:
    """The name and value of the one matrix that is not None."""
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


class CovarianceParameter:
    """`covariance_matrix`, `precision_matrix` and `scale_tril`, by the Cholesky factor."""

    _unbroadcasted_scale_tril: Any  # a Tensor; programs look annotations of classes up
    _batch_shape: Any
    _event_shape: Any

    def _set_factor(self, name: str, matrix: Tensor) -> None:
        """Keep the Cholesky factor of what `name` says `matrix` is."""
        if name == "covariance_matrix":
            matrix = pullback.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = _precision_to_scale_tril(matrix)
        self._unbroadcasted_scale_tril = matrix

    def _as_batch(self, matrix: Tensor) -> Tensor:
        size = self._event_shape[-1]
        return matrix.expand((*self._batch_shape, size, size))

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._as_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._as_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._as_batch(pullback.cholesky_inverse(self._unbroadcasted_scale_tril))

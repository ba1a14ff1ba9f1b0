"""The Wishart distribution of random covariance matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ..core.basics.notices import warn_user
from ..core.tensor import Tensor
from . import constraints
from ._covariance import CovarianceParameter, only_matrix
from .chi2 import Chi2
from .distribution import EMPTY
from .exp_family import ExponentialFamily
from .multivariate_normal import _half_log_det
from .utils import NUMBER


class Wishart(CovarianceParameter, ExponentialFamily):
    """The sum of `df` outer products of normal vectors, by their covariance, its inverse or its Cholesky factor."""

    support: Any = constraints.positive_definite
    has_rsample: bool = True
    _mean_carrier_measure: int = 0
    _parameters: dict[Any, Any] = {
        "df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2, "_unbroadcasted_scale_tril": 2,
    }  # fmt: skip

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = only_matrix(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        event_shape = matrix.shape[-2:]
        if isinstance(df, NUMBER):
            batch_shape = pullback.Size(matrix.shape[:-2])
            self.df: Any = pullback.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = pullback.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        size = event_shape[-1]
        if self.df.le(size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        if self.df.lt(size).any():
            warn_user("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._set_factor(name, matrix)
        self._dist_chi2 = self._diagonal(self.df, batch_shape)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def _diagonal(self, df: Tensor, batch_shape: Sequence[int]) -> Chi2:
        """The distribution of the squared diagonal of a draw's Cholesky factor (Bartlett)."""
        steps = pullback.arange(self._event_shape[-1], dtype=df.dtype, device=df.device)
        return Chi2((df.unsqueeze(-1) - steps).expand((*batch_shape, -1)))

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        new._dist_chi2 = self._diagonal(new.df, batch_shape)

    def _times_matrix(self, factor: Tensor) -> Tensor:
        return factor.expand(self._batch_shape)[..., None, None]

    @property
    def mean(self) -> Tensor:
        return self._times_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return self._times_matrix(factor.masked_fill(factor <= 0, math.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._times_matrix(self.df) * (self.covariance_matrix.pow(2) + outer)

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        """A product of random triangular factors (Bartlett's decomposition)."""
        size = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = diagonal.clamp(min=pullback.finfo(diagonal.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        shape = (*sample_shape, *self._batch_shape, size * (size - 1) // 2)
        rows, columns = pullback.tril_indices(size, size, offset=-1)
        noise[..., rows, columns] = pullback.randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Sequence[int] = EMPTY, max_try_correction: int | None = None) -> Tensor:
        """Draws; singular ones are drawn again as torch does it, `max_try_correction` times (10 unless given) at most."""
        sample = self._draw(sample_shape).clone()
        # Torch's first round means to draw singular matrices again but draws the regular ones, and later rounds look at
        # these alone: follow it, to stay in its stream.
        again = self._anywhere_in_batch(self.support.check(sample))
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if not again.any():
                break
            drawn = self._draw(again[again].shape)
            sample[again] = drawn
            again[again.clone()] = self._anywhere_in_batch(~self.support.check(drawn))
        return sample

    def _anywhere_in_batch(self, condition: Tensor) -> Tensor:
        for _ in self._batch_shape:
            condition = condition.any(-1)
        return condition

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        size, df = self._event_shape[-1], self.df
        solved = pullback.cholesky_solve(value, self._unbroadcasted_scale_tril)
        return (
            -df * (size * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
            - pullback.mvlgamma(df / 2, p=size)
            + (df - size - 1) / 2 * pullback.linalg.slogdet(value).logabsdet
            - solved.diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        )

    def entropy(self) -> Tensor:
        size, df = self._event_shape[-1], self.df
        halves = pullback.arange(size, dtype=df.dtype, device=df.device) / 2
        slopes = pullback.digamma((df / 2).unsqueeze(-1) - halves).sum(-1)
        return (
            (size + 1) * (size * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
            + pullback.mvlgamma(df / 2, p=size)
            - (df - size - 1) / 2 * slopes
            + df * size / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return (-self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        return half * (-pullback.linalg.slogdet(-2 * x).logabsdet + math.log(2) * size) + pullback.mvlgamma(
            half, p=size
        )

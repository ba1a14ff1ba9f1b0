"""Student's t distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import EMPTY, Distribution
from .utils import _standard_normal, broadcast_all


class StudentT(Distribution):
    """A normal divided by the root of a chi-squared variable with `df` degrees of freedom."""

    arg_constraints: dict[Any, Any] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support: Any = constraints.real
    has_rsample: bool = True
    _parameters: dict[Any, Any] = {"df": 0, "loc": 0, "scale": 0}
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        new._chi2 = self._chi2.expand(batch_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self.scale.pow(2) * self.df / (self.df - 2)
        variance = variance.masked_fill((self.df <= 2) & (self.df > 1), math.inf)
        return variance.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * (noise * pullback.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        y = (value - self.loc) / self.scale
        normalization = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + pullback.lgamma(0.5 * self.df)
            - pullback.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * pullback.log1p(y**2.0 / self.df) - normalization

    def entropy(self) -> Tensor:
        beta = pullback.lgamma(0.5 * self.df) + math.lgamma(0.5) - pullback.lgamma(0.5 * (self.df + 1))
        slopes = pullback.digamma(0.5 * (self.df + 1)) - pullback.digamma(0.5 * self.df)
        return self.scale.log() + 0.5 * (self.df + 1) * slopes + 0.5 * self.df.log() + beta

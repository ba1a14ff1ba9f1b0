"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from .distribution import EMPTY, batch_shape_of
from .exp_family import ExponentialFamily
from .utils import broadcast_all


class Gamma(ExponentialFamily):
    """Gamma variables of shape `concentration` and inverse scale `rate`."""

    arg_constraints: dict[Any, Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample: bool = True
    _mean_carrier_measure: int = 0
    _parameters: dict[Any, Any] = {"concentration": 0, "rate": 0}
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(batch_shape_of(self.rate, concentration, rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = pullback._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # Underflow to zero would make log_prob infinite; the gradient is left as it is.
        value.detach().clamp_(min=pullback.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = pullback.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check_value(value)
        return (
            pullback.xlogy(self.concentration, self.rate)
            + pullback.xlogy(self.concentration - 1, value)
            - self.rate * value
            - pullback.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return pullback.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - self.rate.log()
            + pullback.lgamma(self.concentration)
            + (1.0 - self.concentration) * pullback.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return pullback.lgamma(x + 1) + (x + 1) * pullback.log(-y.reciprocal())

"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from ..nn.functional import logsigmoid
from . import constraints
from ._families import BinaryParameter
from .distribution import EMPTY, Distribution
from .gamma import Gamma
from .utils import lazy_property


class NegativeBinomial(BinaryParameter, Distribution):
    """The number of successes before `total_count` failures."""

    arg_constraints: dict[Any, Any] = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }  # fmt: skip
    support: Any = constraints.nonnegative_integer
    _parameters: dict[Any, Any] = {"total_count": 0, "probs": 0, "logits": 0}
    total_count: Tensor

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._set_counted(total_count, probs, logits), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * pullback.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / pullback.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, pullback.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        with pullback.no_grad():
            return pullback.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        count = self.total_count
        unnormalized = count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        normalization = -pullback.lgamma(count + value) + pullback.lgamma(1.0 + value) + pullback.lgamma(count)
        return unnormalized - normalization.masked_fill(count + value == 0.0, 0.0)

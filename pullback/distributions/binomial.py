"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from ._families import BinaryParameter
from .distribution import EMPTY, Distribution, enumerated


class Binomial(BinaryParameter, Distribution):
    """The number of successes in `total_count` trials."""

    arg_constraints: dict[Any, Any] = {
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    has_enumerate_support: bool = True
    _parameters: dict[Any, Any] = {"total_count": 0, "probs": 0, "logits": 0}
    total_count: Tensor

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._set_counted(total_count, probs, logits), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return pullback.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with pullback.no_grad():
            return pullback.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        count, logits = self.total_count, self.logits
        ways = pullback.lgamma(count + 1) - pullback.lgamma(value + 1) - pullback.lgamma(count - value + 1)
        # log(1 + exp(logits)) in a form that cannot overflow; the mean of two clamps has slope 1/2 at zero.
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        return value * logits + ways - count * positive - count * pullback.log1p(pullback.exp(-logits.abs()))

    def entropy(self) -> Tensor:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._common_count("enumerate_support")
        values = pullback.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        return enumerated(values, self._batch_shape, expand)

    def _common_count(self, what: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return count

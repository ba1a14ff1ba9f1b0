"""The multinomial distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from ._families import CategoricalInside
from .binomial import Binomial
from .distribution import EMPTY
from .utils import broadcast_all


class Multinomial(CategoricalInside):
    """How often each category comes up in `total_count` draws."""

    total_count: int
    _parameters: dict[str, int] = {}

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)
        if total_count < 0:
            Binomial(total_count, probs=self.probs, validate_args=validate_args)  # refuses, in torch's words

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        super()._expand_members(new, batch_shape)
        new.total_count = self.total_count

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = pullback.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype, device=drawn.device)
        return counts.scatter_add(-1, drawn, pullback.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        binomial = Binomial(total_count=self.total_count, probs=self.probs)
        support = binomial.enumerate_support(expand=False)[1:]
        weights = (binomial.log_prob(support).exp() * pullback.lgamma(support + 1)).sum([0, -1])
        return self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1) + weights

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        # An impossible category that did not come up counts for nothing.
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = pullback.lgamma(value.sum(-1) + 1) - pullback.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

"""Categorical draws as one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from ..nn.functional import one_hot
from . import constraints
from ._families import CategoricalInside
from .distribution import EMPTY


class OneHotCategorical(CategoricalInside):
    """A vector with a single one, at a category drawn by `probs` or `logits`."""

    support: Any = constraints.one_hot
    has_enumerate_support: bool = True
    _parameters: dict[str, int] = {}

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return one_hot(self.probs.argmax(dim=-1), self.probs.shape[-1]).to(self.probs.dtype)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        drawn = self._categorical.sample(sample_shape)
        return one_hot(drawn, self._categorical._num_events).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        size = self.event_shape[0]
        values = pullback.eye(size, dtype=self._param.dtype, device=self._param.device)
        values = values.view((size,) + (1,) * len(self.batch_shape) + (size,))
        return values.expand((size, *self.batch_shape, size)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot draws whose gradient is taken to be that of the probabilities."""

    has_rsample: bool = True

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())

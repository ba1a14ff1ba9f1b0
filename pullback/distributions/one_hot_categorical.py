"""Categorical draws as one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pullback
from pullback.distributions import constraints
from pullback.distributions.categorical import Categorical
from pullback.distributions.distribution import EMPTY, Distribution
from pullback.nn.functional import one_hot

if TYPE_CHECKING:
    from pullback import Tensor


class OneHotCategorical(Distribution):
    """A vector with a single one, at a category drawn by `probs` or `logits`."""

    arg_constraints: dict[Any, Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: Any = constraints.one_hot
    has_enumerate_support: bool = True
    _parameters: dict[str, int] = {}

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        new._categorical = self._categorical.expand(batch_shape)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """Normalized probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Normalized log-probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self._categorical.param_shape

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

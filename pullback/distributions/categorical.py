"""The categorical distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from .distribution import EMPTY, Distribution, check_probs_or_logits, enumerated
from .utils import lazy_property, logits_to_probs, probs_to_logits


class Categorical(Distribution):
    """One of several categories, by probabilities or log-probabilities along the last axis (normalized here)."""

    arg_constraints: dict[Any, Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support: bool = True
    _parameters: dict[Any, Any] = {"probs": 1, "logits": 1}

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        check_probs_or_logits(probs, logits)
        self._given = "probs" if probs is not None else "logits"
        given: Any = probs if probs is not None else logits
        if given.dim() < 1:
            raise ValueError(f"`{self._given}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.size()[-1]
        super().__init__(given.size()[:-1], validate_args=validate_args)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        new._given = self._given
        new._num_events = self._num_events

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @property
    def _param(self) -> Tensor:
        return self.probs if self._given == "probs" else self.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        return self._undefined()

    @property
    def variance(self) -> Tensor:
        return self._undefined()

    def _undefined(self) -> Tensor:
        return pullback.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        sample_shape = pullback.Size(sample_shape)
        table = self.probs.reshape(-1, self._num_events)
        drawn = pullback.multinomial(table, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        value, logits = pullback.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=pullback.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = pullback.arange(self._num_events, dtype=pullback.int64, device=self._param.device)
        return enumerated(values, self._batch_shape, expand)

"""One-hot vectors relaxed to the simplex, so that draws have a gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from ._families import CategoricalInside, Relaxed
from .distribution import EMPTY
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs


class ExpRelaxedCategorical(CategoricalInside):
    """The logarithm of a relaxed one-hot vector (Gumbel softmax)."""

    support: Any = constraints.real_vector
    has_rsample: bool = True
    _parameters: dict[str, int] = {}

    def __init__(
        self,
        temperature: Any,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature: Any = temperature
        super().__init__(probs, logits, validate_args)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        super()._expand_members(new, batch_shape)
        new.temperature = self.temperature

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        uniforms = clamp_probs(pullback.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-uniforms.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        size = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        log_scale = math.lgamma(size) + (size - 1) * self.temperature.log()
        score = logits - value * self.temperature
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(Relaxed):
    """Points of the simplex that come near its corners as the temperature falls."""

    arg_constraints: dict[Any, Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    _parameters: dict[str, int] = {}

    def __init__(
        self,
        temperature: Any,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

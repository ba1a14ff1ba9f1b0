"""Random correlation matrices (Lewandowski, Kurowicka and Joe), as Cholesky factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from .beta import Beta
from .distribution import EMPTY, Distribution
from .utils import broadcast_all


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices; concentration one is uniform over the matrices."""

    arg_constraints: dict[Any, Any] = {"concentration": constraints.positive}
    support: Any = constraints.corr_cholesky
    _parameters: dict[Any, Any] = {"concentration": 0}
    concentration: Tensor

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim: int = dim
        (self.concentration,) = broadcast_all(concentration)
        rows = pullback.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = pullback.cat([rows.new_zeros((1,)), rows])
        marginal = self.concentration + 0.5 * (dim - 2)
        # The squared length of each row's part below the diagonal.
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))

    def sample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        with pullback.no_grad():
            length = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = pullback.randn(shape, dtype=length.dtype, device=length.device).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0.0
            w = length.sqrt() * direction
            diagonal = (1 - (w**2).sum(-1)).clamp(min=pullback.finfo(w.dtype).tiny).sqrt()
            return w + pullback.diag_embed(diagonal)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = pullback.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        rest = self.dim - 1
        alpha = self.concentration + 0.5 * rest
        normalization = pullback.mvlgamma(alpha - 0.5, rest) - pullback.lgamma(alpha) * rest
        return (order * diagonal.log()).sum(-1) - (0.5 * rest * math.log(math.pi) + normalization)

"""What relaxed discrete distributions share: the parameters of the base that they transform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pullback.distributions.transformed_distribution import TransformedDistribution

if TYPE_CHECKING:
    from pullback import Tensor


class Relaxed(TransformedDistribution):
    """A discrete distribution moved off its corners; the nearer, the lower the temperature."""

    has_rsample: bool = True

    @property
    def temperature(self) -> Any:
        """How far draws stay from the corners."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log-odds, or normalized log-probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Normalized probabilities."""
        return self.base_dist.probs

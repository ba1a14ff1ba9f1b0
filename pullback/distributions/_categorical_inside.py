"""What distributions over the categories of an inner Categorical share: its probabilities and its batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pullback.distributions import constraints
from pullback.distributions.categorical import Categorical
from pullback.distributions.distribution import Distribution

if TYPE_CHECKING:
    from pullback import Tensor


class CategoricalInside(Distribution):
    """Vectors with an element for each category; probabilities and logits are those of `_categorical`."""

    arg_constraints: dict[Any, Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, probs: Tensor | None, logits: Tensor | None, validate_args: bool | None) -> None:
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

"""What distributions given by a probability or by log-odds share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pullback.distributions.distribution import batch_shape_of, check_probs_or_logits
from pullback.distributions.utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

if TYPE_CHECKING:
    from pullback import Tensor


class BinaryParameter:
    """`probs` and `logits`, of which one is given and the other computed when it is needed."""

    _given: str
    __dict__: dict[str, Any]

    def _set_binary(self, probs: Any, logits: Any) -> Any:
        """Keep the parameter that is given; returns the batch shape."""
        check_probs_or_logits(probs, logits)
        self._given = "probs" if probs is not None else "logits"
        given = probs if probs is not None else logits
        (value,) = broadcast_all(given)
        self.__dict__[self._given] = value
        return batch_shape_of(value, given)

    def _set_counted(self, total_count: Any, probs: Any, logits: Any) -> Any:
        """Keep a number of trials beside the parameter; returns the batch shape."""
        check_probs_or_logits(probs, logits)
        self._given = "probs" if probs is not None else "logits"
        count, value = broadcast_all(total_count, probs if probs is not None else logits)
        self.__dict__["total_count"] = count.type_as(value)
        self.__dict__[self._given] = value
        return value.size()

    def _expand_members(self, new: Any, batch_shape: Any) -> None:
        new._given = self._given

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if self._given == "probs" else self.__dict__["logits"]

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self._param.size()

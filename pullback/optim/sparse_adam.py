"""SparseAdam exists by name only: there are no sparse gradients here for it to work on."""

from __future__ import annotations

from typing import Any

from pullback.optim.optimizer import Optimizer, ParamsT


class SparseAdam(Optimizer):
    """Refuses to be made, and says what to use in its place."""

    def __init__(self, params: ParamsT, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "SparseAdam needs sparse gradients, and gradients are always dense here: "
            "SparseAdam does not support dense gradients, please consider Adam instead."
        )

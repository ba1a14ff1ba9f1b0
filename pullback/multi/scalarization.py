"""Scalarizers: one loss from several, so that an ordinary `backward()` follows. The counterpart of `aggregation.py`, which
looks at the gradients of the losses; here only their values count, and it costs one pass.

Modules, because some learn weights of their own (give their parameters to the optimizer as well). Names, defaults and
results are those of the literature and of torchjd.
"""

from __future__ import annotations

from typing import Any

from ..core.grad_mode import enable_grad, no_grad
from ..core.roots import grad
from ..core.tensor import Tensor
from ..functional.registry import FUNCTIONS
from ..nn import Module, Parameter
from ..nn.functional import cosine_similarity

__all__ = [
    "COSMOS", "Constant", "DWA", "FAMO", "GeometricMean", "IMTLL", "Mean", "PBI", "Random", "STCH", "Scalarizer", "Sum", "UW",
]  # fmt: skip


class Scalarizer(Module):
    """A function of a tensor of losses that gives one."""

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        """The loss that stands for all values."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        settings = {name: value for name, value in vars(self).items() if name[:1] != "_" and name != "training"}
        return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def _check_shape(values: Tensor, **others: Any) -> None:
    for name, other in others.items():
        if other is not None and other.shape != values.shape:
            raise ValueError(
                f"the values and {name} need the same shape, got {tuple(values.shape)} and {tuple(other.shape)}"
            )


def _check_least(name: str, value: float, zero: bool) -> None:
    if value < 0 or value == 0 and not zero:
        raise ValueError(f"{name} should be {'non-negative' if zero else 'strictly positive'}, got {value}")


class Sum(Scalarizer):
    """All losses added up."""

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        return values.sum()


class Mean(Scalarizer):
    """The average loss."""

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        return values.mean()


class Constant(Scalarizer):
    """Losses weighted by given numbers."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weights: Any = weights

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        _check_shape(values, weights=self.weights)
        return (self.weights * values).sum()


class Random(Scalarizer):
    """Losses with random weights of sum 1: the softmax of normal numbers, new ones in each call."""

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        drawn = FUNCTIONS["randn"](values.numel(), dtype=values.dtype).softmax(-1)
        return (drawn.reshape(values.shape) * values).sum()


class GeometricMean(Scalarizer):
    """The geometric mean of losses that are not negative."""

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        if bool((values < 0).any()):
            raise ValueError("GeometricMean is only defined for non-negative values, and one is negative")
        return values.log().mean().exp()


class STCH(Scalarizer):
    """The smooth form of the largest weighted distance from `reference`; `mu` is how smooth."""

    def __init__(self, mu: float, weights: Tensor | None = None, reference: Tensor | None = None) -> None:
        super().__init__()
        _check_least("mu", mu, False)
        self.mu: float = mu
        self.weights: Any = weights
        self.reference: Any = reference

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        _check_shape(values, weights=self.weights, reference=self.reference)
        distances = values if self.reference is None else values - self.reference
        weighted = distances * (1 / values.numel() if self.weights is None else self.weights)
        return self.mu * (weighted / self.mu).flatten().logsumexp(-1)


class PBI(Scalarizer):
    """The distance from `reference` along the direction `weights`, plus `theta` times the distance from that line."""

    def __init__(self, theta: float, weights: Tensor, reference: Tensor | None = None) -> None:
        super().__init__()
        _check_least("theta", theta, True)
        self.theta: float = theta
        self.weights: Any = weights
        self.reference: Any = reference

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        _check_shape(values, weights=self.weights, reference=self.reference)
        point = (values if self.reference is None else values - self.reference).flatten()
        direction = self.weights.flatten() / self.weights.norm()
        along = point @ direction
        beside = point - along * direction
        return along + self.theta * (beside @ beside + 1e-12).sqrt()


class COSMOS(Scalarizer):
    """The sum weighted by preferences, less `lambda_` times its cosine with them."""

    def __init__(self, lambda_: float, weights: Tensor) -> None:
        super().__init__()
        _check_least("lambda_", lambda_, True)
        self.lambda_: float = lambda_
        self.weights: Any = weights

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        _check_shape(values, weights=self.weights)
        cosine = cosine_similarity(self.weights.flatten(), values.flatten(), dim=0)
        return (self.weights * values).sum() - self.lambda_ * cosine


# --- with weights that are learned -----------------------------------------------------------------------------------


class UW(Scalarizer):
    """Weighting by uncertainty: each loss divided by a learned variance, whose logarithm is the parameter `log_var`."""

    def __init__(self, shape: Any) -> None:
        super().__init__()
        self.log_var: Any = Parameter(FUNCTIONS["zeros"](shape))

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        _check_shape(values, log_var=self.log_var)
        return (0.5 * (-self.log_var).exp() * values + 0.5 * self.log_var).sum()

    def reset(self) -> None:
        """All variances 1 again."""
        with no_grad():
            self.log_var.zero_()


class IMTLL(Scalarizer):
    """Impartial: each loss times a learned scale, whose logarithm is the parameter `log_scale`, so that none dominates."""

    def __init__(self, shape: Any) -> None:
        super().__init__()
        self.log_scale: Any = Parameter(FUNCTIONS["zeros"](shape))

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        _check_shape(values, log_scale=self.log_scale)
        return (self.log_scale.exp() * values - self.log_scale).sum()

    def reset(self) -> None:
        """All scales 1 again."""
        with no_grad():
            self.log_scale.zero_()


class DWA(Scalarizer):
    """Dynamic weight average: more weight for losses that fell more slowly between the last two epochs.

    Call `step()` at the end of each epoch. A higher `temperature` makes the weights more equal.
    """

    def __init__(self, temperature: float = 2.0) -> None:
        super().__init__()
        _check_least("temperature", temperature, False)
        self.temperature: float = temperature
        self.reset()

    def reset(self) -> None:
        """Forget all epochs."""
        self._total: Any = None
        self._batches: int = 0
        self._averages: list[Tensor] = []

    def step(self) -> None:
        """End an epoch."""
        if self._total is not None:
            self._averages = [*self._averages, self._total / self._batches][-2:]
            self._total, self._batches = None, 0

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        earlier = self._averages[0] if self._averages else None
        _check_shape(values, **{"those of this epoch": self._total, "those of earlier epochs": earlier})
        weighted = values
        if len(self._averages) == 2:
            rates = (self._averages[1] / self._averages[0]).flatten() / self.temperature
            weighted = values * (values.numel() * rates.softmax(0)).reshape(values.shape)
        self._total = values.detach().clone() if self._total is None else self._total + values.detach()
        self._batches += 1
        return weighted.sum()


class FAMO(Scalarizer):
    """Weights learned so that all losses fall at the same rate: call `update` with the losses after each step of the model.

    `min_losses` are the least values the losses can have; `lr` and `weight_decay` are of the Adam that learns the weights.
    """

    def __init__(
        self, shape: Any, min_losses: Tensor | None = None, lr: float = 0.025, weight_decay: float = 0.001
    ) -> None:
        super().__init__()
        _check_least("lr", lr, True)
        _check_least("weight_decay", weight_decay, True)
        self._logits: Any = Parameter(FUNCTIONS["zeros"](shape))
        least = FUNCTIONS["zeros"](shape) if min_losses is None else min_losses
        _check_shape(self._logits, min_losses=least)
        self.register_buffer("min_losses", least)
        self.lr, self.weight_decay = lr, weight_decay
        self._optimizer: Any = None
        self._before: Tensor | None = None

    def forward(self, values: Tensor) -> Tensor:  # type: ignore[override]
        _check_shape(values, logits=self._logits)
        self._before = values.detach().clone()
        weights = self._weights().detach()
        above = self._above(values)
        return (weights / (weights / above).sum().detach() * above.log()).sum()

    def update(self, values: Tensor) -> None:
        """Learn from what the last step did: `values` are the losses of the same batch after it."""
        if self._before is None:
            raise ValueError("update() follows a call with the losses before the step")
        _check_shape(values, logits=self._logits)
        gain = self._above(self._before).log() - self._above(values.detach()).log()
        with enable_grad():
            (slope,) = grad(self._weights(), self._logits, gain)
        if self._optimizer is None:
            from ..optim import Adam

            self._optimizer = Adam([self._logits], lr=self.lr, weight_decay=self.weight_decay)
        self._logits.grad = slope
        self._optimizer.step()
        self._logits.grad = None

    def reset(self) -> None:
        """Equal weights, and nothing learned."""
        with no_grad():
            self._logits.zero_()
        self._optimizer, self._before = None, None

    def _weights(self) -> Tensor:
        return self._logits.flatten().softmax(0).reshape(self._logits.shape)

    def _above(self, values: Tensor) -> Tensor:
        return values - self.min_losses + 1e-8

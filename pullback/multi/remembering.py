"""Aggregators with a memory: what they make of the rows depends on earlier calls, until `reset()`.

`GradVac`, `PCD` and `ExcessMTL` keep running averages of the gradients; `MoDo` and `SDMGrad` keep weights and improve
them a little at each call; `CRMOGM` smooths those of any other. `NashMTL`, which remembers where to start, is in
`aggregation.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..functional.registry import FUNCTIONS
from .aggregation import Aggregator, Weighting, preferences
from .solvers import multipliers, on_simplex

if TYPE_CHECKING:
    pass


def _within(owner: object, name: str, value: Any, least: float, most: float = np.inf, open_end: str = "") -> None:
    """Refuse a setting outside [least, most], from which `open_end` takes the lower ("(") or the upper end (")")."""
    numbers = np.asarray(value)
    above = numbers > least if open_end == "(" else numbers >= least
    below = numbers < most if open_end == ")" or most == np.inf else numbers <= most
    if not (above & below).all():
        wanted = (
            f"{'(' if open_end == '(' else '['}{least:g}, {most:g}{')' if open_end == ')' or most == np.inf else ']'}"
        )
        raise ValueError(f"{name} of {type(owner).__name__} must be in {wanted}, but got {value!r}.")


class GradVac(Weighting):
    """Gradient vaccine: rows less aligned than they used to be are turned towards each other; then all are added.

    `beta` is how fast the usual cosines follow the present ones; pairs are visited in a random order.
    """

    beta: float
    eps: float

    def __init__(self, beta: float = 0.5, eps: float = 1e-8) -> None:
        _within(self, "beta", beta, 0, 1)
        _within(self, "eps", eps, 0)
        self.beta, self.eps = beta, eps
        self.reset()

    def reset(self) -> None:
        """Forget the usual cosines."""
        self._usual = np.zeros((0, 0))

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        if len(self._usual) != count:
            self._usual = np.zeros((count, count))
        lengths = np.sqrt(np.maximum(np.diagonal(gramian), 0))
        total = np.zeros(count)
        for i in range(count):
            own = np.eye(count)[i]
            others = [j for j in range(count) if j != i]
            for position in FUNCTIONS["randperm"](count - 1).tolist():
                j = others[position]
                length = np.sqrt(max(own @ gramian @ own, 0.0))
                cosine = gramian[j] @ own / (length * lengths[j] + self.eps)
                usual = self._usual[i, j]
                if cosine < usual:
                    sine, usual_sine = np.sqrt(max(1 - cosine**2, 0.0)), np.sqrt(max(1 - usual**2, 0.0))
                    own[j] += length * (usual * sine - cosine * usual_sine) / (lengths[j] * usual_sine + self.eps)
                self._usual[i, j] += self.beta * (cosine - usual)
            total += own
        return total


class PCD(Weighting):
    """The first row, changed as little as it takes to improve the other losses too, at the length it had.

    Rows are scaled by running averages of their lengths (`beta`). `tau` is how much of a full step of its own each further
    loss is owed: a number, or one for each. If they cannot all have it, the first row is taken as it is.
    """

    tau: Any
    beta: float
    eps: float

    def __init__(self, tau: Any = 0.02, beta: float = 0.999, eps: float = 1e-8) -> None:
        shares = np.asarray(tau.detach().numpy() if hasattr(tau, "detach") else tau)
        if shares.ndim > 1:
            raise ValueError(f"tau is a number or one for each further loss, got the shape {shares.shape}")
        _within(self, "tau", shares, 0, 1)
        _within(self, "beta", beta, 0, 1, ")")
        _within(self, "eps", eps, 0)
        self.tau, self.beta, self.eps = tau, beta, eps
        self.reset()

    def reset(self) -> None:
        """Forget the average lengths."""
        self._squares, self._calls = np.zeros(0), 0

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        single = np.ndim(self.tau) == 0
        shares = np.full(count - 1, float(self.tau)) if single else preferences(self.tau, count - 1, 0.0)
        if not np.isfinite(gramian).all():
            return np.full(count, np.nan)
        squares = np.diagonal(gramian)
        scales = self._scales(squares)
        if squares[0] <= 0:
            return np.zeros(count)
        scaled = gramian * np.outer(scales, scales)
        inner = scaled[1:, 1:]
        added = multipliers(inner, shares * np.diagonal(inner) - scaled[1:, 0], 1e-9, 1e-9)
        weights = np.append(1.0, np.zeros(count - 1) if added is None else np.maximum(added, 0))
        square = weights @ scaled @ weights
        if square <= 10 * np.finfo(np.float64).eps * (weights @ np.sqrt(np.diagonal(scaled))) ** 2:
            return np.zeros(count)  # the rows cancel
        return weights * scales * np.sqrt(squares[0] / square)

    def _scales(self, squares: np.ndarray) -> np.ndarray:
        if len(self._squares) != len(squares):
            self._squares, self._calls = np.zeros(len(squares)), 0
        self._calls += 1
        self._squares = self.beta * self._squares + (1 - self.beta) * squares
        lengths = np.sqrt(self._squares / (1 - self.beta**self._calls) + self.eps)
        return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


class ExcessMTL(Aggregator):
    """More weight for losses that are still far from their least value, as judged by the rows seen so far.

    `robust_step_size` is how fast the weights move. For the first `n_warmup_steps` calls they are equal, and these
    calls are what later ones are compared with; without any it is the first. The memory is as large as the Jacobian.
    """

    robust_step_size: float
    n_warmup_steps: int

    def __init__(self, robust_step_size: float = 1.0, n_warmup_steps: int = 0) -> None:
        _within(self, "robust_step_size", robust_step_size, 0, open_end="(")
        _within(self, "n_warmup_steps", n_warmup_steps, 0)
        self.robust_step_size, self.n_warmup_steps = robust_step_size, n_warmup_steps
        self.reset()

    def reset(self) -> None:
        """Forget all earlier rows."""
        self._squares = np.zeros((0, 0))

    def aggregate(self, rows: np.ndarray) -> np.ndarray:
        if self._squares.shape != rows.shape or self._squares.dtype != rows.dtype:
            self._squares, self._calls = np.zeros_like(rows), 0
            self._weights = np.full(len(rows), 1 / len(rows))
            self._usual = np.zeros(len(rows))
        return self._weigh(np.square(rows)) @ rows

    def _weigh(self, squares: np.ndarray) -> np.ndarray:
        self._squares += squares
        excess = (squares / np.sqrt(self._squares + 1e-7)).sum(1).astype(np.float64)
        self._calls += 1
        if self._calls <= self.n_warmup_steps:
            self._usual += excess / self.n_warmup_steps
            return self._weights
        if self._calls > 1:
            excess = excess / (self._usual + 1e-7)
        else:
            self._usual = excess
        grown = np.log(self._weights) + self.robust_step_size * excess
        grown = np.exp(grown - grown.max())
        self._weights = grown / grown.sum()
        return self._weights


class MoDo(Weighting):
    """Weights of sum 1 that take one step of size `gamma` at each call towards the shortest vector in the rows' hull.

    `rho` pulls them towards equality. Its paper's inner products are those of two independent batches:
    `weights(rows_of_one @ rows_of_another.T)`. Called with one Jacobian, it takes that for both.
    """

    gamma: float
    rho: float

    def __init__(self, gamma: float = 0.1, rho: float = 0.1) -> None:
        _within(self, "gamma", gamma, 0, open_end="(")
        _within(self, "rho", rho, 0)
        self.gamma, self.rho = gamma, rho
        self.reset()

    def reset(self) -> None:
        """Forget the weights."""
        self._weights = np.zeros(0)

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        if len(self._weights) != len(gramian):
            self._weights = np.full(len(gramian), 1 / len(gramian))
        slope = gramian @ self._weights + self.rho * self._weights
        self._weights = on_simplex(self._weights - self.gamma * slope)
        return self._weights


class SDMGrad(Weighting):
    """As `MoDo`, with `n_iter` steps at each call, and drawn towards the direction of `pref_vector` by `lambda_`."""

    lr: float
    momentum: float
    n_iter: int
    lambda_: float
    pref_vector: Any

    def __init__(
        self, lr: float = 10.0, momentum: float = 0.5, n_iter: int = 20, lambda_: float = 0.3, pref_vector: Any = None
    ) -> None:
        _within(self, "lr", lr, 0, open_end="(")
        _within(self, "momentum", momentum, 0, 1, ")")
        _within(self, "n_iter", n_iter, 1)
        _within(self, "lambda_", lambda_, 0)
        self.lr, self.momentum, self.n_iter, self.lambda_, self.pref_vector = lr, momentum, n_iter, lambda_, pref_vector
        self.reset()

    def reset(self) -> None:
        """Forget the weights."""
        self._weights = np.zeros(0)

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        if len(self._weights) != count:
            self._weights = np.full(count, 1 / count)
        target = self.lambda_ * preferences(self.pref_vector, count, 1 / count)
        lengths = np.sqrt(np.maximum(np.diagonal(gramian), 0))
        scaled = gramian / (lengths.mean() ** 2 + 1e-8)
        velocity = np.zeros(count)
        for _ in range(self.n_iter):
            slope = (scaled * (self._weights + target)).sum(1)  # exactly 0 where opposite rows cancel, unlike BLAS
            velocity = self.momentum * velocity + slope
            self._weights = on_simplex(self._weights - self.lr * velocity)
        return (self._weights + target) / (1 + self.lambda_)


class CRMOGM(Weighting):
    """The weights of another weighting, smoothed over the calls: `alpha` is how much of the old ones stays."""

    weighting: Weighting
    alpha: float
    initial_weights: Any

    def __init__(self, weighting: Weighting, alpha: float = 0.9, initial_weights: Any = None) -> None:
        _within(self, "alpha", alpha, 0, 1)
        self.weighting, self.alpha, self.initial_weights = weighting, alpha, initial_weights
        self._weights: np.ndarray | None = None

    def reset(self) -> None:
        """Forget the weights, and what the other weighting remembers."""
        self._weights = None
        if hasattr(self.weighting, "reset"):
            self.weighting.reset()

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        present = self.weighting.weigh(gramian)
        before = self._weights
        if before is None:
            before = present if self.initial_weights is None else preferences(self.initial_weights, len(present), 0.0)
        if len(before) != len(present):
            raise ValueError(f"there were {len(before)} losses, and now {len(present)}: call reset() in between")
        self._weights = self.alpha * before + (1 - self.alpha) * present
        return self._weights

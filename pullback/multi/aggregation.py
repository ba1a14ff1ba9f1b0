"""Aggregators: one gradient from several that may be in conflict.

Each is a function of the Jacobian matrix, which has a row for each loss. Those here are `Weighting`s: they only look
at the Gramian, the inner products of the rows, and answer with weights for the rows (so that the Jacobian itself need
not exist, see `jacobians.backward`). Names, defaults and results are those of the literature and of torchjd.
Aggregators that look at the columns are in `columns.py`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..core.basics.dtypes import from_numpy_dtype
from ..core.tape import wrap
from ..functional.registry import FUNCTIONS
from ..kernels.thresholds import COMBINED_COLUMNS
from .solvers import bargain, project, worst_mixture


class Aggregator:
    """A function that makes one row of the rows of a matrix, given as a tensor or an ndarray."""

    def __call__(self, jacobian: Any) -> Any:
        rows = _array_of(jacobian)
        if rows.ndim != 2:
            raise ValueError(f"an aggregator takes a matrix with a row for each loss, got the shape {rows.shape}")
        result = np.zeros(rows.shape[1]) if 0 in rows.shape else self.aggregate(rows)
        return _like(jacobian, np.asarray(result).astype(rows.dtype, copy=False))

    def aggregate(self, rows: np.ndarray) -> np.ndarray:
        """The aggregate of a matrix with at least one entry."""
        raise NotImplementedError

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({settings})"


def _array_of(given: Any) -> np.ndarray:
    return np.asarray(given.detach().numpy() if hasattr(given, "detach") else given)


def _like(given: Any, result: np.ndarray) -> Any:
    """The result as a tensor if a tensor was given."""
    if not hasattr(given, "detach"):
        return result
    return wrap(result)


class Weighting(Aggregator):
    """The weighted sum of the rows, with weights that follow from their inner products alone."""

    def weights(self, gramian: Any) -> Any:
        """A weight for each loss, from the inner products of their gradients, a tensor or an ndarray as these are.

        With them, `losses.backward(weights)` is the aggregate: what torchjd's classes named `...Weighting` are for.
        """
        products = _array_of(gramian)
        if products.ndim != 2 or products.shape[0] != products.shape[1]:
            raise ValueError(f"weights follow from a square matrix of inner products, got the shape {products.shape}")
        return _like(gramian, self.weigh(products.astype(np.float64)).astype(products.dtype, copy=False))

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        """A weight for each loss, from a Gramian in float64."""
        raise NotImplementedError

    def aggregate(self, rows: np.ndarray) -> np.ndarray:
        return combined(self.weigh_rows([rows]), rows)

    def weigh_rows(self, parts: list[np.ndarray]) -> np.ndarray:
        """A weight for each loss, from rows that are given in parts."""
        return self.weigh(inner_products(parts))


def blocks(rows: np.ndarray) -> Iterator[slice]:
    """Columns that are few enough for copies of them."""
    step = max(COMBINED_COLUMNS // max(len(rows), 1), 1)
    return (slice(start, start + step) for start in range(0, rows.shape[1], step))


def inner_products(parts: list[np.ndarray]) -> np.ndarray:
    """Inner products of rows that are given in parts, in float64 without a whole copy."""
    total = np.zeros((len(parts[0]),) * 2)
    for rows in parts:
        for block in blocks(rows):
            wide = rows[:, block].astype(np.float64)
            total += wide @ wide.T
    return total


def combined(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The weighted sum of rows, computed in float64 without a whole copy, in their own dtype."""
    result = np.empty(rows.shape[1], rows.dtype)
    for block in blocks(rows):
        result[block] = weights @ rows[:, block].astype(np.float64)
    return result


def aggregated(aggregator: Any, parts: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray | None]:
    """(The aggregate of rows that are given in parts, in the same parts; the weights of the rows, or None if it has none).

    Where inner products decide, the whole matrix is never made. The list of parts is emptied while the matrix takes over.
    """
    if isinstance(aggregator, Weighting):
        weights = aggregator.weigh_rows(parts)
        return [combined(weights, rows) for rows in parts], weights
    widths = [rows.shape[1] for rows in parts]
    matrix = np.empty((len(parts[0]), sum(widths)), np.result_type(*parts))
    start = 0
    for number, width in enumerate(widths):
        matrix[:, start : start + width] = parts[number]
        parts[number] = matrix[:0]
        start += width
    row = np.asarray(aggregator(matrix))
    return np.split(row, np.cumsum(widths)[:-1]), None


def as_aggregator(given: Any) -> Any:
    """An aggregator, or any function of a matrix, as it is; made of a class of them, or of the name of one."""
    if given is None:
        return Sum()
    if isinstance(given, str):
        given = _class_named(given)
    if isinstance(given, type):
        needed = [
            each.name for each in inspect.signature(given).parameters.values()
            if each.default is each.empty and each.kind <= each.POSITIONAL_OR_KEYWORD
        ]  # fmt: skip
        if needed:
            raise TypeError(
                f"{given.__name__} needs its arguments: aggregator={given.__name__}({', '.join(map('{}=...'.format, needed))})"
            )
        given = given()
    if not callable(given):
        raise TypeError(
            f"aggregator must be an aggregator such as multi.UPGrad(), or a function that makes one row of a matrix, got a "
            f"{type(given).__name__}"
        )
    return given


def _class_named(name: str) -> type[Aggregator]:
    from .. import multi

    known = {each.lower(): each for each in multi.__all__ if isinstance(getattr(multi, each), type)}
    del known["aggregator"], known["weighting"]
    plain = name.lower().replace("-", "").replace("_", "")
    if plain not in known:
        near = difflib.get_close_matches(plain, known, n=1)
        hint = f" Did you mean {known[near[0]]!r}?" if near else ""
        raise ValueError(f"there is no aggregator {name!r}.{hint} There are {', '.join(known.values())}.")
    return getattr(multi, known[plain])


def preferences(given: Any, count: int, default: float) -> np.ndarray:
    """The weights a user gave for `count` losses, or the default for each."""
    if given is None:
        return np.full(count, default)
    weights = _array_of(given).astype(np.float64)
    if weights.ndim != 1:
        raise ValueError(f"a preference vector has one dimension, got the shape {weights.shape}")
    if len(weights) != count:
        raise ValueError(f"{count} losses need as many weights, got {len(weights)}")
    return weights


class Sum(Weighting):
    """All rows added up."""

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        return np.ones(len(gramian))


class Mean(Weighting):
    """The average row."""

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        return np.full(len(gramian), 1 / max(len(gramian), 1))


class Constant(Weighting):
    """Rows weighted by given numbers."""

    def __init__(self, weights: Sequence[float] | Any) -> None:
        self.given: np.ndarray = preferences(weights, len(weights), 0.0)

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        return preferences(self.given, len(gramian), 0.0)


class Random(Weighting):
    """Random weights, positive and of sum 1: the softmax of normal numbers of torch's stream."""

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        return self._draw(len(gramian), gramian.dtype)

    def weigh_rows(self, parts: list[np.ndarray]) -> np.ndarray:
        return self._draw(len(parts[0]), parts[0].dtype)  # torch's stream depends on the dtype

    @staticmethod
    def _draw(count: int, dtype: Any) -> np.ndarray:
        drawn = np.asarray(FUNCTIONS["randn"](count, dtype=from_numpy_dtype(dtype)).numpy(), dtype=np.float64)
        positive = np.exp(drawn - drawn.max())
        return positive / positive.sum()


class MGDA(Weighting):
    """The shortest vector in the convex hull of the rows (multiple-gradient descent), by Frank-Wolfe steps."""

    epsilon: float
    max_iters: int

    def __init__(self, epsilon: float = 0.001, max_iters: int = 100) -> None:
        self.epsilon, self.max_iters = epsilon, max_iters

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        alpha = np.full(len(gramian), 1 / len(gramian))
        for _ in range(self.max_iters):
            slopes = gramian @ alpha
            corner = int(np.argmin(slopes))
            here, there, between = alpha @ slopes, gramian[corner, corner], slopes[corner]
            if between >= there:
                step = 1.0
            elif between >= here:
                step = 0.0
            else:
                step = (here - between) / (here + there - 2 * between)
            alpha = (1 - step) * alpha
            alpha[corner] += step
            if step < self.epsilon:
                break
        return alpha


class IMTLG(Weighting):
    """Impartial: the aggregate has the same projection on every row's direction."""

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        lengths = np.sqrt(np.diagonal(gramian))
        found = np.linalg.pinv(gramian) @ lengths
        total = found.sum()
        return np.zeros_like(found) if abs(total) < 1e-12 else found / total


class AlignedMTL(Weighting):
    """Rows transformed so that all their singular values are the same, then averaged.

    `scale_mode` says which value that is: the smallest (`"min"`), the `"median"`, or `"rmse"`, their quadratic mean.
    """

    pref_vector: Any
    scale_mode: str

    def __init__(self, pref_vector: Any = None, scale_mode: str = "min") -> None:
        if scale_mode not in _SCALES:
            raise ValueError(f"Invalid scale_mode={scale_mode!r}. Expected 'min', 'median', or 'rmse'.")
        self.pref_vector, self.scale_mode = pref_vector, scale_mode

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        wanted = preferences(self.pref_vector, count, 1 / count)
        values, vectors = np.linalg.eigh(gramian)
        kept = values > values.max() * count * np.finfo(np.float64).eps
        if not kept.any():
            return wanted
        values, vectors = values[kept], vectors[:, kept]
        return np.sqrt(_SCALES[self.scale_mode](values)) * (vectors / np.sqrt(values)) @ (vectors.T @ wanted)


_SCALES: dict[str, Callable[[np.ndarray], Any]] = {
    "min": np.min, "median": lambda values: np.sort(values)[(len(values) - 1) // 2], "rmse": np.mean,
}  # fmt: skip


class PCGrad(Weighting):
    """Each row loses its projections on the rows it is in conflict with, in random order; then all are added."""

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        total = np.zeros(count)
        for i in range(count):
            own = np.zeros(count)
            own[i] = 1.0
            for j in FUNCTIONS["randperm"](count).tolist():
                if j != i:
                    overlap = gramian[j] @ own
                    if overlap < 0:
                        own[j] -= overlap / gramian[j, j]
            total += own
        return total


class FairGrad(Weighting):
    """Fair in the sense of alpha: the rows' gains G w are w ** (-1 / alpha). Alpha 0 is the average, 1 is `NashMTL`'s game.

    Solved by SciPy's `least_squares`, in at most `max_iters` evaluations.
    """

    alpha: float
    max_iters: int | None

    def __init__(self, alpha: float, max_iters: int | None = None) -> None:
        self.alpha, self.max_iters = alpha, max_iters
        _least_squares()

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        uniform = np.full(len(gramian), 1 / len(gramian))
        if self.alpha == 0:
            return uniform

        def unfairness(w: np.ndarray) -> np.ndarray:
            return gramian @ w - w ** (-1 / self.alpha)

        return _least_squares()(unfairness, uniform, bounds=(0, np.inf), max_nfev=self.max_iters).x


def _least_squares() -> Any:
    try:
        from scipy.optimize import least_squares
    except ImportError as error:
        raise ImportError("FairGrad is solved by SciPy: pip install 'pullback[scipy]'") from error
    return least_squares


# --- projections on the dual cone ------------------------------------------------------------------------------------


def _normalized(gramian: np.ndarray, norm_eps: float) -> np.ndarray:
    """Scaled to trace 1; zero if there is next to nothing to scale."""
    size = np.trace(gramian)
    return np.zeros_like(gramian) if size < norm_eps else gramian / size


class DualProj(Weighting):
    """The average row, projected on the cone of directions in conflict with none of the rows.

    The arguments are those of `UPGrad`.
    """

    pref_vector: Any
    norm_eps: float
    reg_eps: float

    def __init__(self, pref_vector: Any = None, *, norm_eps: float = 0.0001, reg_eps: float = 0.0001) -> None:
        self.pref_vector, self.norm_eps, self.reg_eps = pref_vector, norm_eps, reg_eps

    def safe(self, gramian: np.ndarray) -> np.ndarray:
        """Scaled and made positive definite, so that the projection is unique."""
        return _normalized(gramian, self.norm_eps) + self.reg_eps * np.eye(len(gramian))

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        return project(preferences(self.pref_vector, count, 1 / count), self.safe(gramian))


class UPGrad(DualProj):
    """Every row projected on the cone of directions in conflict with none of the rows; then averaged.

    `pref_vector` has weights for the average, equal ones unless given. `norm_eps` is the size below which the gradients
    count as zero; `reg_eps` is added to the diagonal of their products, which makes the solution unique.
    """

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        wanted, safe = preferences(self.pref_vector, count, 1 / count), self.safe(gramian)
        return sum((project(row, safe) for row in np.diag(wanted)), np.zeros(count))


class CAGrad(Weighting):
    """Conflict-averse: within c times the average's length of it, the direction that serves the worst-off row best."""

    c: float
    norm_eps: float

    def __init__(self, c: float = 0.5, norm_eps: float = 0.0001) -> None:
        if c < 0:
            raise ValueError(f"c must be non-negative, but got {c}.")
        self.c, self.norm_eps = c, norm_eps

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        count = len(gramian)
        mean = np.full(count, 1 / count)
        scaled = _normalized(gramian, self.norm_eps)
        reach = self.c * np.sqrt(max(mean @ scaled @ mean, 0.0))
        w = worst_mixture(scaled, scaled @ mean, reach)
        length = np.sqrt(max(w @ scaled @ w, 0.0))
        if length < self.norm_eps:  # about on the Pareto front: nothing helps all rows
            return np.zeros(count)
        return mean + reach / length * w


class NashMTL(Weighting):
    """The outcome of a bargaining game: every row's gain times its weight is the same.

    Solved to the last digits, however different the rows' lengths are; `optim_niter`, which is torchjd's, changes
    nothing. `update_weights_every` reuses weights for that many calls, and a matrix whose game has no outcome (its rows
    balance one another, or one is zero) gets the last weights there were: `reset()` forgets them. `max_norm` limits the length
    of the result, 0 does not.
    """

    n_tasks: int
    max_norm: float
    update_weights_every: int
    optim_niter: int

    def __init__(
        self, n_tasks: int, max_norm: float = 1.0, update_weights_every: int = 1, optim_niter: int = 20
    ) -> None:
        for name, value, least in (
            ("n_tasks", n_tasks, 1), ("max_norm", max_norm, 0), ("update_weights_every", update_weights_every, 1),
            ("optim_niter", optim_niter, 1),
        ):  # fmt: skip
            if value < least:
                raise ValueError(f"{name} must be {'positive' if least else 'non-negative'}, but got {value}.")
        self.n_tasks, self.max_norm = n_tasks, max_norm
        self.update_weights_every, self.optim_niter = update_weights_every, optim_niter
        self.reset()

    def reset(self) -> None:
        """Forget the weights of earlier calls."""
        self._calls, self._alpha = 0, np.ones(self.n_tasks)

    def weigh(self, gramian: np.ndarray) -> np.ndarray:
        if len(gramian) != self.n_tasks:
            raise ValueError(f"this NashMTL was made for {self.n_tasks} losses, got {len(gramian)}")
        if self._calls % self.update_weights_every == 0:
            solution = bargain(gramian)
            if solution is not None:
                self._alpha = solution
        self._calls += 1
        alpha = self._alpha
        length = np.sqrt(max(alpha @ gramian @ alpha, 0.0))
        return alpha * (self.max_norm / length) if 0 < self.max_norm < length else alpha

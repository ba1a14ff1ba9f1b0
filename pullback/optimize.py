"""A bridge to `scipy.optimize.minimize`: one scalar function of tensors gives value, gradient and Hessian products.

SciPy works on one flat float64 vector; parameters may be a tensor or any nesting of lists, tuples and dicts of
tensors, and come back in the same structure, shapes and dtypes. SciPy is imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import roots
from .core.grad_mode import inference_mode
from .core.tape import wrap
from .core.tensor import Tensor
from .transforms.batched_grad import gradient_rows
from .utils._pytree import tree_flatten, tree_unflatten

__all__ = ["Objective", "minimize"]

GRADIENT_FREE: frozenset[Any] = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
WITH_PRODUCTS: frozenset[Any] = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
WITH_HESSIAN: frozenset[Any] = frozenset({"dogleg", "trust-exact"})


class Objective:
    """A scalar function of nested tensors as functions of one flat vector; a graph is kept for the last point."""

    f: Callable[..., Tensor]
    args: tuple[Any, ...]
    like: list[Any]
    spec: Any

    def __init__(self, f: Callable[..., Tensor], x0: Any, args: tuple[Any, ...] = ()) -> None:
        self.f, self.args = f, args
        self.like, self.spec = tree_flatten(x0)
        for value in self.like:
            if not isinstance(value, Tensor) or not value.is_floating_point():
                raise TypeError("minimize() needs real tensors of floating point numbers as parameters")
        self.point: np.ndarray | None = None
        self.slopes: list[Any] | None = None

    def flat(self, x: Any) -> np.ndarray:
        """The elements of nested tensors in one vector."""
        parts = [np.asarray(value.detach()._array, dtype=np.float64).ravel() for value in tree_flatten(x)[0]]
        return np.concatenate(parts) if parts else np.zeros(0)

    def nested(self, vector: np.ndarray) -> Any:
        """A vector's elements in the structure, shapes and dtypes of the parameters."""
        return tree_unflatten(self._split(vector), self.spec)

    def _split(self, vector: np.ndarray) -> list[Tensor]:
        parts, start = [], 0
        for value in self.like:
            array = value._array
            parts.append(wrap(vector[start : start + array.size].reshape(array.shape).astype(array.dtype)))
            start += array.size
        return parts

    def _record(self, vector: np.ndarray) -> None:
        if self.point is not None and np.array_equal(self.point, vector):
            return
        self.point, self.slopes = None, None
        with inference_mode(False):
            self.leaves: list[Tensor] = [leaf.requires_grad_() for leaf in self._split(vector)]
            self.result: Tensor = self.f(tree_unflatten(self.leaves, self.spec), *self.args)
        if not isinstance(self.result, Tensor) or self.result._array.size != 1:
            raise RuntimeError("minimize() needs a function that returns one number as a tensor")
        self.point = np.array(vector)

    def value(self, vector: np.ndarray) -> float:
        self._record(vector)
        return float(self.result.detach()._array.item())

    def gradient(self, vector: np.ndarray) -> np.ndarray:
        self._record(vector)
        if self.slopes is None:
            self.slopes = self._slopes(False)
        return np.concatenate([np.asarray(g.detach()._array, dtype=np.float64).ravel() for g in self.slopes])

    def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        return self.value(vector), self.gradient(vector)

    def _slopes(self, record: bool) -> list[Tensor]:
        if not self.result.requires_grad:
            return [wrap(np.zeros(leaf._array.shape, leaf._array.dtype)) for leaf in self.leaves]
        with inference_mode(False):
            result = self.result.reshape(())
            return list(roots.grad(result, self.leaves, create_graph=record, retain_graph=True, materialize_grads=True))

    def product(self, vector: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The Hessian times a direction: the gradient's own gradient, weighted by the direction."""
        return self._second(vector, [wrap(part._array[None]) for part in self._split(direction)])[0]

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """The whole Hessian, in one batched pass."""
        basis = np.eye(len(vector))
        parts, start = [], 0
        for value in self.like:
            array = value._array
            block = basis[:, start : start + array.size].reshape(len(vector), *array.shape)
            parts.append(wrap(block.astype(array.dtype)))
            start += array.size
        return self._second(vector, parts)

    def _second(self, vector: np.ndarray, weights: list[Tensor]) -> np.ndarray:
        self._record(vector)
        if self.slopes is None or not any(slope.requires_grad for slope in self.slopes):
            self.slopes = self._slopes(True)
        count = weights[0]._array.shape[0]
        live = [number for number, slope in enumerate(self.slopes) if slope.requires_grad]
        if not live:
            return np.zeros((count, len(vector)))
        slopes, weights = [self.slopes[number] for number in live], [weights[number] for number in live]
        found = gradient_rows(slopes, self.leaves, weights, retain_graph=True)
        return np.concatenate([np.asarray(g._array, dtype=np.float64).reshape(count, -1) for g in found], 1)


def minimize(
    f: Callable[..., Tensor], x0: Any, args: tuple[Any, ...] = (), method: str | None = None, *, bounds: Any = None,
    constraints: Any = (), tol: float | None = None, callback: Callable[[Any], Any] | None = None,
    options: dict[Any, Any] | None = None,
) -> Any:  # fmt: skip
    """Minimise `f(x, *args)`, which returns one number, starting from `x0` (a tensor or nested tensors).

    Returns SciPy's `OptimizeResult` with `x` (and `jac`, where there is one) in the structure of `x0`. Gradients and
    Hessian products are given to the methods that use them. `callback` is called with the parameters in their
    structure. `bounds` and `constraints` are SciPy's, about the flat vector.
    """
    from scipy.optimize import OptimizeResult
    from scipy.optimize import minimize as scipy_minimize

    objective = Objective(f, x0, args)
    given: dict[str, Any] = {"method": method, "bounds": bounds, "constraints": constraints, "tol": tol}
    name = (method or "").lower()
    if name in GRADIENT_FREE:
        function: Callable = objective.value
    else:
        function, given["jac"] = objective.value_and_gradient, True
    if name in WITH_PRODUCTS:
        given["hessp"] = objective.product
    elif name in WITH_HESSIAN:
        given["hess"] = objective.hessian
    if callback is not None:
        given["callback"] = _callback(callback, objective, name)
    result: OptimizeResult = scipy_minimize(function, objective.flat(x0), options=options, **given)
    result.x = objective.nested(np.asarray(result.x))
    if "jac" in result and getattr(result.jac, "shape", None) == (sum(value._array.size for value in objective.like),):
        result.jac = objective.nested(np.asarray(result.jac))
    return result


def _callback(callback: Callable[[Any], Any], objective: Objective, name: str) -> Callable:
    if name == "trust-constr":  # passes its state as a second argument
        return lambda vector, state: callback(objective.nested(np.asarray(vector)))
    return lambda vector: callback(objective.nested(np.asarray(vector)))

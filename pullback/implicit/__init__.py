"""Functions defined by equations: roots, fixed points and linear systems, with derivatives of any order.

The solution is found without recording anything. Its derivative follows from the equation: if f(x, p) = 0, then dx =
-(df/dx)^-1 (df/dp) dp, so a backward pass costs one linear solve with the transposed Jacobian, for which only
products are needed. That solve is differentiable itself, and so on. What the derivatives are taken of has to be
passed as parameters (tensors, or lists, tuples and dicts of them); tensors a function merely captures count as
constants. The unknown may be such a nesting too: it is then one long vector inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..functional.registry import FUNCTIONS
from ..kernels.thresholds import LINEAR_UNKNOWNS
from ..utils._pytree import tree_flatten, tree_unflatten
from .equations import Equation, Root, newton, repeat
from .linear import LinearSolve, Operator

__all__ = ["fixed_point", "linear_solve", "root"]


def linear_solve(
    matvec: Callable[..., Any], b: Any, *params: Any, method: str = "gmres", tol: float | None = None,
    max_iters: int | None = None, x0: Any = None,
) -> Any:  # fmt: skip
    """The x with `matvec(x, *params) == b`, where `matvec` is linear in x; differentiable in `b` and `params`.

    `method` is "gmres" (any invertible operator), "cg" (symmetric and positive definite) or "dense" (the matrix is
    formed column by column and factorised). `tol` is relative to the length of `b`.
    """
    if not isinstance(b, Tensor):
        joined, split = _as_vector(b)
        start = None if x0 is None else _as_vector(x0)[0]
        options: dict[str, Any] = {"method": method, "tol": tol, "max_iters": max_iters, "x0": start}
        return split(linear_solve(_of_vectors(matvec, split), joined, *params, **options))
    flat, spec = tree_flatten(params)
    operator = Operator(lambda x, *leaves: matvec(x, *tree_unflatten(list(leaves), spec)), method, tol, max_iters)
    return LinearSolve.apply(operator, None if x0 is None else x0.detach(), b, *flat)


def root(
    f: Callable[..., Any], x0: Any, *params: Any, solver: Callable[..., Any] | None = None, tol: float | None = None,
    max_iters: int = 100, method: str = "auto",
) -> Any:  # fmt: skip
    """The x near `x0` with `f(x, *params) == 0`, differentiable in `params`; x and f(x) have the same structure and shape.

    Newton's method with shortened steps, unless a `solver(f, x0, *params)` is given. `method` is the way of solving
    linear systems with the Jacobian, see `linear_solve`; "auto" is "dense" for up to 500 unknowns.
    """
    if not isinstance(x0, Tensor):
        joined, split = _as_vector(x0)
        given = None if solver is None else lambda _, x, *rest: _as_vector(solver(f, split(x), *rest))[0]
        options: dict[str, Any] = {"solver": given, "tol": tol, "max_iters": max_iters, "method": method}
        return split(root(_of_vectors(f, split), joined, *params, **options))
    flat, spec = tree_flatten(params)

    def equation(x: Tensor, *leaves: Any) -> Tensor:
        return _tensor(f(x, *tree_unflatten(list(leaves), spec)), "root")

    def find(start: Tensor, leaves: tuple) -> Tensor:
        if solver is not None:
            return solver(f, start, *tree_unflatten(list(leaves), spec)).detach()
        return newton(equation, start, leaves, tol, max_iters, linear)

    linear = _method(method, x0)
    return Root.apply(Equation(equation, find, linear), x0.detach(), *flat)


def fixed_point(
    f: Callable[..., Any], x0: Any, *params: Any, tol: float | None = None, max_iters: int = 1000, method: str = "auto",
) -> Any:  # fmt: skip
    """The x with `x == f(x, *params)`, reached from `x0` by repetition (with Anderson's mixing of the last steps).

    Differentiable in `params`. It ends when x changes by less than `tol`, relative to its size; a RuntimeError says that
    `max_iters` steps were not enough. `method` is the way of solving the linear system of the derivative, see
    `linear_solve`.
    """
    if not isinstance(x0, Tensor):
        joined, split = _as_vector(x0)
        options: dict[str, Any] = {"tol": tol, "max_iters": max_iters, "method": method}
        return split(fixed_point(_of_vectors(f, split), joined, *params, **options))
    flat, spec = tree_flatten(params)

    def step(x: Tensor, *leaves: Any) -> Tensor:
        return _tensor(f(x, *tree_unflatten(list(leaves), spec)), "fixed_point")

    def find(start: Tensor, leaves: tuple) -> Tensor:
        return repeat(step, start, leaves, tol, max_iters)

    equation = Equation(lambda x, *leaves: x - step(x, *leaves), find, _method(method, x0))
    return Root.apply(equation, x0.detach(), *flat)


def _tensor(value: Any, name: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}() needs a function that returns what it is given: a tensor, not a {type(value).__name__}"
        )
    return value


def _as_vector(tree: Any) -> tuple[Tensor, Callable[[Tensor], Any]]:
    """All elements of a nesting of tensors as one vector, and the function that takes such a vector apart again."""
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise TypeError(
                f"Unknowns and equations are tensors, or nestings of tensors; this has a {type(leaf).__name__}."
            )
    shapes = [tuple(leaf.shape) for leaf in leaves]
    sizes = [leaf._array.size for leaf in leaves]

    def split(vector: Tensor) -> Any:
        parts = FUNCTIONS["split"](vector, sizes)
        return tree_unflatten([part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)], spec)

    return FUNCTIONS["cat"]([leaf.reshape((-1,)) for leaf in leaves]), split


def _of_vectors(function: Callable[..., Any], split: Callable[[Tensor], Any]) -> Callable[..., Tensor]:
    """A function from nestings to nestings as one from vectors to vectors; further arguments are passed on."""
    return lambda vector, *params: _as_vector(function(split(vector), *params))[0]


def _method(method: str, x: Tensor) -> str:
    if x._array.dtype.kind not in "fcV":
        raise TypeError(f"The unknowns have dtype {x.dtype}: start from floating point numbers.")
    return ("dense" if x._array.size <= LINEAR_UNKNOWNS else "gmres") if method == "auto" else method

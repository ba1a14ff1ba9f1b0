"""Differentiating through solutions: roots, fixed points and linear systems, by the implicit function theorem.

What the solver did on its way is not recorded; the gradient at the solution comes from one linear system there. The
backward passes are ordinary operations, so second derivatives work too. `minimize` hands a function of tensors to
SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .autograd import roots
from .autograd.function import Function
from .autograd.grad_mode import enable_grad, no_grad
from .autograd.mode import is_grad_enabled
from .autograd.tape import wrap
from .multi.jacobians import jacobian
from .tensor import Tensor
from .utils._pytree import tree_flatten, tree_unflatten

__all__ = ["fixed_point", "linear_solve", "minimize", "root"]


def _solved(matrix: Tensor, vector: Tensor) -> Tensor:
    from .linalg import solve

    return solve(matrix, vector)


def _square_jacobian(value: Tensor, x: Tensor, create_graph: bool) -> Tensor:
    size = x.numel()
    return jacobian(value, x, create_graph=create_graph).reshape(size, size)


def _working_copies(x: Tensor, tensors: list, recording: bool) -> tuple[Tensor, list]:
    """What a backward pass differentiates by: partial derivatives, so not the solution's own dependence on theta."""
    if not recording:
        return x.detach().requires_grad_(), [value.detach().requires_grad_(value.requires_grad) for value in tensors]
    return x.view_as(x), [value.view_as(value) if value.requires_grad else value for value in tensors]


class _Solution(Function):
    """The identity on a solution of function(x, *theta) = 0, with the derivative of that solution by theta."""

    @staticmethod
    def forward(ctx: Any, function: Callable, x: Tensor, *theta: Any) -> Tensor:
        out = x.clone()
        ctx.function = function
        ctx.others = [None if isinstance(value, Tensor) else value for value in theta]
        ctx.save_for_backward(out, *[value for value in theta if isinstance(value, Tensor)])
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, *tensors = ctx.saved_tensors
        recording = is_grad_enabled()
        with enable_grad():
            x, tensors = _working_copies(x, tensors, recording)
            given = iter(tensors)
            theta = [next(given) if value is None else value for value in ctx.others]
            value = ctx.function(x, *theta)
            matrix = _square_jacobian(value, x, recording)
            weights = -_solved(matrix.T, g.reshape(-1)).reshape(g.shape)
            wanted = [value for value in tensors if value.requires_grad]
            found = iter(
                roots.grad(value, wanted, weights, create_graph=recording, allow_unused=True) if wanted else ()
            )
        return (
            None,
            None,
            *(next(found) if isinstance(value, Tensor) and value.requires_grad else None for value in theta),
        )


def root(
    function: Callable,
    start: Tensor,
    *theta: Any,
    solver: Callable | None = None,
    tol: float = 1e-10,
    max_iters: int = 100,
) -> Tensor:
    """The x with function(x, *theta) = 0 near `start`, differentiable by theta.

    `solver(f, start)` may find it in its own way; the default is Newton's method with steps halved while they do not
    help.
    """
    with no_grad():
        constants = [value.detach() if isinstance(value, Tensor) else value for value in theta]

        def residual(x: Tensor) -> Tensor:
            return function(x, *constants)

        x = (
            solver(residual, start.detach())
            if solver is not None
            else _newton(residual, start.detach(), tol, max_iters)
        )
    return _Solution.apply(function, x, *theta)


def _newton(residual: Callable, x: Tensor, tol: float, max_iters: int) -> Tensor:
    size = float(residual(x).abs().max())
    for _ in range(max_iters):
        if size <= tol:
            return x
        with enable_grad():
            here = x.detach().requires_grad_()
            value = residual(here)
            matrix = _square_jacobian(value, here, False)
        step = _solved(matrix, value.detach().reshape(-1)).reshape(x.shape)
        scale, before = 1.0, size
        while True:
            trial = x - scale * step
            size = float(residual(trial).abs().max())
            if size < before or scale < 1e-4:
                break
            scale /= 2
        x = trial
    if size > max(tol, 1e-6):
        raise RuntimeError(
            f"root(): Newton's method did not converge in {max_iters} steps: the largest residual is {size:.3g}. "
            "Start nearer, raise max_iters, or pass solver=..."
        )
    return x


def fixed_point(function: Callable, start: Tensor, *theta: Any, tol: float = 1e-10, max_iters: int = 1000) -> Tensor:
    """The x with function(x, *theta) = x that repeated application leads to, differentiable by theta."""

    def iterate(residual: Callable, x: Tensor) -> Tensor:
        for _ in range(max_iters):
            step = residual(x)
            x = x + step
            if float(step.abs().max()) <= tol:
                return x
        raise RuntimeError(
            f"fixed_point(): no convergence in {max_iters} applications: the last step was {float(step.abs().max()):.3g}. "
            "If the function is no contraction, find the point with root() instead."
        )

    return root(lambda x, *values: function(x, *values) - x, start, *theta, solver=iterate)


# --- linear systems ---


class _LinearSolution(Function):
    @staticmethod
    def forward(ctx: Any, operator: Callable, x: Tensor, settings: tuple, b: Tensor, *theta: Any) -> Tensor:
        out = x.clone()
        ctx.operator, ctx.settings = operator, settings
        ctx.others = [None if isinstance(value, Tensor) else value for value in theta]
        ctx.save_for_backward(out, *[value for value in theta if isinstance(value, Tensor)])
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, *tensors = ctx.saved_tensors
        recording = is_grad_enabled()
        symmetric, tol, max_iters = ctx.settings
        with enable_grad():
            x, tensors = _working_copies(x, tensors, recording)
            given = iter(tensors)
            theta = [next(given) if value is None else value for value in ctx.others]
            value = ctx.operator(x, *theta)
            transposed = ctx.operator if symmetric else _transposed(ctx.operator, x)
            weights = linear_solve(transposed, g, *theta, symmetric=symmetric, tol=tol, max_iters=max_iters)
            wanted = [one for one in tensors if one.requires_grad]
            found = iter(
                roots.grad(value, wanted, -weights, create_graph=recording, allow_unused=True) if wanted else ()
            )
        parts = (next(found) if isinstance(one, Tensor) and one.requires_grad else None for one in theta)
        return (None, None, None, weights, *parts)


def _transposed(operator: Callable, like: Tensor) -> Callable:
    """x -> A^T x, from the pullback of x -> A x."""

    def transpose(v: Tensor, *theta: Any) -> Tensor:
        with enable_grad():
            probe = like.detach().requires_grad_()
            return roots.grad(operator(probe, *theta), probe, v, create_graph=is_grad_enabled())[0]

    return transpose


def linear_solve(
    operator: Callable,
    b: Tensor,
    *theta: Any,
    symmetric: bool = False,
    tol: float = 1e-12,
    max_iters: int | None = None,
) -> Tensor:
    """The x with operator(x, *theta) = b for a linear operator given as a function; differentiable by b and theta.

    Conjugate gradients if `symmetric` (and positive definite), GMRES otherwise; no matrix is ever made.
    """
    with no_grad():
        constants = [value.detach() if isinstance(value, Tensor) else value for value in theta]
        shape, dtype = b._array.shape, b._array.dtype

        def product(v: np.ndarray) -> np.ndarray:
            return np.asarray(operator(wrap(v.reshape(shape).astype(dtype)), *constants).detach()._array).reshape(-1)

        right = np.asarray(b.detach()._array).reshape(-1)
        steps = max_iters or 10 * right.size
        x = (_conjugate_gradients if symmetric else _gmres)(product, right, tol, steps)
    return _LinearSolution.apply(operator, wrap(x.reshape(shape).astype(dtype)), (symmetric, tol, max_iters), b, *theta)


def _conjugate_gradients(product: Callable, b: np.ndarray, tol: float, max_iters: int) -> np.ndarray:
    x = np.zeros_like(b)
    residual = b.copy()
    direction = residual.copy()
    size = residual @ residual
    target = tol**2 * max(size, np.finfo(b.dtype).tiny)
    for _ in range(max_iters):
        if size <= target:
            break
        image = product(direction)
        step = size / (direction @ image)
        x = x + step * direction
        residual = residual - step * image
        size, before = residual @ residual, size
        direction = residual + size / before * direction
    return x


def _gmres(product: Callable, b: np.ndarray, tol: float, max_iters: int) -> np.ndarray:
    x = np.zeros_like(b)
    start = np.linalg.norm(b)
    for _ in range(3):  # a restart or two removes what rounding left
        residual = b - product(x)
        beta = np.linalg.norm(residual)
        if beta <= tol * max(start, 1e-300):
            break
        basis, columns = [residual / beta], []
        for k in range(min(b.size, max_iters)):
            image = product(basis[k])
            column = np.zeros(k + 2, b.dtype)
            for i, vector in enumerate(basis):
                column[i] = vector @ image
                image = image - column[i] * vector
            column[k + 1] = np.linalg.norm(image)
            columns.append(column)
            matrix = np.zeros((k + 2, k + 1), b.dtype)
            for j, one in enumerate(columns):
                matrix[: len(one), j] = one
            right = np.zeros(k + 2, b.dtype)
            right[0] = beta
            weights, *_ = np.linalg.lstsq(matrix, right, rcond=None)
            if np.linalg.norm(matrix @ weights - right) <= tol * start or column[k + 1] <= 1e-14 * beta:
                break
            basis.append(image / column[k + 1])
        x = x + sum(weight * vector for weight, vector in zip(weights, basis, strict=False))
    return x


# --- SciPy ---


def minimize(
    function: Callable, start: Any, *, method: str = "L-BFGS-B", hessian_product: bool | None = None, **settings: Any
) -> Any:
    """Minimise a scalar function of a tree of tensors with `scipy.optimize.minimize`, gradients supplied.

    Returns SciPy's result; `result.tree` is the minimum in the structure of `start`. `hessian_product` says whether the
    method gets products with the Hessian as well (by default, if it takes them).
    """
    from scipy import optimize

    leaves, spec = tree_flatten(start)
    shapes = [leaf._array.shape for leaf in leaves]
    kinds = [leaf._array.dtype for leaf in leaves]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])

    def tree_of(vector: np.ndarray, grad: bool) -> tuple:
        parts = np.split(np.asarray(vector, np.float64), ends[:-1])
        tensors = [
            wrap(part.reshape(shape).astype(kind)) for part, shape, kind in zip(parts, shapes, kinds, strict=True)
        ]
        for tensor in tensors:
            tensor._requires_grad = grad
        return tensors, tree_unflatten(tensors, spec)

    def flat(gradients: Any) -> np.ndarray:
        return np.concatenate([np.asarray(g.detach()._array, np.float64).reshape(-1) for g in gradients])

    def value_and_gradient(vector: np.ndarray) -> tuple:
        with enable_grad():
            tensors, tree = tree_of(vector, True)
            value = function(tree)
            return float(value.detach()), flat(roots.grad(value, tensors, materialize_grads=True))

    def product(vector: np.ndarray, direction: np.ndarray) -> np.ndarray:
        with enable_grad():
            tensors, tree = tree_of(vector, True)
            gradients = roots.grad(function(tree), tensors, create_graph=True, materialize_grads=True)
            along, _ = tree_of(direction, False)
            return flat(roots.grad(gradients, tensors, along, materialize_grads=True))

    takes_products = method.lower() in ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
    if hessian_product if hessian_product is not None else takes_products:
        settings["hessp"] = product
    first = np.concatenate([np.asarray(leaf.detach()._array, np.float64).reshape(-1) for leaf in leaves])
    result = optimize.minimize(value_and_gradient, first, jac=True, method=method, **settings)
    result["tree"] = tree_of(result.x, False)[1]
    return result

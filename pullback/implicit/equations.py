"""Equations that are differentiable in their parameters: `Root` is the solution as one operation.

Newton's method and repetition find the solution; its derivatives follow from the equation, by linear systems (`linear.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.function import Function
from ..core import roots
from ..core.grad_mode import enable_grad, no_grad
from ..core.mode import is_grad_enabled
from ..core.tape import wrap
from ..core.tensor import Tensor
from .linear import LinearSolve, Operator, level_among, merged, one_by_one, pull_params, push_params, save, stand_in

if TYPE_CHECKING:
    from ..core.basics.types import Arguments, Tangent
    from ..transforms.custom_transforms import VmapInfo


class Equation:
    """An equation, how to solve it, and how to solve with its Jacobian: the settings of `Root`."""

    def __init__(self, function: Callable[..., Any], find: Callable[..., Any], linear: str) -> None:
        self.function, self.find, self.linear = function, find, linear

    def derivative(self) -> Operator:
        """v -> the derivative of x -> f(x, *params) along v, as an operator with the parameters (x, *params)."""

        def product(v: Tensor, x: Tensor, *params: Tensor) -> Tensor:
            from ..func import jvp

            return jvp(lambda point: self.function(point, *params), (x,), (v,))[1]

        return Operator(product, self.linear, None, None)

    def adjoint(self) -> Operator:
        """u -> the pullback of u through x -> f(x, *params), as an operator with the parameters (x, *params)."""

        def product(u: Tensor, x: Tensor, *params: Tensor) -> Tensor:
            record = is_grad_enabled()
            with enable_grad():
                point = stand_in(x, record, level_among(u, x, *params))
                return roots.grad(self.function(point, *params), point, u, create_graph=record)[0]

        return Operator(product, self.linear, None, None)


class Root(Function):
    """`apply(equation, start, *params)`: the solution of an equation."""

    @staticmethod
    def forward(equation: Equation, start: Tensor, *params: Tensor) -> Tensor:
        with no_grad():
            return equation.find(start, params).clone()  # the start itself, maybe

    @staticmethod
    def setup_context(ctx: Any, inputs: Arguments, output: Tensor) -> None:
        ctx.equation = inputs[0]
        save(ctx, output, inputs[2:])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        x, *saved = ctx.saved_tensors
        params = merged(saved, ctx.others)
        u = LinearSolve.apply(ctx.equation.adjoint(), None, g, x, *params)
        return (None, None, *pull_params(ctx.equation.function, x, params, -u, ctx.needs_input_grad[2:]))

    @staticmethod
    def jvp(ctx: Any, _: None, start: Tangent, *tangents: Tangent) -> Tensor:
        x, *saved = ctx.saved_tensors
        params = merged(saved, ctx.others)
        pushed = push_params(ctx.equation.function, x, params, tangents)
        return LinearSolve.apply(ctx.equation.derivative(), None, -pushed, x, *params)

    @staticmethod
    def vmap(info: VmapInfo, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, int]:
        return one_by_one(Root, info.batch_size, in_dims, args), 0


# --- solvers ---------------------------------------------------------------------------------------------------------


def _tolerance(x: Tensor, tol: float | None) -> float:
    return float(np.finfo(x._array.dtype).eps) ** 0.75 if tol is None else tol


def _length(x: Any) -> float:
    return float(np.linalg.norm(np.asarray(x._array, dtype=np.float64).ravel()))


def newton(
    f: Callable[..., Any], x: Tensor, params: tuple[Tensor, ...], tol: float | None, max_iters: int, method: str
) -> Tensor:
    """The x with f(x, *params) == 0 by Newton's method; a step that does not help is halved."""
    limit = _tolerance(x, tol)
    residual = f(x, *params)
    if residual._array.shape != x._array.shape:
        raise ValueError(f"root() needs as many equations as unknowns: {tuple(residual.shape)} and {tuple(x.shape)}")
    start = length = _length(residual)
    for _ in range(max_iters):
        if length <= limit * max(1.0, start):
            return x
        step = _newton_step(f, x, params, residual, method)
        scale = 1.0
        while True:
            ahead = x - scale * step
            following = f(ahead, *params)
            improved = _length(following)
            if improved < (1 - 1e-4 * scale) * length or scale < 1e-8:
                break
            scale /= 2
        if scale < 1e-8:
            break
        x, residual, length = ahead, following, improved
    if length <= limit**0.5 * max(1.0, start):  # rounding keeps it from getting any better
        return x
    raise RuntimeError(f"root() did not converge: |f(x)| is still {length:.3g} (at most {max_iters} Newton steps)")


def _newton_step(f: Callable[..., Any], x: Tensor, params: tuple[Tensor, ...], residual: Tensor, method: str) -> Tensor:
    from ..func import jacfwd, jvp

    if method == "dense":
        size = x._array.size
        matrix = jacfwd(lambda x: f(x, *params))(x)
        square = np.asarray(matrix.detach()._array).reshape(size, size)
        try:
            solution = np.linalg.solve(square, np.asarray(residual._array).ravel())
        except np.linalg.LinAlgError as error:
            raise RuntimeError("root() did not converge: it came to a point where the Jacobian is singular") from error
        return wrap(solution.reshape(x._array.shape))
    operator = Operator(lambda v: jvp(lambda x: f(x, *params), (x,), (v,))[1].detach(), method, None, None)
    return operator.solve(residual.detach(), ())


def repeat(
    f: Callable[..., Any], x: Tensor, params: tuple[Tensor, ...], tol: float | None, max_iters: int, memory: int = 5
) -> Tensor:
    """x <- f(x), where the next x mixes the last steps so that what they miss, to first order, cancels."""
    limit = _tolerance(x, tol)
    shape, dtype = x._array.shape, x._array.dtype
    places: list[np.ndarray] = []
    misses: list[np.ndarray] = []
    here = np.array(x._array, dtype=np.float64).ravel()
    for _ in range(max_iters):
        ahead = np.asarray(f(wrap(here.astype(dtype).reshape(shape)), *params)._array, dtype=np.float64).ravel()
        miss = ahead - here
        if not np.isfinite(miss).all():
            break
        if np.linalg.norm(miss) <= limit * max(1.0, float(np.linalg.norm(ahead))):
            return wrap(ahead.astype(dtype).reshape(shape))
        places, misses = [*places, ahead][-memory:], [*misses, miss][-memory:]
        if len(misses) == 1:
            here = ahead
            continue
        steps = np.stack([later - misses[-1] for later in misses[:-1]], 1)
        weights = np.linalg.lstsq(steps, -misses[-1], rcond=1e-12)[0]
        here = ahead + np.stack([place - ahead for place in places[:-1]], 1) @ weights
    raise RuntimeError(f"fixed_point() did not converge in {max_iters} steps")

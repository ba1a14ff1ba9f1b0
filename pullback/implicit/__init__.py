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

import numpy as np

from ..arrays.batched import Batched, level_of
from ..autograd import roots
from ..autograd.forward_mode import unknown
from ..autograd.function import Function
from ..autograd.general import payload_of
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.mode import is_grad_enabled
from ..autograd.tape import wrap
from ..functional.registry import FUNCTIONS
from ..tensor import Tensor
from ..utils._pytree import tree_flatten, tree_unflatten
from .krylov import solve as krylov_solve

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
    return _LinearSolve.apply(operator, None if x0 is None else x0.detach(), b, *flat)


def root(
    f: Callable[..., Any], x0: Any, *params: Any, solver: Callable[..., Any] | None = None,
    tol: float | None = None, max_iters: int = 100, method: str = "auto",
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
        return _newton(equation, start, leaves, tol, max_iters, linear)

    linear = _method(method, x0)
    return _Root.apply(_Equation(equation, find, linear), x0.detach(), *flat)


def fixed_point(
    f: Callable[..., Any], x0: Any, *params: Any, tol: float | None = None, max_iters: int = 1000,
    method: str = "auto",
) -> Any:  # fmt: skip
    """The x with `x == f(x, *params)`, reached from `x0` by repetition (with Anderson's mixing of the last steps)."""
    if not isinstance(x0, Tensor):
        joined, split = _as_vector(x0)
        options: dict[str, Any] = {"tol": tol, "max_iters": max_iters, "method": method}
        return split(fixed_point(_of_vectors(f, split), joined, *params, **options))
    flat, spec = tree_flatten(params)

    def step(x: Tensor, *leaves: Any) -> Tensor:
        return _tensor(f(x, *tree_unflatten(list(leaves), spec)), "fixed_point")

    def find(start: Tensor, leaves: tuple) -> Tensor:
        return _repeat(step, start, leaves, tol, max_iters)

    equation = _Equation(lambda x, *leaves: x - step(x, *leaves), find, _method(method, x0))
    return _Root.apply(equation, x0.detach(), *flat)


def _tensor(value: Any, name: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}() needs a function that returns what it is given: a tensor, not a {type(value).__name__}")
    return value


def _as_vector(tree: Any) -> tuple[Tensor, Callable[[Tensor], Any]]:
    """All elements of a nesting of tensors as one vector, and the function that takes such a vector apart again."""
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise TypeError(f"Unknowns and equations are tensors, or nestings of tensors; this has a {type(leaf).__name__}.")
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
    return ("dense" if x._array.size <= 500 else "gmres") if method == "auto" else method


# --- derivatives -----------------------------------------------------------------------------------------------------


def _partial(value: Any, record: bool, level: int) -> Any:
    """A stand-in for a tensor, to differentiate with respect to it alone: in a recorded pass with its history.

    Where batches of a level take part, it is one of them, for the pass is on their tape.
    """
    if not isinstance(value, Tensor) or not (value.is_floating_point() or value.is_complex()):
        return value
    if level and level_of(value._array) != level:
        return wrap(Batched(payload_of(value, level), level, False)).requires_grad_()
    if record and value.requires_grad:
        return value.view_as(value)
    return value.detach().requires_grad_()


def _level(*values: Any) -> int:
    """The innermost level of the batches among tensors."""
    return max((level_of(value._array) for value in values if isinstance(value, Tensor)), default=0)


def _pull_params(function: Callable, x: Tensor, params: tuple, weights: Tensor, wanted: tuple) -> list:
    """The vector-Jacobian products of `function(x, *params)` with respect to the wanted parameters."""
    record = is_grad_enabled()
    targets = [number for number, needed in enumerate(wanted) if needed]
    if not targets:
        return [None] * len(params)
    with enable_grad():
        level = _level(x, weights, *params)
        stand_ins = [_partial(p, record, level) if needed else p for p, needed in zip(params, wanted, strict=True)]
        point = x if record else x.detach()
        result = function(point, *stand_ins)
        found = roots.grad(
            result, [stand_ins[number] for number in targets], weights, create_graph=record, allow_unused=True,
            materialize_grads=True,
        ) if result.requires_grad else [None] * len(targets)  # fmt: skip
    answers: list = [None] * len(params)
    for number, gradient in zip(targets, found, strict=True):
        answers[number] = gradient
    return answers


class Operator:
    """A linear map given by its products, and how to solve with it."""

    matvec: Callable[..., Any]
    tol: Any
    max_iters: Any

    def __init__(self, matvec: Callable[..., Any], method: str, tol: float | None, max_iters: int | None) -> None:
        if method not in ("gmres", "cg", "dense"):
            raise ValueError(f'method must be "gmres", "cg" or "dense", got {method!r}')
        self.matvec, self.method, self.tol, self.max_iters = matvec, method, tol, max_iters

    def transposed(self) -> Operator:
        """The adjoint: its product is the pullback of this one's."""
        if self.method == "cg":
            return Operator(self.matvec, self.method, self.tol, self.max_iters)
        return Operator(pullback_of(self.matvec), self.method, self.tol, self.max_iters)

    def solve(self, b: Tensor, params: tuple[Any, ...], x0: Tensor | None = None) -> Tensor:
        shape, dtype = b._array.shape, b._array.dtype

        def product(v: np.ndarray) -> np.ndarray:
            return np.asarray(self.matvec(wrap(v.reshape(shape)), *params)._array).ravel()

        start = None if x0 is None else np.array(x0._array).ravel()
        with no_grad():
            found = krylov_solve(product, np.array(b._array).ravel(), self.method, self.tol, self.max_iters, start)
        return wrap(found.astype(dtype, copy=False).reshape(shape))


def pullback_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """(u, *params) -> the pullback of u through x -> function(x, *params), a linear map of x."""

    def pulled(u: Tensor, *params: Any) -> Tensor:
        record = is_grad_enabled()
        with enable_grad():
            x = unknown(u, _level(u, *params))
            return roots.grad(function(x, *params), x, u, create_graph=record)[0]

    return pulled


class _LinearSolve(Function):
    @staticmethod
    def forward(operator: Operator, start: Tensor | None, b: Tensor, *params: Any) -> Tensor:
        return operator.solve(b, params, start).clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.operator = inputs[0]
        _save(ctx, output, inputs[3:])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        x, *saved = ctx.saved_tensors
        params = _merged(saved, ctx.others)
        adjoint = _LinearSolve.apply(ctx.operator.transposed(), None, g, *params)
        pulled = _pull_params(ctx.operator.matvec, x, params, -adjoint, ctx.needs_input_grad[3:])
        return (None, None, adjoint if ctx.needs_input_grad[2] else None, *pulled)

    @staticmethod
    def jvp(ctx: Any, _: Any, start: Any, tangent: Any, *tangents: Any) -> Tensor:
        x, *saved = ctx.saved_tensors
        params = _merged(saved, ctx.others)
        pushed = _push_params(ctx.operator.matvec, x, params, tangents)
        right = -pushed if tangent is None else tangent if pushed is None else tangent - pushed
        return _LinearSolve.apply(ctx.operator, None, right, *params)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Tensor, int]:
        return _one_by_one(_LinearSolve, info.batch_size, in_dims, args), 0


def _save(ctx: Any, x: Tensor, params: tuple) -> None:
    ctx.others = [None if isinstance(p, Tensor) else p for p in params]
    tensors = [p for p in params if isinstance(p, Tensor)]
    ctx.save_for_backward(x, *tensors)
    ctx.save_for_forward(x, *tensors)


def _push_params(function: Callable, x: Tensor, params: tuple, tangents: tuple) -> Any:
    """The derivative of `function(x, *params)` along the tangents of the parameters; None if there are none."""
    from ..func import jvp

    moved = [number for number, tangent in enumerate(tangents) if tangent is not None]
    if not moved:
        return None

    def of_moved(*values: Tensor) -> Tensor:
        given = list(params)
        for number, value in zip(moved, values, strict=True):
            given[number] = value
        return function(x, *given)

    return jvp(of_moved, tuple(params[number] for number in moved), tuple(tangents[number] for number in moved))[1]


def _merged(saved: list, others: list) -> tuple:
    tensors = iter(saved)
    return tuple(next(tensors) if other is None else other for other in others)


class _Equation:
    """What `_Root` needs to know: the equation, how to solve it, and how to solve with its Jacobian."""

    def __init__(self, function: Callable[..., Any], find: Callable[..., Any], linear: str) -> None:
        self.function, self.find, self.linear = function, find, linear

    def derivative(self) -> Operator:
        """v -> the derivative of x -> f(x, *params) along v, as an operator with the parameters (x, *params)."""

        def product(v: Tensor, x: Tensor, *params: Any) -> Tensor:
            from ..func import jvp

            return jvp(lambda point: self.function(point, *params), (x,), (v,))[1]

        return Operator(product, self.linear, None, None)

    def adjoint(self) -> Operator:
        """u -> the pullback of u through x -> f(x, *params), as an operator with the parameters (x, *params)."""

        def product(u: Tensor, x: Tensor, *params: Any) -> Tensor:
            record = is_grad_enabled()
            with enable_grad():
                point = _partial(x, record, _level(u, x, *params))
                return roots.grad(self.function(point, *params), point, u, create_graph=record)[0]

        return Operator(product, self.linear, None, None)


class _Root(Function):
    @staticmethod
    def forward(equation: _Equation, start: Tensor, *params: Any) -> Tensor:
        with no_grad():
            return equation.find(start, params).clone()  # the start itself, maybe

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.equation = inputs[0]
        _save(ctx, output, inputs[2:])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        x, *saved = ctx.saved_tensors
        params = _merged(saved, ctx.others)
        u = _LinearSolve.apply(ctx.equation.adjoint(), None, g, x, *params)
        return (None, None, *_pull_params(ctx.equation.function, x, params, -u, ctx.needs_input_grad[2:]))

    @staticmethod
    def jvp(ctx: Any, _: Any, start: Any, *tangents: Any) -> Tensor:
        x, *saved = ctx.saved_tensors
        params = _merged(saved, ctx.others)
        pushed = _push_params(ctx.equation.function, x, params, tangents)
        return _LinearSolve.apply(ctx.equation.derivative(), None, -pushed, x, *params)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Tensor, int]:
        return _one_by_one(_Root, info.batch_size, in_dims, args), 0


def _one_by_one(function: Any, count: int, in_dims: tuple, args: tuple) -> Tensor:
    """A batch of problems: each takes as many steps as it needs, so they are solved one after the other."""
    results = [
        function.apply(*[a if dim is None else a.select(dim, i) for a, dim in zip(args, in_dims, strict=True)])
        for i in range(count)
    ]
    return FUNCTIONS["stack"](results)


# --- solvers ---------------------------------------------------------------------------------------------------------


def _tolerance(x: Tensor, tol: float | None) -> float:
    return float(np.finfo(x._array.dtype).eps) ** 0.75 if tol is None else tol


def _length(x: Any) -> float:
    return float(np.linalg.norm(np.asarray(x._array, dtype=np.float64).ravel()))


def _newton(f: Callable, x: Tensor, params: tuple, tol: float | None, max_iters: int, method: str) -> Tensor:
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


def _newton_step(f: Callable, x: Tensor, params: tuple, residual: Tensor, method: str) -> Tensor:
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


def _repeat(f: Callable, x: Tensor, params: tuple, tol: float | None, max_iters: int, memory: int = 5) -> Tensor:
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

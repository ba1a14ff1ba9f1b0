"""Linear systems that are differentiable: `Operator` solves them, `LinearSolve` is the solution as one operation.

Its derivatives are solutions of systems with the same matrix or its transpose, and are differentiable themselves.
How a system is solved is in `krylov.py`; here is also what operations on solutions share, with those of `equations.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.function import Function
from ..core import roots
from ..core.general import payload_of
from ..core.grad_mode import enable_grad, no_grad
from ..core.mode import is_grad_enabled
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..functional.registry import FUNCTIONS
from ..transforms.arrays.batched import Batched, level_of
from ..transforms.forward_mode import unknown_cotangent
from .krylov import solve as krylov_solve

if TYPE_CHECKING:
    from ..core.basics.types import Arguments, Tangent
    from ..transforms.custom_transforms import VmapInfo


class Operator:
    """A linear map given by its products, and how to solve with it."""

    matvec: Callable[..., Any]
    tol: float | None
    max_iters: int | None

    def __init__(self, matvec: Callable[..., Any], method: str, tol: float | None, max_iters: int | None) -> None:
        if method not in ("gmres", "cg", "dense"):
            raise ValueError(f'method must be "gmres", "cg" or "dense", got {method!r}')
        self.matvec, self.method, self.tol, self.max_iters = matvec, method, tol, max_iters

    def transposed(self) -> Operator:
        """The adjoint: its product is the pullback of this one's."""
        if self.method == "cg":
            return Operator(self.matvec, self.method, self.tol, self.max_iters)
        return Operator(pullback_of(self.matvec), self.method, self.tol, self.max_iters)

    def solve(self, b: Tensor, params: tuple[Tensor, ...], x0: Tensor | None = None) -> Tensor:
        shape, dtype = b._array.shape, b._array.dtype

        def product(v: np.ndarray) -> np.ndarray:
            return np.asarray(self.matvec(wrap(v.reshape(shape)), *params)._array).ravel()

        start = None if x0 is None else np.array(x0._array).ravel()
        with no_grad():
            found = krylov_solve(product, np.array(b._array).ravel(), self.method, self.tol, self.max_iters, start)
        return wrap(found.astype(dtype, copy=False).reshape(shape))


def pullback_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """(u, *params) -> the pullback of u through x -> function(x, *params), a linear map of x."""

    def pulled(u: Tensor, *params: Tensor) -> Tensor:
        record = is_grad_enabled()
        with enable_grad():
            x = unknown_cotangent(u, level_among(u, *params))
            return roots.grad(function(x, *params), x, u, create_graph=record)[0]

    return pulled


class LinearSolve(Function):
    """`apply(operator, start, b, *params)`: the x with `operator.matvec(x, *params) == b`."""

    @staticmethod
    def forward(operator: Operator, start: Tensor | None, b: Tensor, *params: Tensor) -> Tensor:
        return operator.solve(b, params, start).clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Arguments, output: Tensor) -> None:
        ctx.operator = inputs[0]
        save(ctx, output, inputs[3:])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        x, *saved = ctx.saved_tensors
        params = merged(saved, ctx.others)
        adjoint = LinearSolve.apply(ctx.operator.transposed(), None, g, *params)
        pulled = pull_params(ctx.operator.matvec, x, params, -adjoint, ctx.needs_input_grad[3:])
        return (None, None, adjoint if ctx.needs_input_grad[2] else None, *pulled)

    @staticmethod
    def jvp(ctx: Any, _: None, start: Tangent, tangent: Tangent, *tangents: Tangent) -> Tensor:
        x, *saved = ctx.saved_tensors
        params = merged(saved, ctx.others)
        pushed = push_params(ctx.operator.matvec, x, params, tangents)
        right = -pushed if tangent is None else tangent if pushed is None else tangent - pushed
        return LinearSolve.apply(ctx.operator, None, right, *params)

    @staticmethod
    def vmap(info: VmapInfo, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, int]:
        return one_by_one(LinearSolve, info.batch_size, in_dims, args), 0


# --- what operations on solutions share -------------------------------------------------------------------------------


def save(ctx: Any, x: Tensor, params: tuple[Tensor, ...]) -> None:
    """Keep a solution and the parameters, of which only some are tensors."""
    ctx.others = [None if isinstance(p, Tensor) else p for p in params]
    tensors = [p for p in params if isinstance(p, Tensor)]
    ctx.save_for_backward(x, *tensors)
    ctx.save_for_forward(x, *tensors)


def push_params(
    function: Callable[..., Any], x: Tensor, params: tuple[Tensor, ...], tangents: tuple[Tangent, ...]
) -> Any:
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


def merged(saved: list[Any], others: list[Any]) -> tuple[Any, ...]:
    """The parameters that `save` was given, in their order."""
    tensors = iter(saved)
    return tuple(next(tensors) if other is None else other for other in others)


def stand_in(value: Any, record: bool, level: int) -> Any:
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


def level_among(*values: Any) -> int:
    """The innermost level of the batches among tensors."""
    return max((level_of(value._array) for value in values if isinstance(value, Tensor)), default=0)


def pull_params(
    function: Callable[..., Any], x: Tensor, params: tuple[Tensor, ...], weights: Tensor, wanted: tuple[bool, ...]
) -> list[Any]:
    """The vector-Jacobian products of `function(x, *params)` with respect to the wanted parameters."""
    record = is_grad_enabled()
    targets = [number for number, needed in enumerate(wanted) if needed]
    if not targets:
        return [None] * len(params)
    with enable_grad():
        level = level_among(x, weights, *params)
        stand_ins = [stand_in(p, record, level) if needed else p for p, needed in zip(params, wanted, strict=True)]
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


def one_by_one(function: Any, count: int, in_dims: tuple[int | None, ...], args: Arguments) -> Tensor:
    """A batch of problems: each takes as many steps as it needs, so they are solved one after the other."""
    results = [
        function.apply(*[a if dim is None else a.select(dim, i) for a, dim in zip(args, in_dims, strict=True)])
        for i in range(count)
    ]
    return FUNCTIONS["stack"](results)

"""Adam for the gradients of large tables of which few rows are used at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback

from ..core.basics.interrupts import uninterrupted
from ..core.tensor import Tensor
from ._arrays import array_of, scalar_of, touch
from ._checks import check_lr
from .optimizer import Optimizer, ParamsT


class SparseAdam(Optimizer):
    """Adam that moves, and keeps averages of, only the elements that a sparse gradient has.

    The gradients of `nn.Embedding(..., sparse=True)` and `nn.EmbeddingBag(..., sparse=True)` are such.
    """

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for index, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for kind, complaint in (
            ("is_sparse", "requires dense parameter tensors"),
            ("is_complex", "does not support complex parameters"),
        ):
            wrong = [
                [number, index] for number, group in enumerate(self.param_groups)
                for index, param in enumerate(group["params"]) if _is(param, kind)
            ]  # fmt: skip
            if wrong:
                raise ValueError(f"{kind[3:].title()} params at indices {wrong}: SparseAdam {complaint}")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the rows that have gradients; returns what `closure` returned, if there is one."""
        loss = None
        if closure is not None:
            with pullback.enable_grad():
                loss = closure()
        work = [(param, group) for group in self.param_groups for param in group["params"] if param.grad is not None]
        for param, _ in work:
            if not param.grad.is_sparse:
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        with uninterrupted():
            for param, group in work:
                state = self.state[param]
                if not state:
                    state.update(step=0, exp_avg=pullback.zeros_like(param), exp_avg_sq=pullback.zeros_like(param))
                state["step"] += 1
                sparse_adam(
                    [param], [param.grad], [state["exp_avg"]], [state["exp_avg_sq"]], [state["step"]], eps=group["eps"],
                    beta1=group["betas"][0], beta2=group["betas"][1], lr=scalar_of(group["lr"]),
                    maximize=group.get("maximize", False),
                )  # fmt: skip
        return loss


def _is(param: Any, kind: str) -> bool:
    found = getattr(param, kind)
    return bool(found() if callable(found) else found)


def sparse_adam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
    state_steps: list[int], *, eps: float, beta1: float, beta2: float, lr: float, maximize: bool,
) -> None:  # fmt: skip
    """One step on lists of tensors, which are written to where the gradients have elements."""
    for param, grad, average, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        once: Any = grad.coalesce()  # type: ignore[operator]  # the update is not linear: each place must come once
        values = once._values()._array
        if not values.size:
            continue
        values = -values if maximize else values
        at = tuple(once._indices()._array)
        first, second = array_of(average), array_of(square)
        touch([param, average, square])  # before anything is written
        first[at] += (values - first[at]) * (1 - beta1)
        second[at] += (values * values - second[at]) * (1 - beta2)
        rate = float(lr * math.sqrt(1 - beta2**step) / (1 - beta1**step))
        array_of(param)[at] -= rate * (first[at] / (np.sqrt(second[at]) + eps))

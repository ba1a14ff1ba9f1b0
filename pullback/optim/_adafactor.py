"""Adafactor: second moments kept as row and column averages, so that the state stays small."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from . import _updates
from ._arrays import array_of, scalar_of
from ._checks import check_lr, check_nonnegative
from ._stepper import ArrayOptimizer, mismatch, step_counter, zeros_like
from .optimizer import ParamsT


class Adafactor(ArrayOptimizer):
    """Adaptive steps from factored second moments, with a relative step size and clipped updates."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.01,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 0.001),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None:
            check_nonnegative(eps[0], "epsilon1 should be >= 0 but is: {}")
        check_nonnegative(eps[1], "epsilon2 should be >= 0 but is: {}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        check_nonnegative(weight_decay, "weight_decay should be >= 0 but is: {}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _fresh_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.dim() <= 1:
            return {"step": step_counter(param, group), "variance": zeros_like(param)}
        shape = list(param.shape)
        return {
            "step": step_counter(param, group),
            "row_var": param.new_zeros([*shape[:-1], 1]),
            "col_var": param.new_zeros([*shape[:-2], 1, shape[-1]]),
        }

    def _buffers(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return ()  # the averages have shapes of their own

    def _row(self, param: Tensor, grad: Tensor, *rest: Any) -> list[Any]:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        return super()._row(param, grad, *rest)

    def _plan(self, group: dict[str, Any], rows: list[Any]) -> list[tuple[Any, ...]]:
        plan: list[tuple[Any, ...]] = []
        lr = float(scalar_of(group["lr"]))
        for (values, grad), counter, state, _ in rows:
            averages = [array_of(state[name]) for name in ("row_var", "col_var", "variance") if name in state]
            shape = values.shape
            expected = [shape] if len(shape) <= 1 else [(*shape[:-1], 1), (*shape[:-2], 1, shape[-1])]
            if [average.shape for average in averages] != expected:
                raise RuntimeError(mismatch("Adafactor", shape, averages[0].shape, False))
            plan.append((values, -grad if group["maximize"] else grad, averages, group, lr, counter))
        return plan

    def _run(self, plans: list[list[tuple[Any, ...]]]) -> None:
        for plan in plans:
            for values, grad, averages, group, lr, counter in plan:
                counter[...] += 1
                _update(values, grad, averages, group, lr, counter.item())


def _update(
    values: np.ndarray, grad: np.ndarray, averages: list[np.ndarray], group: dict[str, Any], lr: float, step: float
) -> None:
    if values.size == 0:
        return
    smallest, relative = group["eps"]
    if smallest is None:
        smallest = float(np.finfo(values.dtype).eps)
    weight, near = _updates.lerp_weight(step ** group["beta2_decay"])
    rate = max(relative, _norm(values) / values.size**0.5) * min(lr, 1 / step**0.5)
    if group["weight_decay"] != 0:
        values *= float(1 - lr * group["weight_decay"])
    if grad.ndim > 1:
        rows, columns = averages
        square = grad * grad
        _updates.lerp(rows, square.sum(-1, keepdims=True) / grad.shape[-1], weight, near)
        _updates.lerp(columns, square.sum(-2, keepdims=True) / grad.shape[-2], weight, near)
        estimate = rows @ columns
        estimate /= np.maximum(rows.mean(-2, keepdims=True), smallest)
    else:
        _updates.lerp(averages[0], grad * grad, weight, near)
        estimate = averages[0].copy()
    np.maximum(estimate, smallest * smallest, out=estimate)
    np.sqrt(estimate, out=estimate)
    np.divide(grad, estimate, out=estimate)
    clip = max(1.0, _norm(estimate) / (estimate.size**0.5 * group["d"]))
    estimate *= float(-rate / clip)
    values += estimate


def _norm(array: np.ndarray) -> float:
    flat = array.reshape(-1)
    return math.sqrt(float(np.dot(flat, flat)))

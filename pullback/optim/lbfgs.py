"""LBFGS: a quasi-Newton method that remembers a few past steps; the closure is evaluated several times a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback

from ..core.basics.interrupts import uninterrupted
from ..core.tensor import Tensor
from ._arrays import scalar_of
from ._checks import check_lr
from ._line_search import Point, _cubic_interpolate, _strong_wolfe, strong_wolfe  # noqa: F401
from .optimizer import Optimizer, ParamsT

_LISTS = ("old_dirs", "old_stps", "ro", "al")


class LBFGS(Optimizer):
    """Limited-memory BFGS over all parameters as one vector; there is one parameter group only.

    `step(closure)` needs a function that clears the gradients, computes the loss, runs backward and returns the loss:
    it is called up to `max_eval` times. `line_search_fn="strong_wolfe"` makes it reliable where a fixed `lr` does not.

    A step makes up to `max_iter` iterations, and ends when the largest gradient is below `tolerance_grad` or the
    change below `tolerance_change`. `history_size` earlier steps stand for the Hessian.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-07,
        tolerance_change: float = 1e-09,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    # -- parameters as one vector

    def _flat_gradient(self) -> Tensor:
        parts = []
        for param in self._params:
            grad = pullback.zeros_like(param) if param.grad is None else param.grad.detach()
            parts.append((pullback.view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        return pullback.cat(parts, 0)

    def _move(self, step: float, direction: Tensor) -> None:
        offset = 0
        for param in self._params:
            target = pullback.view_as_real(param) if param.is_complex() else param
            count = target.numel()
            target.add_(direction[offset : offset + count].reshape(target.shape), alpha=step)
            offset += count

    def _place(self, values: list[Tensor]) -> None:
        for param, value in zip(self._params, values):
            param.copy_(value)

    # -- stepping

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Up to `max_iter` iterations; `closure` clears the gradients, computes the loss and calls backward."""
        params = self._params
        held = self.state[params[0]]
        # Work on copies: an exception in the closure then leaves parameters and state as they were.
        state = {key: list(value) if key in _LISTS and value is not None else value for key, value in held.items()}
        with pullback.no_grad():
            before = [param.clone() for param in params]
            done = False
            try:
                loss = self._iterate(closure, state)
                with uninterrupted():
                    held.update(state)
                    done = True
            except BaseException:
                if not done:
                    with (
                        uninterrupted(),
                        pullback.no_grad(),
                    ):  # again: Ctrl-C may come when a closure's mode is about to end
                        self._place(before)
                raise
        return loss

    def _evaluate(self, closure: Callable[[], Any]) -> tuple[Any, float, Tensor]:
        with pullback.enable_grad():
            loss = closure()
        value = loss.detach() if isinstance(loss, pullback.Tensor) else loss
        return loss, float(value), self._flat_gradient()

    def _iterate(self, closure: Callable[[], Any], state: dict[str, Any]) -> Any:
        group = self.param_groups[0]
        lr = float(scalar_of(group["lr"]))
        tolerance_change, tolerance_grad = group["tolerance_change"], group["tolerance_grad"]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss, loss, gradient = self._evaluate(closure)
        evaluations = 1
        state["func_evals"] += 1
        if _largest(gradient) <= tolerance_grad:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(gradient, state, group["history_size"])
            state["d"], state["prev_flat_grad"], state["prev_loss"] = direction, gradient, loss
            is_first = state["n_iter"] == 1
            step = state["t"] = (min(1.0, 1.0 / _positive(gradient.abs().sum().item())) if is_first else 1.0) * lr
            slope = gradient.dot(direction).item()
            if slope > -tolerance_change:
                break
            used = 0
            is_last = iteration == group["max_iter"]
            if group["line_search_fn"] is not None:
                start = Point(0.0, loss, gradient, slope)
                point, used = self._search(closure, direction, start, step, group["max_eval"] - evaluations)
                step, loss, gradient = point.step, point.value, point.gradient
                state["t"] = step
            self._move(step, direction)
            if group["line_search_fn"] is None and not is_last:
                _, loss, gradient = self._evaluate(closure)
                used = 1
            evaluations += used
            state["func_evals"] += used
            if (
                is_last
                or evaluations >= group["max_eval"]
                or _largest(gradient) <= tolerance_grad
                or _largest(direction * step) <= tolerance_change
                or abs(loss - state["prev_loss"]) < tolerance_change
            ):
                break
        return first_loss

    def _direction(self, gradient: Tensor, state: dict[str, Any], history_size: int) -> Tensor:
        """The negative gradient times the approximate inverse Hessian, by the two-loop recursion."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return gradient.neg()
        changes, moves, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change = gradient - state["prev_flat_grad"]
        move = state["d"] * state["t"]
        curvature = change.dot(move).item()
        if curvature > 1e-10:
            if len(changes) == history_size:
                for history in (changes, moves, inverses):
                    history.pop(0)
            changes.append(change)
            moves.append(move)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / _positive(change.dot(change).item())
        weights: list[Any] = [None] * history_size
        result = gradient.neg()
        for index in range(len(changes) - 1, -1, -1):
            weights[index] = moves[index].dot(result).item() * inverses[index]
            result.add_(changes[index], alpha=-weights[index])
        result = result * state["H_diag"]
        for index in range(len(changes)):
            back = changes[index].dot(result).item() * inverses[index]
            result.add_(moves[index], alpha=weights[index] - back)
        state["al"] = weights
        return result

    def _search(
        self, closure: Callable[[], Any], direction: Tensor, start: Point, step: float, limit: int
    ) -> tuple[Point, int]:
        """A step that is long enough, and how often the closure was called to find it; parameters stay in place."""
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        origin = [param.clone() for param in self._params]

        def probe(length: float) -> Point:
            self._move(length, direction)
            _, value, gradient = self._evaluate(closure)
            self._place(origin)
            return Point(length, value, gradient, gradient.dot(direction).item())

        tolerance = 1e-9
        return strong_wolfe(probe, start, step, _largest(direction), tolerance, limit)


def _largest(vector: Tensor) -> float:
    return vector.abs().max().item()


def _positive(value: float) -> Any:
    """A divisor that gives infinity at zero, as tensors do, where Python's float would raise."""
    return np.float64(value) if value == 0 else value

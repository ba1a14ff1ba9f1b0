"""Schedules that move the momentum along with the learning rate: cycles, and the single cycle of OneCycleLR."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any, Literal

from ._schedule_base import LRScheduler, check_optimizer, per_group, set_option
from .optimizer import Optimizer


class _MomentumSchedule(LRScheduler):
    """The base of both schedules, which sets momenta: the option's name depends on the optimizer."""

    use_beta1: bool

    def _prepare_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        base = per_group("base_momentum", optimizer, base_momentum)
        largest = per_group("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for high, low, group in zip(largest, base, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return base, largest

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_MomentumSchedule):
    """Back and forth between two rates, by default along straight lines of `step_size_up` and `step_size_down`.

    The rates are `base_lr` and `max_lr`. With `mode="triangular2"` each cycle is half as high as the one before, with
    "exp_range" it is scaled by `gamma` to the power of the step; `scale_fn`, a function of the cycle (or, with
    `scale_mode="iterations"`, of the step), replaces these. With `cycle_momentum` the momentum goes the other way,
    between `max_momentum` and `base_momentum`. Call `step` after every batch.
    """

    base_momentums: list[Any]
    max_momentums: list[Any]

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer: Optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_option(group, "lr", rate)
        self.max_lrs: list[Any] = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size: float = up + down
        self.step_ratio: float = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode: Literal["triangular", "triangular2", "exp_range"] = mode
        self.gamma: float = gamma
        self._scale_fn_custom: Callable[[float], float] | None = scale_fn
        self.scale_mode: Literal["cycle", "iterations"] = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum: bool = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._prepare_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """How much of the full height a cycle (or an iteration) reaches."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        if self.mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return self.gamma**x

    def _rates(self) -> list[Any]:
        """The rates of the next step; sets the momenta, too."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        if place <= self.step_ratio:
            height = place / self.step_ratio
        else:
            height = (place - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups = self.optimizer.param_groups
            for low, high, group in zip(self.base_momentums, self.max_momentums, groups, strict=True):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """A scale function of the user's is saved only if it is a callable object, by its attributes."""
        state = super().state_dict()
        function = state["_scale_fn_custom"]
        state["_scale_fn_custom"] = None
        if function is not None and not isinstance(function, types.FunctionType):
            state["_scale_fn_custom"] = function.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where another scheduler's `state_dict()` was taken; a custom function stays that of this one."""
        attributes = state_dict["_scale_fn_custom"]
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class OneCycleLR(_MomentumSchedule):
    """Up to `max_lr`, then down far below the start, in a fixed number of steps. Call `step` after every batch.

    The number of steps is `total_steps`, or `epochs * steps_per_epoch`. The rate starts at max_lr / div_factor, rises
    for `pct_start` of the steps, and ends at the start divided by `final_div_factor`, along a cosine or, with
    `anneal_strategy="linear"`, a line; `three_phase` first mirrors the rise. With `cycle_momentum` the momentum goes
    the other way, between `max_momentum` and `base_momentum`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 10000.0,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer: Optimizer = optimizer
        self.total_steps: int = _total_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type: Literal["cos", "linear"] = anneal_strategy
        largest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for rate, group in zip(largest, optimizer.param_groups):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum: bool = cycle_momentum
        if cycle_momentum:
            self._prepare_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _annealing_cos(start: Any, end: Any, pct: float) -> Any:
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start: Any, end: Any, pct: float) -> Any:
        return (end - start) * pct + start

    def _anneal(self, start: Any, end: Any, share: float) -> Any:
        # Checkpoints from before torch 2.2 have the function and not its name.
        function = getattr(self, "anneal_func", None) or getattr(self, f"_annealing_{self._anneal_func_type}")
        return function(start, end, share)

    def _rates(self) -> list[Any]:
        """The rates of the next step; sets the momenta, too."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        share = (step - start) / (end - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                momentum = self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], share)
                self._set_momentum(group, momentum)
        return rates


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return epochs * steps_per_epoch


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    def phase(end_step: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict[str, Any]:
        return {
            "end_step": end_step, "start_lr": start_lr, "end_lr": end_lr, "start_momentum": start_momentum,
            "end_momentum": end_momentum,
        }  # fmt: skip

    up = phase(float(pct_start * total_steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    last = total_steps - 1
    if not three_phase:
        return [up, phase(last, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    turn = float(2 * pct_start * total_steps) - 2
    return [
        up,
        phase(turn, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
        phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]

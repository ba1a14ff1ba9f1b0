"""Schedules made of other schedules, and the one that listens to a metric."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Literal, SupportsFloat

from ..core.basics.notices import warn_user
from ._schedule_base import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    all_or_nothing,
    check_optimizer,
    option_values,
    set_option,
)
from .optimizer import Optimizer


class _Composed(LRScheduler):
    """Checkpoints of schedules that hold others."""

    _schedulers: Sequence[LRScheduler]

    def _check_members(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
        name = type(self).__name__
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {index} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {index} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {index} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, with the members' own state dicts."""
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where another scheduler's `state_dict()` was taken."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(saved)


class SequentialLR(_Composed):
    """One schedule after the other, changing at the milestones."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check_members(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to "
                f"be equal to {len(milestones)}"
            )
        self._schedulers: list[LRScheduler] = schedulers
        self._milestones: list[int] = milestones
        self.last_epoch: int = last_epoch + 1
        self.optimizer: Optimizer = optimizer
        # The members each took their first step when they were made: undo that and let the first one begin.
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take one epoch back from every schedule inside."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for member in scheduler._schedulers:
                self.recursive_undo(member)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    @all_or_nothing
    def step(self) -> None:  # type: ignore[override]
        """Go on by one epoch."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """Several schedules at once: each changes the rate the previous one left."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check_members(schedulers, optimizer)
        self._schedulers: Sequence[LRScheduler] = schedulers
        self.optimizer = optimizer
        self._last_lr = option_values(schedulers[-1].optimizer, "lr")

    @all_or_nothing
    def step(self) -> None:  # type: ignore[override]
        """Step every schedule once."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = option_values(self._schedulers[-1].optimizer, "lr")


class ReduceLROnPlateau(LRScheduler):
    """Reduce the rate by `factor` when a metric has stopped improving for `patience` epochs. Call `step(metric)`.

    `mode` says whether a good metric is small ("min") or large ("max"). To count as better it must be so by
    `threshold`, a share of the best ("rel") or an amount ("abs", `threshold_mode`). After a reduction, `cooldown`
    epochs are not counted; the rate stays above `min_lr`, and changes below `eps` are left out.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 0.0001,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-08,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor: float = factor
        check_optimizer(optimizer)
        self.optimizer: Optimizer = optimizer
        count = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != count:
                raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
            self.default_min_lr: Any = None
            self.min_lrs: list[float] = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * count
        self.patience: int = patience
        self.cooldown: int = cooldown
        self.eps: float = eps
        self.last_epoch: int = 0
        self._last_lr = option_values(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse: float = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        self.best: float = self.mode_worse
        self.cooldown_counter: int = 0
        self.num_bad_epochs: int = 0

    @property
    def in_cooldown(self) -> bool:
        """True while bad epochs are not counted, soon after a reduction."""
        return self.cooldown_counter > 0

    def _is_better(self, value: float, best: float) -> bool:
        sign = -1.0 if self.mode == "min" else 1.0
        if self.threshold_mode == "rel":
            best = best * (1.0 + sign * self.threshold)
        else:
            best = best + sign * self.threshold
        return value < best if self.mode == "min" else value > best

    @all_or_nothing
    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of the metric of one epoch."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warn_user(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = option_values(self.optimizer, "lr")

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for least, group in zip(self.min_lrs, groups):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_option(group, "lr", new)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where another scheduler's `state_dict()` was taken."""
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)

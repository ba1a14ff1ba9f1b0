"""Averages of a model's weights over training: stochastic (SWA) and exponential (EMA), with their schedule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, Literal

import pullback

from ..core.basics.interrupts import uninterrupted
from ..core.tensor import Tensor
from ..nn import Module
from ._schedule_base import LRScheduler, per_group
from .optimizer import Optimizer

__all__ = [
    "AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """A function that moves a list of averages towards the current values, keeping the share `decay`."""
    _check_decay(decay)

    def ema_update(ema_param_list: list[Tensor], current_param_list: list[Tensor], _: Any) -> None:
        with pullback.no_grad():
            for average, current in zip(ema_param_list, current_param_list, strict=True):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(current, 1 - decay)
                else:
                    average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """A function that turns a list of averages of n values into averages of n + 1."""

    def swa_update(
        averaged_param_list: list[Tensor], current_param_list: list[Tensor], num_averaged: Tensor | int
    ) -> None:
        with pullback.no_grad():
            weight = 1 / (int(num_averaged) + 1)
            for average, current in zip(averaged_param_list, current_param_list, strict=True):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(current, weight)
                else:
                    average.add_(((current - average) * weight).to(average.dtype))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """A function that gives the exponential average of one parameter."""
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with pullback.no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """A function that gives the plain average of one parameter, from that of n values and the next one."""

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Tensor:
        with pullback.no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters follow the average of the model's; see `update_parameters`.

    The average is that of all calls, unless `avg_fn(average, current, count)` says how to go on from one parameter,
    or `multi_avg_fn` from lists of them: `get_ema_multi_avg_fn(decay)` makes an exponential one. With `use_buffers`,
    buffers are averaged, too; otherwise they are copied.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module: Module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", pullback.tensor(0, dtype=pullback.long, device=device))
        self.avg_fn: Callable[..., Tensor] | None = avg_fn
        self.multi_avg_fn: Callable[..., None] | None = multi_avg_fn
        self.use_buffers: bool = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the current parameters of `model` into the average."""
        pairs = [
            (average.detach(), current.detach().to(average.device))
            for average, current in zip(self._averaged(self.module), self._averaged(model))
        ]
        with uninterrupted():  # half an update would look like none
            self._average(pairs, model)

    def _average(self, pairs: list[tuple[Tensor, Tensor]], model: Module) -> None:
        if self.n_averaged == 0:
            for average, current in pairs:
                average.copy_(current)
        elif self.avg_fn is not None and self.multi_avg_fn is None:
            for average, current in pairs:
                average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))
        else:
            combine = self.multi_avg_fn or get_swa_multi_avg_fn()
            # One call for each dtype, so that a function may decide by the first tensor of a list.
            by_dtype: dict[Any, list[Any]] = {}
            for pair in pairs:
                by_dtype.setdefault((pair[0].device, pair[0].dtype), []).append(pair)
            for (device, _), members in by_dtype.items():
                averages, currents = ([pair[side] for pair in members] for side in (0, 1))
                combine(averages, currents, self.n_averaged.to(device))
        if not self.use_buffers:
            for average, current in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(current.detach().to(average.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterable[Tensor]:
        return chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of batch normalization layers with one pass over the data."""
    layers = [module for module in model.modules() if isinstance(module, pullback.nn.modules.batchnorm._BatchNorm)]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    was_training = model.training
    with pullback.no_grad():
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None
        model.train()
        for batch in loader:
            if isinstance(batch, (list, tuple)):
                batch = batch[0]
            if device is not None:
                batch = batch.to(device)
            model(batch)
    for layer, momentum in zip(layers, momenta):
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the current rates to `swa_lr` in `anneal_epochs` epochs, then constant."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy: Literal["cos", "linear"] = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs: int = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, share: float) -> float:
        """How much of the way is done after a share of the epochs."""
        return share if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * share)) / 2

    def _rates(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        length = max(1, self.anneal_epochs)
        before = self.anneal_func(max(0, min(1, (step - 1) / length)))
        now = self.anneal_func(max(0, min(1, step / length)))
        rates = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            # Recover the rate the way began at, which other schedules may have changed meanwhile.
            start = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates

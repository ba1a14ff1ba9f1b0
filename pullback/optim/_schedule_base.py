"""The base class of learning-rate schedules, and how they read and write an optimizer's options."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import pullback

from ..core.basics.interrupts import uninterrupted
from ..core.basics.notices import warn_user
from ..core.tensor import Tensor
from ._arrays import as_scalar_tensor
from .optimizer import Optimizer

EPOCH_DEPRECATION_WARNING: str = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)
_ORDER_HELP = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


F = TypeVar("F", bound=Callable[..., Any])


def all_or_nothing(step: F) -> F:
    """The same step, but one that ends early, by Ctrl-C or an error in a function of the program, changes nothing.

    Signals cannot wait here, since such functions may take as long as they like: the little that a step writes is kept.
    """

    @wraps(step)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = [(vars(each), vars(each).copy()) for each in _with_members(self)]
        before += [(group, group.copy()) for group in self.optimizer.param_groups]
        rates = [(x, x.clone()) for _, group in before for x in group.values() if type(x) is Tensor and not x.ndim]
        try:
            return step(self, *args, **kwargs)
        except BaseException:
            with uninterrupted(), pullback.no_grad():
                for present, former in before:
                    present.clear()
                    present.update(former)
                for rate, value in rates:
                    rate.copy_(value)
            raise

    return cast(F, whole)


def _with_members(scheduler: Any) -> list[Any]:
    """A schedule and those that it is made of."""
    found = [scheduler]
    for member in getattr(scheduler, "_schedulers", ()):
        found += _with_members(member)
    return found


class LRScheduler:
    """Sets the learning rates of an optimizer's groups each time `step` is called.

    That is once an epoch for most schedules, after `optimizer.step()`. `get_last_lr()` says where they are.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer: Optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, pullback.Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming scheduler with "
                    "last_epoch >= 0.\nLoad the optimizer's state before making the scheduler, or leave last_epoch "
                    "at -1 for a new run."
                )
        self.base_lrs: list[Any] = option_values(optimizer, "initial_lr")
        self.last_epoch: int = last_epoch
        _notice_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where another scheduler's `state_dict()` was taken."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float | Tensor]:
        """The rates set by the last step."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """The rates of the next step; for use inside `step`."""
        if not self._get_lr_called_within_step:
            warn_user("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")
        return self._rates()

    def _rates(self) -> list[float | Tensor]:
        """The formula of a schedule."""
        raise NotImplementedError

    @all_or_nothing
    def step(self, epoch: int | None = None) -> None:
        """Go on by one epoch, or to the given one."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn_user(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warn_user(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_ORDER_HELP}",
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warn_user(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to "
                f"do this will result in PyTorch skipping the first value of the learning rate schedule. {_ORDER_HELP}",
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", None)
                rates = self.get_lr() if closed_form is None else closed_form()
        finally:
            self._get_lr_called_within_step = False
        self._write(rates)

    def _write(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = option_values(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[Any]:
        """All current rates times one factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _unchanged(self) -> list[Any]:
        return option_values(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The old name of the base class."""


def _notice_steps(optimizer: Optimizer) -> None:
    """Have the optimizer remember that it was stepped, to tell a wrong order of calls."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function = optimizer.step.__func__  # type: ignore[attr-defined]
    # A weak reference: the optimizer owns the wrapper and must not be kept alive by it.
    reference = weakref.ref(optimizer)

    @wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        owner: Any = reference()
        owner._opt_called = True
        return function.__get__(owner, type(owner))(*args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]


def check_optimizer(optimizer: Any) -> None:
    """Only an Optimizer has groups to schedule."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def option_values(optimizer: Optimizer, key: str) -> list[Any]:
    """One option of all groups; tensors are copied, as schedules change them in place."""
    return [_copied(group[key]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], key: str, value: Any) -> None:
    """Set a group's option; one that is a tensor keeps its identity."""
    if isinstance(group[key], pullback.Tensor):
        group[key].fill_(as_scalar_tensor(value))
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each group, from a list of them or a single one."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [_copied(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {count}."
        )
    return [_copied(item) for item in value]


def callables_state(functions: list[Callable[..., Any]]) -> list[dict[str, Any] | None]:
    """The attributes of callable objects; plain functions are not saved."""
    return [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in functions]


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, pullback.Tensor) else value

"""Checks of constructor arguments that several optimizers share, with torch's wording of the complaints."""

from __future__ import annotations

import math
from typing import Any

import pullback

_UPPER_LIMITS = {"rho": 1.0}
_WORDS = {"eps": "epsilon"}
"""The names of hyperparameters in complaints, where they are not those of the arguments."""


def check_lr(lr: Any, text: str = "Invalid learning rate: {}") -> None:
    """A learning rate is a number or one-element tensor that is not negative."""
    if isinstance(lr, pullback.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_nonnegative(lr, text)


def check_nonnegative(value: Any, text: str) -> None:
    """`text` has one place for the value."""
    if not 0.0 <= value:
        raise ValueError(text.format(value))


def check_hyperparameters(**values: Any) -> None:
    """Complain about the first value that is out of its range; all are at least 0, some have an upper limit."""
    for name, value in values.items():
        if name == "betas":
            check_betas(value)
        elif name == "lr":
            check_lr(value)
        elif not 0.0 <= value <= _UPPER_LIMITS.get(name, math.inf):
            raise ValueError(f"Invalid {_WORDS.get(name, name)} value: {value}")


def check_betas(betas: Any) -> None:
    """Both decay rates lie in [0, 1)."""
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """A fused step can neither be recorded nor be a foreach step at the same time."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_fused_params(param_groups: list[dict[str, Any]]) -> None:
    """Fused kernels know real floating point parameters only."""
    for group in param_groups:
        for param in group["params"]:
            if group.get("fused") and not param.is_floating_point():
                raise RuntimeError(
                    "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                    f"['cpu', 'cuda'] but {param.dtype} and {param.device.type}"
                )

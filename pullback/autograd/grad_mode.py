"""`torch.autograd.grad_mode`: the switches of grad mode, by the path that programs import them from."""

from __future__ import annotations

from ..core.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]

"""`GradScaler`: multiply the loss, divide the gradients, skip steps that overflowed, and adapt the factor."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback

from ..core.basics.device import cpu
from ..core.basics.interrupts import uninterrupted
from ..core.basics.notices import warn_user
from ..core.tensor import Tensor
from ..functional.creation import tensor

_READY, _UNSCALED, _STEPPED = range(3)


class GradScaler:
    """Scales losses so that gradients in short dtypes do not vanish.

    `scale(loss).backward()` multiplies the loss by the scale, `step(optimizer)` divides the gradients by it and
    steps, unless one of them is not finite, and `update()` adjusts it: times `backoff_factor` after such a step,
    times `growth_factor` after `growth_interval` good ones. With `enabled=False` all of this does nothing.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device: str = device
        if device == "cuda" and enabled:
            warn_user("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            enabled = False
        self._enabled: bool = enabled
        if enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._scale: float = init_scale
        self._growth_factor: float = growth_factor
        self._backoff_factor: float = backoff_factor
        self._growth_interval: int = growth_interval
        self._growth_tracker: int = 0
        self._started: bool = False  # whether anything was scaled: until then there is nothing to undo
        self._optimizers: dict[int, dict[str, Any]] = {}

    def _state_of(self, optimizer: Any) -> dict[str, Any]:
        return self._optimizers.setdefault(id(optimizer), {"stage": _READY, "found_inf": None})

    def _need_scale(self, action: str) -> None:
        if not self._started:
            raise AssertionError(
                f"Attempted {action} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                "outputs) earlier in the iteration."
            )

    def scale(self, outputs: Any) -> Any:
        """The loss (or a list of them) times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(value) for value in outputs)
        if not hasattr(outputs, "backward"):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        self._started = True
        return outputs * self._scale

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor, and note whether any is infinite or NaN."""
        if not self._enabled:
            return
        self._need_scale("unscale_")
        state = self._state_of(optimizer)
        if state["stage"] == _UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] == _STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = 1.0 / self._scale
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        for grad in grads:
            if grad.dtype is pullback.float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
        with uninterrupted():  # else it would be unknown which gradients are divided already
            for grad in grads:
                array = (grad._values() if grad.is_sparse else grad)._array
                finite = np.isfinite(array if array.dtype.kind != "V" else array.astype(np.float32))
                state["found_inf"] = bool(state["found_inf"]) or not finite.all()
                grad.detach().mul_(inverse)
            state["stage"] = _UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()`, unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._need_scale("step")
        state = self._state_of(optimizer)
        if state["stage"] == _STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] == _READY:
            self.unscale_(optimizer)
        if state["found_inf"] is None:
            raise AssertionError(
                "No inf checks were recorded for this optimizer. None of its parameters has a gradient."
            )
        state["stage"] = _STEPPED
        return None if state["found_inf"] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Adapt the factor: smaller after an overflow, larger after many steps without one."""
        if not self._enabled:
            return
        self._need_scale("update")
        if new_scale is not None:
            self._scale = _checked_scale(new_scale)
            self._optimizers.clear()
        else:
            checks = [state["found_inf"] for state in self._optimizers.values() if state["found_inf"] is not None]
            if not checks:
                raise AssertionError("No inf checks were recorded prior to update.")
            with uninterrupted():
                self._adapt(any(checks))
                self._optimizers.clear()

    def _adapt(self, overflowed: bool) -> None:
        if overflowed:
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            self._scale *= self._growth_factor
            self._growth_tracker = 0

    def _get_growth_tracker(self) -> int:
        return self._growth_tracker if self._enabled else 0

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        """Return the verdict of `unscale_` as libraries ask for it: 1 if a gradient was infinite or NaN, else 0."""
        found = self._state_of(optimizer)["found_inf"]
        return {} if found is None else {cpu: tensor(float(found))}

    def get_scale(self) -> float:
        """The factor."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """True if losses are scaled at all."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """By how much the scale grows after `growth_interval` good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Choose by how much the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale is multiplied after a step with infinite gradients."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Choose what the scale is multiplied by after a step with infinite gradients."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps in a row let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Choose how many good steps in a row let the scale grow."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The factor and how it adapts; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict()` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


def _checked_scale(new_scale: Any) -> float:
    if isinstance(new_scale, float):
        return new_scale
    if not isinstance(new_scale, Tensor) or new_scale.numel() != 1 or new_scale.requires_grad:
        raise AssertionError(
            "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
            "requires_grad=False."
        )
    return new_scale.item()

"""Names that optimizers written after torch's own import from `torch.optim.optimizer` besides `Optimizer`.

Pullback's optimizers use none of it: they have other means (`_stepper.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pullback

# Paragraphs that such optimizers put into their documentation.
_params_doc = "params: an iterable of parameters, of (name, parameter) pairs, or of dicts of parameter groups"
_foreach_doc = "foreach: whether all parameters are updated by operations on lists of tensors (default: None)"
_fused_doc = "fused: whether the whole update is one operation (default: None)"
_capturable_doc = "capturable: whether a step may be part of a CUDA graph; without effect here (default: False)"
_differentiable_doc = "differentiable: whether gradients flow through the step (default: False)"
_maximize_doc = "maximize: whether the objective is maximized (default: False)"


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A method of an optimizer that records operations only if the optimizer is differentiable."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with pullback.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    """A number, taken out of its tensor."""
    return x.item() if isinstance(x, pullback.Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """As it is: programs are not compiled."""
    return x


def _to_scalar(x: Any) -> Any:
    """A hyperparameter with a tensor of one element made one without dims."""
    return x.squeeze() if isinstance(x, pullback.Tensor) and x.ndim else x


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of counters of steps."""
    wide = not is_fused and pullback.get_default_dtype() is pullback.float64
    return pullback.float64 if wide else pullback.float32


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Puts real views into the places of complex parameters, and of what belongs to them in the other lists."""
    for position, param in enumerate(params):
        if param.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[position] = pullback.view_as_real(tensors[position])


def _default_to_fused_or_foreach(params: list[Any], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Which form of update is chosen where the user did not: on a CPU one parameter after another."""
    fused = use_fused and not differentiable and all(param is None or param.is_floating_point() for param in params)
    return fused, False


def _device_dtype_check_for_fused(p: Any, cuda_unsupported: bool = False) -> None:
    """An error for a parameter that an update in one operation does not take."""
    if not p.is_floating_point():
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported devices: ['cpu'] "
            f"but {p.dtype} and {p.device.type}"
        )


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Any], Any]:
    """A decorator that returns the function as it is."""
    return lambda function: function

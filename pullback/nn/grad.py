"""`torch.nn.grad`: the gradients of convolutions as functions of their own, for those who write backward by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import enable_grad, grad, is_grad_enabled
from ..core.tensor import Tensor
from . import functional

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _of_input(name: str) -> Callable[..., Tensor]:
    convolution = getattr(functional, name)

    def input_gradient(
        input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        with enable_grad():
            x = grad_output.new_zeros(tuple(input_size)).requires_grad_()
            out = convolution(x, weight, None, stride, padding, dilation, groups)
        return _gradient(out, x, weight, grad_output)

    input_gradient.__name__ = input_gradient.__qualname__ = f"{name}_input"
    input_gradient.__doc__ = f"The gradient of `{name}` with respect to its input, which has the size given."
    return input_gradient


def _of_weight(name: str) -> Callable[..., Tensor]:
    convolution = getattr(functional, name)

    def weight_gradient(
        input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        with enable_grad():
            weight = grad_output.new_zeros(tuple(weight_size)).requires_grad_()
            out = convolution(input, weight, None, stride, padding, dilation, groups)
        return _gradient(out, weight, input, grad_output)

    weight_gradient.__name__ = weight_gradient.__qualname__ = f"{name}_weight"
    weight_gradient.__doc__ = f"The gradient of `{name}` with respect to its weight, which has the size given."
    return weight_gradient


def _gradient(out: Tensor, leaf: Tensor, other: Tensor, grad_output: Tensor) -> Tensor:
    recorded = is_grad_enabled() and (other.requires_grad or grad_output.requires_grad)
    (result,) = grad(out, leaf, grad_output, create_graph=recorded)
    return result


conv1d_input: Callable[..., Tensor] = _of_input("conv1d")
conv2d_input: Callable[..., Tensor] = _of_input("conv2d")
conv3d_input: Callable[..., Tensor] = _of_input("conv3d")
conv1d_weight: Callable[..., Tensor] = _of_weight("conv1d")
conv2d_weight: Callable[..., Tensor] = _of_weight("conv2d")
conv3d_weight: Callable[..., Tensor] = _of_weight("conv3d")

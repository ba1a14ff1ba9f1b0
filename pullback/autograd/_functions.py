"""Custom functions that torch ships under `torch.autograd._functions`: `Resize`, from before `view` existed."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from .function import Function


class Resize(Function):
    """The elements of a contiguous tensor in another shape with as many elements."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """The elements under another shape."""
        if math.prod(sizes) != tensor.numel():
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({math.prod(sizes)} elements in total), but the "
                f"given tensor has a size of {'x'.join(map(str, tensor.size()))} ({tensor.numel()} elements). "
                "autograd's resize can only change the shape of a given tensor, while preserving the number of "
                "elements."
            )
        ctx.input_sizes = tensor.size()
        return tensor.contiguous().view(*sizes).clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        """The gradient under the shape that was."""
        return grad_output.contiguous().view(ctx.input_sizes), None

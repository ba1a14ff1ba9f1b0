"""The arithmetic of `CrossMapLRN2d`, whose windows over channels are not quite centred.

torch's windows (translated long ago from one-based indices) are kept, in the forward pass and in the backward pass,
so that the numbers agree: the first channel never leaves the window, and the gradient's window looks backwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pullback

from ...core.tensor import Tensor


def cross_map_normalise(input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """`input` divided by a power of the sum of squares over neighbouring channels."""
    if input.dim() != 4:
        raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
    return _CrossMap.apply(input, size, alpha, beta, k)


def _windows(input: Tensor, contains: Callable[[int, int], bool]) -> Tensor:
    """The 0/1 matrix that sums, for each channel, the channels in its window."""
    channels = range(input.shape[1])
    rows = [[float(contains(centre, other)) for other in channels] for centre in channels]
    return pullback.tensor(rows, dtype=input.dtype, device=input.device)


def _over_channels(matrix: Tensor, values: Tensor) -> Tensor:
    return pullback.einsum("ij,njhw->nihw", matrix, values)


class _CrossMap(pullback.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
        reach = (size + 1) // 2
        window = _windows(
            input, lambda centre, other: other < centre + reach and (other == 0 or other > centre - reach)
        )
        scale = _over_channels(window, input * input) * (alpha / size) + k
        output = input * scale**-beta
        ctx.save_for_backward(input, output, scale)
        ctx.arguments = size, alpha, beta
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        input, output, scale = ctx.saved_tensors
        size, alpha, beta = ctx.arguments
        first = int(size - (size - 1) / 2)
        window = _windows(input, lambda centre, other: centre - first <= other < centre - first + size)
        through_scale = _over_channels(window, gradient * output / scale)
        return gradient * scale**-beta - input * through_scale * (2 * alpha * beta / size), None, None, None, None

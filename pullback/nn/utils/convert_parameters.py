"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pullback

from ...core.basics.interrupts import uninterrupted
from ...core.tensor import Tensor
from ..modules.module import _typename

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _on_one_device(parameters: Iterable[Tensor]) -> Iterator[Tensor]:
    device = None
    for parameter in parameters:
        if device is not None and parameter.device != device:
            raise TypeError("Found two parameters on different devices, this is currently not supported.")
        device = parameter.device
        yield parameter


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All the parameters flattened and concatenated; gradients flow through."""
    return pullback.cat([parameter.reshape(-1) for parameter in _on_one_device(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make consecutive pieces of `vec` the parameters' data."""
    if not isinstance(vec, pullback.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {_typename(vec)}")
    start = 0
    pieces = []
    for parameter in _on_one_device(parameters):
        stop = start + parameter.numel()
        pieces.append((parameter, vec[start:stop].view_as(parameter).data))
        start = stop
    with uninterrupted():
        for parameter, piece in pieces:
            parameter.data = piece

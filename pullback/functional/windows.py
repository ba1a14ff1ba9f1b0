"""The older window functions: `torch.hann_window` and its relatives, periodic unless asked otherwise."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..kernels import signal_windows as kernels
from .registry import public


def _finish(array: Any, layout: Any, device: Any, requires_grad: bool) -> Tensor:
    from .creation import finish

    return finish(array, requires_grad, device, layout=layout)


def _dtype(dtype: Any) -> Any:
    from .creation import numpy_dtype

    return numpy_dtype(dtype)


@public(method=False, tensors=False)
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A triangle that starts at zero."""
    return _finish(kernels.bartlett_window(window_length, periodic, _dtype(dtype)), layout, device, requires_grad)


@public(method=False, tensors=False)
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Blackman window."""
    return _finish(kernels.blackman_window(window_length, periodic, _dtype(dtype)), layout, device, requires_grad)


@public(method=False, tensors=False)
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Hamming window, alpha - beta cos."""
    array = kernels.hamming_window(window_length, periodic, alpha, beta, _dtype(dtype))
    return _finish(array, layout, device, requires_grad)


@public(method=False, tensors=False)
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Hann window."""
    return _finish(kernels.hann_window(window_length, periodic, _dtype(dtype)), layout, device, requires_grad)


@public(method=False, tensors=False)
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Kaiser window of shape `beta`."""
    return _finish(kernels.kaiser_window(window_length, periodic, beta, _dtype(dtype)), layout, device, requires_grad)

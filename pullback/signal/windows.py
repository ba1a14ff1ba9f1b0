"""`torch.signal.windows`: windows for spectral analysis, symmetric unless `sym=False` asks for a periodic one.

The numbers come from `kernels/signal_windows.py`; the older functions (`torch.hann_window`, ...) are in
`functional/windows.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.tensor import Tensor
from ..functional.creation import finish, numpy_dtype
from ..kernels import signal_windows as kernels

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


def _window(
    kernel: Any, M: int, dtype: Any, layout: Any, device: Any, requires_grad: bool, *args: Any, **kwargs: Any
) -> Tensor:
    array = kernel(M, *args, dtype=numpy_dtype(dtype), **kwargs)
    if layout is not None and "strided" not in str(layout):
        raise ValueError(f"{kernel.__name__} is implemented for strided tensors only, got: {layout}")
    return finish(array, requires_grad, device)


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Bartlett window: a triangle that is zero at both ends."""
    return _window(kernels.bartlett, M, dtype, layout, device, requires_grad, sym=sym)


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Blackman window."""
    return _window(kernels.blackman, M, dtype, layout, device, requires_grad, sym=sym)


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Half a period of a sine."""
    return _window(kernels.cosine, M, dtype, layout, device, requires_grad, sym=sym)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """exp(-|n - center| / tau)."""
    return _window(kernels.exponential, M, dtype, layout, device, requires_grad, center=center, tau=tau, sym=sym)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A Gaussian of standard deviation `std` samples."""
    return _window(kernels.gaussian, M, dtype, layout, device, requires_grad, std=std, sym=sym)


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A sum of cosines with alternating signs and coefficients `a`."""
    return _window(kernels.general_cosine, M, dtype, layout, device, requires_grad, a=a, sym=sym)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """alpha - (1 - alpha) cos(2 pi n / (M - 1))."""
    return _window(kernels.general_hamming, M, dtype, layout, device, requires_grad, alpha=alpha, sym=sym)


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Hamming window."""
    return _window(kernels.hamming, M, dtype, layout, device, requires_grad, sym=sym)


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Hann window: a raised cosine."""
    return _window(kernels.hann, M, dtype, layout, device, requires_grad, sym=sym)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Kaiser window of shape `beta`."""
    return _window(kernels.kaiser, M, dtype, layout, device, requires_grad, beta=beta, sym=sym)


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The minimum four-term Blackman-Harris window after Nuttall."""
    return _window(kernels.nuttall, M, dtype, layout, device, requires_grad, sym=sym)

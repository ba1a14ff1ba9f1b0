"""The standard's Fourier transform extension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.basics.dtypes import dtype as dtype_type
from ..core.tensor import Tensor
from ._array import Array, check_device, numpy_dtype, run, wrapped

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip


def _one_axis(name: str) -> Callable[..., Array]:
    function = getattr(np.fft, name)

    def transform(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
        return run(function, x, n=n, axis=axis, norm=norm)

    return _named(transform, name)


def _some_axes(name: str) -> Callable[..., Array]:
    function = getattr(np.fft, name)

    def transform(
        x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
    ) -> Array:
        if s is not None and axes is None:
            axes = tuple(range(x.ndim - len(s), x.ndim))
        return run(function, x, s=s, axes=axes, norm=norm)

    return _named(transform, name)


def _frequencies(name: str) -> Callable[..., Array]:
    function = getattr(np.fft, name)

    def frequencies(n: int, /, *, d: float = 1.0, dtype: dtype_type | None = None, device: Any = None) -> Array:
        check_device(device)
        return wrapped(function(n, d).astype(numpy_dtype(dtype) or np.float64))

    return _named(frequencies, name)


def _shift(name: str) -> Callable[..., Array]:
    function = getattr(np.fft, name)

    def shift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Array:
        return run(function, x, axes=axes)

    return _named(shift, name)


def _named(function: Any, name: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The standard's `fft.{name}`."
    return function


fft: Callable[..., Array] = _one_axis("fft")
ifft: Callable[..., Array] = _one_axis("ifft")
rfft: Callable[..., Array] = _one_axis("rfft")
irfft: Callable[..., Array] = _one_axis("irfft")
hfft: Callable[..., Array] = _one_axis("hfft")
ihfft: Callable[..., Array] = _one_axis("ihfft")
fftn: Callable[..., Array] = _some_axes("fftn")
ifftn: Callable[..., Array] = _some_axes("ifftn")
rfftn: Callable[..., Array] = _some_axes("rfftn")
irfftn: Callable[..., Array] = _some_axes("irfftn")
fftfreq: Callable[..., Array] = _frequencies("fftfreq")
rfftfreq: Callable[..., Array] = _frequencies("rfftfreq")
fftshift: Callable[..., Array] = _shift("fftshift")
ifftshift: Callable[..., Array] = _shift("ifftshift")

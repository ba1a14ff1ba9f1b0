"""The standard's Fourier transform extension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._lift import creating, lifted

_TRANSFORMS = "fft fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftn".split()
_FREQUENCIES = "fftfreq rfftfreq".split()
__all__ = [*_TRANSFORMS, *_FREQUENCIES]

for _name in _TRANSFORMS:
    globals()[_name] = lifted(getattr(np.fft, _name))


def _frequencies(name: str) -> Callable:
    function = getattr(np.fft, name)

    def frequencies(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
        result = function(n, d)
        return result if dtype is None else result.astype(dtype)

    frequencies.__name__ = name
    frequencies.__doc__ = f"The frequencies that the bins of a transform of length n stand for (`{name}`)."
    return creating(frequencies)


for _name in _FREQUENCIES:
    globals()[_name] = _frequencies(_name)

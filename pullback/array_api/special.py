"""Special functions of arrays, for SciPy: with `SCIPY_ARRAY_API=1` it uses a namespace's own if there are any.

They have the names and arguments of `scipy.special`, and its dtypes: integers become float64. What is not here SciPy
computes itself, on NumPy's arrays, and a tensor with a gradient refuses that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import special as _special
from ._array import Array, adopt, in_dtype, plain

# SciPy's name -> ours.
_NAMES: dict[str, str] = {
    "j0": "bessel_j0", "j1": "bessel_j1", "y0": "bessel_y0", "y1": "bessel_y1", "k0": "modified_bessel_k0",
    "k1": "modified_bessel_k1", "k0e": "scaled_modified_bessel_k0", "k1e": "scaled_modified_bessel_k1",
    **{
        name: name
        for name in (
            "entr erf erfc erfcx erfinv exp2 expit gammainc gammaincc gammaln i0 i0e i1 i1e log_ndtr logit ndtr ndtri "
            "psi sinc xlog1py xlogy zeta"
        ).split()
    },
}  # fmt: skip
__all__ = sorted(_NAMES)


def _lifted(name: str) -> Callable[..., Array]:
    function = getattr(_special, _NAMES[name])

    def call(*args: Any) -> Array:
        wanted = np.result_type(*map(plain, args), 1.0)
        return adopt(function(*(in_dtype(value, wanted) for value in args)))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`scipy.special.{name}`, element by element."
    return call


for _name in __all__:
    globals()[_name] = _lifted(_name)

"""Special functions of arrays, for SciPy: with `SCIPY_ARRAY_API=1` it uses a namespace's own if there are any.

They have the names and arguments of `scipy.special`, and its dtypes: integers become float64. What is not here SciPy
computes itself, on NumPy's arrays, and a tensor with a gradient refuses that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..special import named_by_scipy
from ._array import Array, as_arrays, in_dtype, plain

__all__ = (
    "entr erf erfc erfcx erfinv exp2 expit gammainc gammaincc gammaln i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e log_ndtr logit "
    "ndtr ndtri psi sinc xlog1py xlogy y0 y1 zeta"
).split()


def _lifted(name: str) -> Callable[..., Array]:
    function: Any = named_by_scipy(name)

    def call(*args: Any) -> Array:
        wanted = np.result_type(*map(plain, args), 1.0)
        return as_arrays(function(*(in_dtype(value, wanted) for value in args)))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`scipy.special.{name}`, element by element."
    return call


for _name in __all__:
    globals()[_name] = _lifted(_name)

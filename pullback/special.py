"""`torch.special`: special functions by their mathematical names.

The functions live in `functional/special_functions.py`; this module gathers them with those that are elementary.
`special_functions_of` answers which of them stands for a ufunc of `scipy.special`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .functional.registry import FUNCTIONS as _FUNCTIONS
from .functional.registry import under_name as _under_name
from .functional.special_functions import SPECIAL as _SPECIAL

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]: ...


_SAME_AS_TOP_LEVEL = {
    "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1", "log1p": "log1p", "log_softmax": "log_softmax",
    "logsumexp": "logsumexp", "round": "round", "softmax": "softmax", "sinc": "sinc",
}  # fmt: skip
_ALL = _SPECIAL | {_name: _FUNCTIONS[_top] for _name, _top in _SAME_AS_TOP_LEVEL.items()}
for _name, _function in _ALL.items():
    globals()[_name] = _under_name(_function, f"special_{_name}", _name)  # what torch calls it
    globals()[_name].__module__ = __name__

__all__ = sorted(_ALL)

# scipy.special's names, where they differ from torch's.
_FROM_SCIPY = {
    "_zeta": "zeta",
    "j0": "bessel_j0", "j1": "bessel_j1", "y0": "bessel_y0", "y1": "bessel_y1", "k0": "modified_bessel_k0",
    "k1": "modified_bessel_k1", "k0e": "scaled_modified_bessel_k0", "k1e": "scaled_modified_bessel_k1",
}  # fmt: skip


def special_functions_of(ufunc: Any) -> Callable[..., Any] | None:
    """The differentiable function that stands for a ufunc of scipy.special, or None."""
    name = ufunc.__name__
    if name == "log_expit":
        return lambda x: -_FUNCTIONS["logaddexp"](x.new_zeros(()), -x)
    if name == "cbrt":
        return _cube_root
    name = _FROM_SCIPY.get(name, name)
    return globals()[name] if name in __all__ else None


def _cube_root(x: Any) -> Any:
    return x.sign() * x.abs() ** (1 / 3)

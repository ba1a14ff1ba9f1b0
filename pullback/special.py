"""`torch.special`: special functions by their mathematical names.

The functions live in `functional/special_functions.py`; this module gathers them with those that are elementary.
`named_by_scipy` answers which of them stands for a function of `scipy.special`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .functional.gate import with_own_name as _another
from .functional.registry import FUNCTIONS as _FUNCTIONS
from .functional.special_functions import SPECIAL as _SPECIAL

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]: ...


_SAME_AS_TOP_LEVEL = {
    "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1", "log1p": "log1p", "log_softmax": "log_softmax",
    "logsumexp": "logsumexp", "round": "round", "softmax": "softmax", "sinc": "sinc",
}  # fmt: skip
_ALL = _SPECIAL | {_name: _FUNCTIONS[_top] for _name, _top in _SAME_AS_TOP_LEVEL.items()}
for _name, _function in _ALL.items():
    globals()[_name] = _another(_function, f"special_{_name}", "torch.special", _name)

__all__ = sorted(_ALL)

# scipy.special's names, where they differ from torch's.
_FROM_SCIPY = {
    "_zeta": "zeta",
    "j0": "bessel_j0", "j1": "bessel_j1", "y0": "bessel_y0", "y1": "bessel_y1", "k0": "modified_bessel_k0",
    "k1": "modified_bessel_k1", "k0e": "scaled_modified_bessel_k0", "k1e": "scaled_modified_bessel_k1",
}  # fmt: skip


def named_by_scipy(name: str) -> Callable[..., Any] | None:
    """The differentiable function that stands for a function of scipy.special, or None."""
    name = _FROM_SCIPY.get(name, name)
    return globals()[name] if name in __all__ else _FORMULAS.get(name)


def _log_beta(a: Any, b: Any) -> Any:
    return _FUNCTIONS["lgamma"](a) + _FUNCTIONS["lgamma"](b) - _FUNCTIONS["lgamma"](a + b)


# Ufuncs of SciPy and NumPy that are short formulas of others.
_FORMULAS: dict[str, Callable[..., Any]] = {
    "betaln": _log_beta,
    "beta": lambda a, b: _FUNCTIONS["exp"](_log_beta(a, b)),
    "cbrt": lambda x: x.sign() * x.abs() ** (1 / 3),
    "exp10": lambda x: 10.0**x,
    "log_expit": lambda x: -_FUNCTIONS["logaddexp"](x.new_zeros(()), -x),
    "rel_entr": lambda x, y: _FUNCTIONS["xlogy"](x, x) - _FUNCTIONS["xlogy"](x, y),
    "kl_div": lambda x, y: _FUNCTIONS["xlogy"](x, x) - _FUNCTIONS["xlogy"](x, y) - x + y,
}

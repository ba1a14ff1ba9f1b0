"""Special functions: error functions, gamma, Bessel, zeta and polynomials, with torch's names and promotion.

`SPECIAL` holds what `torch.special` shows; the functions torch also has at the top level are announced there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics.quiet import quiet
from ..core.op import Op
from ..core.tape import apply, apply_unary, wrap
from ..core.tensor import Tensor
from ..ops import special as ops
from .checks import apply_broadcast, apply_to_both, need_one_tensor, need_tensor, not_implemented_for
from .gate import NUMPY
from .operands import NUMBERS, float_operand, need_int, need_room, operand, promote
from .registry import FUNCTIONS, public, public_in

SPECIAL: dict[str, Callable[..., Any]] = {}

# What the functions of the tables below are.
_SENTENCES = {
    "erf": "The error function.",
    "erfc": "One minus the error function.",
    "erfinv": "The inverse of the error function.",
    "lgamma": "The logarithm of the absolute value of the gamma function.",
    "digamma": "The derivative of `lgamma`.",
    "i0": "The modified Bessel function of the first kind, of order 0.",
    "erfcx": "`exp(x**2) * erfc(x)`, without overflow.",
    "ndtr": "The distribution function of the standard normal distribution.",
    "ndtri": "The inverse of `ndtr`: quantiles of the standard normal distribution.",
    "log_ndtr": "The logarithm of `ndtr`, exact far out in the tail.",
    "entr": "`-x * log(x)`: 0 at 0, minus infinity below.",
    "i0e": "`exp(-|x|) * i0(x)`.",
    "i1": "The modified Bessel function of the first kind, of order 1.",
    "i1e": "`exp(-|x|) * i1(x)`.",
    "airy_ai": "The Airy function Ai.",
    "bessel_j0": "The Bessel function of the first kind, of order 0.",
    "bessel_j1": "The Bessel function of the first kind, of order 1.",
    "bessel_y0": "The Bessel function of the second kind, of order 0.",
    "bessel_y1": "The Bessel function of the second kind, of order 1.",
    "modified_bessel_i0": "The modified Bessel function of the first kind, of order 0.",
    "modified_bessel_i1": "The modified Bessel function of the first kind, of order 1.",
    "modified_bessel_k0": "The modified Bessel function of the second kind, of order 0.",
    "modified_bessel_k1": "The modified Bessel function of the second kind, of order 1.",
    "scaled_modified_bessel_k0": "`exp(x) * modified_bessel_k0(x)`.",
    "scaled_modified_bessel_k1": "`exp(x) * modified_bessel_k1(x)`.",
    "spherical_bessel_j0": "The spherical Bessel function of the first kind, of order 0: `sin(x) / x`.",
    "xlogy": "`input * log(other)`, and 0 where input is 0.",
    "xlog1py": "`input * log1p(other)`, and 0 where input is 0.",
}


_only_special: Callable[..., Any] = public_in("torch.special", out="cast", spellings=NUMPY)


def _one(name: str, op: Op, *special_names: str, top: bool = False, in_place: bool = True) -> Callable:
    """A function of one real tensor; `top` announces it as torch.name and as a method too."""

    def function(input: Any) -> Tensor:
        x = float_operand(input, "input", name)
        if x._array.dtype.kind == "c":
            raise not_implemented_for(f"{name}_cpu", x)
        return apply_unary(op, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _SENTENCES[name]
    if top:
        public(in_place=in_place, out="cast")(function)
    exposed = FUNCTIONS[name] if top else _only_special(function)
    for each in special_names or (name,):
        SPECIAL[each] = exposed
    return function


erf: Callable[..., Any] = _one("erf", ops.erf, top=True)
erfc: Callable[..., Any] = _one("erfc", ops.erfc, top=True)
erfinv: Callable[..., Any] = _one("erfinv", ops.erfinv, top=True)
lgamma: Callable[..., Any] = _one("lgamma", ops.lgamma, "gammaln", top=True)
digamma: Callable[..., Any] = _one("digamma", ops.digamma, "digamma", "psi", top=True)
i0: Callable[..., Any] = _one("i0", ops.i0, top=True)
for _name in (
    "erfcx", "ndtr", "ndtri", "log_ndtr", "entr", "i0e", "i1", "i1e", "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0",
    "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "spherical_bessel_j0",
):  # fmt: skip
    _one(_name, getattr(ops, _name))
_one("modified_bessel_k0", ops.k0)
_one("modified_bessel_k1", ops.k1)
_one("scaled_modified_bessel_k0", ops.k0e)
_one("scaled_modified_bessel_k1", ops.k1e)


@public(in_place=True, out="cast")
def sinc(input: Any) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
    return apply_unary(ops.sinc, float_operand(input, "input", "sinc"))


@public(in_place=True, out="cast")
def logit(input: Any, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)); with `eps`, of x limited to [eps, 1 - eps]."""
    x = float_operand(input, "input", "logit")
    need_room(eps, x._array.dtype)
    return apply_unary(ops.logit, x, {"eps": eps})


def _polygamma(n: int, x: Any) -> Tensor:
    x = float_operand(x, "input", "polygamma")
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n. Got n = {n}.")
    return apply_unary(ops.polygamma, x, {"n": n}) if n else apply_unary(ops.digamma, x)


@public(method=False, out="cast")
def polygamma(n: int, input: Any) -> Tensor:
    """The n-th derivative of digamma."""
    return _polygamma(n, input)


@public(name="polygamma", function=False, in_place=True, direct=True)
def polygamma_method(input: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma at this tensor."""
    return _polygamma(n, input)


SPECIAL["polygamma"] = FUNCTIONS["polygamma"]


@public(in_place=True, out="cast")
def mvlgamma(input: Any, p: int) -> Tensor:
    """Log of the multivariate gamma function of dimension p."""
    x = float_operand(input, "input", "mvlgamma")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if need_int(p, "mvlgamma", "p", 2) > 10**5:
        raise RuntimeError(f"mvlgamma(): p={p} is too large: there are as many terms for every element")
    return apply_unary(ops.multigammaln, x, {"p": p})


@public(in_place=True, out="cast")
def igamma(input: Any, other: Any) -> Tensor:
    """Regularized lower incomplete gamma function."""
    return _incomplete("igamma", ops.igamma, input, other)


@public(in_place=True, out="cast")
def igammac(input: Any, other: Any) -> Tensor:
    """Regularized upper incomplete gamma function."""
    return _incomplete("igammac", ops.igammac, input, other)


def _incomplete(name: str, op: Op, input: Any, other: Any) -> Tensor:
    a, x = promote(need_tensor(input, name), need_tensor(other, name, "other", 2))
    if a._array.dtype.kind not in "fV":
        raise not_implemented_for(f"{name}_cpu", a)
    return apply_to_both(op, a, x)


def _of_either(name: str, op: Op, shown: str) -> Callable:
    """A function of two operands of which one may be a number."""

    def function(input: Any, other: Any) -> Tensor:
        need_one_tensor(shown, input, other)
        return apply_to_both(op, input, other, floating=True)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _SENTENCES[name]
    return function


xlogy: Callable[..., Any] = public(in_place=True, out="cast")(_of_either("xlogy", ops.xlogy, "xlogy"))
SPECIAL["xlog1py"] = _only_special(_of_either("xlog1py", ops.xlog1py, "special_xlog1py"))


def zeta(input: Any, other: Any) -> Tensor:
    """Hurwitz zeta function of exponent `input` and shift `other`."""
    need_one_tensor("special_zeta", input, other)
    if isinstance(input, NUMBERS):
        q = promote(input, operand(other), floating=True)[1]
        return apply(ops.zeta_of_number, (q,), {"x": float(input.real)})
    return apply_to_both(ops.zeta, input, other, floating=True)


SPECIAL["zeta"] = _only_special(zeta)


@quiet
def _whole(order: Any) -> Any:
    return np.trunc(order).astype(np.int64)


def _polynomial(name: str) -> Callable:
    op = getattr(ops, name)

    def function(input: Any, n: Any) -> Tensor:
        need_one_tensor(f"special_{name}", input, n)
        x, order = promote(operand(input), operand(n), floating=True)
        kind = (x if isinstance(x, Tensor) else order)._array.dtype
        x = x if isinstance(x, Tensor) else wrap(np.asarray(x, kind))
        order = order._array if isinstance(order, Tensor) else np.asarray(order, kind)
        return apply_broadcast(op, (x, wrap(_whole(order))))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name.replace('_', ' ').capitalize()} of order n."
    return _only_special(function)


for _name in (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
):  # fmt: skip
    SPECIAL[_name] = _polynomial(_name)

SPECIAL.update(
    sinc=FUNCTIONS["sinc"], logit=FUNCTIONS["logit"], multigammaln=FUNCTIONS["mvlgamma"], xlogy=FUNCTIONS["xlogy"],
    gammainc=FUNCTIONS["igamma"], gammaincc=FUNCTIONS["igammac"],
)  # fmt: skip

"""Functions of two operands: extrema, angles, signs, powers in double precision, integer number theory, complex parts.

Arithmetic operators are in `arithmetic.py`, rounding division in `division.py`, comparisons in `comparison.py`, and
functions of three operands in `ternary.py`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics.dtypes import complex128, float64
from ..core.basics.dtypes import dtype as dtype_type
from ..core.op import Op
from ..core.tape import binary, wrap
from ..core.tensor import Tensor
from ..core.writes import in_place
from ..ops import complex_parts, pairs, piecewise
from ..ops.casting import cast
from .checks import (
    apply_broadcast,
    apply_to_both,
    call_elementwise,
    need_first_tensor,
    need_one_tensor,
    need_tensor,
    not_implemented_for,
)
from .operands import NUMBERS, as_tensor, operand, promote, result_type
from .out_argument import store, write_out
from .registry import public


def _of_tensors(
    name: str, op: Op, *aliases: str, floating: bool = False, in_place: bool = True, refused: str = "", doc: str
) -> Callable:
    """A function that takes tensors only; `refused` are the kinds of dtype it is not defined for."""

    def carefully(input: Any, other: Any) -> Tensor:
        a, b = need_tensor(input, name), need_tensor(other, name, "other", 2)
        if refused:
            _refuse(name, refused, a, b)
        return apply_to_both(op, a, b, floating=floating)

    quickly = binary(op, carefully)

    def function(input: Any, other: Any) -> Tensor:
        if isinstance(input, Tensor) and isinstance(other, Tensor):
            return quickly(input, other)
        return carefully(input, other)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return public(*aliases, in_place=in_place, out="cast")(function)


def _refuse(name: str, kinds: str, a: Tensor, b: Tensor) -> None:
    common = result_type(a, b)
    if common._numpy.kind in kinds:
        if common.is_complex and name in ("maximum", "minimum", "fmax", "fmin"):
            raise RuntimeError(f"{name} not implemented for complex tensors: complex numbers have no order")
        raise not_implemented_for(f"{name}_cpu", a)


atan2: Callable[..., Any] = _of_tensors(
    "atan2",
    pairs.atan2,
    "arctan2",
    floating=True,
    refused="c",
    doc="The angle of the point (other, input), from -pi to pi.",
)
hypot: Callable[..., Any] = _of_tensors(
    "hypot", pairs.hypot, refused="biuc", doc="The length of the hypotenuse: `sqrt(input**2 + other**2)`."
)
nextafter: Callable[..., Any] = _of_tensors(
    "nextafter", pairs.nextafter, refused="biuc", doc="The next float after each element on the way to `other`."
)
logaddexp: Callable[..., Any] = _of_tensors(
    "logaddexp", pairs.logaddexp, in_place=False, refused="biu", doc="`log(exp(input) + exp(other))`, without overflow."
)
logaddexp2: Callable[..., Any] = _of_tensors(
    "logaddexp2", pairs.logaddexp2, in_place=False, refused="biu", doc="`log2(2**input + 2**other)`, without overflow."
)
maximum: Callable[..., Any] = _of_tensors(
    "maximum", piecewise.maximum, in_place=False, refused="c", doc="The larger of two elements; NaN if either is NaN."
)
minimum: Callable[..., Any] = _of_tensors(
    "minimum", piecewise.minimum, in_place=False, refused="c", doc="The smaller of two elements; NaN if either is NaN."
)
fmax: Callable[..., Any] = _of_tensors(
    "fmax", piecewise.fmax, in_place=False, refused="c", doc="The larger of two elements; if one is NaN, the other."
)
fmin: Callable[..., Any] = _of_tensors(
    "fmin", piecewise.fmin, in_place=False, refused="c", doc="The smaller of two elements; if one is NaN, the other."
)
ldexp: Callable[..., Any] = _of_tensors("ldexp", pairs.ldexp, floating=True, doc="`input * 2**other`.")


@public(in_place=True, out="cast")
def copysign(input: Any, other: Any) -> Tensor:
    """The size of `input` with the sign of `other`."""
    need_first_tensor("copysign", input, other)
    if isinstance(other, Tensor):
        return apply_to_both(pairs.copysign, input, other, floating=True)
    return apply_to_both(pairs.copysign_scalar, input, other, floating=True)


@public(in_place=True, out="same")
def heaviside(input: Any, values: Any) -> Tensor:
    """0 below zero, 1 above, `values` at zero. Both tensors have one dtype."""
    x, at_zero = need_tensor(input, "heaviside"), need_tensor(values, "heaviside", "values", 2)
    if x._array.dtype != at_zero._array.dtype:
        raise RuntimeError(
            "heaviside is not yet implemented for tensors with different dtypes. Cast one of them first."
        )
    if x._array.dtype.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if x._array.dtype.kind in "biu":
        array = x._array
        return wrap(call_elementwise(np.where, array == 0, at_zero._array, array > 0).astype(array.dtype))
    return apply_broadcast(pairs.heaviside, (x, at_zero))


def _precise(input: Any, exponent: Any) -> dtype_type:
    return complex128 if result_type(operand(input), operand(exponent)).is_complex else float64


def _check_precise(given: Tensor, what: str, input: Any, exponent: Any) -> None:
    wanted = _precise(input, exponent)
    if given.dtype is not wanted:
        raise RuntimeError(
            f"the {what} has dtype {given.dtype.type_name} but the operation's result requires dtype {wanted.type_name}"
        )


@public(function=False, direct=True)
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """`float_power`, written over this tensor, which has to be of double precision."""
    _check_precise(self, "base given to float_power_", self, exponent)
    return in_place(self, float_power, exponent)


@public()
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent` in double precision."""
    if out is not None:
        _check_precise(out, "output given to float_power", input, exponent)
        return store("float_power", float_power, (input, exponent), {}, out)
    from .arithmetic import pow

    need_one_tensor("float_power", input, exponent)
    wanted = _precise(input, exponent)
    return pow(*(_in(wanted._numpy, value) for value in (input, exponent)))


def _in(kind: np.dtype, value: Any) -> Any:
    if isinstance(value, NUMBERS):
        return builtins.complex(value) if kind.kind == "c" else float(value.real)
    tensor = as_tensor(value)
    return tensor if tensor._array.dtype == kind else cast(tensor, dtype=kind)


# --- integers ---


def _of_integers(name: str, ufunc: np.ufunc, doc: str) -> Callable:
    def function(input: Any, other: Any) -> Tensor:
        a, b = promote(need_tensor(input, name), need_tensor(other, name, "other", 2))
        if a._array.dtype.kind not in "iu":
            raise not_implemented_for(f"{name}_cpu", a)
        return wrap(call_elementwise(ufunc, a._array, b._array))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return public(in_place=True, out="cast")(function)


gcd: Callable[..., Any] = _of_integers("gcd", np.gcd, doc="The greatest common divisor of two integers.")
lcm: Callable[..., Any] = _of_integers("lcm", np.lcm, doc="The least common multiple of two integers.")

# --- complex numbers from parts ---


def _parts(function: str, first: Any, second: Any, names: tuple[str, str]) -> tuple[Tensor, Tensor]:
    a, b = need_tensor(first, function, names[0]), need_tensor(second, function, names[1], 2)
    for one in (a, b):
        if one._array.dtype.kind != "f":
            raise RuntimeError(
                "Expected both inputs to be Half, Float or Double tensors but got "
                f"{a.dtype.type_name} and {b.dtype.type_name}"
            )
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {a.dtype.type_name} but got scalar type {b.dtype.type_name} for second "
            "argument"
        )
    return a, b


@public(method=False, direct=True)
def complex(real: Any, imag: Any, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from real and imaginary parts."""
    return _into(
        apply_broadcast(complex_parts.make_complex, _parts("complex", real, imag, ("real", "imag"))), out, "complex"
    )


@public(method=False, autocast="full")
def polar(abs: Any, angle: Any, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their size and angle."""
    return _into(apply_broadcast(complex_parts.polar, _parts("polar", abs, angle, ("abs", "angle"))), out, "polar")


def _into(result: Tensor, out: Tensor | None, function: str) -> Tensor:
    if out is None:
        return result
    if out.dtype is not result.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {result.dtype.type_name} but got scalar type {out.dtype.type_name} for "
            "argument 'out'"
        )
    write_out(function, out, result.detach())
    return out


@public(name="result_type", method=False, direct=True)
def result_type_of(tensor1: Any, tensor2: Any) -> dtype_type:
    """The dtype that arithmetic on two tensors or numbers gives."""
    return result_type(operand(tensor1), operand(tensor2))

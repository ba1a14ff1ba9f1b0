"""Elementwise chains worth fusing: GELU, SiLU, softplus, sigmoid, binary cross entropy, and large ufuncs on all threads.

Each is a short list of ufuncs that write into one output block while it is in cache. A backward kernel takes the
cotangent first, then what forward was given. Half precision is computed in float32.
Operations of one ufunc need no kernel: `elementwise` runs any ufunc on all threads when its arrays are large.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.quiet import restore, silence, warning_settings
from .memory import empty_like
from .order import converted
from .order import empty_like as in_its_order
from .threads import INLINE_BYTES, parallel_elements
from .thresholds import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable

_CUBIC = 0.044715
_SLOPE = math.sqrt(2 / math.pi)
# The normal distribution function is (1 + tanh(x p(x^2))) / 2; these are the coefficients of p, highest power first.
# Fitted so that float32 gelu is within 6e-7, which is what erf in float32 gives, and takes half as many passes.
_NORMAL = (
    1.809221673688889e-09, -1.3364116775103724e-07, 3.973030203414088e-06, -5.5277396573307084e-05,
    -3.2956397053083365e-05, 0.03633391333293542, 0.7978844920042341,
)  # fmt: skip


class Constants:
    """The numbers of the chains as 0-d arrays of one type: NumPy takes half a microsecond to convert a Python number."""

    zero: np.ndarray
    one: np.ndarray
    half: np.ndarray
    minus_half: np.ndarray
    slope: np.ndarray
    cubic: np.ndarray
    half_slope: np.ndarray
    half_cubic: np.ndarray
    root_half: np.ndarray
    density: np.ndarray

    def __init__(self, dtype: str) -> None:
        def number(value: float) -> np.ndarray:
            return np.array(value, dtype)

        self.zero, self.one, self.half, self.minus_half = map(number, (0, 1, 0.5, -0.5))
        self.slope, self.cubic = number(_SLOPE), number(_SLOPE * _CUBIC)
        self.half_slope, self.half_cubic = number(0.5 * _SLOPE), number(1.5 * _SLOPE * _CUBIC)
        self.root_half, self.density = number(math.sqrt(0.5)), number(1 / math.sqrt(2 * math.pi))
        self.normal: Any = tuple(map(number, _NORMAL))


CONSTANTS: dict[str, Constants] = {"f": Constants("f"), "d": Constants("d")}


def elementwise(ufunc: np.ufunc, *arrays: np.ndarray) -> np.ndarray:
    """`ufunc(*arrays)`, on all threads where the arrays are large and of one shape and type."""
    first = arrays[0]
    if first.nbytes * len(arrays) < INLINE_BYTES or any(
        a.shape != first.shape or a.dtype != first.dtype or a.strides != first.strides for a in arrays[1:]
    ):
        return ufunc(*arrays)
    # The type of the result is the ufunc's business: ask it with no elements.
    dtype = ufunc(*[a.reshape(-1)[:0] for a in arrays]).dtype
    out = in_its_order(first, dtype)
    parallel_elements(lambda *parts: ufunc(*parts[:-1], out=parts[-1]), arrays, [out], temporaries=0, long_calls=True)
    return out


def _chained(
    chain: Callable[..., Any], *arrays: np.ndarray, numbers: tuple[float, ...] = (), temporaries: int = 1
) -> np.ndarray:
    """Run `chain(*arrays, out, *numbers)` on arrays of one shape, in float32 for half precision.

    The result has the first one's type. A chain returns `out`, or a new array where that is None.
    """
    first = arrays[0]
    dtype = first.dtype
    if first.size <= WHOLE and first.ndim and dtype.itemsize > 2:
        settings = warning_settings()
        try:
            silence()
            return chain(*arrays, None, *numbers)
        finally:
            restore(settings)
    arrays = tuple([converted(a, np.float32) if dtype.itemsize == 2 else np.asarray(a) for a in arrays])
    out = empty_like(arrays[0])
    parallel_elements(lambda *parts: chain(*parts, *numbers), arrays, [out], temporaries=temporaries)
    return out.astype(dtype, copy=False)


def _erf(x: np.ndarray) -> np.ndarray:
    from .special import erf

    return erf(x)


def _sigmoid_chain(x: np.ndarray, out: Any) -> np.ndarray:
    out = np.negative(x, out)
    np.exp(out, out)
    np.add(out, CONSTANTS[x.dtype.char].one, out)
    np.reciprocal(out, out)
    return out


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return _chained(_sigmoid_chain, x, temporaries=0)


def _silu_chain(x: np.ndarray, out: Any) -> np.ndarray:
    out = np.negative(x, out)
    np.exp(out, out)
    np.add(out, CONSTANTS[x.dtype.char].one, out)
    np.divide(x, out, out)
    return out


def silu(x: np.ndarray) -> np.ndarray:
    """x sigmoid(x)."""
    return _chained(_silu_chain, x, temporaries=0)


def _silu_backward_chain(gradient: np.ndarray, x: np.ndarray, out: Any) -> np.ndarray:
    one = CONSTANTS[x.dtype.char].one
    out = _sigmoid_chain(x, out)
    rest = np.subtract(one, out)
    np.multiply(rest, x, rest)
    np.add(rest, one, rest)
    np.multiply(out, rest, out)
    np.multiply(out, gradient, out)
    return out


def silu_backward(gradient: np.ndarray, x: np.ndarray) -> np.ndarray:
    """gradient s (1 + x (1 - s)) with s = sigmoid(x)."""
    return _chained(_silu_backward_chain, gradient, x)


def _softplus_chain(x: np.ndarray, out: Any, beta: float, threshold: float) -> np.ndarray:
    scaled = x if beta == 1 else np.multiply(x, beta)
    out = np.exp(scaled, out)
    np.log1p(out, out)
    if beta != 1:
        np.divide(out, beta, out)
    if x.size and not scaled.item(scaled.argmax()) <= threshold:  # or is nan; found twice as fast as by a reduction
        np.copyto(out, x, where=scaled > threshold)
    return out


def softplus(x: np.ndarray, beta: float, threshold: float) -> np.ndarray:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold."""
    return _chained(_softplus_chain, x, numbers=(beta, threshold))


def _softplus_backward_chain(
    gradient: np.ndarray, x: np.ndarray, out: Any, beta: float, threshold: float
) -> np.ndarray:
    out = np.negative(x, out) if beta == 1 else np.multiply(x, -beta, out)
    # Above 17, sigmoid is 1 in float32.
    linear = out < -threshold if threshold < 17 or x.itemsize > 4 else None
    np.exp(out, out)
    np.add(out, CONSTANTS[x.dtype.char].one, out)
    np.divide(gradient, out, out)
    if linear is not None:
        np.copyto(out, gradient, where=linear)
    return out


def softplus_backward(gradient: np.ndarray, x: np.ndarray, beta: float, threshold: float) -> np.ndarray:
    """gradient sigmoid(beta x), the gradient itself where beta x exceeds the threshold."""
    return _chained(_softplus_backward_chain, gradient, x, numbers=(beta, threshold))


# A product of two arrays into a third takes twice as long as one in place (see `memory.aligned`), so these chains
# begin with a square and go on in place.


def _gelu_tanh_chain(x: np.ndarray, out: Any) -> np.ndarray:
    constants = CONSTANTS[x.dtype.char]
    out = np.square(x, out)
    np.multiply(out, constants.cubic, out)
    np.add(out, constants.slope, out)
    np.multiply(out, x, out)
    np.tanh(out, out)
    np.add(out, constants.one, out)
    np.multiply(out, constants.half, out)
    np.multiply(out, x, out)
    return out


def _gelu_tanh_backward_chain(gradient: np.ndarray, x: np.ndarray, out: Any) -> np.ndarray:
    # With t the tanh of a(x): (1 + t)/2 + x (1 - t^2) a'(x) / 2 = (1 + t) (1/2 + (1 - t) x a'(x) / 2).
    constants = CONSTANTS[x.dtype.char]
    slope = np.square(x)
    out = np.multiply(slope, constants.cubic, out)
    np.add(out, constants.slope, out)
    np.multiply(out, x, out)
    np.tanh(out, out)
    np.multiply(slope, constants.half_cubic, slope)
    np.add(slope, constants.half_slope, slope)
    np.multiply(slope, x, slope)
    np.multiply(slope, np.subtract(constants.one, out), slope)
    np.add(slope, constants.half, slope)
    np.add(out, constants.one, out)
    np.multiply(out, slope, out)
    np.multiply(out, gradient, out)
    return out


def _doubled_normal(x: np.ndarray, square: np.ndarray, out: Any) -> np.ndarray:
    """Write twice the normal distribution function at x to `out`."""
    constants = CONSTANTS[x.dtype.char]
    if x.dtype == np.float32:
        first, *middle, last = constants.normal
        out = np.multiply(square, first, out)
        for coefficient in middle:
            np.add(out, coefficient, out)
            np.multiply(out, square, out)
        np.add(out, last, out)
        np.multiply(out, x, out)
        np.tanh(out, out)
    else:
        out = np.multiply(x, constants.root_half, out)
        np.copyto(out, _erf(out))
    np.add(out, constants.one, out)
    return out


def _gelu_chain(x: np.ndarray, out: Any) -> np.ndarray:
    out = _doubled_normal(x, np.square(x), out)
    np.multiply(out, CONSTANTS[x.dtype.char].half, out)
    np.multiply(out, x, out)
    return out


def _gelu_backward_chain(gradient: np.ndarray, x: np.ndarray, out: Any) -> np.ndarray:
    constants = CONSTANTS[x.dtype.char]
    density = np.square(x)
    out = _doubled_normal(x, density, out)
    np.multiply(out, constants.half, out)
    np.multiply(density, constants.minus_half, density)
    np.exp(density, density)
    np.multiply(density, x, density)
    np.multiply(density, constants.density, density)
    np.add(out, density, out)
    np.multiply(out, gradient, out)
    return out


def gelu(x: np.ndarray, *, approximate: str = "none") -> np.ndarray:
    """x times the normal distribution function, exactly or by its tanh approximation."""
    if approximate == "tanh":
        return _chained(_gelu_tanh_chain, x, temporaries=0)
    return _chained(_gelu_chain, x)


def gelu_backward(gradient: np.ndarray, x: np.ndarray, *, approximate: str = "none") -> np.ndarray:
    """Cotangent of the input of `gelu`."""
    chain = _gelu_tanh_backward_chain if approximate == "tanh" else _gelu_backward_chain
    return _chained(chain, gradient, x, temporaries=2)


def _same_shape(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    first = arrays[0]
    if all(a.shape == first.shape and a.dtype == first.dtype for a in arrays):
        return arrays
    dtype = np.result_type(*arrays)
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    return tuple(np.broadcast_to(a.astype(dtype, copy=False), shape) for a in arrays)


def _bce_chain(x: np.ndarray, target: np.ndarray, out: Any) -> np.ndarray:
    out = np.absolute(x, out)
    np.negative(out, out)
    np.exp(out, out)
    np.log1p(out, out)
    product = np.multiply(x, target)
    np.subtract(out, product, out)
    np.maximum(x, CONSTANTS[x.dtype.char].zero, out=product)
    np.add(out, product, out)
    return out


def _bce_weighted_chain(x: np.ndarray, target: np.ndarray, positive: np.ndarray, out: Any) -> np.ndarray:
    out = np.absolute(x, out)
    np.negative(out, out=out)
    np.exp(out, out=out)
    np.log1p(out, out=out)
    other = np.minimum(x, 0)
    np.subtract(out, other, out=out)
    np.subtract(positive, 1, out=other)
    np.multiply(other, target, out=other)
    np.add(other, 1, out=other)
    np.multiply(out, other, out=out)
    np.subtract(1, target, out=other)
    np.multiply(other, x, out=other)
    np.add(out, other, out=out)
    return out


def bce_with_logits(x: np.ndarray, target: np.ndarray, pos_weight: np.ndarray | None = None) -> np.ndarray:
    """Binary cross entropy of sigmoid(x), unreduced; `pos_weight` multiplies the positive term."""
    if pos_weight is None:
        return _chained(_bce_chain, *_same_shape(x, target))
    return _chained(_bce_weighted_chain, *_same_shape(x, target, pos_weight))


def _bce_backward_chain(gradient: np.ndarray, x: np.ndarray, target: np.ndarray, out: Any) -> np.ndarray:
    out = _sigmoid_chain(x, out)
    np.subtract(out, target, out=out)
    np.multiply(out, gradient, out=out)
    return out


def _bce_weighted_backward_chain(
    gradient: np.ndarray, x: np.ndarray, target: np.ndarray, positive: np.ndarray, out: Any
) -> np.ndarray:
    # (1 - z) - (1 + (p - 1) z) sigmoid(-x)
    out = np.exp(x, out)
    np.add(out, 1, out=out)
    np.reciprocal(out, out=out)
    other = np.subtract(positive, 1)
    np.multiply(other, target, out=other)
    np.add(other, 1, out=other)
    np.multiply(out, other, out=out)
    np.subtract(1, target, out=other)
    np.subtract(other, out, out=out)
    np.multiply(out, gradient, out=out)
    return out


def bce_with_logits_backward(
    gradient: np.ndarray, x: np.ndarray, target: np.ndarray, pos_weight: np.ndarray | None = None
) -> np.ndarray:
    """Cotangent of the logits, in the shape all arguments broadcast to."""
    if pos_weight is None and gradient.ndim == 0 and x.ndim and x.shape == target.shape and x.dtype == target.dtype:
        # One number for all, as after a sum or a mean.
        return _chained(lambda x, target, out: _bce_backward_chain(gradient, x, target, out), x, target, temporaries=0)
    if pos_weight is None:
        return _chained(_bce_backward_chain, *_same_shape(gradient, x, target), temporaries=0)
    return _chained(_bce_weighted_backward_chain, *_same_shape(gradient, x, target, pos_weight))

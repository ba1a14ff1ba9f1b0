"""Elementwise chains worth fusing: GELU, SiLU, sigmoid, binary cross entropy, and large ufuncs on all threads.

Each is a short list of ufuncs that write into one output block while it is in cache. A backward kernel takes the
cotangent first, then what forward was given. Half precision is computed in float32.
Operations of one ufunc need no kernel: `elementwise` runs any ufunc on all threads when its arrays are large.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .threads import INLINE_BYTES, parallel_elements

if TYPE_CHECKING:
    from collections.abc import Callable

_CUBIC = 0.044715
_SLOPE = math.sqrt(2 / math.pi)
# log of the normal distribution function at -a for 0 <= a <= 15, highest power first. Fitted so that float32 gelu is
# within 3e-7, and exact at 0; a third of the passes that erf takes.
_LOG_TAIL = (
    1.9361915048268487e-05, -0.0004979202610867771, 0.005470628004011415, -0.03679695123346082, -0.31817876817654756,
    -0.7978920434044466, -0.6931471805599453,
)
_TAIL_END = 15.0


def elementwise(ufunc: np.ufunc, *arrays: np.ndarray) -> np.ndarray:
    """`ufunc(*arrays)`, on all threads where the arrays are large and of one shape and type."""
    first = arrays[0]
    if first.nbytes * len(arrays) < INLINE_BYTES or any(
        a.shape != first.shape or a.dtype != first.dtype or a.strides != first.strides for a in arrays[1:]
    ):
        return ufunc(*arrays)
    # The type of the result is the ufunc's business: ask it with no elements.
    dtype = ufunc(*[a.reshape(-1)[:0] for a in arrays]).dtype
    out = np.empty_like(first, dtype=dtype)
    parallel_elements(lambda *parts: ufunc(*parts[:-1], out=parts[-1]), arrays, [out], temporaries=0)
    return out


def _chained(chain: Callable[..., object], *arrays: np.ndarray, temporaries: int = 1) -> np.ndarray:
    """Run a chain on arrays of one shape, in float32 for half precision; the result has the first one's type."""
    dtype = arrays[0].dtype
    if dtype == np.float16:
        arrays = tuple(a.astype(np.float32) for a in arrays)
    out = np.empty_like(arrays[0])
    parallel_elements(chain, arrays, [out], temporaries=temporaries)
    return out.astype(dtype, copy=False)


def _erf(x: np.ndarray) -> np.ndarray:
    from .special import erf

    return erf(x)


def _sigmoid_chain(x: np.ndarray, out: np.ndarray) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.reciprocal(out, out=out)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return _chained(_sigmoid_chain, x, temporaries=0)


def _silu_chain(x: np.ndarray, out: np.ndarray) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.divide(x, out, out=out)


def silu(x: np.ndarray) -> np.ndarray:
    """x sigmoid(x)."""
    return _chained(_silu_chain, x, temporaries=0)


def _silu_backward_chain(gradient: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    _sigmoid_chain(x, out)
    rest = np.subtract(1, out)
    np.multiply(rest, x, out=rest)
    np.add(rest, 1, out=rest)
    np.multiply(out, rest, out=out)
    np.multiply(out, gradient, out=out)


def silu_backward(gradient: np.ndarray, x: np.ndarray) -> np.ndarray:
    """gradient s (1 + x (1 - s)) with s = sigmoid(x)."""
    return _chained(_silu_backward_chain, gradient, x)


def _tanh_argument(x: np.ndarray, out: np.ndarray) -> None:
    """tanh(sqrt(2 / pi) (x + 0.044715 x^3)) into `out`."""
    np.multiply(x, x, out=out)
    np.multiply(out, _SLOPE * _CUBIC, out=out)
    np.add(out, _SLOPE, out=out)
    np.multiply(out, x, out=out)
    np.tanh(out, out=out)


def _gelu_tanh_chain(x: np.ndarray, out: np.ndarray) -> None:
    _tanh_argument(x, out)
    np.add(out, 1, out=out)
    np.multiply(out, x, out=out)
    np.multiply(out, 0.5, out=out)


def _gelu_tanh_backward_chain(gradient: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    # With t the tanh of a(x): (1 + t)/2 + x (1 - t^2) a'(x) / 2 = (1 + t) (1/2 + (1 - t) x a'(x) / 2).
    _tanh_argument(x, out)
    slope = np.multiply(x, x)
    np.multiply(slope, 1.5 * _SLOPE * _CUBIC, out=slope)
    np.add(slope, 0.5 * _SLOPE, out=slope)
    np.multiply(slope, x, out=slope)
    np.multiply(slope, np.subtract(1, out), out=slope)
    np.add(slope, 0.5, out=slope)
    np.add(out, 1, out=out)
    np.multiply(out, slope, out=out)
    np.multiply(out, gradient, out=out)


def _normal_tail(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write the normal distribution function at -|x| to `out`, for float32; return |x|, cut where that is zero."""
    size = np.absolute(x)
    np.minimum(size, _TAIL_END, out=size)
    np.multiply(size, _LOG_TAIL[0], out=out)
    for coefficient in _LOG_TAIL[1:-1]:
        np.add(out, coefficient, out=out)
        np.multiply(out, size, out=out)
    np.add(out, _LOG_TAIL[-1], out=out)
    np.exp(out, out=out)
    return size


def _gelu_chain(x: np.ndarray, out: np.ndarray) -> None:
    if x.dtype == np.float32:
        size = _normal_tail(x, out)
        np.multiply(out, size, out=out)
        np.subtract(np.maximum(x, 0, out=size), out, out=out)
        return
    np.multiply(x, math.sqrt(0.5), out=out)
    np.copyto(out, _erf(out))
    np.add(out, 1, out=out)
    np.multiply(out, x, out=out)
    np.multiply(out, 0.5, out=out)


def _gelu_backward_chain(gradient: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    if x.dtype == np.float32:
        density = _normal_tail(x, out)
        np.subtract(np.greater(x, 0), out, out=out)
        np.absolute(out, out=out)
    else:
        density = np.empty_like(x)
        np.multiply(x, math.sqrt(0.5), out=out)
        np.copyto(out, _erf(out))
        np.add(out, 1, out=out)
        np.multiply(out, 0.5, out=out)
    np.multiply(x, x, out=density)
    np.multiply(density, -0.5, out=density)
    np.exp(density, out=density)
    np.multiply(density, x, out=density)
    np.multiply(density, 1 / math.sqrt(2 * math.pi), out=density)
    np.add(out, density, out=out)
    np.multiply(out, gradient, out=out)


def gelu(x: np.ndarray, *, approximate: str = "none") -> np.ndarray:
    """x times the normal distribution function, exactly or by its tanh approximation."""
    return _chained(_gelu_tanh_chain if approximate == "tanh" else _gelu_chain, x, temporaries=0)


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


def _bce_chain(x: np.ndarray, target: np.ndarray, out: np.ndarray) -> None:
    np.absolute(x, out=out)
    np.negative(out, out=out)
    np.exp(out, out=out)
    np.log1p(out, out=out)
    product = np.multiply(x, target)
    np.subtract(out, product, out=out)
    np.maximum(x, 0, out=product)
    np.add(out, product, out=out)


def _bce_weighted_chain(x: np.ndarray, target: np.ndarray, positive: np.ndarray, out: np.ndarray) -> None:
    np.absolute(x, out=out)
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


def bce_with_logits(x: np.ndarray, target: np.ndarray, pos_weight: np.ndarray | None = None) -> np.ndarray:
    """Binary cross entropy of sigmoid(x), unreduced; `pos_weight` multiplies the positive term."""
    if pos_weight is None:
        return _chained(_bce_chain, *_same_shape(x, target))
    return _chained(_bce_weighted_chain, *_same_shape(x, target, pos_weight))


def _bce_backward_chain(gradient: np.ndarray, x: np.ndarray, target: np.ndarray, out: np.ndarray) -> None:
    _sigmoid_chain(x, out)
    np.subtract(out, target, out=out)
    np.multiply(out, gradient, out=out)


def _bce_weighted_backward_chain(
    gradient: np.ndarray, x: np.ndarray, target: np.ndarray, positive: np.ndarray, out: np.ndarray
) -> None:
    # (1 - z) - (1 + (p - 1) z) sigmoid(-x)
    np.exp(x, out=out)
    np.add(out, 1, out=out)
    np.reciprocal(out, out=out)
    other = np.subtract(positive, 1)
    np.multiply(other, target, out=other)
    np.add(other, 1, out=other)
    np.multiply(out, other, out=out)
    np.subtract(1, target, out=other)
    np.subtract(other, out, out=out)
    np.multiply(out, gradient, out=out)


def bce_with_logits_backward(
    gradient: np.ndarray, x: np.ndarray, target: np.ndarray, pos_weight: np.ndarray | None = None
) -> np.ndarray:
    """Cotangent of the logits, in the shape all arguments broadcast to."""
    if pos_weight is None:
        return _chained(_bce_backward_chain, *_same_shape(gradient, x, target), temporaries=0)
    return _chained(_bce_weighted_backward_chain, *_same_shape(gradient, x, target, pos_weight))

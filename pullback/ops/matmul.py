"""Products of matrices and vectors: bilinear, so each pullback is a product too.

One operation for each node name torch shows; shapes are checked in `functional/matmul.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.op import conjugate, op


def _transposed(x: Any) -> Any:
    return conjugate(np.swapaxes(x, -1, -2))


def _matmul(a: Any, b: Any) -> Any:
    if a.dtype.itemsize == 2 and a.dtype.kind in "fV":  # half precision: BLAS has none, so go through float32
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    return np.matmul(a, b)


def _left(g: Any, b: Any) -> Any:
    return g @ _transposed(b)


def _right(g: Any, a: Any) -> Any:
    return _transposed(a) @ g


mm = op("MmBackward0", _matmul, kind="bilinear", a=_left, b=_right)
bmm = op("BmmBackward0", _matmul, kind="bilinear", a=_left, b=_right)
matmul = op("UnsafeViewBackward0", _matmul, kind="bilinear", a=_left, b=_right)
mv = op(
    "MvBackward0",
    _matmul,
    kind="bilinear",
    a=lambda g, b: g[..., None] * conjugate(b),
    b=lambda g, a: _transposed(a) @ g,
)
dot = op("DotBackward0", _matmul, kind="bilinear", a=lambda g, b: g * conjugate(b), b=lambda g, a: g * conjugate(a))


def _addmm(bias: Any, a: Any, b: Any) -> Any:
    out = _matmul(a, b)
    if out.shape == np.broadcast_shapes(out.shape, bias.shape):
        return np.add(out, bias, out=out) if out.dtype == bias.dtype else out + bias
    return out + bias


addmm = op("AddmmBackward0", _addmm, bias=lambda g: g, a=lambda g, b: g @ _transposed(b), b=lambda g, a: _transposed(a) @ g)
linear_layer = op(
    "AddmmBackward0",
    lambda x, weight, bias: _add_bias(np.matmul(x, weight.T), bias),
    x=lambda g, weight: g @ weight,
    weight=lambda g, x: _rows(g).T @ _rows(x),
    bias=lambda g: g,
)


def _rows(x: Any) -> Any:
    return x if x.ndim == 2 else x.reshape(-1, x.shape[-1])


def _add_bias(out: Any, bias: Any) -> Any:
    if bias is not None:
        out += bias
    return out

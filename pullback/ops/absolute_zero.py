"""Products in which zero is absolute: 0 * inf and 0 * nan are 0, and so is 0 / 0.

`counterpart` gives the operation that takes the place of a product or quotient inside derivative rules while
`autograd.safe_gradients` is on: the same rules, another forward function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.op import Op
from ..quiet import quiet
from .pointwise import divide, multiply, sigmoid_pull, tanh_pull
from .reductions import log_softmax_pull, softmax_pull


def _zero_where(mask: Any, out: Any) -> Any:
    return np.where(mask, out.dtype.type(0), out)


@quiet
def _multiply(a: Any, b: Any) -> Any:
    out = a * b
    return out if np.isfinite(out).all() else _zero_where((a == 0) | (b == 0), out)


@quiet
def _divide(a: Any, b: Any) -> Any:
    out = a / b
    return out if np.isfinite(out).all() else _zero_where(np.broadcast_to(a == 0, out.shape), out)


def _softmax_pull(g: Any, out: Any, axis: int) -> Any:
    return _multiply(out, g - np.sum(_multiply(g, out), axis=axis, keepdims=True))


def _log_softmax_pull(g: Any, out: Any, axis: int) -> Any:
    return g - _multiply(np.exp(out), np.sum(g, axis=axis, keepdims=True))


_FORWARDS: dict[Op, Callable[..., Any]] = {
    multiply: _multiply, divide: _divide, softmax_pull: _softmax_pull, log_softmax_pull: _log_softmax_pull,
    tanh_pull: lambda g, out: _multiply(g, 1 - out * out), sigmoid_pull: lambda g, out: _multiply(g, out * (1 - out)),
}  # fmt: skip


def _sum_of_products(product: Callable[..., Any]) -> Callable[..., Any]:
    """A bilinear function that leaves out the products of zeros with what is not finite."""

    @quiet
    def leaving_out(a: Any, b: Any, **params: Any) -> Any:
        out = product(a, b, **params)
        if np.isfinite(out).all():
            return out
        bad_a, bad_b = ~np.isfinite(a), ~np.isfinite(b)
        finite = product(_zero_where(bad_a, a), _zero_where(bad_b, b), **params)
        # Sums that hold a product of something not finite with something that is not zero stay as they are.
        spoiled = product(bad_a.astype(a.dtype), (b != 0).astype(b.dtype), **params)
        spoiled = spoiled + product((a != 0).astype(a.dtype), bad_b.astype(b.dtype), **params)
        return np.where(spoiled == 0, finite, out)

    return leaving_out


_counterparts: dict[Op, Op] = {}


def counterpart(op: Op) -> Op:
    """The operation to run in the place of this one: itself, unless it multiplies or divides."""
    found = _counterparts.get(op)
    if found is None:
        found = _counterparts[op] = _make(op)
    return found


def _make(op: Op) -> Op:
    forward = _FORWARDS.get(op)
    if forward is None:
        if op.kind != "bilinear" or len(op.inputs) != 2:
            return op
        forward = _sum_of_products(op.forward)
    return Op(
        op.node_name, forward, inputs=op.inputs, rules=op.rules, real_rules=op.real_rules, kind=op.kind,
        partials=op.partials, batch=op.batch, autocast=op.autocast, aten=op.aten,
    )  # fmt: skip

"""Products of matrices and vectors: bilinear, so each pullback is a product too.

One operation for each node name torch shows; shapes are checked in `functional/matmul.py`. `contract` is the product
behind einsum and tensordot: it is closed under taking pullbacks, so any order of derivative is again one product.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import seams
from ..core.kernel import kernel
from ..core.op import Op, conjugate, identity_rule, linear, op
from ..kernels.order import ordered
from ..kernels.products import batched_product, product
from ..kernels.thresholds import PRODUCT_ON_ONE_THREAD
from .fusing import in_single, is_half
from .layouts import (
    ALL_ALONG,
    CONTRACTION,
    LAYER,
    PRODUCT,
    PRODUCT_ADDED,
    PRODUCT_OF_STACKS,
    PRODUCT_OF_VECTORS,
    PRODUCT_WITH_VECTOR,
    PRODUCTS_ADDED,
    TIMES_TRANSPOSED,
    TRACE,
    TRANSPOSED_TIMES,
    VDOT,
)
from .samples import Draw, Sample, arrays
from .shape import diagonal, expand, place_diagonal
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import Number, Shape
    from ..core.basics.types import NumPyArray as Array
    from ..core.node import Node


def transposed(x: Array) -> Array:
    """The last two axes exchanged."""
    return x.swapaxes(-1, -2) if type(x) is np.ndarray else np.swapaxes(x, -1, -2)  # np.swapaxes costs a microsecond


def adjoint(x: Array) -> Array:
    """The conjugate transpose of a matrix or a batch of them."""
    return conjugate(transposed(x))


def _matmul(a: Array, b: Array) -> Array:
    if a.itemsize <= 2:
        if a.dtype.kind == "b":
            raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'. Convert first, as in x.int().")
        if is_half(a.dtype):  # BLAS has no half precision, so go through float32
            return _matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    if b.ndim <= 2:
        if a.ndim <= 2:
            return (
                a.dot(b) if a.size + b.size <= PRODUCT_ON_ONE_THREAD else product(a, b)
            )  # the same as matmul here, with less overhead
        if b.ndim == 2 and a.flags.c_contiguous and a.size:  # one large product instead of many small ones
            return product(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[-1])
        return np.matmul(a, b, order="C")
    return batched_product(a, b) if a.ndim > 2 and a.dtype.kind == "f" else np.matmul(a, b, order="C")


def _left(g: Array, b: Array) -> Array:
    return matmul(g, adjoint(b))


def _right(g: Array, a: Array) -> Array:
    return matmul(adjoint(a), g)


def _right_of_batches(g: Array, a: Array, b_shape: Shape) -> Array:
    if len(b_shape) == 2 and len(a.shape) > 2:  # the sum over batches happens inside one product
        return matmul(adjoint(rows(a)), rows(g))
    return matmul(adjoint(a), g)


def _matrices(draw: Draw, turned: str = "") -> Iterator[Sample]:
    """Two matrices to multiply, few, none and many; the one that is named stands turned."""
    for n, m, k in ((3, 4, 2), (1, 3, 1), (0, 3, 2), (100, 120, 110)):
        first = (m, n) if turned == "first" else (n, m)
        yield (draw(*first), draw(*((k, m) if turned == "second" else (m, k)))), {}


# Real matrices, the commonest case of all: products in which one factor is taken transposed, closed under taking
# pullbacks. So derivatives of any order are one product each, without views of transposes in between.
mm: Op = op(
    "MmBackward0",
    _matmul,
    kind="bilinear",
    a=_left,
    b=_right,
    autocast="short",
    batch=PRODUCT,
    real_rules={"a": lambda g, b: times_transposed(g, b), "b": lambda g, a: transposed_times(a, g)},
    kernel=kernel(  # what is small takes no further call: every backward pass of a network comes by here
        a=lambda g, b: g.dot(b.T) if g.size + b.size <= PRODUCT_ON_ONE_THREAD and g.itemsize > 2 else NotImplemented,
        b=lambda g, a: a.T.dot(g) if g.size + a.size <= PRODUCT_ON_ONE_THREAD and g.itemsize > 2 else NotImplemented,
    ),
    large="rules side by side",
    samples=_matrices,
)
times_transposed: Op = op(
    "MmBackward0",
    lambda first, second: _matmul(first, second.T),
    kind="bilinear",
    first=lambda g, second: mm(g, conjugate(second)),
    second=lambda g, first: matmul(transposed(g), conjugate(first)),
    autocast="short",
    batch=TIMES_TRANSPOSED,
    real_rules={
        "first": lambda g, second: mm(g, second),
        "second": lambda g, first: transposed_times(g, first),
    },
    kernel=kernel(
        first=lambda g, second: product(g, second) if g.itemsize > 2 else NotImplemented,
        second=lambda g, first: product(g.T, first) if g.itemsize > 2 else NotImplemented,
    ),
    samples=lambda draw: _matrices(draw, "second"),
    taken_apart="product with transposed",
)
transposed_times: Op = op(
    "MmBackward0",
    lambda left, right: _matmul(left.T, right),
    kind="bilinear",
    left=lambda g, right: matmul(conjugate(right), transposed(g)),
    right=lambda g, left: mm(conjugate(left), g),
    autocast="short",
    batch=TRANSPOSED_TIMES,
    real_rules={
        "left": lambda g, right: times_transposed(right, g),
        "right": lambda g, left: mm(left, g),
    },
    kernel=kernel(
        left=lambda g, right: product(right, g.T) if g.itemsize > 2 else NotImplemented,
        right=lambda g, left: product(left, g) if g.itemsize > 2 else NotImplemented,
    ),
    samples=lambda draw: _matrices(draw, "first"),
    taken_apart="product of transposed",
)
bmm: Op = op(
    "BmmBackward0",
    _matmul,
    kind="bilinear",
    a=_left,
    b=_right,
    autocast="short",
    batch=PRODUCT_OF_STACKS,
    large="rules side by side",
    samples=arrays((2, 3, 4), (2, 4, 2)),
)
matmul: Op = op(
    "UnsafeViewBackward0",
    _matmul,
    kind="bilinear",
    a=_left,
    b=_right_of_batches,
    autocast="short",
    batch=PRODUCT,
    large="rules side by side",
    title="matmul",
    aten="_unsafe_view",
    taken_apart="product",
)


def column(x: Array) -> Array:
    return x[..., None]


def _mv_vector(g: Array, a: Array) -> Array:
    if len(a.shape) == 2:
        return mv(adjoint(a), g)
    return np.reshape(matmul(adjoint(rows(a)), np.reshape(g, (-1, 1))), (-1,))


mv: Op = op(
    "MvBackward0",
    _matmul,
    kind="bilinear",
    a=lambda g, b: column(g) * conjugate(b),
    b=_mv_vector,
    autocast="short",
    batch=PRODUCT_WITH_VECTOR,
    real_rules={"a": lambda g, b: column(g) * b, "b": _mv_vector},
    kernel=kernel(b=lambda g, a: g.dot(a) if a.ndim == 2 and g.itemsize > 2 else NotImplemented),
    samples=lambda draw: [((draw(n, m), draw(m)), {}) for n, m in ((3, 4), (1, 1), (0, 3), (200, 300))],
)
vm: Op = op(
    "SqueezeBackward4",  # a vector times a matrix: to torch, a product of matrices with a dim put in and taken out
    _matmul,
    kind="bilinear",
    a=lambda g, b: mv(conjugate(b), g),
    b=lambda g, a: column(conjugate(a)) * g,
    autocast="short",
    batch=PRODUCT_OF_VECTORS,
    aten="squeeze_.dim",
    taken_apart="row by matrix",
    samples=arrays((3,), (3, 2)),
)
dot: Op = op(
    "DotBackward0",
    _matmul,
    kind="bilinear",
    a=lambda g, b: g * conjugate(b),
    b=lambda g, a: g * conjugate(a),
    batch=PRODUCT_OF_VECTORS,
)
vdot: Op = op(
    "VdotBackward0",
    lambda a, b: _matmul(conjugate(a), b),
    a=lambda g, b: conjugate(g) * b,
    b=lambda g, a: g * a,
    batch=VDOT, samples=arrays((3,), (3,)),
)  # fmt: skip


def rows(x: Array) -> Array:
    """All leading dims as one."""
    return x if len(x.shape) == 2 else np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


# --- a product added to something: beta * x + alpha * (a @ b) ---


def _combine(x: Array, product: Array, beta: Number, alpha: Number) -> Array:
    kind = product.dtype
    if alpha != 1:
        product = product * alpha
    if beta == 0:  # what is added may hold NaN and is not looked at
        return np.array(np.broadcast_to(product, np.broadcast_shapes(x.shape, product.shape)), dtype=kind)
    if beta != 1:
        x = x * beta
    if product.ndim and x.ndim <= product.ndim and x.dtype == product.dtype:
        return np.add(product, x, out=product)  # a fresh array; shapes were checked
    return (product + x).astype(kind, copy=False)


def _scaled(g: Array, factor: Array) -> Array:
    return g if factor == 1 else g * factor.conjugate()


def _addmm(x: Array, a: Array, b: Array, beta: Number, alpha: Number) -> Array:
    if is_half(a.dtype):
        x, wide_a, wide_b = (v.astype(np.float32) for v in (x, a, b))
        return _addmm(x, wide_a, wide_b, beta, alpha).astype(a.dtype)
    return _combine(x, _matmul(a, b), beta, alpha)


_OF_PRODUCT_ADDED: dict[str, Any] = {
    "kind": "affine",
    "x": lambda g, beta: _scaled(g, beta),
    "a": lambda g, b, alpha: _scaled(matmul(g, adjoint(b)), alpha),
    "b": lambda g, a, alpha: _scaled(matmul(adjoint(a), g), alpha),
}
addmm: Op = op(
    "AddmmBackward0",
    _addmm,
    **_OF_PRODUCT_ADDED,
    autocast="short",
    batch=PRODUCT_ADDED,
    samples=arrays((2, 4), (2, 3), (3, 4), beta=2, alpha=3),
)
baddbmm: Op = op(
    "BaddbmmBackward0",
    _addmm,
    **_OF_PRODUCT_ADDED,
    autocast="short",
    batch=PRODUCT_ADDED,
    samples=arrays((2, 2, 2), (2, 2, 3), (2, 3, 2), beta=2, alpha=3),
)
addmv: Op = op(
    "AddmvBackward0",
    _addmm,
    kind="affine",
    x=lambda g, beta: _scaled(g, beta),
    a=lambda g, b, alpha: _scaled(column(g) * conjugate(b), alpha),
    b=lambda g, a, alpha: _scaled(matmul(adjoint(a), column(g))[:, 0], alpha),
    autocast="short",
    batch=PRODUCT_ADDED,
    samples=arrays((2,), (2, 3), (3,), beta=2, alpha=3),
)


def _addbmm(x: Array, a: Array, b: Array, beta: Number, alpha: Number) -> Array:
    """The batch is one more summed index: a single product of (n, batch * k) with (batch * k, p)."""
    summed = a.shape[0] * a.shape[2]
    return _addmm(x, np.swapaxes(a, 0, 1).reshape(a.shape[1], summed), b.reshape(summed, b.shape[2]), beta, alpha)


addbmm: Op = op(
    "AddbmmBackward0",
    _addbmm,
    **_OF_PRODUCT_ADDED,
    autocast="short",
    batch=PRODUCTS_ADDED,
    samples=arrays((2, 2), (3, 2, 3), (3, 3, 2), beta=2, alpha=3),
)


@in_single
def _addr(x: Array, a: Array, b: Array, beta: Number, alpha: Number) -> Array:
    if a.dtype.kind == "b":
        product = a[:, None] & b & bool(alpha)
        return product if beta == 0 else product | x & bool(beta)
    return _combine(x, a[:, None] * b, beta, alpha)


addr: Op = op(
    "AddrBackward0",
    _addr,
    kind="affine",
    x=lambda g, beta: _scaled(g, beta),
    a=lambda g, b, alpha: _scaled(matmul(g, column(conjugate(b)))[:, 0], alpha),
    b=lambda g, a, alpha: _scaled(matmul(adjoint(column(a)), g)[0], alpha),
    batch=PRODUCTS_ADDED,
    samples=arrays((2, 3), (2,), (3,), beta=2, alpha=3),
)

# --- x @ weight.T + bias, with weights stored as (out, in) ---


def _weigh(x: Array, weight: Array) -> Array:
    if x.ndim == 2:
        return _matmul(x, weight.T)
    return _matmul(rows(np.ascontiguousarray(x)), weight.T).reshape((*x.shape[:-1], *weight.shape[:-1]))


def _linear_layer(x: Array, weight: Array, bias: Array) -> Array:
    if x.itemsize == 2 and x.dtype.kind in "fV":
        return _linear_layer(*(v.astype(np.float32) for v in (x, weight, bias))).astype(x.dtype)
    out = product(x, weight.T) if x.ndim == 2 else _weigh(x, weight)
    if not out.ndim:
        return out + bias
    out += bias
    return out


def _layer_input(g: Array, weight: Array) -> Array:
    if len(weight.shape) == 2 and len(g.shape) == 1:  # rules of products expect matrices
        return matmul(g[None], conjugate(weight))[0]
    return matmul(g, conjugate(weight)) if len(weight.shape) == 2 else column(g) * conjugate(weight)


def _layer_weight(g: Array, x: Array) -> Array:
    if len(g.shape) == len(x.shape):  # the weight is a matrix, not a vector
        return transposed_times(rows(g), conjugate(rows(x)))
    return np.sum(column(g) * conjugate(x), axis=tuple(range(len(x.shape) - 1)))


def _as_torch_shows_it(node: Node) -> None:
    seams.show_linear_graph(node)


linear_layer: Op = op(
    "AddmmBackward0",
    _linear_layer,
    kind="affine",
    title="linear",
    x=_layer_input,
    weight=_layer_weight,
    bias=identity_rule,
    autocast="short",
    batch=LAYER,
    large="rules side by side",
    rebuild=_as_torch_shows_it,
    taken_apart="layer",
)
linear_map: Op = op(
    "MmBackward0",
    _weigh,
    kind="bilinear",
    title="linear",
    x=_layer_input,
    weight=_layer_weight,
    autocast="short",
    batch=LAYER,
    large="rules side by side",
    rebuild=_as_torch_shows_it,
    taken_apart="layer",
    samples=arrays((2, 3), (4, 3)),
)
# --- contraction of two arrays over labelled axes ---


@functools.lru_cache(maxsize=1024)
def arrangement(labels: tuple[Any, ...]) -> tuple[Any, ...]:
    """How to turn a contraction into a matrix product: orders of axes, and how many stand for what."""
    left, right, out = labels
    batch = [label for label in left if label in right and label in out]
    summed = [label for label in left if label in right and label not in out]
    ours = [label for label in left if label not in right]
    theirs = [label for label in right if label not in left]
    order = [*batch, *ours, *theirs]
    return (
        _reordering(left, [*batch, *ours, *summed]),
        _reordering(right, [*batch, *summed, *theirs]),
        _reordering(order, list(out)),
        len(batch),
        len(batch) + len(ours),
        len(batch) + len(summed),
    )


def _reordering(labels: Any, wanted: list) -> tuple | None:
    """The axes that bring labels into another order; None when they are in it."""
    return None if list(labels) == wanted else tuple(labels.index(label) for label in wanted)


def _contract(a: Array, b: Array, labels: tuple[Any, ...]) -> Array:
    """One matrix product. Every label stands in two or three of (a, b, out), none twice in one of them."""
    left, right, out = labels
    if len(out) == len({*left, *right}):  # nothing to add up: an elementwise product
        return _multiply(_spread(a, left, out), _spread(b, right, out))
    first, second, last, batch, ours, theirs = arrangement(labels)
    if last is not None:
        turned = arrangement((labels[1], labels[0], labels[2]))
        if turned[2] is None:  # the other way round the product lies in memory in its own order, as torch's does
            a, b, (first, second, last, batch, ours, theirs) = b, a, turned
    x = a if first is None else a.transpose(first)
    y = b if second is None else b.transpose(second)
    lead, rows_, columns = x.shape[:batch], x.shape[batch:ours], y.shape[theirs:]
    inner = math.prod(y.shape[batch:theirs])
    product = _matmul(x.reshape(*lead, math.prod(rows_), inner), y.reshape(*lead, inner, math.prod(columns)))
    product = product.reshape((*lead, *rows_, *columns))
    return product if last is None else product.transpose(last)


def _spread(x: Array, own: tuple[Any, ...], out: tuple[Any, ...]) -> Array:
    """An array with its labelled axes where the result has them, and axes of size 1 for the others."""
    turned = x.transpose([own.index(label) for label in out if label in own])
    return turned[tuple([slice(None) if label in own else None for label in out])]


_multiply = ordered(operator.mul)

contract: Op = op(
    "BmmBackward0",
    _contract,
    kind="bilinear",
    a=lambda g, b, labels: contract(g, conjugate(b), labels=(labels[2], labels[1], labels[0])),
    b=lambda g, a, labels: contract(conjugate(a), g, labels=(labels[0], labels[2], labels[1])),
    autocast="short",
    batch=CONTRACTION,
    taken_apart="contraction",
)


# --- small relatives ---


def _cross(a: Array, b: Array, axis: int) -> Array:
    """a x b along an axis of size 3, by rotating components; both have the full shape."""

    def rolled(x: Array, shift: int) -> Array:
        return np.roll(x, shift, axis)

    return in_order(rolled(a, -1) * rolled(b, 1) - rolled(a, 1) * rolled(b, -1))


cross: Op = op(
    "LinalgCrossBackward0",
    _cross,
    kind="bilinear",
    a=lambda g, b, axis: cross(conjugate(b), g, axis=axis),
    b=lambda g, a, axis: cross(g, conjugate(a), axis=axis),
    batch=ALL_ALONG,
)


def _trace(x: Array) -> Array:
    return np.trace(x)


trace: Op = linear(
    "TraceBackward0",
    _trace,
    x=lambda g, x_shape: place_diagonal(
        expand(np.reshape(g, (1,)), shape=(min(x_shape),)), shape=x_shape, offset=0, axis1=0, axis2=1
    ),
    autocast="full",
    batch=TRACE,
    samples=arrays((3, 3)),
)


def diagonal_of(x: Array) -> Array:
    """The diagonals of the last two axes."""
    ndim = len(x.shape)
    return diagonal(x, offset=0, axis1=ndim - 2, axis2=ndim - 1)


def diagonal_matrix(values: Array) -> Array:
    """Square matrices with `values` on their diagonals."""
    shape = tuple(values.shape)
    return place_diagonal(values, shape=(*shape, shape[-1]), offset=0, axis1=len(shape) - 1, axis2=len(shape))

"""Layer, RMS, batch and group norm: normalized values, the statistics that their kernels need again, and pullbacks.

The pullbacks are formulas of the input alone, so statistics carry no gradient of their own. Instance norm is a
composition in `nn/functional/normalization.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.quiet import quiet
from ..core.kernel import kernel
from ..core.op import Op, fused, op
from ..kernels import channel_norms as by_channel
from ..kernels import normalization as kernels
from ..kernels.order import keeping_channels
from .batching import _fold, _full, _unfold, folding
from .fusing import in_single, is_half, pulled_in_single, widened
from .layouts import CHANNELS, GIVEN_CHANNELS, GROUPS, LAST_NORMALIZED
from .samples import Draw, Sample
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import Axes, Params
    from ..core.basics.types import NumPyArray as Array


def _trailing(x: Array, axes: int) -> tuple[Any, ...]:
    ndim = len(x.shape)
    return tuple(range(ndim - axes, ndim))


def _leading(x: Array, axes: int) -> tuple[Any, ...]:
    return tuple(range(len(x.shape) - axes))


def _moment(x: Array, axis: Axes) -> Array:
    return np.sum(x, axis=axis, keepdims=True) / max(math.prod(x.shape[i] for i in axis), 1)


def _over_lead(x: Array, axes: int) -> Array:
    lead = _leading(x, axes)
    return np.sum(x, axis=lead) if lead else x


# --- layer norm ---


def _normalized(x: Array, axis: Axes, eps: float) -> tuple[Array, Array, Array]:
    """Numbers of mean 0 and variance 1 over some axes; mean, and one over the deviation."""
    mean = _moment(x, axis)
    centred = x - mean
    scale = (_moment(centred * centred, axis) + eps) ** -0.5
    return centred * scale, mean, scale


def _applied(x: Array, weight: Array | None, bias: Array | None) -> Array:
    """`x * weight + bias`, where there are such."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _layer_norm(
    x: Array, weight: Array | None, bias: Array | None, axes: int, eps: float
) -> tuple[Array, Array, Array]:
    normal, mean, scale = _normalized(x, _trailing(x, axes), eps)
    return _applied(normal, weight, bias), mean, scale


def _layer_norm_pullback(
    g: Array, x: Array, weight: Array | None, needs: tuple[bool, ...], axes: int, eps: float
) -> tuple[Array | None, ...]:
    axis = _trailing(x, axes)
    normal, _, scale = _normalized(x, axis, eps)
    inner = g if weight is None else g * weight
    return (
        scale * (inner - _moment(inner, axis) - normal * _moment(inner * normal, axis)) if needs[0] else None,
        _over_lead(g * normal, axes) if needs[1] else None,
        _over_lead(g, axes) if needs[2] else None,
    )


@pulled_in_single
def _layer_norm_backward(
    g: Array, x: Array, weight: Array | None, extras: tuple[Any, ...], needs: tuple[bool, bool, bool], axes: int
) -> tuple[Array | None, ...]:
    return kernels.layer_norm_backward(g, x, extras[0], extras[1], weight, axes=axes, wanted=needs)


def _norm_samples(draw: Draw, *params: dict[str, Any], bias: bool = True) -> Iterator[Sample]:
    """Rows, with and without parameters; over two axes; few, none and many."""
    for axes, shape in ((1, (4, 5)), (2, (3, 4, 5)), (1, (0, 3)), (1, (200, 300)), (1, (7,))):
        last = shape[len(shape) - axes :]
        for given in (True, False):
            parameters = [draw(*last) if given else None for _ in range(1 + bias)]
            for param in params:
                yield (draw(*shape), *parameters), {"axes": axes, **param}


layer_norm: Op = fused(
    "NativeLayerNormBackward0",
    _layer_norm,
    joint=_layer_norm_pullback,
    inputs=("x", "weight", "bias"),
    kernel=kernel(
        in_single(lambda x, weight, bias, axes, eps: kernels.layer_norm(in_order(x), weight, bias, axes=axes, eps=eps)),
        joint=_layer_norm_backward,
    ),
    batch=LAST_NORMALIZED,
    samples=lambda draw: _norm_samples(draw, {"eps": 1e-5}),
)


def _root_mean_square(x: Array, axes: int, eps: float | None) -> Array:
    """One over it, of the last axes."""
    if eps is None:
        eps = float(np.finfo(np.float32 if x.dtype.itemsize <= 4 else np.float64).eps)
    return (_moment(x * x, _trailing(x, axes)) + eps) ** -0.5


def _rms_norm(x: Array, weight: Array | None, axes: int, eps: float | None) -> tuple[Array, Array]:
    scale = _root_mean_square(x, axes, eps)
    return _applied(x * scale, weight, None), scale


def _rms_norm_pullback(
    g: Array, x: Array, weight: Array | None, needs: tuple[bool, ...], axes: int, eps: float | None
) -> tuple[Array | None, ...]:
    scale = _root_mean_square(x, axes, eps)
    normal = x * scale
    inner = g if weight is None else g * weight
    return (
        scale * (inner - normal * _moment(inner * normal, _trailing(x, axes))) if needs[0] else None,
        _over_lead(g * normal, axes) if needs[1] else None,
    )


@pulled_in_single
def _rms_norm_backward(
    g: Array, x: Array, weight: Array | None, extras: tuple[Any, ...], needs: tuple[bool, bool], axes: int
) -> tuple[Array | None, ...]:
    return kernels.rms_norm_backward(g, x, extras[0], weight, axes=axes, wanted=(*needs, False)[:2])


rms_norm: Op = fused(
    "MulBackward0",
    _rms_norm,
    joint=_rms_norm_pullback,
    inputs=("x", "weight"),
    kernel=kernel(keeping_channels(in_single(kernels.rms_norm), 4, 5), joint=_rms_norm_backward),
    batch=LAST_NORMALIZED,
    copies_before_writes=True,
    aten="mul.Tensor",
    samples=lambda draw: _norm_samples(draw, {"eps": 1e-5}, {"eps": None}, bias=False),
)

# --- batch norm: statistics of each channel (axis 1) over everything else ---


def _channels(x: Array) -> tuple[Any, ...]:
    """All axes but the channels'."""
    return (0, *range(2, len(x.shape)))


def _beside(values: Array | None, x: Array) -> Any:
    """One value a channel, shaped to broadcast against `x`."""
    ndim = len(x.shape)
    return values if values is None or ndim == 2 else np.reshape(values, (-1, *(1,) * (ndim - 2)))


def _with_wide_statistics(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose result has the dtype of `x`; half precision is computed in float32, and statistics stay in that."""

    @quiet
    def run(x: Array, *others: Array, **params: Any) -> Any:
        kind = x.dtype
        wide = (x, *others) if not is_half(kind) else map(widened, (x, *others))
        found = function(*wide, **params)
        if type(found) is not tuple:
            return found.astype(kind, copy=False)
        return (found[0].astype(kind, copy=False), *found[1:])

    return run


def _batch_norm(x: Array, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, Array, Array]:
    axis = _channels(x)
    mean = _moment(x, axis)
    centred = x - mean
    variance = _moment(centred * centred, axis)
    out = _applied(centred * (variance + eps) ** -0.5, _beside(weight, x), _beside(bias, x))
    return out, np.reshape(mean, (-1,)), np.reshape(variance, (-1,))


def _batch_norm_pullback(
    g: Array, x: Array, weight: Array | None, needs: tuple[bool, ...], eps: float
) -> tuple[Array | None, ...]:
    axis = _channels(x)
    normal, _, scale = _normalized(x, axis, eps)
    total = np.sum(g, axis=axis)
    projected = np.sum(g * normal, axis=axis)
    gradient = None
    if needs[0]:
        count = max(math.prod(x.shape[i] for i in axis), 1)
        factor = _applied(scale, _beside(weight, x), None)
        gradient = factor * (g - _beside(total, x) / count - normal * (_beside(projected, x) / count))
    return gradient, projected, total


@pulled_in_single
def _batch_norm_backward(
    g: Array, x: Array, weight: Array | None, extras: tuple[Any, ...], needs: tuple[bool, ...], eps: float
) -> tuple[Array | None, ...]:
    return by_channel.batch_norm_backward(g, x, weight, extras[0], extras[1], needs, eps)


def _image_samples(draw: Draw, *params: dict[str, Any], given: bool = False) -> Iterator[Sample]:
    """Images, with and without parameters, and with means and variances if these are `given`."""
    for shape in ((4, 6), (2, 6, 5), (3, 6, 4, 2), (2, 6, 0), (0, 6, 2), (8, 6, 64, 64)):
        statistics = [draw(6), draw(6, low=0.5)] if given else []
        for parameters in ([draw(6), draw(6)], [None, None]):
            for param in params:
                yield (draw(*shape), *statistics, *parameters), {"eps": 1e-5, **param}


batch_norm: Op = fused(
    "NativeBatchNormBackward0",
    _batch_norm,
    joint=_batch_norm_pullback,
    inputs=("x", "weight", "bias"),
    kernel=kernel(_with_wide_statistics(by_channel.batch_norm), joint=_batch_norm_backward),
    batch=CHANNELS,
    samples=lambda draw: _image_samples(draw, {}),
)

# --- group norm: each sample's channels in groups, statistics of a group over its channels and all their elements ---


def _in_groups(x: Array, groups: int) -> Array:
    return np.reshape(x, (x.shape[0], groups, math.prod(x.shape[1:]) // max(groups, 1)))


def _group_norm(
    x: Array, weight: Array | None, bias: Array | None, groups: int, eps: float
) -> tuple[Array, Array, Array]:
    normal, mean, scale = _normalized(_in_groups(x, groups), (2,), eps)
    out = _applied(np.reshape(normal, tuple(x.shape)), _beside(weight, x), _beside(bias, x))
    return out, np.reshape(mean, (-1, 1)), np.reshape(scale, (-1, 1))


def _group_norm_pullback(
    g: Array, x: Array, weight: Array | None, needs: tuple[bool, ...], groups: int, eps: float
) -> tuple[Array | None, ...]:
    shape, axis = tuple(x.shape), _channels(x)
    normal, _, scale = _normalized(_in_groups(x, groups), (2,), eps)
    gradient = None
    if needs[0]:
        inner = _in_groups(_applied(g, _beside(weight, x), None), groups)
        gradient = scale * (inner - _moment(inner, (2,)) - normal * _moment(inner * normal, (2,)))
        gradient = np.reshape(gradient, shape)
    return (
        gradient,
        np.sum(g * np.reshape(normal, shape), axis=axis) if needs[1] else None,
        np.sum(g, axis=axis) if needs[2] else None,
    )


@pulled_in_single
def _group_norm_backward(
    g: Array, x: Array, weight: Array | None, extras: tuple[Any, ...], needs: tuple[bool, ...], groups: int
) -> tuple[Array | None, ...]:
    if not x.size:
        return NotImplemented
    return by_channel.group_norm_backward(g, x, weight, extras[0], extras[1], needs, groups)


@folding
def grouped(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> tuple[Any, ...]:
    """Group norm: more examples are more samples; parameters that differ between examples are applied afterwards."""
    x, *parameters = values
    folded = _fold(_full(x, flags[0], size))
    shared = not any(flags[1:])
    out, *statistics = (_unfold(part, size) for part in op(folded, *(parameters if shared else (None, None)), **params))
    for number, (value, flag) in enumerate(zip(() if shared else parameters, flags[1:], strict=False)):
        if value is None:
            continue
        ones = (1,) * (len(out.shape) - 3)
        value = np.reshape(value, (value.shape[0], 1, value.shape[1], *ones) if flag else (value.shape[0], *ones))
        out = out + value if number else out * value
    return (out, *statistics)


group_norm: Op = fused(
    "NativeGroupNormBackward0",
    _group_norm,
    joint=_group_norm_pullback,
    inputs=("x", "weight", "bias"),
    kernel=kernel(keeping_channels(_with_wide_statistics(by_channel.group_norm), 4, 5), joint=_group_norm_backward),
    batch=GROUPS,
    samples=lambda draw: _image_samples(draw, {"groups": 1}, {"groups": 2}),
)

# --- given statistics ---


def _fixed_norm(x: Array, mean: Array, variance: Array, weight: Array | None, bias: Array | None, eps: float) -> Array:
    normal = (x - _beside(mean, x)) * (_beside(variance, x) + eps) ** -0.5
    return _applied(normal, _beside(weight, x), _beside(bias, x))


def _fixed_norm_pullback(
    g: Array, x: Array, mean: Array, variance: Array, weight: Array | None, needs: tuple[bool, ...], eps: float
) -> tuple[Array | None, ...]:
    scale = (_beside(variance, x) + eps) ** -0.5
    axis = _channels(x)
    return (
        g * _applied(scale, _beside(weight, x), None) if needs[0] else None,
        None,
        None,
        np.sum(g * (x - _beside(mean, x)) * scale, axis=axis) if needs[3] else None,
        np.sum(g, axis=axis) if needs[4] else None,
    )


fixed_norm: Op = op(
    "NativeBatchNormBackward0",
    _fixed_norm,
    joint=_fixed_norm_pullback,
    inputs=("x", "mean", "variance", "weight", "bias"),
    kernel=kernel(_with_wide_statistics(by_channel.fixed_norm), joint=pulled_in_single(by_channel.fixed_norm_backward)),
    batch=GIVEN_CHANNELS,
    samples=lambda draw: _image_samples(draw, {}, given=True),
)

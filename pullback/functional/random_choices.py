"""Random tensors whose parameters are tensors: `bernoulli`, `poisson`, `multinomial`, `normal`, `binomial`.

Sizes and numbers as parameters, and filling in place, are in `random_sampling.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.op import op
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..kernels.random import discrete, rejection, streams
from ..ops.piecewise import zero_gradient
from ..transforms.arrays.randomness import draw_batched, draw_with_generator, draw_with_parameters, refuse_same
from .checks import is_known_true, not_implemented_for
from .creation import write_to_out
from .operands import NUMBERS, as_tensor, common_shape, sizes_of
from .out_argument import refuse_gradients
from .random_sampling import _check_chances, _finish, _from, _kind, normal_array, replacement
from .registry import public

_bernoulli_from = op("BernoulliBackward0", replacement, kind="elementwise_pull", x=zero_gradient, values=None)
_poisson_from = op("PoissonBackward0", replacement, kind="elementwise_pull", x=zero_gradient, values=None)
# Where the mean, the deviation or both are tensors.
_normal_by_mean = op(
    "NormalBackward1", replacement, kind="elementwise_pull", x=zero_gradient, values=None, aten="normal_"
)
_normal_by_std = op(
    "NormalBackward2", replacement, kind="elementwise_pull", x=zero_gradient, values=None, aten="normal_"
)
_normal_by_both = op(
    "NormalBackward3",
    lambda mean, std, values: values,
    kind="elementwise_pull",
    mean=zero_gradient,
    std=zero_gradient,
    values=None,
    aten="normal_",
)


@public()
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
    """Ones and zeros: ones with the probabilities in `input` (or all with probability p)."""
    if out is not None:
        refuse_gradients("bernoulli", input, out)
    array, stream = input._array, _from(generator)
    kind = array.dtype
    refuse_same(array)
    if p is not None:
        values = draw_batched(lambda shape: discrete.bernoulli(stream, shape, kind, float(p)), array.shape)
    else:
        _check_chances(array)
        work = kind if kind == np.float64 else np.dtype(np.float32)
        values = (draw_with_generator(streams.uniform, stream, array.shape, work) < array).astype(kind)
    result = apply(_bernoulli_from, (input, wrap(values)))
    if out is None:
        return result
    return write_to_out(out, result.detach().to(out.dtype))  # ones and zeros fit into any dtype


@public(method=False)
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Poisson counts with the rates in `input`."""
    if input._array.dtype.kind in "biuc":
        raise not_implemented_for("poisson_cpu", input)
    if is_known_true(np.any(~(input._array >= 0))):  # nan is no rate either
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    stream = _from(generator)
    return apply(
        _poisson_from, (input, wrap(draw_with_parameters(lambda rate: rejection.poisson(stream, rate), input._array)))
    )


@public(out="same")
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with the weights in each row of `input`."""
    array = input._array
    if array.dtype.kind not in "fV":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.type_name}")
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > array.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    stream = _from(generator)

    def draw(weights: np.ndarray) -> np.ndarray:
        rows = weights.reshape(-1, weights.shape[-1]) if weights.ndim > 2 else weights
        chosen = discrete.multinomial(stream, rows, num_samples, replacement)
        return chosen.reshape(*weights.shape[:-1], num_samples)

    return wrap(draw_with_parameters(draw, array))


@public(method=False)
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Normal numbers with means and deviations given by numbers (and a size) or tensors."""
    if out is not None:
        refuse_gradients("normal", mean, std, out)
    stream = _from(generator)
    if isinstance(mean, (int, float)) and isinstance(std, (int, float)):
        if size is None:
            raise TypeError(
                f"normal() received an invalid combination of arguments - got ({type(mean).__name__}, "
                f"{type(std).__name__}). Two numbers need a size: torch.normal(0.0, 1.0, (2, 3))."
            )
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        kind = _kind(dtype, out)
        center, spread = float(mean), float(std)
        array = draw_with_generator(normal_array, stream, sizes_of((size,)), kind, True, center, spread)
        return _finish(array, requires_grad, device, layout, out)
    result = _normal_from(stream, mean, std)
    if out is None and result.requires_grad:
        return result
    return _finish(result._array, requires_grad, device, layout, out)


def _normal_from(stream: Any, mean: Any, std: Any) -> Tensor:
    mean = mean if isinstance(mean, NUMBERS) else as_tensor(mean)
    std = std if isinstance(std, NUMBERS) else as_tensor(std)
    given = mean if isinstance(mean, Tensor) else std
    if isinstance(std, Tensor):
        if std._array.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if is_known_true(np.any(~(std._array >= 0))):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    shape = given._array.shape
    if isinstance(mean, Tensor) and isinstance(std, Tensor):
        shape = common_shape(shape, std._array.shape)
    kind = given._array.dtype
    refuse_same(*(value._array for value in (mean, std) if isinstance(value, Tensor)))
    if not isinstance(std, Tensor):
        values = draw_batched(lambda sizes: normal_array(stream, sizes, kind, True, 0.0, float(std)), shape)
        return apply(_normal_by_mean, (mean, wrap(values + mean._array)))
    values = (draw_batched(lambda sizes: normal_array(stream, sizes, kind), shape) * std._array).astype(kind)
    if isinstance(mean, Tensor):
        return apply(_normal_by_both, (mean, std, wrap((values + mean._array).astype(kind))))
    return apply(_normal_by_std, (std, wrap((values + np.asarray(mean).astype(kind)).astype(kind))))


@public(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Successes among `count` trials of probability `prob`."""
    for name, given in (("count", count), ("prob", prob)):
        if not given.is_floating_point():
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {given.dtype.type_name}")
    stream, kind = _from(generator), prob._array.dtype

    def draw(n: np.ndarray, p: np.ndarray) -> np.ndarray:
        n, p = np.broadcast_arrays(n, p)
        return rejection.binomial(stream, n.astype(kind), np.asarray(p))

    return wrap(draw_with_parameters(draw, count._array, prob._array))

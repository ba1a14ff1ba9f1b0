"""Activation functions. Most are one operation; `inplace=True` and the names with an underscore overwrite the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.basics.dtypes import finfo
from ...core.basics.notices import warn_user
from ...core.op import Op
from ...core.tape import apply, apply_unary
from ...core.tensor import Tensor
from ...core.writes import in_place
from ...functional import elementary, reductions
from ...functional.checks import need_tensor
from ...functional.operands import need_room, need_room_inside, wrap_dim
from ...functional.out_argument import store
from ...kernels.random.discrete import rrelu_noise
from ...kernels.random.streams import exponential
from ...ops import activation as ops
from ...transforms import autocast
from ...transforms.arrays.randomness import draw_batched, draw_with_parameters
from ._common import constant, float_tensor, generator, layer_function

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@layer_function(direct=True, passed="")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    if inplace:
        return in_place(input, elementary.relu)
    return elementary.relu(need_tensor(input, "relu"))


def _activated(op: Op, x: Tensor, inplace: bool, params: dict[str, Any] | None = None) -> Tensor:
    """An operation on a tensor, written over it if wanted."""
    return in_place(x, lambda x: apply_unary(op, x, params)) if inplace else apply_unary(op, x, params)


@layer_function(direct=True, passed="")
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, negative_slope * x elsewhere."""
    x = float_tensor(input, "leaky_relu", "leaky_relu_cpu")
    need_room_inside(negative_slope, x._array.dtype)
    params = {"slope": float(negative_slope)}
    return _activated(ops.leaky_relu, x, True, params) if inplace else apply_unary(ops.leaky_relu, x, params)


@layer_function(direct=True, passed="")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x) - 1) elsewhere."""
    x = float_tensor(input, "elu", "elu_cpu")
    need_room_inside(alpha, x._array.dtype)
    return _activated(ops.elu, x, inplace, {"alpha": float(alpha), "scale": 1.0, "input_scale": 1.0})


@layer_function(direct=True, passed="")
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with the constants that keep mean 0 and variance 1."""
    x = float_tensor(input, "selu", "elu_cpu")
    return _activated(ops.elu, x, inplace, {"alpha": _SELU_ALPHA, "scale": _SELU_SCALE, "input_scale": 1.0})


@layer_function(direct=True, passed="")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""
    x = float_tensor(input, "celu", "elu_cpu")
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    need_room_inside(alpha, x._array.dtype)
    return _activated(ops.celu, x, inplace, {"alpha": float(alpha), "scale": 1.0, "input_scale": 1.0 / alpha})


@layer_function(direct=True, compiled=True)
def gelu(input: Tensor, approximate: str = "none", *, out: Tensor | None = None) -> Tensor:
    """x times the normal distribution function of x, or its approximation by tanh."""
    if out is not None:
        return store("gelu", gelu, (input, approximate), {}, out, "same")
    x = float_tensor(input, "gelu", "GeluKernelImpl")
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, but got {approximate!r}.")
    return apply_unary(ops.gelu, x, {"approximate": approximate})


@layer_function(direct=True, passed="")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    x = float_tensor(input, "silu", "silu_cpu", complex_ok=True)
    return _activated(ops.silu, x, True) if inplace else apply_unary(ops.silu, x)


@layer_function(direct=True, passed="")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))."""
    return _activated(ops.mish, float_tensor(input, "mish", "mish_cpu"), inplace)


_USUAL: dict[str, Any] = {"beta": 1.0, "threshold": 20.0}  # parameters are never written to: one dict serves all


@layer_function(direct=True, compiled=True)
def softplus(input: Tensor, beta: float = 1, threshold: float = 20, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x exceeds the threshold."""
    if out is not None:
        return store("softplus", softplus, (input, beta, threshold), {}, out, "same")
    x = (
        input
        if type(input) is Tensor and input._array.dtype.kind == "f"
        else float_tensor(input, "softplus", "softplus_cpu")
    )
    usual = beta == 1 and threshold == 20
    if not usual:
        need_room_inside(beta, x._array.dtype)
        need_room_inside(threshold, x._array.dtype)
    return apply_unary(ops.softplus, x, _USUAL if usual else {"beta": float(beta), "threshold": float(threshold)})


@layer_function(direct=True, name="log_sigmoid", compiled=True)
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(x)) without overflow."""
    if out is not None:
        return store("log_sigmoid", logsigmoid, (input,), {}, out, "same")
    return apply_unary(ops.log_sigmoid, float_tensor(input, "log_sigmoid", "log_sigmoid_cpu"))


@layer_function(direct=True, passed="")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x cut to [min_val, max_val]; no gradient flows at or beyond the limits."""
    x = need_tensor(input, "hardtanh")
    if x._array.dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if x._array.dtype.kind == "u" and min_val < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if x._array.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types: complex numbers have no order")
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    number = int if x._array.dtype.kind in "iu" else float
    need_room(min_val, x._array.dtype)
    need_room(max_val, x._array.dtype)
    return _activated(ops.hardtanh, x, inplace, {"low": number(min_val), "high": number(max_val)})


@layer_function(direct=True, passed="")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x cut to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


@layer_function(direct=True, passed="")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """x / 6 + 1/2 cut to [0, 1]."""
    return _activated(ops.hardsigmoid, float_tensor(input, "hardsigmoid", "hardsigmoid_cpu"), inplace)


@layer_function(direct=True, passed="")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)."""
    return _activated(ops.hardswish, float_tensor(input, "hardswish", "hardswish_cpu"), inplace)


@layer_function(direct=True)
def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """0 where |x| <= lambd, x elsewhere."""
    if out is not None:
        return store("hardshrink", hardshrink, (input, lambd), {}, out, "same")
    x = float_tensor(input, "hardshrink", "hardshrink_cpu")
    need_room(lambd, x._array.dtype)
    return apply_unary(ops.hardshrink, x, {"lambd": float(lambd)})


@layer_function(direct=True, compiled=True)
def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x moved towards 0 by lambd, 0 where |x| <= lambd."""
    if out is not None:
        return store("softshrink", softshrink, (input, lambd), {}, out, "same")
    x = float_tensor(input, "softshrink", "softshrink_cpu")
    largest = finfo(x.dtype).max
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {x.dtype.type_name}, but found {lambd:g}"
        )
    return apply_unary(ops.softshrink, x, {"lambd": float(lambd)})


@layer_function(direct=True, passed="", name="_threshold")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it exceeds the threshold, `value` elsewhere."""
    x = need_tensor(input, "threshold")
    if x._array.dtype.kind == "b":
        raise NotImplementedError("\"threshold_cpu\" not implemented for 'Bool'")
    params = {"limit": _number(threshold, "threshold", 2), "value": _number(value, "value", 3)}
    need_room_inside(params["limit"], x._array.dtype)
    need_room(params["value"], x._array.dtype)
    return _activated(ops.threshold, x, inplace, params)


def _number(value: Any, name: str, position: int) -> Any:
    if isinstance(value, Tensor) and not value._array.ndim:
        return value.item()
    if not isinstance(value, (int, float)):
        given = type(value).__name__
        raise TypeError(f"threshold(): argument '{name}' (position {position}) must be Number, not {given}")
    return value


@layer_function(direct=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where positive, weight * x elsewhere; one weight for all, or one for each channel (dim 1)."""
    x, w = need_tensor(input, "prelu"), need_tensor(weight, "prelu", "weight", 2)
    if x.dtype != w.dtype and not autocast.is_active():
        raise RuntimeError(f"prelu: Type promoting not supported. Got {x.dtype} and {w.dtype}")
    if w.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}")
    if w.ndim == 1:
        channels = x.shape[1] if x.ndim > 1 else 1
        count = w.shape[0]
        if count != 1:
            if x.ndim == 0:
                raise RuntimeError("Not allow zero-dim input tensor.")
            if count != channels:
                raise RuntimeError(
                    f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and "
                    f"channel size = {channels}."
                )
        w = w.reshape((1, count, *(1,) * (x.ndim - 2)) if x.ndim > 1 else (count,) * x.ndim)
    return apply(ops.prelu, (x, w))


@layer_function(direct=True, passed="")
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """leaky_relu whose slopes are drawn from [lower, upper] in training, and their mean otherwise."""
    x = float_tensor(input, "rrelu", "rrelu_with_noise_out_cpu")
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, but got {lower} > {upper}.")
    need_room_inside(lower, x._array.dtype)
    need_room_inside(upper, x._array.dtype)
    if not training:
        return _activated(ops.rrelu, x, inplace, {"slope": (float(lower) + float(upper)) / 2})
    noise = constant(draw_with_parameters(lambda values: rrelu_noise(generator(), values, lower, upper), x._array))
    if inplace:
        return in_place(x, lambda x: apply(ops.rrelu_with_noise, (x, noise)))
    return apply(ops.rrelu_with_noise, (x, noise))


@layer_function(direct=True, passed="")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dim times the sigmoid of the second."""
    x = float_tensor(input, "glu", "glu_cpu")
    if x.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = wrap_dim(dim, x.ndim)
    if x.shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {x.shape[axis]}")
    return apply_unary(ops.glu, x, {"axis": axis})


@layer_function(direct=True, passed="")
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


@layer_function(direct=True, passed="")
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - input.tanh()


@layer_function(direct=True, asks="nobody")
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return input.tanh()


@layer_function(direct=True, asks="nobody")
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


# --- over a dim ---


def _implicit_dim(name: str, ndim: int) -> int:
    warn_user(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
    )
    return 0 if ndim in (0, 1, 3) else 1


@layer_function(direct=True, passed="")
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dim."""
    if dim is None:
        dim = _implicit_dim("softmax", input.ndim)
    return reductions.softmax(input, dim, dtype=dtype)


@layer_function(direct=True, passed="")
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(x)) along a dim."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input.ndim)
    return reductions.log_softmax(input, dim, dtype=dtype)


@layer_function(direct=True, passed="")
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-x) along a dim."""
    if dim is None:
        dim = _implicit_dim("softmin", input.ndim)
    return reductions.softmax(-input, dim, dtype=dtype)


@layer_function(passed="")
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample from the Gumbel-softmax distribution; `hard` makes it one-hot with the soft sample's gradient.

    `tau` is the temperature: the smaller, the closer to one-hot. `dim` is that of the classes.
    """
    if eps != 1e-10:
        warn_user("`eps` parameter is deprecated and has no effect.")
    array = logits._array
    if array.dtype.kind in "biu":
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {logits.dtype.type_name}"
        )
    draws = draw_batched(lambda shape: exponential(generator(), shape, array.dtype), array.shape)
    soft = reductions.softmax((logits + constant(-np.log(draws))) / tau, dim)
    if not hard:
        return soft
    chosen = np.argmax(soft._array, axis=dim, keepdims=True)
    one_hot = np.zeros(array.shape, array.dtype)
    np.put_along_axis(one_hot, chosen, 1, axis=dim)
    return constant(one_hot) - soft.detach() + soft


def _in_place_variant(function: Callable, compiled: bool = False) -> Callable[..., Any]:
    """The function with an underscore after its name, which overwrites its first argument."""

    def variant(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)

    variant.__name__ = variant.__qualname__ = f"{function.__qualname__}_"
    variant.__doc__ = f"`{function.__qualname__}`, written over the input."
    return layer_function(compiled=compiled)(variant)


relu_: Callable[..., Any] = _in_place_variant(relu)
leaky_relu_: Callable[..., Any] = _in_place_variant(leaky_relu, compiled=True)
elu_: Callable[..., Any] = _in_place_variant(elu, compiled=True)
selu_: Callable[..., Any] = _in_place_variant(selu)
celu_: Callable[..., Any] = _in_place_variant(celu)
hardtanh_: Callable[..., Any] = _in_place_variant(hardtanh, compiled=True)
threshold_: Callable[..., Any] = _in_place_variant(threshold)
rrelu_: Callable[..., Any] = _in_place_variant(rrelu)

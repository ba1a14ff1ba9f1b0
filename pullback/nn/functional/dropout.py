"""Dropout in its variants. Masks come from the default generator and equal torch's for the same seed.

In evaluation, and for p = 0, the input is returned as it is and nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.basics.notices import warn_user
from ...core.mode import current_mode
from ...core.tensor import Tensor
from ...core.writes import in_place
from ...functional.arithmetic import mul
from ...functional.operands import sizes_of
from ...functional.refusals import complaint_for
from ...kernels.random.discrete import alpha_dropout_noise, dropout_mask, feature_noise_shape
from ...transforms.arrays.randomness import draw_batched, draw_in_memory_order
from ._common import constant, generator, layer_function


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _mask(array: Any, draw: Callable[..., np.ndarray]) -> Any:
    """A mask drawn as torch draws it: along the input's memory, but inside `vmap` in the order of its dims."""
    return draw_batched(draw, array.shape) if current_mode().batch_level else draw_in_memory_order(array, draw)


def _needs_float(input: Tensor) -> None:
    if input._array.dtype.kind in "biu":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.type_name}")


def _multiplied(input: Tensor, mask: Any, inplace: bool) -> Tensor:
    return in_place(input, mul, constant(mask)) if inplace else mul(input, constant(mask))


@layer_function(direct=True, passed="")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to 0 with probability p, the others multiplied by 1 / (1 - p)."""
    _check(p)
    try:
        array = input._array
    except AttributeError as error:
        raise complaint_for(error) from None
    if not training or p == 0 or array.size == 0:
        return input
    _needs_float(input)
    if p == 1:
        return _multiplied(input, np.zeros((), array.dtype), inplace)
    mask = _mask(array, lambda shape, contiguous=True: dropout_mask(generator(), shape, array.dtype, p))
    return _multiplied(input, mask, inplace)


def feature_dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels set to 0 with probability p: one draw for each (sample, channel)."""
    _check(p)
    array = input._array
    if not training or p == 0 or array.size == 0:
        return input
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if p == 1:
        return _multiplied(input, np.zeros((), array.dtype), inplace)
    mask = draw_batched(
        lambda shape: dropout_mask(generator(), shape, array.dtype, p), feature_noise_shape(array.shape)
    )
    return _multiplied(input, mask, inplace)


def _one_sample(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Feature dropout of an input without a batch dim."""
    if inplace:
        result = feature_dropout(input.unsqueeze_(0), p, training, True)
        return result.squeeze_(0)
    return feature_dropout(input.unsqueeze(0), p, training, False).squeeze(0)


@layer_function(passed="")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Channels of (N, C, L) or (C, L) set to 0 with probability p."""
    _check(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. It drops channels of inputs "
            "with a channel dimension, one spatial dimension and an optional batch dimension."
        )
    return (feature_dropout if input.ndim == 3 else _one_sample)(input, p, training, inplace)


def _warn_rank(name: str, ndim: int, spatial: int) -> None:
    warn_user(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future "
        "release. To retain the behavior and silence this warning, please use dropout instead. Note that it exists "
        f"to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, and an "
        f"optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).",
    )


@layer_function(passed="")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Channels of (N, C, H, W) set to 0 with probability p. A 3-d input is read as (N, C, L)."""
    _check(p)
    if input.ndim not in (3, 4):
        _warn_rank("dropout2d", input.ndim, 2)
    if input.ndim == 3:
        warn_user(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
            "desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will "
            "change in a future release to interpret the input as one without a batch dimension, i.e. shape (C, H, "
            "W). To maintain the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
        )
    return feature_dropout(input, p, training, inplace)


@layer_function(passed="")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Channels of (N, C, D, H, W) or (C, D, H, W) set to 0 with probability p."""
    _check(p)
    if input.ndim not in (4, 5):
        _warn_rank("dropout3d", input.ndim, 3)
    return (feature_dropout if input.ndim == 5 else _one_sample)(input, p, training, inplace)


def _scaled_and_shifted(input: Tensor, noise: tuple[Any, Any]) -> Tensor:
    scale, shift = noise
    return input * constant(scale) + constant(shift)


def _alpha(input: Tensor, p: float, training: bool, inplace: bool, features: bool) -> Tensor:
    array = input._array
    if not training or p == 0 or array.size == 0:
        return input
    if features and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    _needs_float(input)
    if p == 1:
        return _multiplied(input, np.zeros((), array.dtype), inplace)
    parts: list[np.ndarray] = []

    def scale(shape: tuple, contiguous: bool = True) -> np.ndarray:
        parts.extend(alpha_dropout_noise(generator(), sizes_of((shape,)), array.dtype, p))
        return parts[0]

    def shift(shape: tuple, contiguous: bool = True) -> np.ndarray:
        return parts[1]

    if features:
        sizes = feature_noise_shape(array.shape)
        noise = (draw_batched(scale, sizes), draw_batched(shift, sizes))
    else:
        noise = (_mask(array, scale), _mask(array, shift))
    return in_place(input, _scaled_and_shifted, noise) if inplace else _scaled_and_shifted(input, noise)


@layer_function(passed="")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for SELU networks: dropped elements take SELU's negative limit, then mean and variance are restored."""
    _check(p)
    try:
        return _alpha(input, p, training, inplace, False)
    except AttributeError as error:
        raise complaint_for(error) from None


@layer_function(passed="")
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels."""
    _check(p)
    try:
        return _alpha(input, p, training, inplace, True)
    except AttributeError as error:
        raise complaint_for(error) from None

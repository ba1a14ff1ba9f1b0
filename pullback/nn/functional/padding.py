"""Padding with a constant or with the tensor's own values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.mode import current_mode
from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.operands import SMALLEST_TOO_LARGE, in_64_bits
from ...functional.rearranging import constant_pad_nd
from ...kernels.resampling import padding_tables
from ...ops.vision import resample_op
from ...transforms.autocast import without_autocast
from ._common import layer_function

_NAMES = {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}


@layer_function(passed="")
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements put around the last dims; `pad` has the amounts before and after, last dim first. Negative ones crop."""
    amounts = _amounts(pad)
    if len(amounts) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, but got {len(amounts)} numbers")
    sizes = input._array.shape
    if len(amounts) // 2 > len(sizes):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(amounts)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        for axis in range(len(amounts) // 2 if min(amounts, default=0) < 0 else 0):
            if sizes[-1 - axis] + min(amounts[2 * axis], 0) + min(amounts[2 * axis + 1], 0) < 0:
                raise RuntimeError(
                    "narrow(): length must be non-negative. The negative padding takes away more than dim "
                    f"{input.ndim - 1 - axis} has"
                )
        return constant_pad_nd(input, amounts, 0 if value is None else value)
    if mode not in _NAMES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value not in (None, 0):
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode == "circular":
        return _pad_with_own(input.contiguous(), amounts, mode)
    if current_mode().autocast is not None:
        return without_autocast(_pad_with_own, (input, amounts, mode), {}, cast=True)
    return _pad_with_own(input, amounts, mode)


def _amounts(pad: Any) -> tuple[int, ...]:
    values = tuple(pad.tolist()) if isinstance(pad, Tensor) else tuple(pad)
    for amount in values:
        if type(amount) is not int or not -SMALLEST_TOO_LARGE <= amount < SMALLEST_TOO_LARGE:
            break
    else:
        return values
    for position, amount in enumerate(values):
        if not hasattr(amount, "__index__"):
            raise TypeError(
                "pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type "
                f"{type(amount).__name__} at pos {position}"
            )
    return tuple(in_64_bits(amount.__index__(), "pad", "pad") for amount in values)


def _pad_with_own(x: Tensor, amounts: tuple, mode: str) -> Tensor:
    count = len(amounts) // 2
    if count not in (1, 2, 3) or x.ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Padding size {len(amounts)} is not supported for {x.ndim}D input tensor. Only 2D, 3D, 4D, 5D padding "
            "with non-constant padding are supported for now: as many pairs of numbers as there are spatial dims"
        )
    axes, tables, back = [], [], []
    for number in range(count):
        axis = x.ndim - 1 - number
        before, after = amounts[2 * number], amounts[2 * number + 1]
        _check_amounts(x, axis, before, after, mode)
        axes.append(axis)
        forward, backward = padding_tables(x.shape[axis], before, after, mode)
        tables.append(forward)
        back.append(backward)
    op = resample_op(f"{_NAMES[mode]}{count}DBackward0")
    return apply(op, (x,), {"axes": tuple(axes), "tables": tuple(tables), "back": tuple(back)})


def _check_amounts(x: Tensor, axis: int, before: int, after: int, mode: str) -> None:
    size = x.shape[axis]
    if size == 0 and (before > 0 or after > 0) or mode != "circular" and 0 in x.shape[1:]:
        raise RuntimeError(
            f"Expected {x.ndim - 1}D or {x.ndim}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(x.shape)}"
        )
    if size + before + after < 1:
        raise RuntimeError(f"input (size: {size} at dimension {axis}) is too small: calculated output size is below 1")
    if mode == "reflect" and (before >= size or after >= size):
        raise RuntimeError(
            "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
            f"({before}, {after}) at dimension {axis} of input {list(x.shape)}"
        )
    if mode == "circular" and (before > size or after > size):
        raise RuntimeError("Padding value causes wrapping around more than once.")

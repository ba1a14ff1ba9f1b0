"""Parts that the modules of this package share: operand checks, `reduction` names, random numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import random
from ...core.basics.notices import warn_user
from ...core.tape import wrap
from ...core.tensor import Tensor
from ...functional.checks import need_tensor
from ...functional.operands import in_64_bits
from ...functional.registry import public_in
from .. import _reduction

layer_function = partial(public_in, "torch.nn.functional")  # announces it

REDUCTIONS: tuple[Any, ...] = ("none", "mean", "sum")


def float_tensor(value: Any, function: str, kernel: str, complex_ok: bool = False) -> Tensor:
    """A tensor of floating point dtype, or torch's complaint that the kernel has no such form."""
    x = value if isinstance(value, Tensor) else need_tensor(value, function)
    kind = x._array.dtype.kind
    if kind in "biu" or kind == "c" and not complex_ok:
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{x.dtype.type_name}'. Convert it first: x.float()."
        )
    return x


def reduction_name(reduction: Any, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """One of 'none', 'mean', 'sum', from the argument or the two booleans it replaced."""
    if size_average is not None or reduce is not None:
        return _reduction.legacy_get_string(size_average, reduce)
    if reduction in REDUCTIONS:
        return reduction
    return REDUCTIONS[_reduction.get_enum(reduction)]


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of losses, or all of them."""
    if reduction == "mean":
        return losses.mean()
    return losses.sum() if reduction == "sum" else losses


def warn_sizes(target: Tensor, input: Tensor) -> None:
    """Torch's warning about a target that will be broadcast."""
    if target._array.shape != input._array.shape:
        warn_user(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        )


def constant(array: Any) -> Tensor:
    """A tensor without history around an array."""
    return wrap(array if hasattr(array, "_pullback_apply") else np.asarray(array))  # a batch is an array as it is


def generator() -> Any:
    """The default random number generator."""
    return random.default_generator


def ints(value: Any, count: int, name: str) -> tuple[int, ...]:
    """An int for all of `count` axes, or one for each."""
    if isinstance(value, (tuple, list)):
        values = tuple(in_64_bits(number.__index__(), "this function", name) for number in value)
        if len(values) == 1:
            return values * count
        if len(values) != count:
            raise RuntimeError(
                f"{name} must either be a single int, or a tuple of {count} ints, but got {list(values)}"
            )
        return values
    try:
        return (in_64_bits(value.__index__(), "this function", name),) * count
    except AttributeError:
        raise TypeError(f"{name} must be an int or a tuple of {count} ints, not {type(value).__name__}") from None

"""`make_tensor`: random test data of any dtype, within the bounds torch uses, from the default generator."""

from __future__ import annotations

from typing import Any

from ..core.basics.device import require_cpu
from ..core.basics.dtypes import dtype as dtype_type
from ..core.tensor import Tensor


def make_tensor(
    *shape: Any, dtype: Any, device: Any = "cpu", low: float | None = None, high: float | None = None,
    requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor with uniform elements in [low, high): integers -9..9 (bool 0..1, uint8 0..9), floats -9..9."""
    from .. import ones_like, repeat_interleave, where

    require_cpu(device)
    if not isinstance(dtype, dtype_type):
        raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor()")
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else tuple(shape)
    draw = _floats if dtype.is_floating_point or dtype.is_complex else _integers
    result = draw(sizes, dtype, low, high)
    if exclude_zero:
        result = where(result == 0, ones_like(result), result)
    if noncontiguous and result.numel() > 1:
        result = repeat_interleave(result, 2, dim=-1)[..., ::2]
    return result.requires_grad_() if requires_grad else result


def _floats(sizes: tuple[int, ...], dtype: Any, low: float | None, high: float | None) -> Tensor:
    from .. import complex64, float32, rand, view_as_complex

    lower, upper = (-9.0 if low is None else float(low)), (9.0 if high is None else float(high))
    real = dtype.to_real() if dtype.is_complex else dtype
    drawn = real if real.itemsize >= 4 else float32
    result = rand(*sizes, *((2,) if dtype.is_complex else ()), dtype=drawn) * (upper - lower) + lower
    if dtype.is_complex:
        result = view_as_complex(result).detach()  # a tensor of its own
    return result.to(dtype if dtype.is_floating_point or dtype.itemsize >= 8 else complex64)


def _integers(sizes: tuple[int, ...], dtype: Any, low: float | None, high: float | None) -> Tensor:
    from .. import iinfo, randint

    is_bool = dtype._name == "bool"
    lowest = 0 if is_bool or not dtype.is_signed else -9
    lower = lowest if low is None else int(low)
    upper = (2 if is_bool else 10) if high is None else int(high)
    if not is_bool:  # bounds beyond the dtype's are brought back into it
        lower, upper = max(lower, iinfo(dtype).min), min(upper, iinfo(dtype).max)
    if lower >= upper:
        raise ValueError(f"make_tensor: low must be weakly less than high, but got {lower} >= {upper}")
    return randint(lower, upper, sizes).bool() if is_bool else randint(lower, upper, sizes, dtype=dtype)

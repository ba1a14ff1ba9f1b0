"""In-place initialisation of parameters: `torch.nn.init`'s functions, drawing the same random numbers.

Every function works without recording gradients and returns its tensor. The names without a trailing underscore are
torch's deprecated aliases.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import pullback

from ..core.basics.dtypes import number_in
from ..core.basics.notices import warn_user
from ..functional.registry import public_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from .. import Generator, Tensor

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse",
    "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform",
    "xavier_uniform_", "zeros_",
]  # fmt: skip

_GAINS: dict[str, float] = {
    "linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "conv_transpose1d": 1, "conv_transpose2d": 1,
    "conv_transpose3d": 1, "sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a nonlinearity's weights should be scaled; `param` is the slope of `leaky_relu`."""
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is None:
        param = 0.01
    elif isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + param**2))


# What fills a tensor in the end. A program is asked about `uniform_`, `normal_`, `constant_` and `kaiming_uniform_` alone
# (`__torch_function__`), and about each once: so no function here calls another of these four.


def _uniform(tensor: Tensor, a: float, b: float, generator: Generator | None) -> Tensor:
    with pullback.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _normal(tensor: Tensor, mean: float, std: float, generator: Generator | None) -> Tensor:
    with pullback.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _fill(tensor: Tensor, val: float) -> Tensor:
    with pullback.no_grad():
        return tensor.fill_(val)


@public_in("torch.nn.init", direct=True, passed=", tensor a b generator")
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers uniform between `a` and `b`."""
    return _uniform(tensor, a, b, generator)


@public_in("torch.nn.init", direct=True, passed=", tensor mean std generator")
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers."""
    return _normal(tensor, mean, std, generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers that lie in [a, b], by rejection."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_user(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )
    share_inside = (math.erf((b - mean) / std / math.sqrt(2.0)) - math.erf((a - mean) / std / math.sqrt(2.0))) / 2
    with pullback.no_grad():
        if share_inside > 0.3:
            return _truncate_normal_draws(tensor, mean, std, a, b, generator)
        return _thin_uniform_draws(tensor, mean, std, a, b, generator)


def _truncate_normal_draws(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Most normal draws fall inside: redraw the others."""
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()  # the bounds as this dtype rounds them
    result = tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (result < low) | (result > high)
        if not outside.any():
            break
        redrawn = pullback.empty_like(result).normal_(mean, std, generator=generator)
        result = pullback.where(outside, redrawn, result)
    return tensor if result is tensor else tensor.copy_(result)


def _thin_uniform_draws(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Few normal draws would fall inside: draw uniformly and keep each with the density's probability."""
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    number_in(2 * log_peak, tensor._array.dtype)  # where squares are infinite, no draw would ever be kept

    def rejected(candidates: Tensor) -> Tensor:
        log_density = ((candidates - mean) / std) ** 2 * -0.5 - log_peak
        return pullback.empty_like(tensor).uniform_(generator=generator).log_() > log_density

    result = tensor.uniform_(a, b, generator=generator)
    pending = rejected(result)
    while pending.any():
        candidates = pullback.empty_like(tensor).uniform_(a, b, generator=generator)
        result = pullback.where(pending, candidates, result)
        pending = pullback.where(pending, rejected(candidates), pending)
    return tensor if result is tensor else tensor.copy_(result)


@public_in("torch.nn.init", direct=True, passed=", tensor val")
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with `val`."""
    return _fill(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return _fill(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    with pullback.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Make a matrix the identity (ones on the diagonal if it is not square)."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with pullback.no_grad():
        tensor.copy_(pullback.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make a convolution's weight preserve as many channels as it can, in each of `groups`."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.shape[0] // groups
    centre = tuple(extent // 2 for extent in tensor.shape[2:])
    with pullback.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.shape[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    shape = tuple(tensor.shape)
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive_field = math.prod(shape[2:])
    return shape[1] * receptive_field, shape[0] * receptive_field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    modes = ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Glorot's uniform initialisation."""
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor)))))
    return _uniform(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Glorot's normal initialisation."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return _normal(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """The standard deviation He's scheme asks for; None for a tensor without elements."""
    if 0 in tensor.shape:
        warn_user("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@public_in("torch.nn.init", direct=True, passed=", tensor a mode nonlinearity generator")
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """He's uniform initialisation.

    Between plus and minus gain * sqrt(3 / fan): `mode` chooses the fan, "fan_in" or "fan_out", and `nonlinearity` the
    gain, for leaky ReLUs of slope `a`. See `calculate_gain`.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return _uniform(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """He's normal initialisation.

    The standard deviation is gain / sqrt(fan): `mode` chooses the fan, "fan_in" or "fan_out", and `nonlinearity` the
    gain, for leaky ReLUs of slope `a`. See `calculate_gain`.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else _normal(tensor, 0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Make the rows (or columns) orthonormal, trailing dimensions flattened, then scale."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with pullback.no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = pullback.linalg.qr(drawn.t() if rows < columns else drawn)
        q = q * pullback.diag(r, 0).sign()  # makes the distribution uniform over orthogonal matrices
        tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with normal numbers and zero the share `sparsity` of each column."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with pullback.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[pullback.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def alias(*args: Any, **kwargs: Any) -> Tensor:
        warn_user(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)

    alias.__name__ = old
    return alias


uniform: Callable[..., Tensor] = _deprecated(uniform_)
normal: Callable[..., Tensor] = _deprecated(normal_)
constant: Callable[..., Tensor] = _deprecated(constant_)
eye: Callable[..., Tensor] = _deprecated(eye_)
dirac: Callable[..., Tensor] = _deprecated(dirac_)
xavier_uniform: Callable[..., Tensor] = _deprecated(xavier_uniform_)
xavier_normal: Callable[..., Tensor] = _deprecated(xavier_normal_)
kaiming_uniform: Callable[..., Tensor] = _deprecated(kaiming_uniform_)
kaiming_normal: Callable[..., Tensor] = _deprecated(kaiming_normal_)
orthogonal: Callable[..., Tensor] = _deprecated(orthogonal_)
sparse: Callable[..., Tensor] = _deprecated(sparse_)

# Names under which older programs reach the same functions.
_no_grad_uniform_ = uniform_
_no_grad_normal_ = normal_
_no_grad_trunc_normal_ = trunc_normal_
_no_grad_fill_ = constant_
_no_grad_zero_ = zeros_

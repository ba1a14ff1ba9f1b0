"""Convolution layers, plain and transposed, in one to three dimensions, and their lazy versions.

All of them are one class, `_ConvNd`, with the number of spatial dimensions and the functional to call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ...core.tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .lazy import LazyModuleMixin, register_uninitialized
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple, _unusual

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The base of all convolutions: their arguments, the checks of these, and the parameters."""

    __constants__: list[str] = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels",
                     "out_channels", "kernel_size"]  # fmt: skip
    spatial_dims: int
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels: int = in_channels
        self.out_channels: int = out_channels
        self.kernel_size: Any = kernel_size
        self.stride: Any = stride
        self.padding: Any = padding
        self.dilation: Any = dilation
        self.transposed: bool = transposed
        self.output_padding: Any = output_padding
        self.groups: int = groups
        self.padding_mode: str = padding_mode
        self._check_padding()
        self._reversed_padding_repeated_twice = self._explicit_padding()
        self.weight = Parameter(pullback.empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(pullback.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check_padding(self) -> None:
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}")
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{self.padding_mode}'"
            )

    def _explicit_padding(self) -> list[int]:
        """The amounts `F.pad` takes for the modes that the convolution itself does not know."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        amounts = []
        for step, extent in zip(reversed(self.dilation), reversed(self.kernel_size)):
            total = step * (extent - 1) if self.padding == "same" else 0
            amounts += [total // 2, total - total // 2]
        return amounts

    def _weight_shape(self) -> tuple[int, ...]:
        if self.transposed:
            return self.in_channels, self.out_channels // self.groups, *self.kernel_size
        return self.out_channels, self.in_channels // self.groups, *self.kernel_size

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self.spatial_dims
        return self._convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _convolve(self, *args: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say which convolution it is")

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        zeros, ones = (0,) * len(self.kernel_size), (1,) * len(self.kernel_size)
        text += _unusual(self, padding=zeros, dilation=ones, output_padding=zeros, groups=1)
        text += ", bias=False" if self.bias is None else ""
        return text + _unusual(self, padding_mode="zeros")


class _PlainConv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | str | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        each = _ntuple(self.spatial_dims)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            padding if isinstance(padding, str) else each(padding),
            each(dilation),
            False,
            each(0),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )


class Conv1d(_PlainConv):
    """Convolution of signals `(batch, channels, length)`. Arguments as for `Conv2d`."""

    spatial_dims: int = 1

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv1d(*args)


class Conv2d(_PlainConv):
    """Convolution of images `(batch, channels, height, width)`.

    `kernel_size`, `stride`, `padding` and `dilation` are a number, or one for each axis; `padding` may also be "same"
    or "valid". `groups` cuts the channels into as many parts that do not see each other. An axis of size n becomes (n +
    2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1 long. The batch may be missing.
    """

    spatial_dims: int = 2

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv2d(*args)


class Conv3d(_PlainConv):
    """Convolution of volumes `(batch, channels, depth, height, width)`. Arguments as for `Conv2d`."""

    spatial_dims: int = 3

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv3d(*args)


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        each = _ntuple(self.spatial_dims)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            each(padding),
            each(dilation),
            True,
            each(output_padding),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        extra = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return self._convolve(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int]) -> list[int]:
        """How much to add at the end of each dimension so that the output has the requested size."""
        dims = self.spatial_dims
        leading = 2 if input.dim() == dims + 2 else 1
        if len(output_size) == leading + dims:
            output_size = output_size[leading:]
        if len(output_size) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{leading + dims} elements (got {len(output_size)})"
            )
        smallest = [
            (input.shape[leading + axis] - 1) * self.stride[axis]
            - 2 * self.padding[axis]
            + self.dilation[axis] * (self.kernel_size[axis] - 1)
            + 1
            for axis in range(dims)
        ]
        largest = [size + step - 1 for size, step in zip(smallest, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(smallest, output_size, largest)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} to "
                f"{largest} (for an input of {input.shape[2:]})"
            )
        return [size - low for low, size in zip(smallest, output_size)]


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution (the gradient of `Conv1d`) of signals. Arguments as for `ConvTranspose2d`."""

    spatial_dims: int = 1

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv_transpose1d(*args)


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution (the gradient of `Conv2d`) of images.

    It undoes the shapes of a convolution with the same arguments: an axis of size n becomes (n - 1) * stride - 2 *
    padding + dilation * (kernel_size - 1) + output_padding + 1 long. `output_padding` chooses among the sizes that the
    convolution would make n.
    """

    spatial_dims: int = 2

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv_transpose2d(*args)


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution (the gradient of `Conv3d`) of volumes. Arguments as for `ConvTranspose2d`."""

    spatial_dims: int = 3

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv_transpose3d(*args)


class _LazyConv(LazyModuleMixin):
    """Takes `in_channels` from the first input."""

    def _await_channels(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        register_uninitialized(self, bias, device, dtype)
        self.out_channels = out_channels

    def reset_parameters(self) -> None:
        """Draw the parameters anew, once there are any."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]  # of the class mixed with

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes."""
        if not self.has_uninitialized_params():
            return
        self.in_channels: int = self._channels_of(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _channels_of(self, input: Tensor) -> int:
        unbatched = self.spatial_dims + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[input.dim() - unbatched]


class _LazyPlainConv(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | str | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._await_channels(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._await_channels(out_channels, bias, device, dtype)


class LazyConv1d(_LazyPlainConv, Conv1d):
    """A `Conv1d` that takes `in_channels` from its first input."""

    cls_to_become: type[Any] = Conv1d


class LazyConv2d(_LazyPlainConv, Conv2d):
    """A `Conv2d` that takes `in_channels` from its first input."""

    cls_to_become: type[Any] = Conv2d


class LazyConv3d(_LazyPlainConv, Conv3d):
    """A `Conv3d` that takes `in_channels` from its first input."""

    cls_to_become: type[Any] = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A `ConvTranspose1d` that takes `in_channels` from its first input."""

    cls_to_become: type[Any] = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A `ConvTranspose2d` that takes `in_channels` from its first input."""

    cls_to_become: type[Any] = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A `ConvTranspose3d` that takes `in_channels` from its first input."""

    cls_to_become: type[Any] = ConvTranspose3d

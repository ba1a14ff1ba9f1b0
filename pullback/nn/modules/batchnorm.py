"""Batch normalisation: `BatchNorm1d/2d/3d`, their lazy versions, and `SyncBatchNorm`.

Holds the base class of instance normalisation too (`_NormBase`: running statistics and their place in state dicts).
"""

from __future__ import annotations

from typing import Any

import pullback

from ...core.tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
           "SyncBatchNorm"]  # fmt: skip


class _NormBase(Module):
    """Scale, shift and running statistics for each channel."""

    _version: int = 2  # version 1 had no num_batches_tracked
    __constants__: list[str] = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _input_dims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features: int = num_features
        self.eps: float = eps
        self.momentum: float | None = momentum
        self.affine: bool = affine
        self.track_running_stats: bool = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            shape_of = pullback.empty(num_features, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if shape_of is None else Parameter(shape_of))
        if track_running_stats:
            self.register_buffer("running_mean", pullback.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", pullback.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", pullback.tensor(0, dtype=pullback.long, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the statistics gathered so far."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset statistics, scale and shift."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._input_dims:
            expected = " or ".join(f"{dim}D" for dim in self._input_dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *rest: Any) -> None:
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                counter = self.num_batches_tracked
                state_dict[key] = pullback.tensor(0, dtype=pullback.long) if counter is None else counter
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        tracking = self.track_running_stats
        if self.training and tracking and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # a cumulative average over all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        mean, var = self.running_mean, self.running_var
        use_batch = self.training or (mean is None and var is None)
        if self.training and not tracking:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, use_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of `(batch, channels)` or `(batch, channels, length)`.

    In training mode, each channel gets mean 0 and variance 1 over the batch, and running averages of mean and variance
    are kept (the newest counts `momentum`; None: all count alike). After `eval()` those averages are used instead. With
    `affine`, each channel is then scaled and shifted by learned numbers.
    """

    _input_dims: tuple[Any, ...] = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images `(batch, channels, height, width)`; see `BatchNorm1d`."""

    _input_dims: tuple[Any, ...] = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of volumes `(batch, channels, depth, height, width)`; see `BatchNorm1d`."""

    _input_dims: tuple[Any, ...] = (5,)


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """Takes `num_features` from the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype, bias=False)
        self.affine: bool = affine
        self.track_running_stats: bool = track_running_stats
        if affine:
            self.weight: UninitializedParameter = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias: UninitializedParameter = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean: UninitializedBuffer = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var: UninitializedBuffer = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked: Tensor = pullback.tensor(0, dtype=pullback.long, device=device)

    def reset_parameters(self) -> None:
        """Reset statistics, scale and shift, once there are any."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters and statistics their shapes."""
        if not self.has_uninitialized_params():
            return
        self.num_features: int = input.shape[1]
        lazy: list[Any] = [self.weight, self.bias] if self.affine else []
        lazy += [self.running_mean, self.running_var] if self.track_running_stats else []
        for tensor in lazy:
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm1d` that takes `num_features` from its first input."""

    cls_to_become: type[Any] = BatchNorm1d
    _input_dims: tuple[Any, ...] = (2, 3)


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm2d` that takes `num_features` from its first input."""

    cls_to_become: type[Any] = BatchNorm2d
    _input_dims: tuple[Any, ...] = (4,)


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm3d` that takes `num_features` from its first input."""

    cls_to_become: type[Any] = BatchNorm3d
    _input_dims: tuple[Any, ...] = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of any number of dimensions. Statistics are of this process's batch."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias
        )
        self.process_group: Any = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """A copy of the module tree in which every batch normalisation is a `SyncBatchNorm` of the same tensors."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                converted.weight = module.weight
                converted.bias = module.bias
            converted.running_mean = module.running_mean
            converted.running_var = module.running_var
            converted.num_batches_tracked = module.num_batches_tracked
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted

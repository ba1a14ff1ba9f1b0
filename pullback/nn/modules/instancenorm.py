"""Instance normalisation in one to three dimensions, and lazy versions."""

from __future__ import annotations

from typing import Any

from ...core.basics.notices import warn_user
from ...core.tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
           "LazyInstanceNorm3d"]  # fmt: skip


class _InstanceNorm(_NormBase):
    """Normalises each channel of each sample; `_input_dims` is (unbatched, batched)."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        channel_dim = input.dim() - self._get_no_batch_dim()
        if input.shape[channel_dim] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channel_dim} to match num_features "
                    f"({self.num_features}), but got: {input.shape[channel_dim]}."
                )
            warn_user(
                f"input's size at dim={channel_dim} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False"
            )
        if channel_dim == 0:
            return self._normalise(input.unsqueeze(0)).squeeze(0)
        return self._normalise(input)

    def _get_no_batch_dim(self) -> int:
        """How many dims one sample has; subclasses outside this package override it, as they do in torch."""
        return self._input_dims[0]

    def _normalise(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def _load_from_state_dict(
        self,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            stale = [key for key in (f"{prefix}running_mean", f"{prefix}running_var") if key in state_dict]
            if stale:
                names = " and ".join(f'"{key}"' for key in stale)
                kind = type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {kind} with "
                    "track_running_stats=False. Please remove these keys from state_dict, or set "
                    f"track_running_stats=True in {kind} if the running stats are needed."
                )
            for key in stale:
                state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of signals `([batch,] channels, length)`."""

    _input_dims: tuple[Any, ...] = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of images `([batch,] channels, height, width)`."""

    _input_dims: tuple[Any, ...] = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of volumes `([batch,] channels, depth, height, width)`."""

    _input_dims: tuple[Any, ...] = (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm1d` that takes `num_features` from its first input."""

    cls_to_become: type[Any] = InstanceNorm1d
    _input_dims: tuple[Any, ...] = (2, 3)


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm2d` that takes `num_features` from its first input."""

    cls_to_become: type[Any] = InstanceNorm2d
    _input_dims: tuple[Any, ...] = (3, 4)


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm3d` that takes `num_features` from its first input."""

    cls_to_become: type[Any] = InstanceNorm3d
    _input_dims: tuple[Any, ...] = (4, 5)

"""`torch.backends.cuda`: not there; its switches are kept as they are set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Switches:
    """Attributes to set and read back."""

    allow_tf32: bool = False
    allow_fp16_reduced_precision_reduction: bool = True
    allow_bf16_reduced_precision_reduction: bool = True
    allow_fp16_accumulation: bool = False
    fp32_precision: str = "none"
    size: int = 0
    max_size: int = 0

    def clear(self) -> None:
        """There are no plans to forget."""


matmul: _Switches = _Switches()
cufft_plan_cache: _Switches = _Switches()


def is_built() -> bool:
    """False: this build has no CUDA."""
    return False


_kernels = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def flash_sdp_enabled() -> bool:
    return _kernels["flash"]


def mem_efficient_sdp_enabled() -> bool:
    return _kernels["mem_efficient"]


def math_sdp_enabled() -> bool:
    return _kernels["math"]


def enable_flash_sdp(enabled: bool) -> None:
    """Accepted: attention has one kernel here."""
    _kernels["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Accepted: attention has one kernel here."""
    _kernels["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Accepted: attention has one kernel here."""
    _kernels["math"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Accepted: attention has one kernel here."""
    _kernels["cudnn"] = bool(enabled)


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[Any]:
    """Accepted: attention has one kernel here."""
    before = dict(_kernels)
    _kernels.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _kernels.update(before)

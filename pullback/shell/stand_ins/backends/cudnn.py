"""`torch.backends.cudnn`: not there; `benchmark`, `deterministic`, `enabled` and `allow_tf32` stay as set."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ._switches import switched

enabled: bool = True
deterministic: bool = False
benchmark: bool = False
benchmark_limit: int = 10
allow_tf32: bool = True


def is_available() -> bool:
    """False: there is no cuDNN to use."""
    return False


def version() -> None:
    return None


def is_acceptable(tensor: object) -> bool:
    return False


def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
    allow_tf32: bool = True, **others: object,
) -> AbstractContextManager[None]:  # fmt: skip
    """The switches set for the length of a `with` block."""
    return switched(
        globals(), enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit, deterministic=deterministic,
        allow_tf32=allow_tf32,
    )  # fmt: skip

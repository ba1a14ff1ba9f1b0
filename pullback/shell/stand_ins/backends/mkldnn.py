"""`torch.backends.mkldnn`: not there; `enabled` is kept as it is set."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ._switches import switched

enabled: bool = True
deterministic: bool = False
allow_tf32: bool = True


def is_available() -> bool:
    return False


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, **others: object
) -> AbstractContextManager[None]:
    """The switches set for the length of a `with` block."""
    return switched(globals(), enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)

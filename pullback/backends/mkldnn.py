"""`torch.backends.mkldnn`: not there; `enabled` is kept as it is set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

enabled: bool = True
deterministic: bool = False
allow_tf32: bool = True


def is_available() -> bool:
    return False


@contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, **others: object
) -> Iterator[None]:
    """The switches set for the length of a `with` block."""
    here = globals()
    wanted = {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32}
    before = {name: here[name] for name in wanted}
    here.update(wanted)
    try:
        yield
    finally:
        here.update(before)

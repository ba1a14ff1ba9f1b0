"""`torch.backends.opt_einsum`: the optional package that orders the products of an einsum."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

enabled: bool = True
strategy: str = "auto"


def is_available() -> bool:
    return find_spec("opt_einsum") is not None


def get_opt_einsum() -> Any:
    """The package, or None."""
    if not is_available():
        return None
    import opt_einsum

    return opt_einsum

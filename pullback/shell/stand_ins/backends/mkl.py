"""`torch.backends.mkl`: torch's own use of MKL is not here; whether NumPy uses it is NumPy's affair."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    return False


class verbose:
    """Accepted: there is nothing to report."""

    def __init__(self, enable: Any) -> None:
        self.enable: Any = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

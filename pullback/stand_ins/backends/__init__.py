"""Switches of torch's computing libraries. Programs set them and read them back; none of these libraries is used here.

Each submodule says whether the library is there (`is_available()`) and keeps the attributes that are set on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_submodules = ("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum")


def __getattr__(name: str) -> Any:
    if name in _submodules:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """Programs that set switches by assignment after `disable_global_flags` ask for leave; here it is always given."""
    yield

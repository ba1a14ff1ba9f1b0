"""Switches of torch's computing libraries. Programs set them and read them back; none of these libraries is used here.

Each submodule says whether the library is there (`is_available()`) and keeps the attributes that are set on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pullback.core.basics.on_demand import names_on_demand

_submodules = ("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized")

names_on_demand(__name__, modules=_submodules)


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """Programs that set switches by assignment after `disable_global_flags` ask for leave; here it is always given."""
    yield

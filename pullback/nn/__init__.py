"""Neural networks: modules, losses, initialisation, parameters. The names are `torch.nn`'s.

`functional` holds the functions, `modules` the layers, `init` the initialisations, `utils` what is done to modules from
outside (clipping, packing sequences, parametrizations, pruning).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..on_demand import names_on_demand
from . import attention, functional, init, modules, parallel, parameter, utils
from .modules import *  # noqa: F403
from .modules import __all__ as _module_names
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "attention",
    "factory_kwargs", "functional", "init", "modules", "parallel", "parameter", "utils", *_module_names,
]  # fmt: skip


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments among `kwargs` that a tensor factory takes: device, dtype and memory_format."""
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - simple - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    result = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & kwargs.keys():
        if key in result:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        result[key] = kwargs[key]
    return result


__getattr__ = names_on_demand(__name__, modules=("common_types", "grad"))

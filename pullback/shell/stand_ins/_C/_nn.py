"""Functions of layers that torch keeps in its compiled core and that modules with a `to` of their own call."""

from __future__ import annotations

from typing import Any

from pullback.core.basics.device import device as device_type
from pullback.functional.copying import arguments_of_to


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device (None if there is none), dtype, `non_blocking` and memory format meant by the arguments of `to`."""
    device, dtype, non_blocking, copy, memory_format = arguments_of_to(args, kwargs)
    if copy:
        raise RuntimeError(".to() does not accept copy argument")
    return None if device is None else device_type(device), dtype, non_blocking, memory_format

"""Functions of layers that torch keeps in its compiled core and that modules with a `to` of their own call."""

from __future__ import annotations

from typing import Any

from pullback.device import device as device_type
from pullback.nn.modules.module import _parse_to as parse_arguments


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device (None if there is none), dtype, `non_blocking` and memory format meant by the arguments of `to`."""
    device, *others = parse_arguments(*args, **kwargs)
    return (None if device is None else device_type(device), *others)

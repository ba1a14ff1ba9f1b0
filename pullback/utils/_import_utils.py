"""`torch.utils._import_utils`: packages that may be there."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def import_dill() -> Any:
    """The package dill, None if it is not installed."""
    return importlib.import_module("dill") if _check_module_exists("dill") else None


def _check_module_exists(name: str) -> bool:
    """True if a module could be imported; this does not import it."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False

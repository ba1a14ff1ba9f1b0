"""Tensors beside NumPy's arrays: what is left to NumPy, as torch leaves it, and what stays with tensors.

Torch's tensors know little of NumPy: most of its functions compute with the memory of a tensor, and refuse one that
requires grad. Where torch answers, a program gets that answer here. Where it would refuse, because of a gradient or
because an array comes first, the tensor's own functions answer, and what they give stays in the graph.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

import numpy as np

from ..core.basics.notices import PACKAGE
from ..core.mode import is_grad_enabled
from ..core.tensor import Tensor

# Operators and protocols run for whoever called them; what else calls NumPy here means tensors.
_FILES = """core/tape.py core/straightened.py shell/torch_function.py functional/numpy_operands.py
            functional/arithmetic.py functional/division.py functional/matmul.py functional/writing.py functional/registry.py
            shell/interop/__init__.py shell/interop/numpy_functions.py"""
_BETWEEN = frozenset(PACKAGE + name.replace("/", os.sep) for name in _FILES.split())
_PASS = "<backward pass>"  # what `core/written_out/repeats.py` writes


def is_tracked(value: Any) -> bool:
    """True if a gradient, a tangent or a batch would be lost by looking at the array inside."""
    if isinstance(value, Tensor):
        needed = value.requires_grad and is_grad_enabled()
        return needed or bool(value._tangent) or not isinstance(value._array, (np.ndarray, np.generic))
    return isinstance(value, (list, tuple)) and any(map(is_tracked, value))


def is_left_to_numpy(*values: Any) -> bool:
    """True if NumPy is to compute with these, as it does with torch's tensors: a program asks, and nothing would be lost."""
    return all(map(_is_bare, values)) and _asked_by_program()


def _is_bare(value: Any) -> bool:
    """True if NumPy can have the memory of all tensors in a value."""
    if isinstance(value, Tensor):
        plain = type(value) is Tensor or type(value).__module__ == "pullback.nn.parameter"
        return plain and not is_tracked(value) and value._array.dtype.kind != "V"
    return not isinstance(value, (list, tuple)) or all(map(_is_bare, value))


def _asked_by_program() -> bool:
    """True if the call came from outside this package: rules and functions of ours mean tensors when they call NumPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _BETWEEN:
        frame = frame.f_back
    return frame is None or not (frame.f_code.co_filename.startswith(PACKAGE) or frame.f_code.co_filename == _PASS)


def result_of_numpy(ufunc: np.ufunc, a: Any, b: Any) -> Any:
    """Return NumPy's result for an operator of a tensor and an array, or None if NumPy is not to compute it."""
    if not (isinstance(a, np.ndarray) or isinstance(b, np.ndarray)) or not is_left_to_numpy(a, b):
        return None
    from ..shell.interop.numpy_functions import ufunc_of_arrays

    return ufunc_of_arrays(ufunc, "__call__", (a, b), {})

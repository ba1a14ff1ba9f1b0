"""`torch.utils.cpp_extension`: extensions compiled against torch cannot be loaded here, and say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

CUDA_HOME = None
ROCM_HOME = None


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Compiled extensions are not supported."""
    raise RuntimeError(
        "Pullback cannot load C++ or CUDA extensions of torch. Write the operation in Python with "
        "torch.autograd.Function, or use the package's pure Python fallback."
    )


BuildExtension: Callable[..., Any]
CUDAExtension: Callable[..., Any]
CppExtension: Callable[..., Any]
load_inline: Callable[..., Any]
load = load_inline = CppExtension = CUDAExtension = BuildExtension = _refuse
library_paths: Callable[..., Any]
include_paths = library_paths = _refuse

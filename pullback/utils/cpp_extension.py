"""`torch.utils.cpp_extension`: extensions compiled against torch cannot be loaded here, and say so."""

from __future__ import annotations

from typing import Any, NoReturn

CUDA_HOME = None
ROCM_HOME = None


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Compiled extensions are not supported."""
    raise RuntimeError(
        "Pullback cannot load C++ or CUDA extensions of torch. Write the operation in Python with "
        "torch.autograd.Function, or use the package's pure Python fallback."
    )


load = load_inline = CppExtension = CUDAExtension = BuildExtension = _refuse
include_paths = library_paths = _refuse

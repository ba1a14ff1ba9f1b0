"""What is done to modules from outside: clipping gradients, packing sequences, parametrizations, pruning.

Most submodules are imported on first use: a program that only clips gradients does not pay for parametrizations.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm

# Not on first use: these two functions have the names of their modules, and whichever is bound last is seen.
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

_HOMES = {
    "convert_parameters": ("parameters_to_vector", "vector_to_parameters"),
    "fusion": ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
    "init": ("skip_init",),
    "memory_format": ("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"),
}
_MODULES = ("parametrizations", "parametrize", "prune", "stateless")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
           "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "weight_norm", *_HOME_OF, *_MODULES]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    elif name in _MODULES or name in _HOMES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value

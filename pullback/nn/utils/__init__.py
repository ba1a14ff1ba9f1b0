"""Functions that change modules from outside: clipping gradients, packing sequences, parametrizations, pruning.

Most submodules are imported on first use: a program that only clips gradients does not pay for parametrizations.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.basics.on_demand import names_on_demand
from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm

# Not on first use: these two functions have the names of their modules, and whichever is bound last is seen.
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:
    from . import parametrizations as parametrizations
    from . import parametrize as parametrize
    from . import prune as prune
    from . import stateless as stateless
    from .convert_parameters import parameters_to_vector as parameters_to_vector
    from .convert_parameters import vector_to_parameters as vector_to_parameters
    from .fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
    from .fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
    from .fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
    from .fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
    from .init import skip_init as skip_init
    from .memory_format import convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format
    from .memory_format import convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format

_HOMES = {
    ".convert_parameters": "parameters_to_vector vector_to_parameters",
    ".fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    ".init": "skip_init",
    ".memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
}
_MODULES = ("parametrizations", "parametrize", "prune", "stateless")

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
           "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "weight_norm",
           *" ".join(_HOMES.values()).split(), *_MODULES]  # fmt: skip

names_on_demand(__name__, modules=(*_MODULES, *[home[1:] for home in _HOMES]), names=_HOMES)

"""Pullback: PyTorch's automatic differentiation as a small, fast library on NumPy.

`import pullback as torch` and write PyTorch. Names are torch's; what is not here yet is listed in docs/coverage.md.
Parts that not every program needs (`nn`, `optim`, `linalg`, ...) are imported when they are first used.
"""

from __future__ import annotations

import os as _os
import sys as _sys
from math import e, inf, nan, pi
from typing import Any

# Modules such as `pullback.cuda`, which answer for what is not here, are in a folder of their own.
__path__.append(_os.path.join(__path__[0], "shell", "stand_ins"))

from .autograd import (
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .core.basics import dtypes as _dtypes
from .core.basics import quiet as _quiet
from .core.basics.device import device
from .core.basics.dtypes import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    dtype,
    finfo,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .core.basics.layout import layout
from .core.basics.on_demand import names_on_demand as _names_on_demand
from .core.basics.printing import set_printoptions
from .core.basics.size import Size
from .core.tensor import Tensor
from .functional import creation as _creation
from .functional import methods as _methods
from .functional import ranges as _ranges
from .functional import registry as _registry
from .functional import runtime as _runtime
from .shell import interop as _interop
from .shell.interop import einops as _interop_einops
from .shell.interop import from_dlpack, from_numpy, to_dlpack
from .shell.torch_names import lazy as _lazy
from .version import __version__

_quiet.drop_warnings()

_interop_einops.watch()
_methods.attach()
globals().update(_registry.FUNCTIONS)
for _name, _dtype in _dtypes.ALIASES.items():
    globals()[_name] = _dtype
del _name, _dtype

newaxis = None
_SUBMODULES = _lazy.SUBMODULES


def _function(name: str) -> Any:
    """A function whose family is not loaded yet, or a method of tensors that torch has as a function, too."""
    if name == "torch":  # as in torch itself, where programs look names up from either end
        return _sys.modules[__name__]
    value = _registry.FUNCTIONS.find(name)
    if value is None:
        from .shell.torch_names.method_names import find

        value = find(name)
    if value is not None:
        globals()[name] = value
    return value


_names_on_demand(__name__, modules=_SUBMODULES, names=_lazy.NAMES, made=_function)


def __dir__() -> list[str]:
    return sorted({*globals(), *_registry.FUNCTIONS.homes, *_SUBMODULES, *" ".join(_lazy.NAMES.values()).split()})

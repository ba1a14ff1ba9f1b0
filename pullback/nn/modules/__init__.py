"""Every layer, loss and container, one file for each family; public as `nn.<name>`.

A file's `__all__` says what is public. `Module` itself is in `module.py`, with a file each for its tree, its state dict
and its hooks (`_module_*.py`).
"""

# ruff: noqa: F403

from __future__ import annotations

from . import (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    linear_cross_entropy_options,
    loss,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
from .activation import *
from .adaptive import *
from .batchnorm import *
from .channelshuffle import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .flatten import *
from .fold import *
from .instancenorm import *
from .linear import *
from .linear_cross_entropy_options import *
from .loss import *
from .module import Module
from .normalization import *
from .padding import *
from .pixelshuffle import *
from .pooling import *
from .rnn import *
from .sparse import *
from .transformer import *
from .upsampling import *

__all__ = [
    "Module", *activation.__all__, *adaptive.__all__, *batchnorm.__all__, *channelshuffle.__all__,
    *container.__all__, *conv.__all__, *distance.__all__, *dropout.__all__, *flatten.__all__, *fold.__all__,
    *instancenorm.__all__, *linear.__all__, *linear_cross_entropy_options.__all__, *loss.__all__,
    *normalization.__all__, *padding.__all__, *pixelshuffle.__all__, *pooling.__all__, *rnn.__all__,
    *sparse.__all__, *transformer.__all__, *upsampling.__all__,
]  # fmt: skip

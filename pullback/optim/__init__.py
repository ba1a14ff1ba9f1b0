"""Optimizers, learning-rate schedules and weight averaging under torch's names.

Each algorithm has a module of its own; `_updates` has their arithmetic on arrays, `_stepper` the step they share.
`lr_scheduler` and `swa_utils` are loaded when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pullback.optim._adafactor import Adafactor
from pullback.optim._muon import Muon
from pullback.optim._stateless import swap_in_optimizer_params_and_state
from pullback.optim.adadelta import Adadelta
from pullback.optim.adagrad import Adagrad
from pullback.optim.adam import Adam
from pullback.optim.adamax import Adamax
from pullback.optim.adamw import AdamW
from pullback.optim.asgd import ASGD
from pullback.optim.lbfgs import LBFGS
from pullback.optim.nadam import NAdam
from pullback.optim.optimizer import Optimizer
from pullback.optim.radam import RAdam
from pullback.optim.rmsprop import RMSprop
from pullback.optim.rprop import Rprop
from pullback.optim.sgd import SGD
from pullback.optim.sparse_adam import SparseAdam

from ..on_demand import names_on_demand

if TYPE_CHECKING:
    from pullback.optim import lr_scheduler as lr_scheduler
    from pullback.optim import swa_utils as swa_utils

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "lr_scheduler", "swa_utils",
    "swap_in_optimizer_params_and_state",
]  # fmt: skip

__getattr__ = names_on_demand(__name__, modules=("lr_scheduler", "swa_utils"))

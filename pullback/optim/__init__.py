"""Optimizers, learning-rate schedules and weight averaging under torch's names.

Each algorithm has a module of its own; `_updates` has their arithmetic on arrays, `_stepper` the step they share.
`lr_scheduler` and `swa_utils` are loaded when they are first used.
"""

from __future__ import annotations

from typing import Any

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

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "lr_scheduler", "swa_utils",
    "swap_in_optimizer_params_and_state",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("lr_scheduler", "swa_utils"):
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

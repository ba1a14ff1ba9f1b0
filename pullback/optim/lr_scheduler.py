"""Learning-rate schedules under torch's names; they live in the `_schedule*` modules next to this one."""

from __future__ import annotations

from ._schedule_base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from ._schedule_base import LRScheduler, _LRScheduler
from ._schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from ._schedules_composed import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from ._schedules_cyclic import CyclicLR, OneCycleLR

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler",
]  # fmt: skip

"""Transforms under torch's names; they live in the `_transform*` modules next to this one."""

# ruff: noqa: F403

from __future__ import annotations

from ._transform_base import *
from ._transforms_elementwise import *
from ._transforms_elementwise import clipped_sigmoid as _clipped_sigmoid
from ._transforms_structured import *

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "_InverseTransform", "_clipped_sigmoid", "identity_transform",
]  # fmt: skip

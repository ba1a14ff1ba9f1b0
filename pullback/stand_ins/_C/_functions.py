"""Node classes and tensor functions that torch shows under `torch._C._functions`.

Node classes of operations are made when an operation is first recorded, so they are found by name among what exists.
"""

from __future__ import annotations

from typing import Any

from pullback.autograd.graph import AccumulateGrad
from pullback.autograd.node import Node
from pullback.autograd.special_nodes import DelayedError, Error, UndefinedGrad, UndefinedGradBackward

__all__ = ["AccumulateGrad", "DelayedError", "Error", "UndefinedGrad", "UndefinedGradBackward"]


def __getattr__(name: str) -> Any:
    for kind in Node.__subclasses__():
        if kind.__name__ == name and kind.op is not None:
            return kind
    raise AttributeError(f"module 'torch._C._functions' has no attribute {name!r}")

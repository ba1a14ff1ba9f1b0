"""Node classes and tensor functions that torch shows under `torch._C._functions`.

Node classes of operations are made when an operation is first recorded, so they are found by name among what exists.
"""

from __future__ import annotations

from typing import Any

from pullback.autograd.graph import AccumulateGrad
from pullback.core.basics.on_demand import names_on_demand
from pullback.core.node import Node
from pullback.core.special_nodes import DelayedError, Error, UndefinedGrad, UndefinedGradBackward

__all__ = ["AccumulateGrad", "DelayedError", "Error", "UndefinedGrad", "UndefinedGradBackward"]


def _class_of_nodes(name: str) -> Any:
    """The class under which nodes are shown."""
    return next((kind for kind in Node.__subclasses__() if kind.__name__ == name and kind.op is not None), None)


names_on_demand(__name__, made=_class_of_nodes)

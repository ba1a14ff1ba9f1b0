"""`torch.utils.swap_tensors`: two tensors exchange everything but their identity."""

from __future__ import annotations

import weakref

from ..core.tensor import Tensor, TensorBase, fields


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange the contents and classes of two tensors, so that every reference to one now means the other.

    Graphs and weak references know a tensor by its identity: a tensor that one of them refers to is refused.
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if tensor._use_count() > 1:
            raise RuntimeError(
                f"Expected use_count of {name} to be 1: a graph refers to it. Swap before using it, or after the results "
                "that were computed from it are gone."
            )
        fields(tensor).pop("_anchor", None)
        if weakref.getweakrefcount(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    first, second = fields(t1), fields(t2)
    vars(TensorBase)["__dict__"].__set__(t1, second)
    vars(TensorBase)["__dict__"].__set__(t2, first)

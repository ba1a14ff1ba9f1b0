"""`torch.optim.functional`: one step of each optimizer as a function of lists of tensors."""

from __future__ import annotations

from ..core.basics.on_demand import names_on_demand
from . import _functional

__all__ = list(_functional.NAMES)


names_on_demand(__name__, names={"pullback.optim._functional": " ".join(__all__)})

"""`torch.utils.flop_counter`: counting floating point operations, which Pullback does not do."""

from __future__ import annotations

from typing import Any

from ._python_dispatch import TorchDispatchMode

__all__ = ["FlopCounterMode"]


class FlopCounterMode(TorchDispatchMode):
    """Can be made, so that programs that offer it as an option run; entering it is refused."""

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        self.depth: int = depth
        self.display: bool = display

"""Where torch keeps `torch.fx.Node`."""

from . import Node

__all__ = ["Node"]

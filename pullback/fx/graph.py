"""Where torch keeps `torch.fx.Graph`."""

from . import Graph

__all__ = ["Graph"]

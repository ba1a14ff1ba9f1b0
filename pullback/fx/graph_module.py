"""Where torch keeps `torch.fx.GraphModule`."""

from . import GraphModule

__all__ = ["GraphModule"]

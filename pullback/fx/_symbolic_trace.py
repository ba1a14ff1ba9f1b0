"""Where torch keeps `torch.fx.Tracer`."""

from . import Tracer

__all__ = ["Tracer"]

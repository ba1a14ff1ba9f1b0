"""Where torch keeps `torch.fx.Proxy`."""

from . import Proxy

__all__ = ["Proxy"]

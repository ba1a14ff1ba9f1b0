"""`torch.fx.passes`: of torch's passes, the one that writes down shapes."""

from . import shape_prop as shape_prop

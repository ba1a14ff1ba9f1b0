"""Mixed precision: `autocast` runs products in a short dtype, `GradScaler` keeps small gradients from vanishing.

On the CPU both do what torch's do; asked for a GPU they warn and disable themselves. Which operations are cast is in
`pullback.transforms.autocast`.
"""

from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

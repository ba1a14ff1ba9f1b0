"""Array types beside ndarray: `batched.py`, many examples as one; `mostly_zeros.py`, gradients as their few values.

What each operation does to a batch is in `batching_rules.py`. Tensors are not here: they are the layer above.
"""

from .batched import Batched, NotBatchable, level_of

__all__ = ["Batched", "NotBatchable", "level_of"]

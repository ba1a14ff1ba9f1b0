"""Array types beside ndarray: `batched.py`, many examples as one; `mostly_zeros.py`, gradients as their few values.

What each operation does to a batch stands on it (`ops/layouts.py`): `batching_rules.py` runs the rule, most are in
`axis_rules.py` and the other `*_rules.py`. Functions that look at values run in a loop (`fallback.py`). NumPy's functions on
batches are in `protocol.py`, memory that has room for all examples in `own_memory.py`, random numbers in `randomness.py`.
`without_elements.py` stands for the arrays of wrappers, which have none. Tensors are not here: they are the layer above.
"""

from .batched import Batched, NotBatchable, level_of

__all__ = ["Batched", "NotBatchable", "level_of"]

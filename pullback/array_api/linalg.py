"""The standard's linear algebra extension."""

from __future__ import annotations

import numpy as np

from ._lift import lifted

__all__ = (
    "cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank "
    "matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm "
).split()

for _name in __all__:
    globals()[_name] = lifted(getattr(np.linalg, _name))

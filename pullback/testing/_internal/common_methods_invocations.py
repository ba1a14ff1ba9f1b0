"""The few helpers of torch's operator database that test files use apart from the database, which is not here."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor

op_db: list[Any] = []
unary_ufuncs: list[Any] = []
binary_ufuncs: list[Any] = []
reduction_ops: list[Any] = []
spectral_funcs: list[Any] = []


def mask_not_all_zeros(shape: Any) -> Tensor:
    """A random mask with at least one True."""
    from ... import randn

    while True:
        mask = randn(shape).gt(0)
        if mask.sum() > 0:
            return mask

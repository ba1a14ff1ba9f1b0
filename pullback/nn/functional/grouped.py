"""Products of several pairs of matrices that lie end to end in one: `grouped_mm`, the product of mixtures of experts.

The products with scales of their own (`scaled_mm`, `scaled_grouped_mm`) work on float8 matrices and are not here.
"""

from __future__ import annotations

from typing import Any

from ...core.basics.dtypes import int32
from ...core.tensor import Tensor
from ...functional.joining import cat
from ...functional.registry import FUNCTIONS
from ._common import layer_function


@layer_function()
def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """`mat_a @ mat_b` for each group. A 2-d matrix holds all groups, group i ending at `offs[i]`; a 3-d one is a stack.

    2-d times 3-d: groups are rows of `mat_a`. 3-d times 2-d: columns of `mat_b`. Both 2-d: they share the summed dim,
    and the result is a stack. Rows and columns after the last group are zero.
    """
    _check(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return mat_a @ mat_b
    ends = offs.tolist()
    starts = [0, *ends[:-1]]
    groups = list(enumerate(zip(starts, ends, strict=True)))
    if mat_a.ndim == 2 and mat_b.ndim == 2:
        return FUNCTIONS["stack"]([mat_a[:, start:end] @ mat_b[start:end] for _, (start, end) in groups])
    if mat_a.ndim == 2:
        parts = [mat_a[start:end] @ mat_b[i] for i, (start, end) in groups]
        rest = mat_a.new_zeros((mat_a.shape[0] - max(ends, default=0), mat_b.shape[2]))
        return cat([*parts, rest], 0)
    parts = [mat_a[i] @ mat_b[:, start:end] for i, (start, end) in groups]
    rest = mat_b.new_zeros((mat_a.shape[1], mat_b.shape[1] - max(ends, default=0)))
    return cat([*parts, rest], 1)


def _check(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None, bias: Any, out_dtype: Any) -> None:
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if matrix.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d, got {matrix.ndim} dims")
    if mat_a.dtype != mat_b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {mat_a.dtype.short_name} != {mat_b.dtype.short_name}"
        )
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(
            "contraction dimension of mat_a and mat_b must match, but the shapes are "
            f"{tuple(mat_a.shape)} and {tuple(mat_b.shape)}"
        )
    if (offs is None) != (mat_a.ndim == mat_b.ndim == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is not None and offs.dtype is not int32:
        raise RuntimeError(f"Offsets have to be int32, got {offs.dtype!r}: offs.to(torch.int32)")
    counts = {m.shape[0] for m in (mat_a, mat_b) if m.ndim == 3} | ({offs.shape[0]} if offs is not None else set())
    if len(counts) > 1:
        raise RuntimeError(f"matrix batch sizes have to match, got {sorted(counts)}")
    if bias is not None:
        raise RuntimeError("Bias not supported yet: add it to the result")
    if out_dtype is not None and out_dtype != mat_a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype: convert the result with .to()")

"""What the older functions (`torch.svd`, `torch.geqrf`, ...) return."""

from __future__ import annotations

from typing import NamedTuple

from ..tensor import Tensor


class SVD(NamedTuple):
    """What `torch.svd` returns: input = U diag(S) V^H."""

    U: Tensor
    S: Tensor
    V: Tensor


class TriangularSolve(NamedTuple):
    """What `torch.triangular_solve` returns."""

    solution: Tensor
    cloned_coefficient: Tensor


class Geqrf(NamedTuple):
    """What `torch.geqrf` returns: reflectors below the diagonal of `a` and R above it, and the reflectors' factors."""

    a: Tensor
    tau: Tensor


class UnpackedLU(NamedTuple):
    """What `torch.lu_unpack` returns."""

    P: Tensor
    L: Tensor
    U: Tensor

"""What the older functions (`torch.svd`, `torch.geqrf`, ...) return."""

from __future__ import annotations

from typing import NamedTuple

from ..core.tensor import Tensor
from ..return_types import another, returned_by
from .solvers import SignedLogDet as _SignedLogDet

SignedLogDet = another("slogdet", _SignedLogDet)


@returned_by("svd")
class SVD(NamedTuple):
    """What `torch.svd` returns: input = U diag(S) V^H."""

    U: Tensor
    S: Tensor
    V: Tensor


@returned_by("qr")
class QR(NamedTuple):
    """What `torch.qr` returns: input = Q R."""

    Q: Tensor
    R: Tensor


@returned_by("triangular_solve")
class TriangularSolve(NamedTuple):
    """What `torch.triangular_solve` returns."""

    solution: Tensor
    cloned_coefficient: Tensor


@returned_by("geqrf")
class Geqrf(NamedTuple):
    """What `torch.geqrf` returns: reflectors below the diagonal of `a` and R above it, and the reflectors' factors."""

    a: Tensor
    tau: Tensor


@returned_by("lu_unpack")
class UnpackedLU(NamedTuple):
    """What `torch.lu_unpack` returns."""

    P: Tensor
    L: Tensor
    U: Tensor

"""Classes of the results of the older functions (`torch.svd`, `torch.geqrf`, ...)."""

from __future__ import annotations

from typing import NamedTuple

from ..core.tensor import Tensor
from ..return_types import declare_result, returned_by
from .solvers import SignedLogDet as _SignedLogDet

SignedLogDet = declare_result("slogdet", _SignedLogDet)


@returned_by("svd")
class SVD(NamedTuple):
    """The result of `torch.svd`: input = U diag(S) V^H."""

    U: Tensor
    S: Tensor
    V: Tensor


@returned_by("qr")
class QR(NamedTuple):
    """The result of `torch.qr`: input = Q R."""

    Q: Tensor
    R: Tensor


@returned_by("triangular_solve")
class TriangularSolve(NamedTuple):
    """The result of `torch.triangular_solve`."""

    solution: Tensor
    cloned_coefficient: Tensor


@returned_by("geqrf")
class Geqrf(NamedTuple):
    """The result of `torch.geqrf`: reflectors below the diagonal of `a` and R above it, and the reflectors' factors."""

    a: Tensor
    tau: Tensor


@returned_by("lu_unpack")
class UnpackedLU(NamedTuple):
    """The result of `torch.lu_unpack`."""

    P: Tensor
    L: Tensor
    U: Tensor

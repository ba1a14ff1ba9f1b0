"""torch.linalg: factorizations, solvers, norms and products of matrices and batches of them.

Everything is differentiable to any order where torch's is, with torch's conventions for complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core.basics.on_demand import names_on_demand
from ..functional.gate import with_own_name
from ..functional.registry import FUNCTIONS
from .checks import LinAlgError
from .eigenvalues import eig, eigh, eigvals, eigvalsh, matrix_rank, matrix_sqrth, pinv, polar, qr, svd, svdvals
from .factorizations import (
    cholesky,
    cholesky_ex,
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
)
from .norms import cond, matrix_norm, norm, vector_norm
from .products import (
    cross,
    diagonal,
    householder_product,
    matrix_exp,
    matrix_power,
    multi_dot,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from .solvers import det, inv, inv_ex, lstsq, slogdet, solve, solve_ex, solve_triangular

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "matrix_sqrth",
    "multi_dot", "norm", "pinv", "polar", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv",
    "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

matmul = with_own_name(FUNCTIONS["matmul"], "linalg_matmul", "torch.linalg", "matmul")

names_on_demand(__name__)

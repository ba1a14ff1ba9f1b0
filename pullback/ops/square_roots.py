"""Square roots of Hermitian matrices, and polar decompositions.

Their rules solve X S + S X = G for S: unlike derivatives by way of eigenvectors that exists for repeated eigenvalues, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.op import Op, op
from .linalg import solve
from .matmul import adjoint
from .samples import arrays

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array


def _sylvester(x: Array, g: Array) -> Array:
    values, vectors = np.linalg.eigh(x)
    turned = adjoint(vectors)
    return vectors @ (turned @ g @ vectors / (values[..., None, :] + values[..., :, None])) @ turned


def _sylvester_in_x(g: Array, x: Array, out: Array) -> Array:
    right, turned = sylvester(x, g), adjoint(out)
    return -(right @ turned + turned @ right)


sylvester: Op = op(
    "SylvesterBackward0", _sylvester, x=_sylvester_in_x, g=lambda g, x: sylvester(x, g), inputs=("x", "g")
)
"""S with x S + S x = g, for positive-definite Hermitian x."""


def _root(x: Array) -> Array:
    values, vectors = np.linalg.eigh(x)
    return vectors * np.sqrt(values)[..., None, :] @ adjoint(vectors)


def _root_pullback(g: Array, out: Array) -> Array:
    return sylvester(out, (g + adjoint(g)) * 0.5)


matrix_sqrth: Op = op("LinalgMatrixSqrthBackward0", _root, x=_root_pullback)


def _polar(x: Array) -> tuple[Array, Array]:
    left, values, right = np.linalg.svd(x, full_matrices=False)
    return left @ right, adjoint(right) * values[..., None, :] @ right


def _polar_pullback(g: Array, outs: tuple[Array, ...]) -> list[Any]:
    """With O the solution of H O + O H = U'dA - dA'U: dU = U O + (1 - UU')dA H^-1, and dH = U'dA - O H."""
    turn, stretch = outs
    to_turn, to_stretch = g
    inner: Any = 0
    if to_turn is not None:
        inner = adjoint(turn) @ to_turn
    if to_stretch is not None:
        inner = inner - to_stretch @ stretch
    skew = sylvester(stretch, inner)
    within = skew - adjoint(skew)
    if to_stretch is not None:
        within = within + to_stretch
    result = turn @ within
    if to_turn is not None and turn.shape[-2] > turn.shape[-1]:
        outside = to_turn - turn @ (adjoint(turn) @ to_turn)
        result = result + adjoint(solve(stretch, adjoint(outside))[0])
    return [result]


polar: Op = op(
    "LinalgPolarBackward0",
    _polar,
    inputs=("x",),
    joint=_polar_pullback,
    outputs=0,
    undefined_allowed=True,
    samples=arrays((3, 3)),
)

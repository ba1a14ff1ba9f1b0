"""Gamma and Dirichlet samples with gradients in their concentrations (implicit reparametrisation).

A sample x of concentration a keeps its place in the distribution: P(a, x) is constant, so dx/da = -dP/da / density.
"""

from __future__ import annotations

from typing import Any

from ..core.op import op
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..kernels import draw_slopes
from ..kernels.random import gammas
from ..transforms.arrays.randomness import draw_with_parameters
from .checks import not_implemented_for
from .random_sampling import _from
from .registry import public

gamma_slope: Any = op(
    "StandardGammaBackward0",
    lambda alpha, sample: draw_slopes.gamma_slope(alpha, sample),
    kind="elementwise_pull",
    alpha=None,
    sample=None,
    aten="_standard_gamma",
)
_gamma = op(
    "StandardGammaBackward0",
    lambda alpha, values: values,
    kind="elementwise_pull",
    alpha=lambda g, alpha, out: g * gamma_slope(alpha, out),
    values=None,
    aten="_standard_gamma",
)


@public(method=False, direct=True)
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma samples of scale 1."""
    if input._array.dtype.itemsize < 4:
        raise not_implemented_for("gamma_cpu", input)
    stream = _from(generator)
    return apply(
        _gamma, (input, wrap(draw_with_parameters(lambda alpha: gammas.standard_gamma(stream, alpha), input._array)))
    )


@public(method=False, direct=True)
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Points of the simplex along the last dim."""
    if input._array.dtype.itemsize < 4:
        raise not_implemented_for("dirichlet", input)
    stream = _from(generator)
    return wrap(draw_with_parameters(lambda alpha: gammas.dirichlet(stream, alpha), input._array))


@public(method=False, direct=True)
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The slope of gamma samples along their shape."""
    return apply(gamma_slope, (input, output))

"""Gamma and Dirichlet samples with gradients in their concentrations (implicit reparametrisation).

A sample x of concentration a keeps its place in the distribution: P(a, x) is constant, so dx/da = -dP/da / density.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.randomness import drawn_from
from ..autograd.op import op
from ..autograd.tape import apply, wrap
from ..kernels.random import gammas
from ..kernels.special import gammainc, lgamma
from ..tensor import Tensor
from .checks import not_implemented_for
from .random_sampling import _from
from .registry import FUNCTIONS


def _gamma_slope(alpha: Any, sample: Any) -> Any:
    """dx/da of gamma samples, from differences of order eight in log(a)."""
    a, x = np.asarray(alpha, np.float64), np.asarray(sample, np.float64)
    step = 0.02 / np.sqrt(1 + 0.1 * a)  # shorter for large concentrations, whose distributions are narrow
    change = np.zeros(np.broadcast_shapes(a.shape, x.shape))
    for offset, weight in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)):
        change = change + weight * (gammainc(a * np.exp(offset * step), x) - gammainc(a * np.exp(-offset * step), x))
    density = np.exp((a - 1) * np.log(x) - x - lgamma(a))
    return (-change / (step * a * density)).astype(sample.dtype)


gamma_slope: Any = op("StandardGammaBackward0", _gamma_slope, kind="elementwise_pull", alpha=None, sample=None)
_gamma = op(
    "StandardGammaBackward0",
    lambda alpha, values: values,
    kind="elementwise_pull",
    alpha=lambda g, alpha, out: g * gamma_slope(alpha, out),
    values=None,
)


def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma samples of scale 1."""
    if input._array.dtype.itemsize < 4:
        raise not_implemented_for("gamma_cpu", input)
    stream = _from(generator)
    return apply(_gamma, (input, wrap(drawn_from(lambda alpha: gammas.standard_gamma(stream, alpha), input._array))))


def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Points of the simplex along the last dim."""
    if input._array.dtype.itemsize < 4:
        raise not_implemented_for("dirichlet", input)
    stream = _from(generator)
    return wrap(drawn_from(lambda alpha: gammas.dirichlet(stream, alpha), input._array))


FUNCTIONS["_standard_gamma"] = _standard_gamma
FUNCTIONS["_sample_dirichlet"] = _sample_dirichlet
FUNCTIONS["_standard_gamma_grad"] = lambda input, output: apply(gamma_slope, (input, output))

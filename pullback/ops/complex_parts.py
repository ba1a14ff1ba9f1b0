"""Complex numbers, and the real numbers they are made of: conjugates, angles, real and imaginary part put together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..core.basics.dtypes import kind_of
from ..core.op import Op, op
from ..kernels.like import empty
from ..kernels.order import ordered
from .layouts import ELEMENTWISE
from .piecewise import zero_gradient
from .samples import arrays
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array

conj_physical: Op = op(
    "ConjPhysicalBackward0",
    np.conj,
    kind="real_linear",
    x=lambda g: np.conj(g),
    batch=ELEMENTWISE,
    samples=arrays((2, 3)),
)


def _angle(x: Array) -> Array:
    if x.dtype.kind == "c":
        return in_order(np.angle(x))
    return np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(math.pi), x.dtype.type(0)))


def _angle_pullback(g: Array, x: Array) -> Array:
    if kind_of(x) != "c":
        return zero_gradient(g)
    square = np.real(x * np.conj(x))
    return np.where(square == 0, 0, g * (1j * x) / np.where(square == 0, 1, square))


angle: Op = op("AngleBackward0", _angle, kind="real_pull", x=_angle_pullback)


def _complex(a: Array, b: Array) -> Array:
    kind = np.complex128 if a.dtype.itemsize == 8 else np.complex64
    out = empty(np.broadcast_shapes(a.shape, b.shape), a, kind)
    out.real, out.imag = a, b
    return out


make_complex: Op = op(
    "ComplexBackward0",
    ordered(_complex, (0, 1)),
    kind="real_linear",
    a=lambda g: np.real(g),
    b=lambda g: np.real(g * -1j),
    batch=ELEMENTWISE,
)
polar: Op = op(
    "PolarBackward0",
    ordered(lambda size, angle: _complex(size * np.cos(angle), size * np.sin(angle)), (0, 1)),
    kind="real_pull",
    size=lambda g, angle: np.real(np.conj(g) * make_complex(np.cos(angle), np.sin(angle))),
    angle=lambda g, out: np.real(np.conj(g) * (out * 1j)),
    copies_before_writes=True,
)

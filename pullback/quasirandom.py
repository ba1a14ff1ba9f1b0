"""`torch.quasirandom.SobolEngine`: points that fill a cube evenly, the same ones as torch's, scrambled or not.

The direction numbers (Joe and Kuo's) come with SciPy, which is imported when an engine is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .core.basics.dtypes import as_dtype, default_dtype
from .core.tape import wrap
from .core.tensor import Tensor

__all__ = ["SobolEngine"]

_BITS = 30


class SobolEngine:
    """A Sobol sequence in some dimensions; `scramble` permutes digits at random, in a way `seed` fixes."""

    MAXBIT: int = _BITS
    MAXDIM: int = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension: int = dimension
        self.scramble: bool = scramble
        self.seed: int | None = seed
        self._directions = _direction_numbers(dimension)
        self._shift = np.zeros(dimension, np.int64)
        if scramble:
            self._scramble()
        self._point = self._shift.copy()
        self.num_generated: int = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next points, one in each row."""
        kind = (default_dtype() if dtype is None else as_dtype(dtype))._numpy
        first = self.num_generated == 0
        points = self._next(n) * 2.0**-_BITS
        if first:  # torch keeps the first point in the default dtype
            points[0] = points[0].astype(default_dtype()._numpy)
        result = wrap(points.astype(kind))
        if out is not None:
            return out.resize_as_(result).copy_(result)
        return result

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2**m points, if the number of points stays a power of 2."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again."""
        self._point = self._shift.copy()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave points out."""
        if n > 0:
            self._count(n)
            last = self.num_generated - 1
            digits = (last ^ last >> 1) >> np.arange(_BITS) & 1  # Gray's code: neighbours differ in one digit
            self._point = self._shift ^ np.bitwise_xor.reduce(self._directions * digits, axis=1)
        return self

    def _count(self, n: int) -> None:
        if self.num_generated + n > 2**_BITS:
            raise ValueError(f"SobolEngine has 2**{_BITS} points: after {self.num_generated}, {n} more are too many")
        self.num_generated += n

    def _next(self, n: int) -> np.ndarray:
        """The next points as integers. Each differs from the one before in one direction: that of the lowest 0 bit."""
        before = self.num_generated
        first = before == 0
        self._count(n)
        numbers = np.arange(0 if first else before - 1, before + n - 1, dtype=np.int64)
        lowest_zero = np.log2(~numbers & (numbers + 1)).astype(np.int64)
        steps = np.concatenate([self._point[None], self._directions[:, lowest_zero].T])
        points = np.bitwise_xor.accumulate(steps, axis=0)
        self._point = points[-1].copy()
        return points if first else points[1:]

    def _scramble(self) -> None:
        from pullback import Generator, randint

        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        digits = randint(2, (self.dimension, _BITS), generator=generator).numpy()
        self._shift = digits @ (1 << np.arange(_BITS))
        matrices = np.tril(randint(2, (self.dimension, _BITS, _BITS), generator=generator).numpy())
        matrices[:, np.arange(_BITS), np.arange(_BITS)] = 1
        places = _BITS - 1 - np.arange(_BITS)  # the first row and column stand for the highest digit
        bits = self._directions[:, :, None] >> places & 1  # dimension, direction, digit
        mixed = np.matmul(bits, np.swapaxes(matrices, 1, 2)) & 1
        self._directions = mixed @ (1 << places)

    def __repr__(self) -> str:
        options = [f"dimension={self.dimension}", *(["scramble=True"] if self.scramble else [])]
        options += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(options)})"


def _direction_numbers(dimension: int) -> np.ndarray:
    try:
        from scipy.stats import qmc
    except ImportError:
        raise RuntimeError("SobolEngine needs the direction numbers that come with SciPy: pip install scipy.") from None
    return qmc.Sobol(dimension, scramble=False, bits=_BITS)._sv.astype(np.int64)

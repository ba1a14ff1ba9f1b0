"""Orthogonal polynomials of order n at x: Chebyshev T, U, V, W and shifted, Hermite H and He, Laguerre, Legendre.

Orders may differ from element to element; they are truncated to integers, and a negative order gives zero. Values
come from the three-term recurrences, run once up to the highest order asked for. Inside (-1, 1) Chebyshev
polynomials of higher order use their trigonometric form instead, as torch does; Laguerre polynomials of high order, which
stay finite, multiply the steps of their recurrence together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pullback.core.basics.quiet import quiet
from pullback.kernels.blocks import Kernel, by_region, run
from pullback.kernels.like import is_elsewhere, together

from .thresholds import STEPS_TOGETHER

Step = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

# How often the recurrence looks whether everything has overflowed to nan and the rest of the orders is futile.
_CHECK_EVERY = 64
_MOST_STEPS = 10**6  # a few seconds; more would seem to hang
_LONGEST_OVERFLOW = 65536  # what grows at all has overflowed by then, and is done whatever its order
_LONG = 4096  # orders from which on steps are multiplied together


def _recurrence(x: np.ndarray, n: np.ndarray, first: np.ndarray, step: Step) -> np.ndarray:
    """Order n from orders 0 (which is one) and 1; ``step(k, x, p, q)`` makes order k from k - 2 and k - 1."""
    previous, current = np.ones_like(x), first
    result = np.where(n <= 0, previous, current)
    result[n < 0] = 0.0
    lowest, highest = (min(int(n.min()), 0), _highest(n)) if n.size else (0, 0)
    uniform = n.size > 0 and n[0] == highest and bool((n == highest).all())
    for k in range(2, highest + 1):
        previous, current = current, step(k, x, previous, current)
        if not uniform and k >= lowest:
            np.copyto(result, current, where=n >= k)
        if k % _CHECK_EVERY == 0:
            if np.isnan(current).all():
                break
            if k > _LONGEST_OVERFLOW:
                _refuse_endless(highest, _MOST_STEPS)
    return current if uniform and highest >= 2 else result


def _highest(orders: np.ndarray) -> int:
    """The largest of some orders, and of 0."""
    return max(int(orders.max()), 0) if orders.size else 0


def _refuse_endless(order: int, most: int) -> None:
    if order > most:
        raise RuntimeError(f"a polynomial of order {order} takes as many steps; orders go up to {most}")


def _orders(n: np.ndarray) -> np.ndarray:
    return n.astype(np.int64)


def _double_step(k: int, x: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return (x + x) * q - p


def _chebyshev(
    x: np.ndarray,
    n: np.ndarray,
    first: Callable[[np.ndarray], np.ndarray],
    angle_form: Callable[[np.ndarray, np.ndarray], np.ndarray],
    angle_from: int,
) -> np.ndarray:
    """Any Chebyshev kind; orders above ``angle_from`` use the trigonometric form where it exists."""
    orders = _orders(n)

    def by_recurrence(x: np.ndarray, orders: np.ndarray) -> np.ndarray:
        return _recurrence(x, orders, first(x), _double_step)

    def by_angle(x: np.ndarray, orders: np.ndarray) -> np.ndarray:
        return angle_form(np.arccos(x), orders.astype(x.dtype))

    key = (np.abs(x) < 1) & (orders > angle_from)
    return by_region(key, (True,), (by_recurrence, by_angle), x, orders)


def _sign_of_parity(n: np.ndarray) -> np.ndarray:
    return 1.0 - 2.0 * (n % 2)


def _angle_t(angle: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.cos(n * angle)


def _angle_u(angle: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.sin((n + 1) * angle) / np.sin(angle)


def _angle_v(angle: np.ndarray, n: np.ndarray) -> np.ndarray:
    # So close to x = -1 that the half angle is a right one: the limit replaces 0 / 0.
    half = 0.5 * angle
    return np.where(np.sin(half) != 1, np.cos((n + 0.5) * angle) / np.cos(half), _sign_of_parity(n) * (2 * n + 1))


def _angle_w(angle: np.ndarray, n: np.ndarray) -> np.ndarray:
    half = 0.5 * angle
    return np.where(np.cos(half) != 1, np.sin((n + 0.5) * angle) / np.sin(half), 2 * n + 1)


def _chebyshev_t(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return _chebyshev(x, n, lambda x: x, _angle_t, 6)


def _chebyshev_u(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return _chebyshev(x, n, lambda x: x + x, _angle_u, 8)


def _chebyshev_v(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return _chebyshev(x, n, lambda x: x + x - 1, _angle_v, 8)


def _chebyshev_w(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return _chebyshev(x, n, lambda x: x + x + 1, _angle_w, 8)


def _hermite_h(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return _recurrence(x, _orders(n), x + x, lambda k, x, p, q: (x + x) * q - (2 * k - 2) * p)


def _hermite_he(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return _recurrence(x, _orders(n), x, lambda k, x, p, q: x * q - (k - 1) * p)


def _laguerre_l(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    def by_recurrence(x: np.ndarray, orders: np.ndarray) -> np.ndarray:
        return _recurrence(x, orders, 1 - x, lambda k, x, p, q: ((2 * k - 1 - x) * q - (k - 1) * p) / k)

    orders = _orders(n)
    return by_region(orders > _LONG, (True,), (by_recurrence, _laguerre_by_products), x, orders)


def _laguerre_by_products(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    """A state (order k, its difference from order k - 1) is carried through many steps at once."""
    _refuse_endless(_highest(n), 100 * _MOST_STEPS)
    result = np.full_like(x, np.nan)
    alive, done, state = np.arange(x.size), 1, np.stack([1 - x, -x])
    for target in np.unique(n).tolist():
        while done < target and alive.size:
            orders = np.arange(done + 1, 1 + min(target, done + max(STEPS_TOGETHER // alive.size, 256)))
            state = _laguerre_steps(orders.astype(x.dtype), x[alive], state)
            done = int(orders[-1])
            finite = np.isfinite(state[0])  # what overflows becomes nan with the next steps
            alive, state = alive[finite], state[:, finite]
        here = n[alive] == target
        result[alive[here]] = state[0, here]
        alive, state = alive[~here], state[:, ~here]
    return result


def _laguerre_steps(orders: np.ndarray, x: np.ndarray, state: np.ndarray) -> np.ndarray:
    """The state after steps d' = d - (x p + d) / k, p' = p + d'. Each is a matrix; neighbours are multiplied."""
    c = -x[:, None] / orders
    d = np.broadcast_to(1 - 1 / orders, c.shape)
    a, b = 1 + c, d
    while a.shape[1] > 1:
        left = [part[:, -1:] for part in (a, b, c, d)] if a.shape[1] % 2 else None
        early, late = slice(0, a.shape[1] - 1, 2), slice(1, None, 2)
        a1, b1, c1, d1 = a[:, early], b[:, early], c[:, early], d[:, early]
        a2, b2, c2, d2 = a[:, late], b[:, late], c[:, late], d[:, late]
        a, b, c, d = a2 * a1 + b2 * c1, a2 * b1 + b2 * d1, c2 * a1 + d2 * c1, c2 * b1 + d2 * d1
        if left is not None:
            a, b, c, d = (np.concatenate(both, axis=1) for both in zip((a, b, c, d), left, strict=True))
    return np.stack([a[:, 0] * state[0] + b[:, 0] * state[1], c[:, 0] * state[0] + d[:, 0] * state[1]])


def _legendre_p(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return _recurrence(x, _orders(n), x, lambda k, x, p, q: ((2 * k - 1) * x * q - (k - 1) * p) / k)


# Order 1 as slope * x + start, and (a, b, c) of the steps p_k = (a x + b) p_(k-1) - c p_(k-2).
_RECURRENCES: dict[str, tuple[float, float, Callable[[int], tuple[float, float, float]]]] = {
    "u": (2.0, 0.0, lambda k: (2.0, 0.0, 1.0)), "v": (2.0, -1.0, lambda k: (2.0, 0.0, 1.0)),
    "w": (2.0, 1.0, lambda k: (2.0, 0.0, 1.0)), "l": (-1.0, 1.0, lambda k: (-1 / k, 2 - 1 / k, 1 - 1 / k)),
    "p": (1.0, 0.0, lambda k: (2 - 1 / k, 0.0, 1 - 1 / k)),
}  # fmt: skip


@quiet
def recurrence_slope(x: np.ndarray, n: np.ndarray, kind: str, times: int) -> np.ndarray:
    """The derivative of order `times` by x: the recurrence, differentiated, is one of all orders up to that."""
    x, n = together(_array(x), n)
    wide, orders = np.broadcast_arrays(x.astype(np.float64), _orders(_array(n)))
    slope, start, step = _RECURRENCES[kind]
    zeros, ones = np.zeros_like(wide), np.ones_like(wide)
    before, now = [ones, *[zeros] * times], [slope * wide + start, slope * ones, *[zeros] * (times - 1)]
    result = np.where(orders == 1, now[times], 0.0)
    highest = _highest(orders)
    _refuse_endless(highest, _MOST_STEPS)
    for k in range(2, highest + 1):
        a, b, c = step(k)
        factor = a * wide + b
        after = [factor * now[0] - c * before[0]]
        after += [factor * now[d] - c * before[d] + d * a * now[d - 1] for d in range(1, times + 1)]
        before, now = now, after
        np.copyto(result, now[times], where=orders == k)
    return result.astype(x.dtype)


def _run(core: Callable[..., np.ndarray], x: np.ndarray, n: np.ndarray | int) -> np.ndarray:
    order = _array(n)
    if order.dtype.kind in "biu":
        # Whole orders say nothing about precision: x alone does.
        dtype = _array(x).dtype
        order = order.astype(np.float64 if dtype.kind in "biu" else dtype)
    return run(core, x, order[()] if isinstance(n, (int, np.generic)) else order, single=True)


def _array(x: Any) -> Any:
    """An array of NumPy's or of another library."""
    return x if is_elsewhere(x) else np.asarray(x)


def _shifted(core: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda x, n: core(x + x - 1, n)


chebyshev_polynomial_t: Kernel = partial(_run, _chebyshev_t)
"""Chebyshev polynomial of the first kind."""
chebyshev_polynomial_u: Kernel = partial(_run, _chebyshev_u)
"""Chebyshev polynomial of the second kind."""
chebyshev_polynomial_v: Kernel = partial(_run, _chebyshev_v)
"""Chebyshev polynomial of the third kind."""
chebyshev_polynomial_w: Kernel = partial(_run, _chebyshev_w)
"""Chebyshev polynomial of the fourth kind."""
shifted_chebyshev_polynomial_t: Kernel = partial(_run, _shifted(_chebyshev_t))
"""Chebyshev polynomial of the first kind on [0, 1]."""
shifted_chebyshev_polynomial_u: Kernel = partial(_run, _shifted(_chebyshev_u))
"""Chebyshev polynomial of the second kind on [0, 1]."""
shifted_chebyshev_polynomial_v: Kernel = partial(_run, _shifted(_chebyshev_v))
"""Chebyshev polynomial of the third kind on [0, 1]."""
shifted_chebyshev_polynomial_w: Kernel = partial(_run, _shifted(_chebyshev_w))
"""Chebyshev polynomial of the fourth kind on [0, 1]."""
hermite_polynomial_h: Kernel = partial(_run, _hermite_h)
"""Physicist's Hermite polynomial."""
hermite_polynomial_he: Kernel = partial(_run, _hermite_he)
"""Probabilist's Hermite polynomial."""
laguerre_polynomial_l: Kernel = partial(_run, _laguerre_l)
"""Laguerre polynomial."""
legendre_polynomial_p: Kernel = partial(_run, _legendre_p)
"""Legendre polynomial."""

"""The arithmetic of the optimizers on bare arrays: each function updates its arguments in place.

A kernel takes arrays of one shape (parameter, gradient, then state) and a tuple of constants. Constants are 0-d
arrays of the parameter's dtype, as NumPy handles those faster than Python floats; None and booleans are switches.
Kernels are elementwise, so `run` may cut large arrays into blocks that stay in the cache and spread over threads.
Formulas are rearranged to need few passes; tests hold them to torch's results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.thresholds import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Array = np.ndarray
    Kernel = Callable[..., None]


def constants(values: Sequence[Any], dtype: Any) -> tuple[Any, ...]:
    """Floats as 0-d arrays of `dtype`, everything else as it is."""
    return tuple([np.array(value, dtype) if type(value) is float else value for value in values])


def run(kernel: Kernel, arrays: Sequence[Array | None], values: tuple[Any, ...]) -> None:
    """Apply `kernel` to arrays of one shape, element by element in any order."""
    param: Any = arrays[0]
    if param.size <= WHOLE and type(param) is np.ndarray:
        if param.ndim == 0:
            # NumPy would turn 0-d results into scalars, which cannot be updated in place.
            arrays = [None if a is None else a.reshape(1) for a in arrays]
        kernel(*arrays, values)
        return
    if type(param) is not np.ndarray or not all(a is None or a.flags.c_contiguous for a in arrays):
        kernel(*arrays, values)
        return
    from ..kernels.threads import parallel_rows

    flat = [None if a is None else a.reshape(-1) for a in arrays]
    width = param.itemsize * (len(flat) + 2)
    parallel_rows(
        lambda start, stop: kernel(*[None if a is None else a[start:stop] for a in flat], values),
        param.size,
        width,
        inline_bytes=0,
    )


def update(kernel: Kernel, arrays: Sequence[Array | None], values: Sequence[Any], prepared: dict[Any, Any]) -> None:
    """Run `kernel` at a suitable precision; `prepared` keeps the constants of parameters that share them."""
    param: Any = arrays[0]
    code = param.dtype.char
    if code in "fd":
        if type(param) is not np.ndarray:
            run(kernel, arrays, tuple(values))
            return
        ready = prepared.get(code)
        if ready is None:
            ready = prepared[code] = constants(values, param.dtype)
        if param.ndim and param.size <= WHOLE:
            kernel(*arrays, ready)
        else:
            run(kernel, arrays, ready)
    elif param.dtype.kind == "c":
        ready = constants(values, param.real.dtype)
        run(kernel, [None if a is None else a.real for a in arrays], ready)
        run(kernel, [None if a is None else a.imag for a in arrays], ready)
    else:
        # Half precision loses small constants such as eps: compute in single precision, round once.
        work = [None if a is None else a.astype(np.float32) for a in arrays]
        run(kernel, work, constants(values, np.float32))
        for target, source in zip(arrays, work):
            if target is not None and target is not arrays[1]:
                target[...] = source


def effective_gradient(p: Array, g: Array, decay: Any, maximize: bool) -> Array:
    """The gradient with its sign turned for maximization and weight decay added; never written into `g`."""
    if decay is not None:
        t = p * decay
        if maximize:
            t -= g
        else:
            t += g
        return t
    return -g if maximize else g


def lerp(m: Array, g: Array, weight: Any, near: bool) -> None:
    """Move `m` towards `g` by `weight`; a large weight (not `near`) is given as 1 - weight and counts from `g`."""
    s = g - m
    s *= weight
    if near:
        m += s
    else:
        np.subtract(g, s, out=m)


def lerp_weight(weight: float) -> tuple[float, bool]:
    """The two constants of `lerp` for a given weight."""
    weight = float(weight)
    return (weight, True) if weight < 0.5 else (1 - weight, False)


def square_average(v: Array, g: Array, keep: Any, gain: Any) -> Array:
    """v = keep * v + gain * g**2; returns a work array of the same shape."""
    v *= keep
    s = g * g
    s *= gain
    v += s
    return s


def sgd(p: Array, g: Array, buffer: Array | None, values: tuple[Any, ...]) -> None:
    rate, decay, maximize, momentum, gain, nesterov, first = values
    if decay is not None or maximize:
        g = effective_gradient(p, g, decay, maximize)
    if buffer is not None:
        if first:
            buffer[...] = g
        else:
            buffer *= momentum
            buffer += g if gain is None else g * gain
        if nesterov:
            s = buffer * momentum
            s += g
            s *= rate
            p += s
            return
        g = buffer
    p += g * rate


def adam(p: Array, g: Array, m: Array, v: Array, largest: Array | None, values: tuple[Any, ...]) -> None:
    weight, near, keep, gain, epsilon, rate, decay, shrink, maximize = values
    if shrink is not None:
        p *= shrink
    if decay is not None or maximize:
        g = effective_gradient(p, g, decay, maximize)
    s = g - m
    s *= weight
    if near:
        m += s
    else:
        np.subtract(g, s, out=m)
    v *= keep
    np.multiply(g, g, out=s)
    s *= gain
    v += s
    if largest is not None:
        v = np.maximum(largest, v, out=largest)
    np.sqrt(v, out=s)
    s += epsilon
    np.divide(m, s, out=s)
    s *= rate
    p += s


def nadam(p: Array, g: Array, m: Array, v: Array, values: tuple[Any, ...]) -> None:
    weight, near, keep, gain, epsilon, rate_gradient, rate_average, decay, shrink, maximize = values
    if shrink is not None:
        p *= shrink
    g = effective_gradient(p, g, decay, maximize)
    lerp(m, g, weight, near)
    s = square_average(v, g, keep, gain)
    np.sqrt(v, out=s)
    s += epsilon
    t = g * rate_gradient
    t += m * rate_average
    t /= s
    p += t


def radam(p: Array, g: Array, m: Array, v: Array, values: tuple[Any, ...]) -> None:
    weight, near, keep, gain, epsilon, rate, decay, shrink, maximize = values
    if shrink is not None:
        p *= shrink
    g = effective_gradient(p, g, decay, maximize)
    lerp(m, g, weight, near)
    s = square_average(v, g, keep, gain)
    if epsilon is None:
        np.multiply(m, rate, out=s)
    else:
        np.sqrt(v, out=s)
        s += epsilon
        np.divide(m, s, out=s)
        s *= rate
    p += s


def adamax(p: Array, g: Array, m: Array, largest: Array, values: tuple[Any, ...]) -> None:
    weight, near, keep, epsilon, rate, decay, maximize = values
    g = effective_gradient(p, g, decay, maximize)
    lerp(m, g, weight, near)
    largest *= keep
    s = np.abs(g)
    s += epsilon
    np.maximum(largest, s, out=largest)
    np.divide(m, largest, out=s)
    s *= rate
    p += s


def adagrad(p: Array, g: Array, total: Array, values: tuple[Any, ...]) -> None:
    epsilon, rate, decay, maximize = values
    g = effective_gradient(p, g, decay, maximize)
    s = g * g
    total += s
    np.sqrt(total, out=s)
    s += epsilon
    np.divide(g, s, out=s)
    s *= rate
    p += s


def adadelta(p: Array, g: Array, square: Array, moved: Array, values: tuple[Any, ...]) -> None:
    keep, gain, epsilon, rate, decay, maximize = values
    g = effective_gradient(p, g, decay, maximize)
    s = square_average(square, g, keep, gain)
    np.add(square, epsilon, out=s)
    t = moved + epsilon
    # Two roots rather than the root of the quotient: the quotient overflows where the roots do not.
    np.sqrt(s, out=s)
    np.sqrt(t, out=t)
    t /= s
    t *= g
    square_average(moved, t, keep, gain)
    t *= rate
    p += t


def rmsprop(
    p: Array, g: Array, square: Array, buffer: Array | None, mean: Array | None, values: tuple[Any, ...]
) -> None:
    keep, gain, weight, near, epsilon, rate, momentum, decay, maximize = values
    g = effective_gradient(p, g, decay, maximize)
    s = square_average(square, g, keep, gain)
    if mean is None:
        np.sqrt(square, out=s)
    else:
        lerp(mean, g, weight, near)
        np.multiply(mean, mean, out=s)
        np.subtract(square, s, out=s)
        np.sqrt(s, out=s)
    s += epsilon
    np.divide(g, s, out=s)
    if buffer is not None:
        buffer *= momentum
        buffer += s
        np.multiply(buffer, rate, out=s)
    else:
        s *= rate
    p += s


def rprop(p: Array, g: Array, previous: Array, size: Array, values: tuple[Any, ...]) -> None:
    shrink, grow, least, most, maximize = values
    g = -g if maximize else g.copy()
    agreement = g * previous
    reversed_sign = agreement < 0
    np.multiply(size, shrink, out=size, where=reversed_sign)
    np.multiply(size, grow, out=size, where=agreement > 0)
    np.maximum(size, least, out=size)
    np.minimum(size, most, out=size)
    g[reversed_sign] = 0
    previous[...] = g
    np.sign(g, out=g)
    g *= size
    p -= g


def asgd(p: Array, g: Array, average: Array, values: tuple[Any, ...]) -> None:
    shrink, rate, weight, decay, maximize = values
    g = effective_gradient(p, g, decay, maximize)
    p *= shrink
    p += g * rate
    if weight is None:
        average[...] = p
    else:
        s = p - average
        s *= weight
        average += s

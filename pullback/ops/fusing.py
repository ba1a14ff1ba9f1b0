"""Functions that formulas and kernels share: masks and limits that are quick on large arrays, half precision through float32.

Which of the two runs is chosen in one place, `core/kernel.py`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.constants import FLOAT32, FLOAT64, number
from ..core.basics.quiet import restore, silence, warning_settings
from ..kernels.like import NUMPYS
from ..kernels.order import converted
from ..kernels.thresholds import MASKED_BY_BITS, MAYBE_BLOCKED

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array
    from ..core.basics.types import Shape


def handing_on(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a rule take these parameters together, as `**params`, to hand them on to another operation."""

    def decorate(rule: Callable[..., Any]) -> Callable[..., Any]:
        own = rule.__code__.co_varnames[1 : rule.__code__.co_argcount]
        count = len(own)

        def call(g: Array, *values: Array) -> Array:
            return rule(g, *values[:count], **dict(zip(names, values[count:])))

        call.names = (*own, *names)  # type: ignore[attr-defined]  # what it asks for (see `Op`)
        return call

    return decorate


_ZERO, _ZERO_DOUBLE = number(0, FLOAT32), number(0, FLOAT64)


def zero_of(x: Array) -> Array | int:
    """0, for a real array as an array of its dtype, for which NumPy takes half as long as for the number."""
    if type(x) is not np.ndarray:  # arrays of other libraries take numbers, but not NumPy's arrays
        return 0
    kind = x.dtype
    return _ZERO if kind is FLOAT32 else _ZERO_DOUBLE if kind is FLOAT64 else 0


def number_for(value: Any, x: Array) -> Any:
    """A number as an array of the dtype of `x`, if that is a real array; else, and None too, as it is. See `zero_of`."""
    kind = x.dtype
    if value is None or type(x) is not np.ndarray or kind is not FLOAT32 and kind is not FLOAT64:
        return value
    if value:
        return number(value, kind)
    return zero_of(x) if math.copysign(1, value) > 0 else value


_BITS: dict[Any, Any] = {np.dtype(f"f{size}"): np.dtype(f"i{size}") for size in (2, 4, 8)}


_WORDS: dict[Any, Any] = {**_BITS, **{kind: kind for kind in _BITS.values()}}


def keep(mask: Array, g: Array) -> Array:
    """`g` where the mask is True, 0 elsewhere.

    NumPy's `where` branches on each element, and waits ten times as long when the mask is irregular; on large arrays
    the mask is applied to the bits instead, which is also right for nan and infinities.
    """
    if type(mask) is np.ndarray and type(g) is np.ndarray and g.size >= MASKED_BY_BITS and mask.shape == g.shape:
        kind = _BITS.get(g.dtype)
        if kind is not None and g.strides[-1] == g.itemsize:
            bits = np.negative(mask.view(np.int8), dtype=kind)
            return np.bitwise_and(bits, g.view(kind), out=bits).view(g.dtype)
    return np.where(mask, g, zero_of(g))


def drop(mask: Array, g: Array) -> Array:
    """`g` where the mask is False, 0 elsewhere."""
    return keep(~mask, g) if type(g) is np.ndarray and g.size >= MASKED_BY_BITS else np.where(mask, zero_of(g), g)


def choose(mask: Array, a: Array, b: Array) -> Array:
    """`np.where(mask, a, b)`; large arrays of one type are merged by their bits, as in `keep`."""
    if type(mask) is np.ndarray and mask.size >= MASKED_BY_BITS and mask.dtype.kind == "b":
        kind = a.dtype if type(a) is np.ndarray and a.ndim else getattr(b, "dtype", None)
        words = _WORDS.get(kind)
        if words is not None and mask.flags.c_contiguous:
            first, second = _words_of(a, kind, words, mask.shape), _words_of(b, kind, words, mask.shape)
            if first is not None and second is not None:
                chosen = np.negative(mask.view(np.int8)).astype(words)
                chosen &= first ^ second
                chosen ^= second
                return chosen.view(kind)
    return np.where(mask, a, b)


def limited(x: Array, low: Array | float, high: Array | float) -> Array:
    """Not below `low` and not above `high`: in one pass where there are many elements."""
    if type(x) is np.ndarray and x.size >= MASKED_BY_BITS and x.dtype.kind == "f":
        return np.clip(x, low, high)
    return np.minimum(high, np.maximum(low, x))


def _words_of(value: Array, kind: np.dtype | None, words: np.dtype, shape: Shape) -> Array | None:
    """The bits of an array of this type and shape, or of a number that does not change the type; None for others."""
    if type(value) is np.ndarray or isinstance(value, np.generic):
        fitting = value.dtype is kind and (not value.ndim or value.shape == shape and value.flags.c_contiguous)
        return value.view(words) if fitting else None
    return (
        np.array(value, kind).view(words) if type(value) is int or type(value) is float and kind.kind == "f" else None
    )


def is_half(dtype: np.dtype) -> bool:
    """float16 or bfloat16: computed in float32."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def widened(value: Array) -> Array:
    """Half precision in float32; everything else as it is."""
    return converted(value, np.float32) if hasattr(value, "dtype") and is_half(value.dtype) else value


def single(*values: Array) -> tuple[Any, ...]:
    """Convert the arguments of a rule to float32 if they are plain arrays of half precision; the tape casts the result back."""
    first = values[0]
    return tuple(map(widened, values)) if type(first) is np.ndarray and first.dtype.itemsize == 2 else values


def in_single(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel on real arrays, without NumPy's warnings, that computes half precision in float32 and casts back."""

    @functools.wraps(kernel)
    def wide(*arrays: Array, **params: Any) -> Any:
        first = arrays[0].dtype
        settings = warning_settings()
        try:
            silence()
            if first.itemsize != 2:
                return kernel(*arrays, **params)
            results = kernel(*map(widened, arrays), **params)
        finally:
            restore(settings)
        if isinstance(results, tuple):
            return tuple(narrowed(result, first) for result in results)
        return narrowed(results, first)

    return wide


def pulled_in_single(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of a rule for all inputs, which computes half precision in float32; the tape casts parameters' gradients."""

    def wide(g: Array, x: Array, *others: Array) -> Any:
        kind = x.dtype
        if not is_half(kind):
            return rule(g, x, *others)
        others = tuple([tuple(map(widened, value)) if isinstance(value, tuple) else widened(value) for value in others])
        found = rule(widened(np.asarray(g)), widened(x), *others)
        return found if found is NotImplemented else (narrowed(found[0], kind), *found[1:])

    code = rule.__code__
    wide.names = code.co_varnames[1 : code.co_argcount]  # type: ignore[attr-defined]  # what it asks for (see `Op`)
    return wide


def narrowed(value: Any, dtype: np.dtype) -> Any:
    """float32 results in the half precision type they stand for; everything else as it is."""
    return value.astype(dtype) if value is not None and value.dtype == np.float32 else value


def in_blocks(function: Callable[..., Any], *arrays: Array, **params: Any) -> Any:
    """An elementwise function of arrays, in blocks that fit the cache and on all threads where they are large.

    The tape does this by itself for functions of one or two arrays without parameters.
    """
    first = arrays[0]
    if not isinstance(first, NUMPYS) or first.size < MAYBE_BLOCKED or not all([isinstance(a, NUMPYS) for a in arrays]):
        return function(*arrays, **params)
    from ..kernels.large import by_blocks  # not part of every program

    return by_blocks(functools.partial(function, **params), *arrays)

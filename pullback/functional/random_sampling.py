"""Random tensors: `rand`, `randn`, `randint`, `randperm`, their `_like` forms, and the methods that fill a tensor (`normal_`).

Those whose parameters are tensors are in `random_choices.py`. The numbers are those of torch's CPU streams, bit for bit;
`kernels/random` draws them. Here live arguments, dtypes, checks and the order in which the memory of a tensor is filled.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import random as random_module
from ..core.basics.dtypes import as_dtype, default_dtype, int64
from ..core.basics.layout import dims_of
from ..core.basics.storage import storage_of
from ..core.mode import current_mode
from ..core.op import Op, op
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..core.writes import bump, check_no_overlap, check_writable, in_place
from ..kernels.order import dense_order, empty_in, ordered
from ..kernels.random import discrete, streams
from ..ops.piecewise import zero_gradient
from ..transforms.arrays.randomness import (
    draw_in_memory_order,
    draw_with_generator,
    draw_with_parameters,
    memory_of_examples,
    refuse_different,
    refuse_same,
)
from .checks import is_known_true, not_implemented_for
from .creation import _checked as checked_sizes
from .creation import finish
from .operands import need_int
from .out_argument import write_out
from .random_bounds import check_permutation, check_uniform, integer_range
from .refusals import complaint_for, refuse_unknown
from .registry import FUNCTIONS, public

FUNCTIONS.update(Generator=random_module.Generator, default_generator=random_module.default_generator)
for _name in ("get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"):
    public(method=False, direct=True, asks="nobody")(getattr(random_module, _name))


def _from(generator: Any) -> Any:
    if generator is None:
        return random_module.default_generator
    if not isinstance(generator, random_module.Generator):
        raise TypeError(f"generator must be a torch.Generator, not {type(generator).__name__}")
    return generator


def _finish(array: np.ndarray, requires_grad: bool, device: Any, layout: Any, out: Tensor | None) -> Tensor:
    result = finish(array, requires_grad, device, False, layout)
    if out is None:
        return result
    write_out("random", out, result)
    return out


def _kind(dtype: Any, out: Tensor | None = None) -> np.dtype:
    if dtype is None:
        return default_dtype()._numpy if out is None else out.dtype._numpy
    if out is not None and as_dtype(dtype) is not out.dtype:
        given, found = as_dtype(dtype).type_name, out.dtype.type_name
        raise RuntimeError(f"dtype {given} does not match dtype of out parameter ({found})")
    return as_dtype(dtype)._numpy


# --- arrays ---


def _need_floating(kind: np.dtype, kernel: str) -> None:
    if kind.kind not in "fcV":
        raise not_implemented_for(kernel, wrap(np.zeros(0, kind)))


def _pairs(kind: np.dtype) -> np.dtype:
    return np.dtype(np.float64 if kind.itemsize == 16 else np.float32)


def uniform_array(
    generator: Any, shape: tuple[Any, ...], kind: np.dtype, low: float = 0.0, high: float = 1.0
) -> np.ndarray:
    """Uniform numbers; complex ones have uniform parts."""
    _need_floating(kind, "check_uniform_bounds")
    if kind.kind == "c":
        return streams.uniform(generator, (*shape, 2), _pairs(kind), low, high).view(kind)[..., 0]
    return streams.uniform(generator, shape, kind, low, high)


def _uniform_values(
    generator: Any, shape: tuple, kind: np.dtype, contiguous: bool, low: float = 0.0, high: float = 1.0
) -> np.ndarray:
    return uniform_array(generator, shape, kind, low, high)


def normal_array(
    generator: Any, shape: tuple[Any, ...], kind: np.dtype, contiguous: bool = True, mean: float = 0.0, std: float = 1.0
) -> np.ndarray:
    """Normal numbers; complex ones have parts of half the variance, each with the mean."""
    _need_floating(kind, "normal_kernel_cpu")
    if kind.kind == "c":
        return streams.normal(generator, (*shape, 2), _pairs(kind), mean, std / 2**0.5, contiguous).view(kind)[..., 0]
    return streams.normal(generator, shape, kind, mean, std, contiguous)


# --- new tensors ---


@public(method=False, direct=True, tensors=False)
def rand(
    *args: Any, size: Any = None, generator: Any = None, out: Tensor | None = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False, names: Any = None,
) -> Tensor:  # fmt: skip
    """Uniform numbers in [0, 1): `rand(2, 3)`."""
    array = draw_with_generator(uniform_array, _from(generator), checked_sizes(args, size), _kind(dtype, out))
    return _finish(array, requires_grad, device, layout, out)


@public(method=False, direct=True, tensors=False)
def randn(
    *args: Any, size: Any = None, generator: Any = None, out: Tensor | None = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False, names: Any = None,
) -> Tensor:  # fmt: skip
    """Normal numbers of mean 0 and variance 1: `randn(2, 3)`."""
    array = draw_with_generator(normal_array, _from(generator), checked_sizes(args, size), _kind(dtype, out))
    return _finish(array, requires_grad, device, layout, out)


def _integers(generator: Any, shape: tuple, kind: np.dtype, contiguous: bool, low: int, high: int | None) -> np.ndarray:
    return discrete.randint(generator, shape, kind, low, high)


def _limits(low: Any, high: Any, function: str) -> tuple[int, int | None]:
    low = 0 if low is None else need_int(low, function, "low", 1)
    return low, None if high is None else need_int(high, function, "high", 2)


@public(method=False, direct=True, tensors=False)
def randint(
    *args: Any, low: int | None = None, high: int | None = None, size: Any = None, generator: Any = None,
    out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Integers in [low, high), with low 0 unless given: `randint(high, size)` or `randint(low, high, size)`."""
    numbers = args
    if size is None and numbers:
        numbers, size = args[:-1], args[-1]
    if len(numbers) == 2:
        low, high = numbers
    elif numbers:
        low, high = (low, numbers[0]) if high is None else (numbers[0], high)
    if isinstance(size, int) or size is None:
        raise TypeError(
            f"randint(): argument 'size' (position {len(args)}) must be tuple of ints, not {type(size).__name__}. "
            "The shape comes last: torch.randint(10, (2, 3))."
        )
    kind = _kind(int64 if dtype is None and out is None else dtype, out)
    first, end = integer_range(*_limits(low, high, "randint"), kind)
    array = draw_with_generator(
        _integers, _from(generator), checked_sizes((tuple(size),), None), kind, True, first, end
    )
    return _finish(array, requires_grad, device, layout, out)


@public(method=False, direct=True, tensors=False)
def randperm(
    n: int, *, generator: Any = None, out: Tensor | None = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers from 0 to n - 1 in random order."""
    checked_sizes((n,), None)
    kind = _kind(int64 if dtype is None and out is None else dtype, out)
    if kind != int64._numpy:
        check_permutation(n, kind)
    stream = _from(generator)

    return _finish(draw_with_generator(_permutations, stream, (n,), kind), requires_grad, device, layout, out)


def _permutations(generator: Any, shape: tuple, kind: np.dtype) -> np.ndarray:
    if len(shape) == 1:
        return discrete.randperm(generator, shape[0], kind)
    rows = [discrete.randperm(generator, shape[-1], kind) for _ in range(math.prod(shape[:-1]))]
    return np.stack(rows).reshape(shape)


def _like(
    draw: Callable[..., np.ndarray],
    input: Tensor,
    generator: Any,
    dtype: Any,
    requires_grad: bool,
    device: Any,
    memory_format: Any,
    *args: Any,
) -> Tensor:
    array = input._array
    kind = array.dtype if dtype is None else as_dtype(dtype)._numpy
    order = dims_of(memory_format, array.ndim)
    if order is not None and type(array) is np.ndarray:
        array = empty_in(array.shape, order, kind)
    return _finish(
        _in_memory_order(array, kind, draw, _from(generator), *args, fresh=True),
        requires_grad,
        device,
        None,
        None,
    )


@public(method=False, direct=True)
def rand_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Uniform numbers in [0, 1) in the shape of another tensor."""
    try:
        return _like(_uniform_values, input, generator, dtype, requires_grad, device, memory_format)
    except AttributeError as error:
        raise complaint_for(error) from None


@public(method=False, direct=True)
def randn_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Normal numbers in the shape of another tensor."""
    try:
        return _like(normal_array, input, generator, dtype, requires_grad, device, memory_format)
    except AttributeError as error:
        raise complaint_for(error) from None


@public(method=False)
def randint_like(
    input: Tensor, *args: Any, low: int | None = None, high: int | None = None, generator: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Integers in [low, high) in the shape of another tensor."""
    if len(args) == 2:
        low, high = args
    elif args:
        low, high = (low, args[0]) if high is None else (args[0], high)
    kind = input._array.dtype if dtype is None else as_dtype(dtype)._numpy
    first, end = integer_range(*_limits(low, high, "randint_like"), kind)
    return _like(_integers, input, generator, dtype, requires_grad, device, memory_format, first, end)


# --- in place ---


def _in_memory_order(
    array: Any, kind: np.dtype, draw: Callable[..., np.ndarray], generator: Any, *args: Any, fresh: bool = False
) -> Any:
    """Draw values for an array so that they run along its memory: `draw(generator, shape, kind, contiguous, ...)`."""
    return draw_in_memory_order(array, lambda shape, contiguous: draw(generator, shape, kind, contiguous, *args), fresh)


@functools.partial(ordered, deciding=())
def replacement(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The new values, for each example of a batch if it has the old ones for each."""
    return values if values.ndim >= x.ndim else np.broadcast_to(values, x.shape)


def _refill(node_name: str, aten: str) -> Op:
    """The operation behind a sampler in place: the old values are forgotten."""
    return op(node_name, replacement, kind="elementwise_pull", x=zero_gradient, values=None, aten=aten)


def _filled(refill: Op, x: Tensor, generator: Any, draw: Callable[..., np.ndarray], *args: Any) -> Tensor:
    stream = _from(generator)
    mode = current_mode()
    if not mode.special and not (mode.grad and x.requires_grad):
        array = x.memory()
        check_writable(x, mode, False)
        check_no_overlap(array)
        values = _in_memory_order(array, array.dtype, draw, stream, *args)
        bump(storage_of(x))
        array[...] = values
        return x

    if mode.batch_level:
        refuse_different(x._array)

    def fill(old: Tensor) -> Tensor:
        return apply(refill, (old, wrap(_in_memory_order(old._array, old._array.dtype, draw, stream, *args))))

    return in_place(x, fill)


_uniform, _normal, _random = (
    _refill("UniformBackward0", "uniform_"),
    _refill("NormalBackward0", "normal_"),
    _refill("RandomBackward0", "random_"),
)
_bernoulli, _exponential, _cauchy = (
    _refill("BernoulliBackward2", "bernoulli.p"),
    _refill("ExponentialBackward0", "exponential_"),
    _refill("CauchyBackward0", "cauchy_"),
)
_geometric, _log_normal = _refill("GeometricBackward0", "geometric_"), _refill("LogNormalBackward0", "log_normal_")


@public(function=False, direct=True)
def uniform_(self: Tensor, *args: Any, generator: Any = None, **bounds: Any) -> Tensor:
    """Fill with uniform numbers in [from, to)."""
    refuse_unknown("uniform_", bounds, "from", "to")
    low = args[0] if args else bounds.get("from", 0.0)
    high = args[1] if len(args) > 1 else bounds.get("to", 1.0)
    check_uniform(low, high, self._array.dtype)
    return _filled(_uniform, self, generator, _uniform_values, float(low), float(high))


@public(function=False, direct=True)
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return _filled(_normal, self, generator, normal_array, float(mean), float(std))


@public(function=False, direct=True)
def random_(self: Tensor, *args: Any, generator: Any = None, **bounds: Any) -> Tensor:
    """Fill with integers: in [from, to), in [0, to), or over the range the dtype holds exactly."""
    refuse_unknown("random_", bounds, "from", "to")
    low, high = args if len(args) == 2 else (0, args[0]) if args else (bounds.get("from"), bounds.get("to"))
    if low is None and high is None:
        return _filled(_random, self, generator, lambda g, shape, kind, _: discrete.random(g, shape, kind))
    low, high = integer_range(*_limits(low, high, "random_"), self._array.dtype)
    return _filled(_random, self, generator, _integers, low, high)


@public(function=False, direct=True)
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones, each with probability p (a number or a tensor), and zeros."""
    if isinstance(p, Tensor):
        _check_chances(p._array)
        if current_mode().batch_level:
            return _by_chances_of_examples(self, p, _from(generator))
        array = self.memory()
        order = range(array.ndim) if array.flags.c_contiguous else dense_order(array)
        chances = np.broadcast_to(p._array, array.shape).transpose(tuple(order))
        return _filled(
            _bernoulli, self, generator, lambda g, shape, kind, _: discrete.bernoulli(g, shape, kind, chances)
        )
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return _filled(_bernoulli, self, generator, lambda g, shape, kind, _: discrete.bernoulli(g, shape, kind, float(p)))


def _by_chances_of_examples(x: Tensor, p: Tensor, stream: Any) -> Tensor:
    """`bernoulli_` inside vmap."""
    refuse_same(p._array)
    if type(p._array) is np.ndarray:
        refuse_different(x._array)
    kind, chances = x._array.dtype, p.expand(x._array.shape)._array
    whole = memory_of_examples(x._array)

    def along_memory(given: np.ndarray) -> np.ndarray:
        order = dense_order(whole)
        turned = given.transpose(order)
        return discrete.bernoulli(stream, turned.shape, kind, turned).transpose(tuple(np.argsort(order)))

    values = draw_with_parameters(along_memory, chances)
    return in_place(x, lambda old: apply(_bernoulli, (old, wrap(values))))


def _check_chances(chances: Any) -> None:
    if type(chances) is np.ndarray:
        least, most = np.minimum.reduce(chances, None, initial=0), np.maximum.reduce(chances, None, initial=0)
        wrong = not (least == 0 and most <= 1)  # nan is neither
    else:
        wrong = is_known_true(np.logical_not(np.all((chances >= 0) & (chances <= 1))))
    if wrong:
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false. Probabilities lie in [0, 1].")


def _continuous(x: Tensor, name: str) -> None:
    if x._array.dtype.kind not in "fV":
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {x.dtype.type_name}"
        )


@public(function=False, direct=True)
def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with exponential numbers of rate `lambd`."""
    _continuous(self, "Exponential")
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    rate = float(lambd)
    return _filled(_exponential, self, generator, lambda g, shape, kind, _: streams.exponential(g, shape, kind, rate))


@public(function=False, direct=True)
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with Cauchy numbers."""
    _continuous(self, "Cauchy")
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    center, width = float(median), float(sigma)
    return _filled(_cauchy, self, generator, lambda g, shape, kind, _: streams.cauchy(g, shape, kind, center, width))


@public(function=False, direct=True)
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill with exponentials of normal numbers."""
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    _need_floating(self._array.dtype, "log_normal_cpu")
    return _filled(
        _log_normal, self, generator, lambda g, shape, kind, _: streams.log_normal(g, shape, kind, mean, std)
    )


@public(function=False, direct=True)
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with numbers of trials up to the first success, of probability p."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return _filled(_geometric, self, generator, lambda g, shape, kind, _: streams.geometric(g, shape, kind, p))

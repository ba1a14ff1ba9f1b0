"""NumPy's functions and ufuncs on batches, in NumPy's own terms (axes and promotion as NumPy has them).

Rules, and code that works on bare arrays, call these. Functions without an entry run example by example.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..autograd.tape import wrap
from .batched import CONTROL_FLOW, Batched, NotBatchable, elementwise, level_of, raw
from .batching_rules import apply_batched, is_tensor, lined_up, plain_payload, uniform, with_batch_axes

ndarray = np.ndarray


def _array_ufunc(self: Batched, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if method == "__call__" and not kwargs and ufunc.signature is None and ufunc.nout == 1:
        if len(inputs) == 1 and type(inputs[0].array) is ndarray:
            batch = inputs[0]
            return Batched(ufunc(batch.array), batch.level, batch.batched)
        if len(inputs) == 2 and type(inputs[0]) is ndarray:
            array, batch = inputs
            if type(batch.array) is ndarray and (array.ndim <= len(batch.shape) or not batch.batched):
                return Batched(ufunc(array, batch.array), batch.level, batch.batched)
        if not any([is_tensor(value) for value in inputs]):
            return elementwise(ufunc, inputs)
    if any([is_tensor(value) for value in inputs]):
        return NotImplemented
    out = kwargs.pop("out", None)
    if method == "reduce":
        result = _reduce(ufunc.reduce, *inputs, **kwargs)
    elif method != "__call__":
        result = loop(getattr(ufunc, method), inputs, kwargs)
    elif ufunc is np.matmul:
        result = matmul(*inputs)
    elif ufunc.signature is not None:
        result = loop(ufunc, inputs, kwargs)
    else:
        kwargs.pop("casting", None)
        function = functools.partial(ufunc, **kwargs) if kwargs else ufunc
        result = elementwise(lambda *arrays: function(*uniform(list(arrays))), inputs)
    if out is None:
        return result
    if type(result) is Batched and result.batched and level_of(out[0]) != result.level:
        return NotImplemented  # one array cannot take a batch: the caller adds without writing
    copyto(out[0], result)
    return out[0]


def _reduce(
    function: Callable, a: Batched, axis: Any = 0, dtype: Any = None, keepdims: Any = False, **rest: Any
) -> Batched:
    if type(a) is not Batched or any(type(value) is Batched for value in rest.values()):
        return loop(function, (a,), {"axis": axis, "keepdims": keepdims, **rest})
    if is_tensor(a.array) and not a.shape:  # to torch, no dims means all of them: reduce over one of size 1
        a = a.reshape((1,))
        axis, keepdims = 0, False
    kwargs = {"axis": _axes(a, axis), "keepdims": bool(keepdims) if keepdims is not np._NoValue else False}
    kwargs |= {key: value for key, value in rest.items() if value is not np._NoValue and key != "out"}
    if dtype is not None:
        kwargs["dtype"] = dtype
    return a.same(plain_payload(function(a.array, **kwargs)))


def _axes(a: Batched, axis: Any) -> Any:
    """Axes of one example as axes of the array inside."""
    shift, ndim = int(a.batched), len(a.shape)
    if axis is None:
        return tuple(range(shift, ndim + shift))
    if isinstance(axis, (tuple, list)):
        return tuple(one % max(ndim, 1) + shift for one in axis)
    if ndim == 0:
        return ()
    return axis % ndim + shift


def matmul(a: Any, b: Any) -> Any:
    from ..ops.matmul import matmul as op

    return apply_batched(op, (a, b), None)


# --- loops ---


def loop(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """Call a function of arrays example by example."""
    leaves = list(_leaves((args, kwargs)))
    level = max(map(level_of, leaves), default=0)
    batches = [value for value in leaves if level and level_of(value) == level and value.batched]

    def one(value: Any, number: int) -> Any:
        if type(value) in (tuple, list):
            return type(value)(one(item, number) for item in value)
        if isinstance(value, dict):
            return {key: one(item, number) for key, item in value.items()}
        if level and level_of(value) == level:
            return value.array[number] if value.batched else value.array
        return value

    if not batches:
        return _rewrap(function(*one(args, 0), **one(kwargs, 0)), level, False)
    size = raw(batches[0].array).shape[0]
    results = [function(*one(args, number), **one(kwargs, number)) for number in range(size)]
    return _stack(results, level)


def _leaves(value: Any) -> Iterator[Any]:
    """What is inside tuples, lists and dicts."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _rewrap(result: Any, level: int, batched: bool) -> Any:
    if isinstance(result, (tuple, list)):
        parts = [_rewrap(part, level, batched) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return Batched(plain_payload(result), level, batched) if hasattr(result, "dtype") else result


def _stack(results: list, level: int) -> Any:
    first = results[0]
    if isinstance(first, (tuple, list)):
        parts = [_stack(list(group), level) for group in zip(*results, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if hasattr(first, "dtype"):
        try:
            return Batched(plain_payload(np.stack(uniform(results))), level)
        except ValueError as error:
            raise NotBatchable(CONTROL_FLOW) from error
    if all(result == first for result in results):
        return first  # the same number, type or flag for all
    raise NotBatchable(CONTROL_FLOW)


_REDUCING = {
    "sum": np.add.reduce, "prod": np.multiply.reduce, "max": np.maximum.reduce, "min": np.minimum.reduce,
    "all": np.logical_and.reduce, "any": np.logical_or.reduce,
}  # fmt: skip


def reduction_method(batch: Batched, name: str) -> Callable[..., Any]:
    """A method of ndarray on a batch."""

    def method(*args: Any, **kwargs: Any) -> Any:
        if name in _REDUCING:
            if not args:
                kwargs.setdefault("axis", None)
            return _reduce(_REDUCING[name], batch, *args, **kwargs)
        function = FUNCTIONS.get(getattr(np, name, None))
        if function is not None:
            return function(batch, *args, **kwargs)
        return loop(lambda array, *rest, **named: getattr(_inside(array), name)(*rest, **named), (batch, *args), kwargs)

    return method


def _inside(array: Any) -> Any:
    """What has the methods of ndarray in one example: a batch of an outer level, or an array."""
    plain = raw(array)
    return plain if type(plain) is Batched else np.asarray(plain)


# --- functions -------------------------------------------------------------------------------------------------------

FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def implements(*functions: Any) -> Callable[..., Any]:
    def register(implementation: Callable) -> Callable:
        for function in functions:
            FUNCTIONS[function] = implementation
        return implementation

    return register


def _array_function(self: Batched, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
    if any([is_tensor(value) for value in args]):
        return NotImplemented
    implementation = FUNCTIONS.get(function)
    if implementation is not None:
        return implementation(*args, **kwargs)
    return loop(function, args, kwargs)


def _reducing(function: Callable) -> Callable:
    """Functions of an array and axes, None for all of them, that drop these axes."""

    def implementation(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        return loop(function, (a, axis, *args), kwargs) if args else _reduce(function, a, axis, **kwargs)

    return implementation


_function: Any
for _function in (
    np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.any, np.all, np.nansum, np.nanmean, np.std, np.var,
):  # fmt: skip
    FUNCTIONS[_function] = _reducing(_function)


def _one_axis(function: Callable, usual: int | None = None) -> Callable:
    """Functions of an array and one axis that keep the array's shape, or drop that axis."""

    def implementation(a: Any, axis: Any = usual, *args: Any, **kwargs: Any) -> Any:
        if type(a) is not Batched or axis is None or not a.shape or args:
            return loop(function, (a, axis, *args), kwargs)
        return a.same(plain_payload(function(a.array, axis=_axes(a, axis), **kwargs)))

    return implementation


for _function in (np.cumsum, np.cumprod, np.flip, np.argmax, np.argmin):
    FUNCTIONS[_function] = _one_axis(_function)
for _function in (np.sort, np.argsort):
    FUNCTIONS[_function] = _one_axis(_function, usual=-1)


def _of_matrices(function: Callable) -> Callable:
    """Functions of the last two axes that take any number of axes before them."""

    def implementation(a: Batched, *args: Any, **kwargs: Any) -> Any:
        if type(a.array) is not ndarray:
            return loop(function, (a, *args), kwargs)
        return _rewrap(function(a.array, *args, **kwargs), a.level, a.batched)

    return implementation


for _function in (np.linalg.svd, np.linalg.eigvalsh, np.linalg.eigh, np.linalg.qr):
    FUNCTIONS[_function] = _of_matrices(_function)


def _dynamic(function: Callable) -> Callable:
    """Functions whose result is as long as values say: of a value that all examples share, or not at all."""
    return lambda a, *args, **kwargs: a.nonzero() if a.batched else function(a.value(), *args, **kwargs)


for _function in (np.nonzero, np.argwhere, np.flatnonzero, np.unique):
    FUNCTIONS[_function] = _dynamic(_function)


@implements(np.where)
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None:
        return condition.nonzero()
    return elementwise(lambda *arrays: np.where(*uniform(list(arrays))), (condition, x, y))


@implements(np.clip)
def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **_: Any
) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _unary(function: Callable) -> Callable:
    return lambda a, *args, **kwargs: a.same(plain_payload(function(a.array, *args, **kwargs)))


for _function in (
    np.real, np.imag, np.copy, np.zeros_like, np.ones_like, np.nan_to_num, np.angle, np.sinc, np.round, np.around, np.isreal,
    np.iscomplex, np.isposinf, np.isneginf,
):  # fmt: skip
    FUNCTIONS[_function] = _unary(_function)


@implements(np.full_like)
def _full_like(a: Batched, fill_value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    zeros = a.same(np.zeros(raw(a.array).shape, a.dtype if dtype is None else dtype))
    return zeros + fill_value


@implements(np.transpose, np.permute_dims)
def _transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose() if axes is None else a.transpose(tuple(axes))


@implements(np.expand_dims)
def _expand_dims(a: Batched, axis: Any) -> Any:
    wanted = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = a.ndim + len(wanted)
    shape = list(a.shape)
    for one in sorted(one % ndim for one in wanted):
        shape.insert(one, 1)
    return a.reshape(tuple(shape))


@implements(np.broadcast_to)
def _broadcast_to(array: Batched, shape: Any, subok: bool = False) -> Any:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not array.batched:
        return array.same(np.broadcast_to(array.array, shape))
    lined = lined_up(array.array, True, len(shape))
    return array.same(plain_payload(np.broadcast_to(lined, (raw(lined).shape[0], *shape))))


@implements(np.concatenate)
def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, **_: Any) -> Any:
    if axis is None:
        arrays, axis = [np.ravel(array) for array in arrays], 0
    return _together(np.concatenate, arrays, axis, arrays[0].ndim)


def _together(function: Callable, arrays: Any, axis: int, ndim: int) -> Any:
    level = max(level_of(array) for array in arrays)
    flags = [level_of(array) == level and array.batched for array in arrays]
    values = uniform([array.array if level_of(array) == level else array for array in arrays])
    if not any(flags):
        return Batched(function(values, axis=axis), level, False)
    size = next(raw(value).shape[0] for value, flag in zip(values, flags, strict=True) if flag)
    full = with_batch_axes(values, flags, size)
    return Batched(plain_payload(function(full, axis=axis % ndim + 1)), level)


@implements(np.shares_memory, np.may_share_memory)
def _shares_memory(a: Any, b: Any, *args: Any, **kwargs: Any) -> bool:
    return np.may_share_memory(*[raw(v.array) if type(v) is Batched else v for v in (a, b)])


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Write into the memory of a batch; one that all examples share cannot take a batch of values."""
    level = max(level_of(dst), level_of(src))
    target_batched = level_of(dst) == level and dst.batched
    source_batched = level_of(src) == level and src.batched
    if source_batched and not target_batched:
        count = (src.array if type(src) is Batched else src).shape[0]
        raise RuntimeError(  # torch's two ways to say it: which of them depends on the operation
            f"output with shape {list(dst.shape)} doesn't match the broadcast shape {[count, *dst.shape]}. "
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` "
            f"not being vmapped over in a vmap. The tensor of shape {list(dst.shape)} is the same for all examples and "
            "would get a value for each: make it with zeros_like(x) or x.new_zeros(...) of a tensor x that is mapped "
            "over, or use the out-of-place form of the operation."
        )
    target = dst.array if level_of(dst) == level else dst
    value = src.array if level_of(src) == level else src
    if source_batched:
        value = lined_up(value, True, len(dst.shape))
    if is_tensor(target):
        target.copy_(value if is_tensor(value) else wrap(value))
        return
    if is_tensor(value) and (value.requires_grad or value._tangent is not None):
        raise RuntimeError(
            "vmap: a value with gradients is written into memory that was made without: use the out-of-place form of "
            "the operation."
        )
    np.copyto(target, raw(value), casting=casting)


Batched.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]
Batched.__array_function__ = _array_function  # type: ignore[attr-defined]
Batched.__matmul__ = matmul  # type: ignore[method-assign]
Batched.__rmatmul__ = lambda self, other: matmul(other, self)  # type: ignore[attr-defined]


FUNCTIONS |= {
    np.empty_like: lambda a, dtype=None, *args, **kwargs: a.same(
        np.zeros(raw(a.array).shape, a.dtype if dtype is None else dtype)
    ),
    np.reshape: lambda a, /, shape=None, order="C", *, copy=None: a.reshape(
        tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    ),
    np.ravel: lambda a, order="C": a.reshape(-1),
    np.swapaxes: lambda a, axis1, axis2: (
        a.same(plain_payload(np.swapaxes(a.array, _axes(a, axis1), _axes(a, axis2)))) if a.shape else a
    ),
    np.diagonal: lambda a, offset=0, axis1=0, axis2=1: a.same(
        plain_payload(np.diagonal(a.array, offset, _axes(a, axis1), _axes(a, axis2)))
    ),
    np.moveaxis: lambda a, source, destination: a.same(
        plain_payload(np.moveaxis(a.array, _axes(a, source), _axes(a, destination)))
    ),
    np.squeeze: lambda a, axis=None: a.squeeze(axis),
    np.stack: lambda arrays, axis=0, out=None, **_: _together(np.stack, arrays, axis, np.ndim(arrays[0]) + 1),
    np.shape: lambda a: tuple(a.shape),
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.result_type: lambda *values: np.result_type(
        *[value.dtype if type(value) is Batched else value for value in values]
    ),
}

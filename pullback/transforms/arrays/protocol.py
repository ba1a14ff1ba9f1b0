"""NumPy's functions and ufuncs on batches.

Rules, and code that works on bare arrays, call these. Ufuncs run on the arrays inside. Which function stands for one of
NumPy's is said once, for tensors and batches alike, in `shell/interop/numpy_functions.py`: a batch is put into a tensor for it.
What is not there runs example by example; here are only those that ask for memory and dtypes, or for values.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import seams
from ...core.tape import wrap
from .batched import CONTROL_FLOW, Batched, DynamicShape, NotBatchable, elementwise, level_of, raw
from .batching_rules import align_axes, apply_batched, is_tensor, plain_payload, tensors_if_any
from .terms import REDUCTIONS

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ...core.basics.types import Arguments, Array, Axis, Function, Keywords, Operands, Result, Shape

ndarray = np.ndarray


def ufunc_of_batches(ufunc: np.ufunc, method: str, inputs: Operands, kwargs: Keywords) -> Result:
    """`__array_ufunc__` of batches."""
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
        result = product_of_batches(*inputs)
    elif ufunc.signature is not None:
        result = loop(ufunc, inputs, kwargs)
    else:
        kwargs.pop("casting", None)
        function = functools.partial(ufunc, **kwargs) if kwargs else ufunc
        result = elementwise(lambda *arrays: function(*tensors_if_any(list(arrays))), inputs)
    if out is None:
        return result
    if type(result) is Batched and result.batched and level_of(out[0]) != result.level:
        return NotImplemented  # one array cannot take a batch: the caller adds without writing
    copyto(out[0], result)
    return out[0]


def _reduce(
    function: Function,
    a: Batched,
    axis: Axis = 0,
    dtype: DTypeLike | None = None,
    keepdims: Any = False,
    **rest: Any,
) -> Batched:
    if type(a) is not Batched or any(type(value) is Batched for value in rest.values()):
        return loop(function, (a,), {"axis": axis, "keepdims": keepdims, **rest})
    if is_tensor(a.array) and not a.shape:  # to torch, no dims means all of them: reduce over one of size 1
        a = a.reshape((1,))
        axis, keepdims = 0, False
    kwargs: Keywords = {"axis": _axes(a, axis), "keepdims": bool(keepdims) if keepdims is not np._NoValue else False}
    kwargs |= {key: value for key, value in rest.items() if value is not np._NoValue and key != "out"}
    if dtype is not None:
        kwargs["dtype"] = dtype
    return a.same(plain_payload(function(a.array, **kwargs)))


def _axes(a: Batched, axis: Axis) -> int | Shape:
    """Axes of one example as axes of the array inside."""
    shift, ndim = int(a.batched), len(a.shape)
    if axis is None:
        return tuple(range(shift, ndim + shift))
    if isinstance(axis, (tuple, list)):
        return tuple(one % max(ndim, 1) + shift for one in axis)
    if ndim == 0:
        return ()
    return axis % ndim + shift


def product_of_batches(a: Array, b: Array) -> Array:
    """`a @ b`."""
    from ...ops.matmul import matmul as op

    return apply_batched(op, (a, b), None)


# --- loops ---


def loop(function: Function, args: Arguments, kwargs: Keywords) -> Result:
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
    """All values in nested tuples, lists and dicts, one after the other."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _rewrap(result: Result, level: int, batched: bool) -> Result:
    if isinstance(result, (tuple, list)):
        parts = [_rewrap(part, level, batched) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return Batched(plain_payload(result), level, batched) if hasattr(result, "dtype") else result


def _stack(results: list[Result], level: int) -> Result:
    first = results[0]
    if isinstance(first, (tuple, list)):
        parts = [_stack(list(group), level) for group in zip(*results, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if hasattr(first, "dtype"):
        try:
            return Batched(plain_payload(np.stack(tensors_if_any(results))), level)
        except ValueError as error:
            raise NotBatchable(CONTROL_FLOW) from error
    if all(result == first for result in results):
        return first  # the same number, type or flag for all
    raise NotBatchable(CONTROL_FLOW)


_REDUCING = {function.__name__: ufunc.reduce for ufunc, function in REDUCTIONS.items()}


def reduction_method(batch: Batched, name: str) -> Function:
    """A method of ndarray on a batch."""

    def method(*args: Any, **kwargs: Any) -> Any:
        if name in _REDUCING:
            if not args:
                kwargs.setdefault("axis", None)
            return _reduce(_REDUCING[name], batch, *args, **kwargs)
        function: Any = getattr(np, name, None)
        if function in FUNCTIONS or seams.function_of_numpy(function) is not None:
            return function(batch, *args, **kwargs)
        return loop(lambda array, *rest, **named: getattr(_inside(array), name)(*rest, **named), (batch, *args), kwargs)

    return method


def _inside(array: Array) -> Array:
    """The array of one example, or its batch of an outer level: an object with the methods of ndarray."""
    plain = raw(array)
    return plain if type(plain) is Batched else np.asarray(plain)


# --- functions -------------------------------------------------------------------------------------------------------

FUNCTIONS: dict[Function, Function] = {}


def implements(*functions: Function) -> Function:
    def register(implementation: Function) -> Function:
        for function in functions:
            FUNCTIONS[function] = implementation
        return implementation

    return register


def function_of_batches(function: Function, types: tuple[type, ...], args: Arguments, kwargs: Keywords) -> Result:
    """`__array_function__` of batches."""
    if any([kind is not Batched and hasattr(kind, "_pullback_apply") for kind in types]):
        return NotImplemented  # a tensor, or a name: it is the layer above
    own = FUNCTIONS.get(function)
    if own is not None:
        return own(*args, **kwargs)
    implementation = seams.function_of_numpy(function)
    if implementation is not None:
        try:
            return _inside_of(implementation(*_as_tensors(args), **_as_tensors(kwargs)))
        except DynamicShape:
            raise
        except NotBatchable:  # it looks at values
            pass
    return loop(function, args, kwargs)


def _as_tensors(value: Any) -> Any:
    """Batches as the tensors that programs see under vmap, in whatever they stand."""
    if type(value) is Batched:
        return wrap(value)
    if isinstance(value, dict):
        return {key: _as_tensors(item) for key, item in value.items()}
    return type(value)(map(_as_tensors, value)) if type(value) in (tuple, list) else value


def _inside_of(value: Any) -> Any:
    """The arrays inside the tensors that a function returned, in the same tuples and lists; views are made first."""
    if isinstance(value, (tuple, list)):
        parts = map(_inside_of, value)
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value.memory() if is_tensor(value) and not value.requires_grad and value._tangent is None else value


def _of_matrices(function: Function) -> Function:
    """Functions of the last two axes that take any number of axes before them."""

    def implementation(a: Batched, *args: Any, **kwargs: Any) -> Result:
        if type(a.array) is not ndarray:
            return loop(function, (a, *args), kwargs)
        return _rewrap(function(a.array, *args, **kwargs), a.level, a.batched)

    return implementation


_function: Function
for _function in (np.linalg.svd, np.linalg.eigvalsh, np.linalg.eigh, np.linalg.qr):
    FUNCTIONS[_function] = _of_matrices(_function)


def _dynamic(function: Function) -> Function:
    """Functions whose result is as long as values say: of a value that all examples share, or not at all."""
    return lambda a, *args, **kwargs: a.nonzero() if a.batched else function(a.value(), *args, **kwargs)


for _function in (np.nonzero, np.argwhere, np.flatnonzero, np.unique):
    FUNCTIONS[_function] = _dynamic(_function)


@implements(np.shares_memory, np.may_share_memory)
def _shares_memory(a: Array, b: Array, *args: Any, **kwargs: Any) -> bool:
    return np.may_share_memory(*[raw(v.array) if type(v) is Batched else v for v in (a, b)])


@implements(np.copyto)
def copyto(dst: Array, src: Array, casting: Any = "same_kind", where: Any = True) -> None:
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
        value = align_axes(value, True, len(dst.shape))
    if is_tensor(target):
        target.copy_(value if is_tensor(value) else wrap(value))
        return
    if is_tensor(value) and (value.requires_grad or value._tangent is not None):
        raise RuntimeError(
            "vmap: a value with gradients is written into memory that was made without: use the out-of-place form of "
            "the operation."
        )
    np.copyto(target, raw(value), casting=casting)


FUNCTIONS |= {
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.result_type: lambda *values: np.result_type(
        *[value.dtype if type(value) is Batched else value for value in values]
    ),
}

"""NumPy's functions on tensors: which torch-level function stands for each ufunc and array function.

The tables are read by the `__array_ufunc__` and `__array_function__` protocols. Arguments have NumPy's names here.
A function without an entry is refused with an error, never computed on a detached copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .autograd.tape import wrap
from .functional import registry
from .functional.operands import NUMBERS, as_operand, promote
from .tensor import Tensor

_F = registry.FUNCTIONS

# NumPy's name -> torch's, where they differ.
_UFUNC_NAMES = {
    "multiply": "mul", "divide": "div", "true_divide": "div", "subtract": "sub", "add": "add", "power": "pow",
    "float_power": "float_power", "absolute": "abs", "fabs": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "arctan2": "atan2", "rint": "round", "conjugate": "conj",
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
    "invert": "bitwise_not", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "negative": "neg",
    "degrees": "rad2deg", "radians": "deg2rad", "mod": "remainder", "vecdot": "linalg_vecdot", "cbrt": "cbrt",
}  # fmt: skip

UFUNCS: dict[np.ufunc, Callable] = {}
FUNCTIONS: dict[Any, Callable] = {}


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    if method == "reduce" and ufunc in _REDUCTIONS:
        return _REDUCTIONS[ufunc](*inputs, **kwargs)
    if method != "__call__" or "where" in kwargs:
        raise TypeError(
            f"np.{ufunc.__name__}.{method} on a tensor is not supported: use the torch function, or detach() the tensor first"
        )
    kwargs = {key: value for key, value in kwargs.items() if key not in ("casting", "order", "subok", "dtype")}
    out = kwargs.pop("out", None)
    function = UFUNCS.get(ufunc) or _find(ufunc)
    if function is None:
        raise TypeError(
            f"np.{ufunc.__name__} has no differentiable counterpart here. Detach the tensor first, as in x.detach().numpy()."
        )
    operands = [as_operand(value) for value in inputs]
    result = function(*operands)
    if out is not None:
        return _write(out[0], result)
    return result


def _write(target: Any, result: Tensor) -> Any:
    if isinstance(target, Tensor):
        registry.write_out("out", target, result)
        return target
    if result.requires_grad:
        raise RuntimeError(
            "Can't write a Tensor that requires grad into a NumPy array: the gradient would be lost. Use result = array + tensor."
        )
    np.copyto(target, result._array, casting="same_kind")
    return target


def _find(ufunc: np.ufunc) -> Callable | None:
    name = _UFUNC_NAMES.get(ufunc.__name__, ufunc.__name__)
    function = _F.find(name)
    if function is None:
        from .special import special_functions_of

        function = special_functions_of(ufunc)
    if function is not None:
        if ufunc.nin == 2 and name not in _TAKE_NUMBERS:
            function = _with_numbers(function)
        UFUNCS[ufunc] = function
    return function


_TAKE_NUMBERS = frozenset({"add", "sub", "mul", "div", "pow", "float_power"})


def _with_numbers(function: Callable) -> Callable:
    """Let a function that insists on tensors take a number for one of them, as weak as Python numbers are."""

    def call(a: Any, b: Any) -> Any:
        if isinstance(a, NUMBERS) or isinstance(b, NUMBERS):
            a, b = promote(a, b)
            kind = (a if isinstance(a, Tensor) else b)._array.dtype
            a, b = (value if isinstance(value, Tensor) else wrap(np.asarray(value, kind)) for value in (a, b))
        return function(a, b)

    return call


def call_function(function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
    implementation = FUNCTIONS.get(function)
    if implementation is None:
        raise TypeError(
            f"np.{function.__name__} on a tensor is not supported. Use the torch function, or detach() the tensor and call "
            ".numpy() first."
        )
    kwargs.pop("like", None)
    return implementation(*args, **kwargs)


def implements(*functions: Any) -> Callable:
    def register(implementation: Callable) -> Callable:
        for function in functions:
            FUNCTIONS[function] = implementation
        return implementation

    return register


def _tensor(value: Any) -> Any:
    return value if isinstance(value, Tensor) else as_operand(value)


# --- reductions ---


def _reduction(name: str) -> Callable:
    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **_: Any) -> Any:
        keep = bool(keepdims) if keepdims is not np._NoValue else False
        return _F[name](_tensor(a), axis, keep)

    return reduce


for _numpy, _name in (
    (np.sum, "sum"), (np.mean, "mean"), (np.prod, "prod"), (np.max, "amax"), (np.min, "amin"), (np.all, "all"),
    (np.any, "any"), (np.amax, "amax"), (np.amin, "amin"), (np.nansum, "nansum"), (np.nanmean, "nanmean"),
):  # fmt: skip
    FUNCTIONS[_numpy] = _reduction(_name)

_REDUCTIONS: dict[np.ufunc, Callable] = {
    np.add: lambda a, axis=0, dtype=None, out=None, keepdims=False, **_: _F["sum"](a, axis, keepdims),
    np.multiply: lambda a, axis=0, dtype=None, out=None, keepdims=False, **_: FUNCTIONS[np.prod](a, axis, keepdims=keepdims),
    np.maximum: lambda a, axis=0, dtype=None, out=None, keepdims=False, **_: _F["amax"](a, () if axis is None else axis, keepdims),
    np.minimum: lambda a, axis=0, dtype=None, out=None, keepdims=False, **_: _F["amin"](a, () if axis is None else axis, keepdims),
}

# --- shapes ---


@implements(np.where)
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    return _F["where"](_tensor(condition), x, y) if x is not None else _F["where"](_tensor(condition))


@implements(np.reshape)
def _reshape(a: Any, /, shape: Any = None, order: str = "C", *, copy: Any = None) -> Any:
    return _F["reshape"](a, shape if isinstance(shape, (tuple, list)) else (shape,))


@implements(np.transpose, np.permute_dims)
def _transpose(a: Any, axes: Any = None) -> Any:
    return _F["permute"](a, tuple(reversed(range(a.ndim))) if axes is None else tuple(axes))


@implements(np.swapaxes)
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return _F["transpose"](a, axis1, axis2)


@implements(np.broadcast_to)
def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    return _F["broadcast_to"](array, shape if isinstance(shape, (tuple, list)) else (shape,))


@implements(np.concatenate)
def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, **_: Any) -> Any:
    items = [_tensor(array) for array in arrays]
    if axis is None:
        items, axis = [item.reshape(-1) for item in items], 0
    return _F["cat"](items, axis)


@implements(np.stack)
def _stack(arrays: Any, axis: int = 0, out: Any = None, **_: Any) -> Any:
    return _F["stack"]([_tensor(array) for array in arrays], axis)


@implements(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    for one in axis if isinstance(axis, (tuple, list)) else (axis,):
        a = _F["unsqueeze"](a, one)
    return a


@implements(np.squeeze)
def _squeeze(a: Any, axis: Any = None) -> Any:
    return _F["squeeze"](a) if axis is None else _F["squeeze"](a, axis)


@implements(np.moveaxis)
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return _F["movedim"](a, source, destination)


@implements(np.ravel)
def _ravel(a: Any, order: str = "C") -> Any:
    return _F["reshape"](a, (-1,))


# --- elements ---


@implements(np.real)
def _real(val: Any) -> Any:
    return val.real


@implements(np.imag)
def _imag(val: Any) -> Any:
    return val.imag


@implements(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **_: Any) -> Any:
    return _F["clamp"](_tensor(a), a_min if min is None else min, a_max if max is None else max)


@implements(np.zeros_like, np.empty_like)
def _zeros_like(a: Any, *args: Any, **kwargs: Any) -> Any:
    return _F["zeros_like"](a)


@implements(np.ones_like)
def _ones_like(a: Any, *args: Any, **kwargs: Any) -> Any:
    return _F["ones_like"](a)


@implements(np.full_like)
def _full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    return _F["full_like"](a, fill_value)


@implements(np.copy)
def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return _F["clone"](a)


@implements(np.shape)
def _shape(a: Any) -> tuple:
    return tuple(a.shape)


@implements(np.ndim)
def _ndim(a: Any) -> int:
    return a.ndim


@implements(np.size)
def _size(a: Any, axis: int | None = None) -> int:
    return a.numel() if axis is None else a.shape[axis]


@implements(np.array_equal)
def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    return _F["equal"](_tensor(a1), _tensor(a2))

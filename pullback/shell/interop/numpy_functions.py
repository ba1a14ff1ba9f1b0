"""NumPy's functions on tensors: which torch-level function stands for each ufunc and array function.

The tables are read by the `__array_ufunc__` and `__array_function__` protocols of tensors, by those of batches
(`transforms/arrays/protocol.py`), and through them by `array_api`. Arguments have NumPy's names here.
Where a program asks and no gradient is involved, NumPy computes as it does with torch's tensors: see `is_left_to_numpy`.
A function without an entry is NumPy's own then; if a gradient is involved, it is refused with an error and never
computed on a detached copy. Functions that rules do not need are in `numpy_algebra` and `numpy_arrays`, which are
loaded when one is missed here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...core.basics.dtypes import as_dtype
from ...core.tape import wrap
from ...core.tensor import Tensor
from ...functional import registry
from ...functional.numpy_operands import is_left_to_numpy, is_tracked
from ...functional.operands import NUMBERS, as_operand, promote
from ...functional.out_argument import write_out
from ...transforms.arrays.terms import REDUCTIONS

_F = registry.FUNCTIONS

# NumPy's name -> torch's, where they differ.
_UFUNC_NAMES = {
    "multiply": "mul", "divide": "div", "true_divide": "div", "subtract": "sub", "add": "add", "power": "pow",
    "float_power": "float_power", "absolute": "abs", "fabs": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "arctan2": "atan2", "rint": "round", "conjugate": "conj",
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
    "invert": "bitwise_not", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "negative": "neg",
    "degrees": "rad2deg", "radians": "deg2rad", "mod": "remainder",
}  # fmt: skip

UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}
FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def ufunc_of_arrays(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """Call a ufunc on torch's tensors: NumPy's result as a tensor, with 1 and 0 where it says True and False."""
    result = getattr(ufunc, method)(*map(_memory_of, inputs), **{key: _memory_of(each) for key, each in kwargs.items()})
    if "out" in kwargs or method == "outer":
        return result
    if ufunc in _COMPARISONS and isinstance(inputs[0], np.ndarray):  # as `array == tensor` does
        return _as_result(result)
    return tuple(map(as_numpy_wraps, result)) if isinstance(result, tuple) else as_numpy_wraps(result)


_COMPARISONS = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})


def _memory_of(value: Any) -> Any:
    return value.numpy() if isinstance(value, Tensor) else value


def as_numpy_wraps(value: Any) -> Any:
    """A result of NumPy's as torch takes it: a tensor, of bytes where NumPy has booleans."""
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "biufc":
        return value
    return wrap(np.asarray(value.astype(np.uint8) if value.dtype.kind == "b" else value))


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    alike = not isinstance(inputs[0], np.generic)  # `number + tensor`: torch takes its numbers as Python's
    if alike and is_left_to_numpy(*inputs) and not isinstance(kwargs.get("out", (None,))[0], Tensor):
        return ufunc_of_arrays(ufunc, method, inputs, kwargs)
    if method == "reduce" and ufunc in REDUCTIONS and "where" not in kwargs:
        out = kwargs.pop("out", None)
        result = FUNCTIONS[REDUCTIONS[ufunc]](*inputs, **{"axis": 0, **kwargs})
        return result if out is None else _write(out[0], result)
    if method == "accumulate" and ufunc.__name__ in _ACCUMULATIONS:
        result = _ACCUMULATIONS[ufunc.__name__](in_dtype(inputs[0], kwargs.get("dtype")), kwargs.get("axis", 0))
        return result if kwargs.get("out") is None else _write(kwargs["out"][0], result)
    if method == "outer" and not kwargs:
        first, second = (_tensor(each) for each in inputs)
        return ufunc(first.reshape((*first.shape, *(1,) * second.ndim)), second)
    if method != "__call__" or "where" in kwargs:
        return _without_gradient(getattr(ufunc, method), f"np.{ufunc.__name__}.{method}", inputs, kwargs)
    kwargs = {key: value for key, value in kwargs.items() if key not in ("casting", "order", "subok", "dtype")}
    out = kwargs.pop("out", None)
    if ufunc is np.vecdot:
        return _vecdot(*inputs, **kwargs)
    if kwargs:  # axis, axes, keepdims of generalized ufuncs
        return _without_gradient(ufunc, f"np.{ufunc.__name__}", inputs, kwargs)
    function = UFUNCS.get(ufunc) or _find(ufunc)
    if function is None:
        result = _without_gradient(ufunc, f"np.{ufunc.__name__}", inputs, kwargs)
        return tuple(map(_as_result, result)) if isinstance(result, tuple) else _as_result(result)
    operands = [as_operand(value) for value in inputs]
    if isinstance(operands[0], NUMBERS) and ufunc in _REFLECTED:  # the number keeps all its digits
        result = getattr(operands[1], _REFLECTED[ufunc])(operands[0])
    else:
        result = function(*operands)
    if out is not None:
        return _write(out[0], result)
    return result


def _vecdot(x1: Any, x2: Any, axis: int = -1) -> Tensor:
    from .numpy_algebra import _vecdot

    return _vecdot(x1, x2, axis)


def _without_gradient(function: Any, name: str, args: tuple, kwargs: dict) -> Any:
    """NumPy's own function on the arrays inside, unless a gradient would be lost."""

    def plain(value: Any) -> Any:
        if isinstance(value, Tensor):
            if is_tracked(value):
                raise TypeError(
                    f"{name} has no differentiable counterpart here, so the gradient would be lost. Use the torch function, "
                    "or detach the tensor first, as in x.detach().numpy()."
                )
            return value.numpy()
        if isinstance(value, (list, tuple)):
            return type(value)(plain(each) for each in value) if type(value) in (list, tuple) else value
        return value

    return function(*plain(args), **{key: plain(value) for key, value in kwargs.items()})


def _as_result(value: Any) -> Any:
    return wrap(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _write(target: Any, result: Tensor) -> Any:
    if isinstance(target, Tensor):
        write_out("out", target, result)
        return target
    if result.requires_grad:
        raise RuntimeError(
            "Can't write a Tensor that requires grad into a NumPy array: the gradient would be lost. Use result = array + tensor."
        )
    np.copyto(target, result._array, casting="same_kind")
    return target


def _find(ufunc: np.ufunc) -> Callable | None:
    name = _UFUNC_NAMES.get(ufunc.__name__, ufunc.__name__)
    function = _F.find(name) if hasattr(np, ufunc.__name__) else None  # what SciPy calls kl_div is another function
    if function is None:
        from ...special import named_by_scipy

        function = named_by_scipy(ufunc.__name__)
    if function is not None:
        if ufunc.nin == 2 and name not in _TAKE_NUMBERS:
            function = _with_numbers(function)
        UFUNCS[ufunc] = function
    return function


_REFLECTED = {np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__", np.divide: "__rtruediv__"}
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


def call_function(function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    implementation = function_of_numpy(function)
    if implementation is not None and len(args) > 2:
        args = _with_named_out(function, args, kwargs)
    if "out" not in kwargs and function not in _OF_METHODS and is_left_to_numpy(*args, *kwargs.values()):
        try:
            return function._implementation(*args, **kwargs)
        except TypeError:  # torch's methods do not take what NumPy asks of them
            if implementation is None:
                raise
    if implementation is None:
        return _without_gradient(function, f"np.{function.__name__}", args, kwargs)
    kwargs.pop("like", None)
    out = kwargs.pop("out", None)
    result = implementation(*args, **kwargs)
    return result if out is None else _write(out, result)


# NumPy asks the tensor itself for these, in its own words, which torch refuses.
_OF_METHODS = frozenset({np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.all, np.any, np.std, np.var})


@cache
def _arguments(function: Any) -> list[str]:
    """The names of arguments that a function of NumPy's takes by their places; none where it does not tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return []
    return [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def _with_named_out(function: Any, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> tuple[Any, ...]:
    """The arguments before `out`, which may be given by its place; from there on they go to those with names."""
    names = _arguments(function)
    place = names.index("out") if "out" in names else len(args)
    kwargs.update(zip(names[place:], args[place:]))
    return args[:place]


def function_of_numpy(function: Any) -> Callable[..., Any] | None:
    """Return the counterpart of a NumPy function on tensors and on the batches inside them; None if there is none."""
    found = FUNCTIONS.get(function)
    if found is None:
        from . import numpy_algebra, numpy_arrays  # noqa: F401  (they announce themselves)

        found = FUNCTIONS.get(function)
    return found


def implements(*functions: Any) -> Callable[..., Any]:
    def register(implementation: Callable) -> Callable:
        for function in functions:
            FUNCTIONS[function] = implementation
        return implementation

    return register


def _tensor(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and not any(isinstance(each, Tensor) for each in value):
        value = np.asarray(value)  # Python numbers in a list are float64 to NumPy
    return value if isinstance(value, Tensor) else as_operand(value)


# --- reductions ---


def in_dtype(value: Any, dtype: Any) -> Any:
    """An operand as a tensor, of NumPy's dtype if one is asked for."""
    return _tensor(value) if dtype is None else _tensor(value).to(as_dtype(np.dtype(dtype)))


_STEPS: dict[Any, np.ufunc] = {function: ufunc for ufunc, function in REDUCTIONS.items()} | {
    np.nansum: np.add, np.amax: np.maximum, np.amin: np.minimum
}  # fmt: skip


def _with_initial(step: np.ufunc, result: Any, initial: Any) -> Any:
    """A reduction that started from a number, too."""
    neutral = -np.inf if step is np.maximum else np.inf if step is np.minimum else step.identity
    return result if initial is None or initial is np._NoValue or initial == neutral else step(result, initial)


def reduction_arguments(x: Any, axis: Any, keepdims: Any = False) -> tuple[Any, Any, Any]:
    """The arguments for a reduction of torch's. Over no axes, (), torch reduces all: here, an axis of length one."""
    return (x.unsqueeze(0), 0, False) if type(axis) is tuple and not axis else (x, axis, keepdims)


def _reduced(name: str, x: Any, axis: Any, keepdims: Any) -> Any:
    x, axis, keepdims = reduction_arguments(x, axis, keepdims)
    return _F[name](x, () if axis is None and name in ("amax", "amin") else axis, keepdims)


def _reduction(function: Callable, name: str) -> Callable:
    def reduce(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
        where: Any = None,
    ) -> Any:  # fmt: skip
        keep = bool(keepdims) if keepdims is not np._NoValue else False
        if where is None or where is np._NoValue:
            result = _reduced(name, in_dtype(a, dtype), axis, keep)
            return result if initial is None else _with_initial(_STEPS[function], result, initial)
        options = {"dtype": dtype, "initial": initial}
        given = {key: value for key, value in options.items() if value is not None}
        shown = f"np.{function.__name__} with where"
        return _as_result(_without_gradient(function, shown, (a, axis), {"keepdims": keep, "where": where, **given}))

    return reduce


for _numpy, _name in (
    (np.sum, "sum"), (np.mean, "mean"), (np.prod, "prod"), (np.max, "amax"), (np.min, "amin"), (np.all, "all"),
    (np.any, "any"), (np.amax, "amax"), (np.amin, "amin"), (np.nansum, "nansum"), (np.nanmean, "nanmean"),
):  # fmt: skip
    FUNCTIONS[_numpy] = _reduction(_numpy, _name)


_ACCUMULATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, axis: _F["cumsum"](a, axis),
    "multiply": lambda a, axis: _F["cumprod"](a, axis),
    "maximum": lambda a, axis: _F["cummax"](a, axis)[0],
    "minimum": lambda a, axis: _F["cummin"](a, axis)[0],
}

# --- shapes ---


@implements(np.transpose, np.permute_dims)
def _transpose(a: Any, axes: Any = None) -> Any:
    return _F["permute"](a, tuple(reversed(range(a.ndim))) if axes is None else tuple(axes))


@implements(np.concatenate)
def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, **_: Any) -> Any:
    items = [_tensor(array) for array in arrays]
    if axis is None:
        items, axis = [item.reshape(-1) for item in items], 0
    return _F["cat"](items, axis)


@implements(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for one in sorted(each % (a.ndim + len(axes)) for each in axes):
        a = _F["unsqueeze"](a, one)
    return a


def _holds(condition: Any) -> Any:
    """A condition as NumPy reads it: whether each of the numbers is not 0."""
    made = _tensor(condition)
    made = made if isinstance(made, Tensor) else wrap(np.asarray(made))
    return made if made._array.dtype.kind == "b" else made != 0


FUNCTIONS |= {
    np.where: lambda condition, x=None, y=None: (
        _F["where"](_tensor(condition)) if x is None else _F["where"](_holds(condition), as_operand(x), as_operand(y))
    ),
    np.reshape: lambda a, /, shape=None, order="C", *, copy=None: _F["reshape"](
        a, shape if isinstance(shape, (tuple, list)) else (shape,)
    ),
    np.swapaxes: lambda a, axis1, axis2: _F["transpose"](a, axis1, axis2),
    np.broadcast_to: lambda array, shape, subok=False: _F["broadcast_to"](
        array, shape if isinstance(shape, (tuple, list)) else (shape,)
    ),
    np.stack: lambda arrays, axis=0, out=None, **_: _F["stack"]([_tensor(array) for array in arrays], axis),
    np.squeeze: lambda a, axis=None: _F["squeeze"](a) if axis is None else _F["squeeze"](a, axis),
    np.moveaxis: lambda a, source, destination: _F["movedim"](a, source, destination),
    np.ravel: lambda a, order="C": _F["reshape"](a, (-1,)),
}


# --- elements ---


@implements(np.clip)
def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **_: Any
) -> Any:
    bounds = a_min if min is None else min, a_max if max is None else max
    return _F["clamp"](_tensor(a), *(None if bound is None else as_operand(bound) for bound in bounds))


@implements(np.zeros_like, np.empty_like)
def _zeros_like(a: Any, *args: Any, **kwargs: Any) -> Any:
    return _F["zeros_like"](a)


FUNCTIONS |= {
    np.real: lambda val: val.real,
    np.imag: lambda val: val.imag,
    np.ones_like: lambda a, *args, **kwargs: _F["ones_like"](a),
    np.full_like: lambda a, fill_value, *args, **kwargs: _F["full_like"](a, fill_value),
    np.copy: lambda a, order="K", subok=False: _F["clone"](a),
    np.shape: lambda a: tuple(a.shape),
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.numel() if axis is None else a.shape[axis],
    np.array_equal: lambda a1, a2, equal_nan=False: _F["equal"](_tensor(a1), _tensor(a2)),
}

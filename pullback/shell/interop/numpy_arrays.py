"""NumPy's functions for joining, splitting, sorting, accumulating and summarizing arrays, on tensors.

NumPy's defaults hold where they differ from torch's: `np.var` divides by n, `np.median` takes the mean of the middle
two, `np.cumsum` without an axis flattens. Loaded together with `numpy_algebra`.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ...core.basics.dtypes import as_dtype
from ...core.tape import wrap
from ...core.tensor import Tensor
from ...functional import registry
from ...functional.checks import array_of
from ...functional.operands import as_operand
from .numpy_algebra import _same
from .numpy_functions import FUNCTIONS, _tensor, implements, in_dtype, is_tracked, reduction_arguments

_F = registry.FUNCTIONS


def _keep(keepdims: Any) -> bool:
    return bool(keepdims) and keepdims is not np._NoValue


def _flat_if_none(a: Any, axis: int | None) -> tuple[Tensor, int]:
    a = _tensor(a)
    return (a.reshape(-1), 0) if axis is None else (a, axis)


# --- joining and splitting ---


@implements(np.append)
def _append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    both = [value if isinstance(value, Tensor) else _tensor(np.asarray(value)) for value in (arr, values)]
    return FUNCTIONS[np.concatenate](both, axis)


@implements(np.block)
def _block(arrays: Any) -> Tensor:
    if not isinstance(arrays, list):
        return _tensor(arrays)

    def depth(value: Any) -> int:
        return 1 + depth(value[0]) if isinstance(value, list) else 0

    def join(value: Any, level: int) -> Tensor:
        if not isinstance(value, list):
            result = _tensor(value)
            return result.reshape((1,) * (total - result.ndim) + tuple(result.shape)) if result.ndim < total else result
        return _F["cat"]([join(each, level - 1) for each in value], -level)

    total = depth(arrays)
    return join(arrays, total)


@implements(np.array_split)
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list:
    return list(_F["tensor_split"](ary, _sections(indices_or_sections), axis))


for each in (np.split, np.hsplit, np.vsplit, np.dsplit):
    FUNCTIONS[each] = inspect.unwrap(each)  # NumPy's own code: it checks the arguments and asks for np.array_split


def _sections(value: Any) -> Any:
    return value if isinstance(value, int) else tuple(int(each) for each in value)


FUNCTIONS |= {
    np.vstack: lambda tup, **_: _F["vstack"]([_tensor(each) for each in tup]),
    np.hstack: lambda tup, **_: _F["hstack"]([_tensor(each) for each in tup]),
    np.dstack: lambda tup: _F["dstack"]([_tensor(each) for each in tup]),
    np.column_stack: lambda tup: _F["column_stack"]([_tensor(each) for each in tup]),
}


@implements(np.unstack)
def _unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    return _F["unbind"](x, axis)


# --- repeating, turning, picking ---


@implements(np.repeat)
def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    a, axis = _flat_if_none(a, axis)
    return _F["repeat_interleave"](
        a, repeats if isinstance(repeats, (int, Tensor)) else _tensor(np.asarray(repeats)), axis
    )


@implements(np.rollaxis)
def _rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    axis %= a.ndim
    return _F["movedim"](a, axis, start - 1 if start > axis else start)


@implements(np.pad)
def _pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0, **_: Any) -> Tensor:
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    if mode == "constant":
        from ...nn.functional import pad

        values = np.unique(constant_values)
        if values.size != 1:
            raise TypeError("np.pad on a tensor takes one number for constant_values")
        return pad(array, [width for pair in reversed(widths) for width in pair], value=values.item())
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise TypeError(
            f"np.pad(mode={mode!r}) on a tensor is not supported: use constant, edge, reflect, symmetric or wrap"
        )
    for dim, pair in enumerate(widths):  # which elements stand where, asked of NumPy itself
        positions = np.pad(np.arange(array.shape[dim]), pair, mode=mode)  # type: ignore[call-overload]
        array = _F["index_select"](array, dim, _tensor(positions))
    return array


@implements(np.take)
def _take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Tensor:
    a, axis = _flat_if_none(a, axis)
    indices = _tensor(np.asarray(indices)) if not isinstance(indices, Tensor) else indices
    picked = _F["index_select"](a, axis, indices.reshape(-1))
    axis %= a.ndim
    return picked.reshape((*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :]))


@implements(np.select)
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    result = as_operand(default)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = _F["where"](_tensor(condition), _tensor(choice), result)
    return result


@implements(np.choose)
def _choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Tensor:
    index, *options = _F["broadcast_tensors"](_tensor(a), *map(_tensor, choices))
    last = len(options) - 1
    if mode != "raise":
        index = index % (last + 1) if mode == "wrap" else index.clamp(0, last)
    elif not 0 <= index.min() <= index.max() <= last:
        raise ValueError("invalid entry in choice array")
    return _F["gather"](_F["stack"](options), 0, index[None])[0]


@implements(np.broadcast_arrays)
def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple:
    if not is_tracked(args):  # libraries convert with these four: without a gradient they get arrays, as with torch
        return np.broadcast_arrays(*map(array_of, args))
    return tuple(_F["broadcast_tensors"](*(_tensor(each) for each in args)))


def _at_least(name: str) -> Any:
    def convert(*arys: Any) -> Any:
        if not is_tracked(arys):
            return getattr(np, name)(*map(array_of, arys))
        results = tuple(_F[name](_tensor(each)) for each in arys)
        return results[0] if len(results) == 1 else results

    return convert


implements(np.atleast_1d)(_at_least("atleast_1d"))
implements(np.atleast_2d)(_at_least("atleast_2d"))
implements(np.atleast_3d)(_at_least("atleast_3d"))


FUNCTIONS |= {
    np.tile: lambda A, reps: _F["tile"](A, (reps,) if isinstance(reps, int) else tuple(reps)),
    np.flip: lambda m, axis=None: _F["flip"](
        m, tuple(range(m.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    ),
    np.flipud: lambda m: _F["flip"](m, (0,)),
    np.fliplr: lambda m: _F["flip"](m, (1,)),
    np.rot90: lambda m, k=1, axes=(0, 1): _F["rot90"](m, k, axes),
    np.roll: lambda a, shift, axis=None: (
        _F["roll"](a, shift, axis) if axis is not None else _F["roll"](a.reshape(-1), shift, 0).reshape(a.shape)
    ),
    np.take_along_axis: lambda arr, indices, axis=-1: _F["take_along_dim"](arr, _tensor(indices), axis),
    np.compress: lambda condition, a, axis=None, out=None: _take(a, np.flatnonzero(np.asarray(condition)), axis),
    np.meshgrid: lambda *xi, copy=True, sparse=False, indexing="xy": tuple(
        _F["meshgrid"](*(_tensor(each) for each in xi), indexing=indexing)
    ),
}


# --- sorting and accumulating ---


@implements(np.sort)
def _sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Tensor:
    a, axis = _flat_if_none(a, axis)
    return _F["sort"](a, dim=axis, stable=True)[0]


@implements(np.argsort)
def _argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Tensor:
    a, axis = _flat_if_none(a, axis)
    return _F["argsort"](a, dim=axis, stable=True)


def _argument(name: str) -> Any:
    def find(a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False) -> Tensor:
        return _F[name](a, axis, _keep(keepdims))

    return find


implements(np.argmax)(_argument("argmax"))
implements(np.argmin)(_argument("argmin"))


@implements(np.diff)
def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    options = {"prepend": prepend, "append": append}
    given = {
        key: _edge(value, a, axis) for key, value in options.items() if value is not None and value is not np._NoValue
    }
    return _F["diff"](a, n, axis, **given)


def _edge(value: Any, a: Tensor, axis: int) -> Tensor:
    value = _tensor(np.asarray(value)) if not isinstance(value, Tensor) else value
    if value.ndim == 0:
        shape = list(a.shape)
        shape[axis] = 1
        value = value.to(a.dtype).expand(shape)
    return value


@implements(np.ediff1d)
def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    flat = ary.reshape(-1)
    parts = [to_begin, flat[1:] - flat[:-1], to_end]
    return _F["cat"]([_tensor(each).reshape(-1) for each in parts if each is not None])


@implements(np.trapezoid)
def _trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    y = _tensor(y)
    return _F["trapezoid"](y, dx=dx, dim=axis) if x is None else _F["trapezoid"](y, _tensor(x), dim=axis)


@implements(np.gradient)
def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    if any(getattr(each, "ndim", 0) for each in varargs):
        raise TypeError(
            "np.gradient on a tensor takes numbers as spacing; for coordinates use torch.gradient(spacing=...)"
        )
    axes = list(range(f.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    spacing = [float(each) for each in varargs] or [1.0]
    if len(spacing) == 1:
        spacing *= len(axes)
    results = list(_F["gradient"](f, spacing=spacing, dim=axes, edge_order=edge_order))
    return results[0] if len(results) == 1 else tuple(results)


@implements(np.convolve)
def _convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    from ...nn.functional import conv1d

    a, v = _same(a, v)
    if len(v) > len(a):
        a, v = v, a
    padding = {"full": len(v) - 1, "valid": 0, "same": len(v) // 2}[mode]
    result = conv1d(a.reshape(1, 1, -1), v.flip(0).reshape(1, 1, -1), padding=padding).reshape(-1)
    return result[: len(a)] if mode == "same" else result


@implements(np.interp)
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Tensor:
    if period is not None:
        raise TypeError("np.interp(period=...) on a tensor is not supported: reduce x modulo the period first")
    x, xp, fp = _tensor(x), _tensor(xp), _tensor(fp)
    upper = _F["clamp"](_F["searchsorted"](xp.detach(), x.detach().contiguous(), right=True), 1, len(xp) - 1)
    lower = upper - 1
    slope = (fp[upper] - fp[lower]) / (xp[upper] - xp[lower])
    result = fp[lower] + slope * (_F["clamp"](x, xp[0], xp[-1]) - xp[lower])
    result = _F["where"](x < xp[0], fp[0] if left is None else left, result)
    return _F["where"](x > xp[-1], fp[-1] if right is None else right, result)


FUNCTIONS |= {
    np.cumsum: lambda a, axis=None, dtype=None, out=None: _F["cumsum"](*_flat_if_none(in_dtype(a, dtype), axis)),
    np.cumprod: lambda a, axis=None, dtype=None, out=None: _F["cumprod"](*_flat_if_none(in_dtype(a, dtype), axis)),
}


# --- summaries ---


def _spread(name: str) -> Any:
    def summarize(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: Any = False, *,
        where: Any = None, mean: Any = None, correction: Any = None,
    ) -> Tensor:  # fmt: skip
        given = ddof if correction is None or correction is np._NoValue else correction
        if where is not None and where is not np._NoValue:
            raise TypeError(
                f"np.{name}(where=...) of a tensor is not supported: select the elements first, as in x[where]"
            )
        a, axis, keepdims = reduction_arguments(in_dtype(a, dtype), axis, _keep(keepdims))
        return _F[name](a, axis, correction=given, keepdim=keepdims)

    return summarize


implements(np.var)(_spread("var"))
implements(np.std)(_spread("std"))


@implements(np.average)
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    a = _tensor(a)
    if weights is None:
        result, total = _F["mean"](*reduction_arguments(a, axis, _keep(keepdims))), None
    else:
        weights = _tensor(np.asarray(weights)) if not isinstance(weights, Tensor) else weights
        if weights.shape != a.shape:
            weights = weights.reshape([-1 if dim == axis % a.ndim else 1 for dim in range(a.ndim)])
        weights = weights.to(a.dtype).expand(a.shape)
        total = _F["sum"](weights, axis, _keep(keepdims))
        result = _F["sum"](a * weights, axis, _keep(keepdims)) / total
    if not returned:
        return result
    return result, total if total is not None else _F["full_like"](result, a.numel() // max(result.numel(), 1))


def _quantile(name: str, scale: float) -> Any:
    def summarize(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: Any = False, **_: Any) -> Tensor:  # fmt: skip
        a = _tensor(a)
        kind = a.dtype
        points = q / scale if isinstance(q, Tensor) else wrap(np.asarray(np.asarray(q) / scale, kind._numpy))
        return _F[name](a, points, axis, _keep(keepdims), interpolation=method)

    return summarize


implements(np.quantile)(_quantile("quantile", 1.0))
implements(np.percentile)(_quantile("quantile", 100.0))
implements(np.nanquantile)(_quantile("nanquantile", 1.0))
implements(np.nanpercentile)(_quantile("nanquantile", 100.0))


@implements(np.ptp)
def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Tensor:
    keep = _keep(keepdims)
    return FUNCTIONS[np.max](a, axis, keepdims=keep) - FUNCTIONS[np.min](a, axis, keepdims=keep)


def _observations(m: Any, y: Any, rowvar: bool) -> Tensor:
    """The variables of `np.cov`, one in each row: those of `m`, and then those of `y`."""
    m = _tensor(m)
    rows = m.mT if m.ndim == 2 and not rowvar else m
    if y is None:
        return rows
    others = _F["atleast_2d"](_tensor(y))
    return _F["cat"]([_F["atleast_2d"](rows), others if rowvar or others.shape[0] == 1 else others.mT])


@implements(np.cov)
def _cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Tensor:  # fmt: skip
    correction = (0 if bias else 1) if ddof is None else ddof
    weights = {"fweights": fweights, "aweights": aweights}
    given = {name: _tensor(np.asarray(each)) for name, each in weights.items() if each is not None}
    return _F["cov"](_observations(m, y, rowvar), correction=correction, **given)


@implements(np.corrcoef)
def _corrcoef(x: Any, y: Any = None, rowvar: bool = True, bias: Any = None, ddof: Any = None, **_: Any) -> Tensor:
    return _F["corrcoef"](_observations(x, y, rowvar))


@implements(np.round, np.around)
def _round(a: Any, decimals: int = 0, out: Any = None) -> Tensor:
    return _F["round"](a, decimals=decimals)


@implements(np.isclose)
def _isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    first, second, relative, absolute = (np.asarray(array_of(value)) for value in (a, b, rtol, atol))
    return wrap(np.asarray(np.isclose(first, second, relative, absolute, equal_nan)))


FUNCTIONS |= {
    np.median: lambda a, axis=None, out=None, overwrite_input=False, keepdims=False: _F["quantile"](
        _tensor(a), 0.5, axis, _keep(keepdims)
    ),
    np.count_nonzero: lambda a, axis=None, *, keepdims=False: _F["sum"](
        *reduction_arguments(_tensor(a) != 0, axis, keepdims)
    ),
    np.nan_to_num: lambda x, copy=True, nan=0.0, posinf=None, neginf=None: _F["nan_to_num"](x, nan, posinf, neginf),
    np.sinc: lambda x: _F["sinc"](x),
    np.i0: lambda x: _F["i0"](x),
    np.angle: lambda z, deg=False: _F["rad2deg"](_F["angle"](z)) if deg else _F["angle"](z),
    np.allclose: lambda a, b, rtol=1e-05, atol=1e-08, equal_nan=False: bool(
        np.all(_isclose(a, b, rtol, atol, equal_nan)._array)
    ),
}


# --- functions of the Array API standard that NumPy has besides its older names ---


def _running(name: str) -> Any:
    def accumulate(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False, out: Any = None
    ) -> Tensor:
        axis = 0 if axis is None else axis
        result = _F[name](in_dtype(x, dtype), axis)
        if include_initial:
            first = _F["full_like"](_F["narrow"](result, axis, 0, 1), 0 if name == "cumsum" else 1)
            result = _F["cat"]([first, result], axis)
        return result

    return accumulate


implements(np.cumulative_sum)(_running("cumsum"))
implements(np.cumulative_prod)(_running("cumprod"))


@implements(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    a, v = _same(a, v)
    return _F["searchsorted"](a.detach(), v.detach().contiguous(), side=side, sorter=sorter)


@implements(np.astype)
def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    return x.to(as_dtype(dtype))


FUNCTIONS[np.nonzero] = lambda a: tuple(_F["nonzero"](a, as_tuple=True))

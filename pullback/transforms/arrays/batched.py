"""`Batched`: many examples in one array, looking like one example. `vmap` and batched backward passes run on it.

Axis 0 of the array inside is the batch; shape, dtype and axes are those of one example. Every batch belongs to a
level, so that batches nest; a value of a level that is the same for all examples has no batch axis (`batched` False).
The value inside may be an ndarray, a Batched of an outer level, or a Tensor: then what happens to the batch is
recorded by the outer tape. How operations treat a batch is in `batching_rules.py`, NumPy's functions in `protocol.py`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import seams
from ...core.mode import current_mode
from ...kernels.thresholds import OUTER_BY_COLUMNS

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ...core.basics.types import (
        Arguments,
        Array,
        Axis,
        DType,
        Function,
        Index,
        Keywords,
        Operand,
        Operands,
        Params,
        Result,
        Shape,
    )
    from ...core.op import Op

PAGE: str = "docs/howto/transforms.md has examples."
CONTROL_FLOW: str = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that: "
    "write the choice as torch.where(condition, a, b), or run the function example by example with "
    f'vmap(..., fallback="loop"). {PAGE}'
)
ITEM: str = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report. "
    'vmap(..., fallback="loop") runs the function example by example, where '
    f".item() works. {PAGE}"
)
NONZERO: str = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::nonzero. "
    "Boolean masks and nonzero give each example a result of its own size: use torch.where(condition, a, b), or look for "
    f"them outside the vmap. {PAGE}"
)

ESCAPED: str = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user error, or there is an "
    "internal error. It stands for one example of a batch, which means nothing when the vmap is over: return it from the "
    f"function. {PAGE}"
)

ndarray = np.ndarray
_PLAIN = frozenset((ndarray, float, int, bool, complex))


class NotBatchable(RuntimeError):
    """Something asked a batch for the value of one example."""


class DynamicShape(NotBatchable):
    """The size of a result depends on values: not even a loop over examples would make a batch of it."""


def raw(value: Array) -> Array:
    """The array-like with NumPy's attributes inside a value: a Tensor's array, anything else as it is."""
    if type(value) is Batched or not hasattr(value, "_pullback_apply"):
        return value
    return value._array


def all_values(value: Array) -> np.ndarray:
    """The numbers of every example, for checks that each of them has to pass."""
    while type(value) is not ndarray:
        if type(value) is Batched:
            value = value.array
        elif hasattr(value, "_pullback_apply"):
            value = value._array
        else:
            return np.asarray(value)
    return value


def level_of(value: Array) -> int:
    """The level of a batch; 0 for anything else."""
    return value.level if type(value) is Batched else 0


def params_level(params: Params) -> int:
    level = 0
    for value in params.values():
        kind = type(value)
        if kind is int or kind is bool or kind is str:
            continue
        if kind is Batched:
            level = max(level, value.level)
        elif isinstance(value, tuple):
            for item in value:
                if type(item) is Batched:
                    level = max(level, item.level)
    return level


class Batched:
    """Examples along axis 0 of `array` (or one value for all of them), each looking like an array of its own.

    What operations, NumPy's functions and `[]` do to it is added by `batching_rules.py` and `protocol.py`.
    """

    __slots__ = ("array", "level", "batched", "shape", "dtype", "__weakref__")
    if TYPE_CHECKING:  # what is added below and in those files

        def __add__(self, other: Operand) -> Array: ...
        def __mul__(self, other: Operand) -> Array: ...

    __array_priority__ = 2000

    def __init__(self, array: Array, level: int, batched: bool = True) -> None:
        if level > current_mode().batch_level:  # every operation on a batch makes another one
            raise RuntimeError(ESCAPED)
        self.array: Array = array
        self.level: int = level
        self.batched: bool = batched
        plain = array if type(array) is ndarray else raw(array)
        self.shape: Shape = plain.shape[1:] if batched else plain.shape
        self.dtype: DType = plain.dtype

    # --- operations and NumPy's functions ---

    def _pullback_apply(self, op: Op, inputs: Operands, params: Params | None) -> Result:
        return seams.apply_batched(op, inputs, params)

    def __getitem__(self, index: Index) -> Array:
        return seams.get_item(self, index)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **kwargs: Any) -> Result:
        return seams.ufunc_of_batches(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Function, types: Any, args: Arguments, kwargs: Keywords) -> Result:
        return seams.function_of_batches(function, types, args, kwargs)

    def __matmul__(self, other: Operand) -> Array:
        return seams.product_of_batches(self, other)

    def __rmatmul__(self, other: Operand) -> Array:
        return seams.product_of_batches(other, self)

    # --- attributes of arrays ---

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> Shape:
        plain = raw(self.array)
        return tuple(plain.strides[1:]) if self.batched else tuple(plain.strides)

    @property
    def flags(self) -> Any:
        return self.example(0).flags if self.batched and len(raw(self.array)) else raw(self.array).flags

    @property
    def base(self) -> Array:
        return self.array  # never this object's own memory

    @property
    def T(self) -> Batched:
        return self.transpose()

    @property
    def real(self) -> Batched:
        from ...ops.casting import real

        return real(self) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Batched:
        from ...ops.casting import imag

        return imag(self) if self.dtype.kind == "c" else self * 0

    def example(self, number: int) -> Array:
        """The array of one example, without history."""
        plain = raw(self.array)
        return plain[number, ...] if self.batched else plain

    def same(self, array: Array, batched: bool | None = None) -> Batched:
        """A batch of the same level around another array."""
        return Batched(array, self.level, self.batched if batched is None else batched)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Batched({self.array!r}, level={self.level}, batched={self.batched})"

    # --- values of an example, which only exist if all examples share one ---

    def value(self, complaint: str = CONTROL_FLOW) -> Array:
        """The array that all examples share; an error if they have one each."""
        if self.batched:
            if self.level > current_mode().batch_level:
                raise RuntimeError(ESCAPED)
            raise NotBatchable(complaint)
        inside = raw(self.array)
        return inside.value(complaint) if type(inside) is Batched else inside

    def __array__(self, dtype: DTypeLike | None = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.value(), dtype)

    def __bool__(self) -> bool:
        return bool(self.value())

    def __int__(self) -> int:
        return int(self.value())

    def __index__(self) -> int:
        return operator.index(self.value())

    def __float__(self) -> float:
        return float(self.value())

    def __complex__(self) -> complex:
        return complex(self.value())

    def item(self, *args: Any) -> Any:
        return self.value(ITEM).item(*args)

    def tolist(self) -> Any:
        return self.value(ITEM).tolist()

    def nonzero(self) -> Array:
        if not self.batched:
            return np.asarray(self).nonzero()
        raise DynamicShape(NONZERO)

    @property
    def data(self) -> Any:
        return self.value().data

    @property
    def __array_interface__(self) -> Any:
        return np.asarray(self.value()).__array_interface__

    # --- methods that forwards and rules use ---

    def astype(self, dtype: DTypeLike, copy: bool = True, **_: Any) -> Batched:
        from ...ops.casting import cast

        return self if self.dtype == dtype and not copy else cast(self, dtype=np.dtype(dtype))

    def reshape(self, *shape: Any) -> Batched:
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if -1 in wanted:
            wanted = complete_shape(tuple(wanted), self.size)
        if self.batched and type(self.array) is ndarray:
            return Batched(self.array.reshape((self.array.shape[0], *wanted)), self.level)
        from ...ops.shape import reshape

        return reshape(self, shape=tuple(wanted))

    def transpose(self, *axes: Any) -> Batched:
        from ...ops.shape import permute

        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        if not order or order == (None,):
            order = tuple(range(self.ndim)[::-1])
        return permute(self, axes=tuple(axis % self.ndim for axis in order))

    def copy(self, order: str = "C") -> Batched:
        return self.same(np.copy(self.array))

    def conj(self) -> Batched:
        return np.conj(self)  # type: ignore[return-value]

    def ravel(self, order: str = "C") -> Batched:
        return self.reshape(-1)

    flatten = ravel

    def squeeze(self, axis: Axis = None) -> Batched:
        named = range(self.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        drop = {a % max(self.ndim, 1) for a in named}
        return self.reshape(tuple(n for i, n in enumerate(self.shape) if i not in drop or n != 1))

    def __getattr__(self, name: str) -> Any:
        """Any other method of ndarray works example by example."""
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a batched array has no attribute {name!r}")
        if not callable(getattr(np.ndarray, name)):
            raise NotBatchable(CONTROL_FLOW)
        from .protocol import reduction_method

        return reduction_method(self, name)

    def __setitem__(self, index: Index, value: Array) -> None:
        target = self[index]
        np.copyto(target, value, casting="unsafe")


def complete_shape(shape: Shape, size: int) -> Shape:
    """A shape with -1 filled in."""
    if -1 not in shape:
        return shape
    known = 1
    for n in shape:
        known *= n if n != -1 else 1
    return tuple(size // known if n == -1 else n for n in shape)


# --- arithmetic ------------------------------------------------------------------------------------------------------


def outer_product(a: Array, b: Array) -> Array:
    """(N, n, 1) * (N, 1, m): NumPy's inner loop would be as short as m."""
    left, right = a[..., 0], b[:, 0, :]
    if right.shape[1] > 4 or left.shape[1] < 8:
        return np.einsum("ni,nj->nij", left, right)
    out = np.empty((*left.shape, right.shape[1]), a.dtype)
    for column in range(right.shape[1]):
        np.multiply(left, right[:, column : column + 1], out[:, :, column])
    return out


def multiply(a: Array, b: Array) -> Array:
    if (
        type(a) is ndarray and type(b) is ndarray and a.ndim == 3 == b.ndim and a.shape[2] == 1 == b.shape[1]
        and a.shape[0] == b.shape[0] and a.dtype == b.dtype and b.shape[2] < OUTER_BY_COLUMNS
    ):  # fmt: skip
        return outer_product(a, b)
    return a * b


def align_inside(value: Array, ndim: int) -> Array:
    """The array inside a batch, with axes of size 1 behind the batch axis, so that examples broadcast from the right."""
    array = value.array
    missing = ndim - len(value.shape)
    if not value.batched or missing <= 0:
        return array
    if type(array) is ndarray:
        return array.reshape(array.shape[:1] + (1,) * missing + array.shape[1:])
    plain = raw(array)
    return np.reshape(array, (plain.shape[0],) + (1,) * missing + tuple(plain.shape[1:]))


def elementwise(function: Function, inputs: Operands) -> Result:
    """Call a function of single elements on batches, numbers and arrays."""
    level = ndim = 0
    for value in inputs:
        if type(value) is Batched and value.level > level:
            level = value.level
        count = len(value.shape) if type(value) is Batched else len(getattr(raw(value), "shape", ()))
        if count > ndim:
            ndim = count
    batched, plain, arrays = False, True, []
    for value in inputs:
        if type(value) is Batched and value.level == level:
            batched = batched or value.batched
            value = align_inside(value, ndim)
        plain = plain and type(value) in _PLAIN
        arrays.append(value)
    if not plain:
        from .batching_rules import tensors_if_any

        arrays = tensors_if_any(arrays)
    result = function(*arrays)
    if type(result) is tuple:
        return tuple(Batched(part, level, batched) for part in result)
    return Batched(result, level, batched)


def _operator(function: Function) -> Function:
    def method(self: Batched, other: Operand) -> Array:
        kind = type(other)
        if kind is float or kind is int or kind is complex:
            return Batched(function(self.array, other), self.level, self.batched)
        if kind is Batched:
            if (
                other.level == self.level
                and len(other.shape) == len(self.shape)
                and (self.batched and other.batched or not self.shape)
            ):
                first, second = self.array, other.array
                if type(first) is ndarray and type(second) is ndarray:
                    return Batched(function(first, second), self.level, self.batched or other.batched)
        elif kind is ndarray:
            if type(self.array) is ndarray and (other.ndim <= len(self.shape) or not self.batched):
                return Batched(function(self.array, other), self.level, self.batched)
        elif not hasattr(other, "dtype") and not isinstance(other, (bool, list)):
            return NotImplemented
        elif hasattr(other, "_pullback_apply"):
            return NotImplemented  # a Tensor: it is the layer above
        return elementwise(function, (self, other))

    return method


def _reflected(function: Function) -> Function:
    def method(self: Batched, other: Operand) -> Array:
        kind = type(other)
        if kind is float or kind is int or kind is complex:
            return Batched(function(other, self.array), self.level, self.batched)
        if not hasattr(other, "dtype") and not isinstance(other, (bool, list)):
            return NotImplemented
        return elementwise(function, (other, self))

    return method


for _name, _function in (
    ("add", operator.add), ("sub", operator.sub), ("mul", multiply), ("truediv", operator.truediv),
    ("floordiv", operator.floordiv), ("mod", operator.mod), ("pow", operator.pow), ("and", operator.and_),
    ("or", operator.or_), ("xor", operator.xor), ("lshift", operator.lshift), ("rshift", operator.rshift),
):  # fmt: skip
    setattr(Batched, f"__{_name}__", _operator(_function))
    setattr(Batched, f"__r{_name}__", _reflected(_function))
for _name, _function in (
    ("lt", operator.lt), ("le", operator.le), ("gt", operator.gt), ("ge", operator.ge), ("eq", operator.eq),
    ("ne", operator.ne),
):  # fmt: skip
    setattr(Batched, f"__{_name}__", _operator(_function))
Batched.__hash__ = object.__hash__  # type: ignore[method-assign]
_UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert,
}  # fmt: skip
for _name, _unary in _UNARY.items():
    setattr(Batched, f"__{_name}__", (lambda function: lambda self: self.same(function(self.array)))(_unary))

"""Products of matrices and vectors, with torch's shape and dtype checks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics.notices import warn_user
from ..core.tape import apply, binary
from ..core.tensor import Tensor
from ..ops import matmul as ops
from ..ops import pointwise
from ..ops import shape as shapes
from ..transforms import autocast
from .checks import warn_of_older_form
from .numpy_operands import result_of_numpy
from .operands import as_operand, as_tensor, broadcast_error, need_room_inside, operand, promote
from .out_argument import store
from .refusals import complaint_for
from .registry import public, public_in
from .shape import unsqueeze


def _same_dtype(a: Tensor, b: Tensor, names: str = "m1 and m2") -> None:
    if a._array.dtype is not b._array.dtype and a._array.dtype != b._array.dtype and not autocast.is_active():
        raise RuntimeError(
            f"expected {names} to have the same dtype, but got: {a.dtype.short_name} != {b.dtype.short_name}. "
            f"Convert one of them, as in b.to(a.dtype)."
        )


@public("__matmul__", out="same")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product; 1-d tensors are vectors, leading dims are batches."""
    result = multiply(input, other, arrays=False)
    if result is NotImplemented:
        raise TypeError(f"matmul(): arguments must be Tensors, not {type(input).__name__} and {type(other).__name__}")
    return result


def multiply(a: Any, b: Any, arrays: bool = True) -> Any:
    """`a @ b`, where one of them may be an array unless `arrays` is False."""
    if (type(a) is not Tensor or type(b) is not Tensor) and not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        if not arrays:
            a, b = operand(a), operand(b)
        answer = result_of_numpy(np.matmul, a, b)
        if answer is not None:
            return answer
        a, b = as_operand(a), as_operand(b)
        if not isinstance(b, Tensor) or not isinstance(a, Tensor):
            return NotImplemented
        a, b = promote(a, b)  # an array of another dtype, as NumPy makes them
    x, y = a._array, b._array
    if x.ndim == 2:
        if y.ndim == 2:
            return _matrices(a, b)
        if y.ndim == 1:
            return _matrix_and_vector(a, b)
    if x.dtype is not y.dtype:
        _same_dtype(a, b)
    return _multiply_others(a, b, x, y)


def _matrices_carefully(a: Tensor, b: Tensor) -> Tensor:
    _same_dtype(a, b)
    if a._array.shape[1] != b._array.shape[0]:
        raise _mismatch(a._array.shape, b._array.shape)
    return apply(ops.mm, (a, b))


def _matrix_and_vector_carefully(a: Tensor, b: Tensor) -> Tensor:
    _same_dtype(a, b)
    x, y = a._array, b._array
    if x.shape[-1] != y.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({x.shape[-2]}), mat ({x.shape[-2]}x{x.shape[-1]}), vec ({y.shape[0]})"
        )
    return apply(ops.mv, (a, b))


_matrices = binary(ops.mm, _matrices_carefully)
_matrix_and_vector = binary(ops.mv, _matrix_and_vector_carefully)
_vector_and_matrix, _batches_of_matrices = binary(ops.vm), binary(ops.matmul)


def _multiply_others(a: Tensor, b: Tensor, x: Any, y: Any) -> Tensor:
    """Everything but two matrices."""
    rows, columns = x.ndim, y.ndim
    if rows == 0 or columns == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {rows}D and {columns}D. Use * for scalars."
        )
    if rows == 1 and columns == 1:
        return dot(a, b)
    if columns == 1:
        return _matrix_and_vector_carefully(a, b)
    if rows == 1:
        if x.shape[0] != y.shape[-2]:
            raise _mismatch((1, x.shape[0]), y.shape)
        if columns == 2:
            return _vector_and_matrix(a, b)
        product = multiply(apply(shapes.unsqueeze, (a,), {"axis": 0}), b)
        return apply(shapes.select, (product,), {"index": (*(slice(None),) * (product._array.ndim - 2), 0)})
    if x.shape[-1] != y.shape[-2]:
        if rows == columns == 3:
            raise RuntimeError(
                f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] but got: "
                f"[{y.shape[0]}, {y.shape[1]}]."
            )
        raise _mismatch((x.size // max(x.shape[-1], 1), x.shape[-1]), y.shape)
    if columns > 2 and x.shape[:-2] != y.shape[:-2]:
        try:
            np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        except ValueError:
            raise broadcast_error(x.shape[:-2], y.shape[:-2]) from None
    return _batches_of_matrices(a, b)


def _mismatch(a: tuple, b: tuple) -> RuntimeError:
    error = RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, a[-2:]))} and {'x'.join(map(str, b[-2:]))})"
    )
    error.add_note(
        f"The rows of the first have {a[-1]} numbers, the columns of the second {b[-2]}: in a linear layer, the features "
        "of the input and in_features. Change one of them, or transpose: .T"
    )
    return error


def reverse_multiply(a: Tensor, b: Any) -> Any:
    """`b @ a` for a left operand that is no tensor."""
    return multiply(b, a)


OPERATORS: dict[Any, Any] = {"__matmul__": multiply, "__rmatmul__": reverse_multiply}


# --- products of given ranks ---


def _rank(x: Tensor, ndim: int, name: str) -> None:
    if x._array.ndim != ndim:
        what = "a matrix" if ndim == 2 else f"a {ndim}D tensor"
        raise RuntimeError(f"{name} must be {what}, got {x._array.ndim}-D tensor")


def _no_bool(x: Tensor, kernel: str) -> None:
    if x._array.dtype.kind == "b":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'. Convert first, as in x.int().")


@public(out="same")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices."""
    if input._array.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2._array.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    _no_bool(input, "addmm_impl_cpu_")
    return multiply(input, mat2)


def _batches(a: Tensor, b: Tensor) -> None:
    x, y = a._array, b._array
    _rank(a, 3, "batch1")
    _rank(b, 3, "batch2")
    if x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] but got: "
            f"[{y.shape[0]}, {y.shape[1]}]."
        )
    _same_dtype(a, b, "batch1 and batch2")
    _no_bool(a, "baddbmm")


def _bmm_carefully(a: Tensor, b: Tensor) -> Tensor:
    _batches(a, b)
    return apply(ops.bmm, (a, b))


_bmm = binary(ops.bmm, _bmm_carefully)


@public(out="same")
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of two batches of matrices."""
    x, y = input._array, mat2._array
    return (_bmm if x.ndim == 3 == y.ndim and x.shape[0] == y.shape[0] else _bmm_carefully)(input, mat2)


@public(out="same", autocast="as given")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector."""
    if input._array.ndim != 2 or vec._array.ndim != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got 1, {input._array.ndim}, {vec._array.ndim}. mv takes a matrix "
            "and a vector."
        )
    _same_dtype(input, vec, "mat and vec")
    _no_bool(input, "addmv_impl_cpu")
    return multiply(input, vec)


def _vectors(a: Tensor, b: Tensor, function: str) -> None:
    x, y = a._array, b._array
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors. {function}() takes two vectors."
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"{function} : expected both vectors to have same dtype, but found {a.dtype.type_name} and "
            f"{b.dtype.type_name}"
        )
    if x.shape != y.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{x.shape[0]}] and src [{y.shape[0]}] to have the same number "
            f"of elements, but got {x.shape[0]} and {y.shape[0]} elements respectively"
        )
    _no_bool(a, function)


def _dot_carefully(a: Tensor, b: Tensor) -> Tensor:
    _vectors(a, b, "dot")
    return apply(ops.dot, (a, b))


_dot = binary(ops.dot, _dot_carefully)


@public(out="same")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Sum of the products of two vectors' elements (no conjugation)."""
    x, y = input._array, tensor._array
    return (_dot if x.ndim == 1 and x.shape == y.shape else _dot_carefully)(input, tensor)


@public(out="same")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Inner product of two vectors: the first is conjugated."""
    _vectors(input, other, "vdot")
    return apply(ops.vdot if input._array.dtype.kind == "c" else ops.dot, (input, other))


@public(out="same")
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dims of both."""
    x, y = input._array, other._array
    if not x.ndim or not y.ndim:
        from .arithmetic import mul

        return mul(input, other)
    if x.shape[-1] != y.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(x.shape)} and "
            f"{list(y.shape)}"
        )
    _same_dtype(input, other)
    if x.ndim == 1 and y.ndim == 1:
        return dot(input, other)
    last = x.ndim - 1
    left, right = tuple(range(x.ndim)), (*range(x.ndim, x.ndim + y.ndim - 1), last)
    return apply(ops.contract, (input, other), {"labels": (left, right, (*left[:-1], *right[:-1]))})


_products = binary(pointwise.multiply)


@public("ger", out="cast")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of the elements of two vectors."""
    for number, x in enumerate((input, vec2), 1):
        if x._array.ndim != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {'self' if number == 1 else 'vec2'}, but got {x._array.ndim}-D"
            )
    input, vec2 = promote(input, vec2)
    return _products(unsqueeze(input, 1), vec2)


# --- beta * input + alpha * product ---


def _factors(x: Tensor, beta: Any, alpha: Any) -> dict:
    if not type(beta) is type(alpha) is int:
        beta, alpha = _plain(beta), _plain(alpha)
        if x._array.dtype.kind in "iu":
            beta, alpha = int(beta), int(alpha)
        need_room_inside(beta, x._array.dtype)
        need_room_inside(alpha, x._array.dtype)
    return {"beta": beta, "alpha": alpha}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


def _expandable(x: Tensor, shape: tuple) -> None:
    have = x._array.shape
    if have == shape:
        return
    extra = len(shape) - len(have)
    if extra < 0:
        raise RuntimeError(
            f"expand({{{list(have)}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(have)})"
        )
    for i, size in enumerate(have):
        if size not in (1, shape[i + extra]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[i + extra]}) must match the existing size ({size}) at "
                f"non-singleton dimension {i + extra}.  Target sizes: {list(shape)}.  Tensor sizes: {list(have)}"
            )


def _added(x: Tensor, a: Tensor, names: str = "self and mat2") -> None:
    if x._array.dtype != a._array.dtype and not autocast.is_active():
        raise RuntimeError(
            f"{names} must have the same dtype, but got {x.dtype.type_name} and {a.dtype.type_name}. Input dtypes must "
            "be the same: convert one of them, as in b.to(a.dtype)."
        )


def _older_form(function: Callable[..., Any], *args: Any) -> Tensor:
    """`addmm` and its relatives with numbers among the tensors: f(beta, input, alpha, a, b), x.f(beta, a, b), ..."""
    numbers = [value for value in args if not isinstance(value, Tensor)]
    tensors = [value for value in args if isinstance(value, Tensor)]
    if len(tensors) != 3:
        raise TypeError(f"{function.__name__}() takes 3 tensors but {len(tensors)} were given")
    warn_of_older_form(function.__name__.strip("_"), ("beta", "alpha"), ("first", "second"))
    return function(*tensors, **dict(zip(("beta", "alpha"), numbers, strict=False)))


@public(in_place=True, out="same")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *legacy: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    if legacy:
        return _older_form(addmm, input, mat1, mat2, *legacy)
    x, y, z = mat1._array, mat2._array, input._array
    plain = z.dtype is x.dtype is y.dtype and x.dtype.kind in "fc"
    if not plain or x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        _check_addmm(input, mat1, mat2)
    if z.shape != (x.shape[0], y.shape[1]):
        _expandable(input, (x.shape[0], y.shape[1]))
    return apply(ops.addmm, (input, mat1, mat2), _factors(input, beta, alpha))


def _check_addmm(input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    _rank(mat1, 2, "mat1")
    _rank(mat2, 2, "mat2")
    if mat1._array.shape[1] != mat2._array.shape[0]:
        raise _mismatch(mat1._array.shape, mat2._array.shape)
    _same_dtype(mat1, mat2)
    _added(input, mat1)
    _no_bool(mat1, "addmm_impl_cpu_")


@public(out="same")
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (sum of the products of two batches)."""
    if legacy:
        return _older_form(addbmm, input, batch1, batch2, *legacy)
    _batches(batch1, batch2)
    _added(input, batch1)
    _expandable(input, (batch1._array.shape[1], batch2._array.shape[2]))
    return apply(ops.addbmm, (input, batch1, batch2), _factors(input, beta, alpha))


@public(function=False, direct=True)
def addbmm_(self: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`addbmm`, written over this tensor; alone among its kind it lets a tensor that broadcasts grow."""
    if legacy:
        return _older_form(addbmm_, self, batch1, batch2, *legacy)
    from ..core import writes

    if self._array.ndim == 2 and self._array.shape == (batch1._array.shape[1], batch2._array.shape[2]):
        return writes.in_place(self, addbmm, batch1, batch2, beta=beta, alpha=alpha)
    result = addbmm(self, batch1, batch2, beta=beta, alpha=alpha)
    self._array, self._node, self._output_nr = result._array, result._node, result._output_nr
    self._requires_grad = result._requires_grad
    return self


@public(in_place=True, out="same")
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (products of two batches)."""
    if legacy:
        return _older_form(baddbmm, input, batch1, batch2, *legacy)
    _batches(batch1, batch2)
    _added(input, batch1)
    _expandable(input, (*batch1._array.shape[:2], batch2._array.shape[2]))
    return apply(ops.baddbmm, (input, batch1, batch2), _factors(input, beta, alpha))


@public(in_place=True, out="same", autocast="as given")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *legacy: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    if legacy:
        return _older_form(addmv, input, mat, vec, *legacy)
    x, y = mat._array, vec._array
    if x.ndim != 2 or y.ndim != 1 or input._array.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input._array.ndim}, {x.ndim}, {y.ndim}")
    if x.shape[1] != y.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({x.shape[0]}), mat ({x.shape[0]}x{x.shape[1]}), vec ({y.shape[0]})"
        )
    _same_dtype(mat, vec, "mat and vec")
    _added(input, mat)
    _expandable(input, (x.shape[0],))
    _no_bool(mat, "addmv_impl_cpu")
    return apply(ops.addmv, (input, mat, vec), _factors(input, beta, alpha))


@public(in_place=True, out="cast")
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *legacy: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (outer product of two vectors)."""
    if legacy:
        return _older_form(addr, input, vec1, vec2, *legacy)
    for x in (vec1, vec2):
        if x._array.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec, but got {x._array.ndim}-D")
    _expandable(input, (vec1._array.shape[0], vec2._array.shape[0]))
    input, vec1, vec2 = promote(input, vec1, vec2)
    for name, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, float) and input._array.dtype.kind in "iub":
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        if isinstance(value, bool) and input._array.dtype.kind != "b":
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    return apply(ops.addr, (input, vec1, vec2), _factors(input, beta, alpha))


@public_in("torch.nn.functional", direct=True, compiled=True)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias, for weights stored as (out, in)."""
    if out is not None:
        return store("linear", linear, (input, weight, bias), {}, out, "same")
    try:
        x, w = input._array, weight._array
        offset = None if bias is None else bias._array
    except AttributeError as error:
        raise complaint_for(error) from None
    if x.ndim == 0 or x.shape[-1] != w.shape[-1]:
        if x.ndim == 0:
            raise RuntimeError("both arguments to linear need to be at least 1D, but they are 0D and 2D")
        if w.ndim == 1:
            return input @ weight  # refuses, in torch's words
        raise _mismatch((math.prod(x.shape[:-1]), x.shape[-1]), w.shape[::-1])
    if bias is None or offset is None:
        if x.dtype is not w.dtype:
            _same_dtype(input, weight)
        if w.ndim > 2:
            raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {w.ndim}D")
        return apply(ops.linear_map, (input, weight))
    if not (w.dtype is x.dtype is offset.dtype):
        _added(input, weight, "mat1 and mat2")
        _added(bias, input)
    if bias._array.shape != w.shape[:-1]:
        if w.ndim != 2:
            raise RuntimeError(f"mat2 must be a matrix, got {w.ndim}-D tensor")
        _expandable(bias, (*x.shape[:-1], w.shape[0]))
    return apply(ops.linear_layer, (input, weight, bias))


@public(method=False, out="same", passed="")
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Product of several matrices (the older name of `linalg.multi_dot`)."""
    from ..linalg import multi_dot

    warn_user(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters.",
    )
    items = [
        as_tensor(x)
        for x in (matrices[0] if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else matrices)
    ]
    for x in items:
        if x.ndim != 2:
            raise RuntimeError(
                f"Tensor dimension is {x.ndim}, expected 2 instead. linalg.multi_dot also takes vectors."
            )
    return items[0].clone() if len(items) == 1 else multi_dot(items)

"""Sums of products over named axes: einsum, tensordot, kron, cross products and distances.

einsum becomes a chain of two-operand contractions (one matrix product each); only its notation lives here.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from ..core.basics.dtypes import promote_types
from ..core.basics.notices import warn_user
from ..core.tape import apply
from ..core.tensor import Tensor
from ..core.views import as_own
from ..ops import matmul as ops
from ..ops import norms, pointwise
from ..ops import shape as shapes
from ..ops.reductions import sum_axes
from ..transforms.autocast import is_active, without_autocast
from .operands import as_tensor, common_shape, promote, wrap_dim
from .registry import public

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ELLIPSIS = 100  # labels of the dims an ellipsis stands for: 100 for the last of them, 101 for the one before, ...


@public(method=False, passed="*")
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sum products of elements as an equation such as "bij,bjk->bik" says."""
    if len(operands) == 2 and isinstance(operands[0], Tensor) and isinstance(operands[1], Tensor):
        x, y = operands[0]._array, operands[1]._array
        if x.dtype is y.dtype and x.dtype.kind != "b" and type(equation) is str:
            labels_of_product = _one_product(equation, x.shape, y.shape)
            if labels_of_product is not None:
                return apply(ops.contract, operands, {"labels": labels_of_product})
    if isinstance(equation, str):
        notation: Any = equation
        tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    else:
        notation, tensors = _sublists((equation, *operands))
    tensors = [as_tensor(x, "operands", "einsum") for x in tensors]
    if not tensors:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    labels, out = _parse(notation, tuple(x._array.ndim for x in tensors))
    sizes = _sizes(tensors, labels)
    terms = [_distinct(x, names) for x, names in zip(tensors, labels, strict=True)]
    result = _contract_all(terms, out, sizes)
    return apply(shapes.alias, (result,)) if len(tensors) == 1 and result is tensors[0] else result


def _sublists(arguments: tuple) -> tuple[Any, list]:
    """einsum(x, [0, 1], y, [1, 2], [0, 2]): labels as lists of numbers."""
    if len(arguments) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and "
            "its subscripts list"
        )
    tensors = list(arguments[: len(arguments) // 2 * 2 : 2])
    sides = [tuple(_sublist_label(label) for label in one) for one in arguments[1 : len(arguments) // 2 * 2 : 2]]
    result = tuple(_sublist_label(label) for label in arguments[-1]) if len(arguments) % 2 else None
    return (tuple(sides), result), tensors


def _sublist_label(label: Any) -> Any:
    if label is Ellipsis:
        return "..."
    if not 0 <= int(label) < 52:
        raise ValueError(f"einsum(): subscripts must be in range [0, 52), but found {label}")
    return _LETTERS[int(label)]


@functools.lru_cache(maxsize=512)
def _parse(notation: Any, ranks: tuple) -> tuple[tuple, tuple]:
    """Labels of every operand and of the result, as numbers."""
    if isinstance(notation, str):
        left, arrow, right = notation.replace(" ", "").partition("->")
        sides = tuple(_split(side) for side in left.split(","))
        result = _split(right) if arrow else None
    else:
        sides, result = notation
    if len(sides) != len(ranks):
        few = "fewer" if len(sides) > len(ranks) else "more"
        raise RuntimeError(f"einsum(): {few} operands were provided than specified in the equation")
    labels = tuple(_spread(side, rank, i) for i, (side, rank) in enumerate(zip(sides, ranks, strict=True)))
    dots = tuple(sorted({n for side in labels for n in side if n >= _ELLIPSIS}, reverse=True))
    every = [n for side in labels for n in side]
    if result is None:
        return labels, (*dots, *sorted(n for n in set(every) if n < _ELLIPSIS and every.count(n) == 1))
    if result.count("...") > 1:
        raise RuntimeError("einsum(): found '.' for output but an ellipsis (...) was already found")
    out: list[int] = []
    for label in result:
        if label == "...":
            out.extend(dots)
            continue
        number = _LETTERS.index(label)
        if number in out:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if number not in every:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
        out.append(number)
    return labels, tuple(out)


@functools.lru_cache(maxsize=512)
def _one_product(equation: str, first: tuple, second: tuple) -> tuple | None:
    """The labels of two operands of these shapes and of the result, if one contraction is all there is to do."""
    (left, right), out = labels = _parse(equation, (len(first), len(second)))
    sizes = dict(zip(left, first, strict=True))
    fits = all(sizes.get(label, size) == size for label, size in zip(right, second, strict=True))
    distinct = len(set(left)) == len(left) and len(set(right)) == len(right)
    shared = all((label in left) + (label in right) + (label in out) >= 2 for label in (*left, *right))
    return (*labels[0], out) if fits and distinct and shared else None


def _split(side: str) -> tuple:
    if "." in side.replace("...", "", 1):
        raise RuntimeError(
            "einsum(): found '.' for operand that is not part of any ellipsis. Write exactly three dots, once for each "
            "operand."
        )
    before, dots, after = side.partition("...")
    for letter in before + after:
        if letter not in _LETTERS:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {side.index(letter)} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
    return (*before, *(("...",) if dots else ()), *after)


def _spread(side: tuple, rank: int, operand: int) -> tuple[int, ...]:
    """Labels of one operand as numbers, one for each of its dims."""
    named = len(side) - side.count("...")
    if "..." not in side and named != rank:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
            f"({rank}) for operand {operand} and no ellipsis was given"
        )
    if named > rank:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions "
            f"({rank}) for operand {operand}"
        )
    numbers: list[int] = []
    for label in side:
        if label == "...":
            numbers.extend(range(_ELLIPSIS + rank - named - 1, _ELLIPSIS - 1, -1))
        else:
            numbers.append(_LETTERS.index(label))
    return tuple(numbers)


def _sizes(tensors: list[Tensor], labels: tuple) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for number, (x, names) in enumerate(zip(tensors, labels, strict=True)):
        own: dict[int, int] = {}
        for label, size in zip(names, x._array.shape, strict=True):
            if own.setdefault(label, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {_LETTERS[label]} is repeated for operand {number} but the sizes don't "
                    f"match, {size} != {own[label]}"
                )
            if sizes.get(label, 1) == 1:
                sizes[label] = size
            elif size not in (1, sizes[label]):
                name = _LETTERS[label] if label < _ELLIPSIS else "..."
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {size} for operand {number} which does not broadcast with "
                    f"previously seen size {sizes[label]}"
                )
    return sizes


def _distinct(x: Tensor, labels: tuple) -> tuple[Tensor, tuple]:
    """Diagonals for labels that stand twice."""
    while len(set(labels)) != len(labels):
        second = next(i for i, label in enumerate(labels) if label in labels[:i])
        first = labels.index(labels[second])
        x = apply(shapes.diagonal, (x,), {"offset": 0, "axis1": first, "axis2": second})
        repeated = labels[second]
        labels = (*(label for i, label in enumerate(labels) if i not in (first, second)), repeated)
    return x, labels


def _contract_all(terms: list[tuple[Tensor, tuple]], out: tuple, sizes: dict[int, int]) -> Tensor:
    if len(terms) > 2:
        for i, j in _path(tuple(labels for _, labels in terms), out, tuple(sorted(sizes.items()))):
            first, second = terms[i], terms[j]
            rest = [term for k, term in enumerate(terms) if k not in (i, j)]
            wanted = set(out).union(*(labels for _, labels in rest))
            kept = tuple(n for n in dict.fromkeys((*first[1], *second[1])) if n in wanted)
            terms = [*rest, _pair(first, second, kept if rest else out, sizes)]
    elif len(terms) == 2:
        terms = [_pair(terms[0], terms[1], out, sizes)]
    x, labels = _reduced(*terms[0], keep=out)
    return _permuted(x, labels, out)


@functools.lru_cache(maxsize=256)
def _path(terms: tuple, out: tuple, sizes: tuple) -> tuple[tuple[int, int], ...]:
    """Which two terms to contract, step by step; each result goes to the end of the list."""
    size_of = dict(sizes)
    try:
        from opt_einsum import contract_path, get_symbol
    except ImportError:
        return _greedy_path(list(terms), out, size_of)
    names = {label: get_symbol(number) for number, label in enumerate(size_of)}
    sides = ["".join(names[label] for label in labels) for labels in (*terms, out)]
    shapes_ = [tuple(size_of[label] for label in labels) for labels in terms]
    path, _ = contract_path(f"{','.join(sides[:-1])}->{sides[-1]}", *shapes_, shapes=True)
    if any(len(step) != 2 for step in path):  # it saw no gain in pairs; we only have pairs
        return _greedy_path(list(terms), out, size_of)
    return tuple((min(step), max(step)) for step in path)


def _greedy_path(terms: list[tuple], out: tuple, sizes: dict[int, int]) -> tuple[tuple[int, int], ...]:
    """Always the two terms whose product is cheapest to form."""

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        i, j = pair
        return math.prod(sizes[n] for n in {*terms[i], *terms[j]}), i + j

    path = []
    while len(terms) > 1:
        i, j = min(((i, j) for j in range(len(terms)) for i in range(j)), key=cost)
        path.append((i, j))
        joined = {*terms[i], *terms[j]}
        terms = [labels for k, labels in enumerate(terms) if k not in (i, j)]
        terms.append(tuple(joined & set(out).union(*terms)))
    return tuple(path)


def _reduced(x: Tensor, labels: tuple, keep: Any) -> tuple[Tensor, tuple]:
    """Sum over the labels that neither the result nor another operand has."""
    axes = tuple(i for i, label in enumerate(labels) if label not in keep)
    if not axes:
        return x, labels
    if x._array.dtype.kind in "biu":
        x = x.long()  # as `sum` does: a narrow integer would overflow
    x = apply(sum_axes, (x,), {"axis": axes, "keepdims": False})
    return x, tuple(label for label in labels if label in keep)


def _squeezed(x: Tensor, labels: tuple) -> tuple[Tensor, tuple]:
    """Without the dims of size 1: there is nothing to sum, and the result gets its own again at the end."""
    index = tuple(0 if size == 1 else slice(None) for size in x._array.shape)
    if 0 not in index:
        return x, labels
    return apply(shapes.select, (x,), {"index": index}), tuple(n for n, i in zip(labels, index, strict=True) if i != 0)


def _pair(
    first: tuple[Tensor, tuple], second: tuple[Tensor, tuple], out: tuple, sizes: dict[int, int]
) -> tuple[Tensor, tuple]:
    """Contract two terms to the labels `out` (those of them that exist)."""
    a, left = _squeezed(*first)
    b, right = _squeezed(*second)
    a, left = _reduced(a, left, {*right, *out})
    b, right = _reduced(b, right, {*left, *out})
    mixed = a._array.dtype != b._array.dtype and a._array.size and b._array.size
    if mixed and not is_active() and not set(left).intersection(right) <= set(out):
        raise RuntimeError(
            f"expected scalar type {a.dtype.type_name} but found {b.dtype.type_name}. einsum() sums products of one "
            "dtype only; products that are not summed (an outer product) may mix them."
        )
    if a._array.dtype != b._array.dtype:  # both stand for tensors with all dims, so that neither is weak
        kind = promote_types(a.dtype, b.dtype)
        a, b = (a.to(kind), b.to(kind)) if sizes else promote(a, b)
    kept = tuple(label for label in out if label in left or label in right)
    result = apply(ops.contract, (a, b), {"labels": (left, right, kept)})
    return result, kept


def _permuted(x: Tensor, labels: tuple, out: tuple) -> Tensor:
    if labels != out:
        missing = [label for label in out if label not in labels]  # broadcast dims of size 1 that were dropped
        for _ in missing:
            x = apply(shapes.unsqueeze, (x,), {"axis": x._array.ndim})
        labels = (*labels, *missing)
        x = apply(shapes.permute, (x,), {"axes": tuple(labels.index(label) for label in out)})
    return x


# --- tensordot, kron ---


def _dot_dims(dims: Any, a: Tensor, b: Tensor) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a._array.ndim, b._array.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(a._array.ndim - dims, a._array.ndim)), list(range(dims))
    first, second = ([one] if isinstance(one, int) else list(one) for one in dims)
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    return [wrap_dim(d, a._array.ndim) for d in first], [wrap_dim(d, b._array.ndim) for d in second]


@public(method=False, out="same", passed="a b, dims out")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum products over pairs of dims: the last `dims` of a with the first of b, or two lists of dims."""
    first, second = _dot_dims(dims, a, b)
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(f"both inputs should have same dtype, but got {a.dtype.type_name} and {b.dtype.type_name}")
    for i, j in zip(first, second, strict=True):
        x, y = a._array.shape[i], b._array.shape[j]
        if x != y and 1 not in (x, y):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {x} in dim {i} and second has size {y} "
                f"in dim {j}"
            )
        if x != y:  # a size of 1 stands for any: sum the other
            kind = a.dtype
            a = a if x == 1 else apply(sum_axes, (a,), {"axis": (i,), "keepdims": True}).to(kind)
            b = b if y == 1 else apply(sum_axes, (b,), {"axis": (j,), "keepdims": True}).to(kind)
    left = tuple(range(a._array.ndim))
    right = tuple(first[second.index(j)] if j in second else a._array.ndim + j for j in range(b._array.ndim))
    out = tuple(n for n in left if n not in first) + tuple(n for n in right if n not in left)
    if not first:
        a, b = a.contiguous(), b.contiguous()  # so is their product, then
    given = (ops.contract, (a, b), {"labels": (left, right, out)})
    return apply(*given) if out else without_autocast(apply, given, {})  # a mere sum of products is left alone


@public(out="cast")
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: every element of the first times all of the second."""
    a, b = as_tensor(input), as_tensor(other)
    ndim = max(a._array.ndim, b._array.ndim)
    x = (1,) * (ndim - a._array.ndim) + a._array.shape
    y = (1,) * (ndim - b._array.ndim) + b._array.shape
    a = a.reshape(tuple(n for size in x for n in (size, 1)))
    b = b.reshape(tuple(n for size in y for n in (1, size)))
    product = apply(pointwise.multiply, promote(a, b))
    return as_own(product.reshape(tuple(m * n for m, n in zip(x, y, strict=True))))


# --- cross products, distances ---


def cross_product(a: Tensor, b: Tensor, dim: int) -> Tensor:
    """a x b along a dim of size 3."""
    a, b = promote(a, b)
    x, y = a._array.shape, b._array.shape
    if len(x) != len(y):
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, but got {len(x)} and {len(y)}."
        )
    axis = wrap_dim(dim, len(x))
    if x[axis] != 3 or y[axis] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {x[axis]} and {y[axis]}")
    if x != y:
        shape = common_shape(x, y)
        a, b = a.expand(shape), b.expand(shape)
    return apply(ops.cross, (a, b), {"axis": axis})


@public(out="same")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross product along a dim of size 3 (the first such dim if none is given)."""
    if dim is None:
        shape = input._array.shape
        if shape != other._array.shape and len(shape) != len(other._array.shape):
            raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
        if 3 not in shape:
            raise RuntimeError("no dimension of size 3 in input")
        warn_user(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a "
            "future release."
        )
        dim = shape.index(3)
    return cross_product(input, other, dim)


_COMPUTE_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@public(method=False, autocast="full", passed="")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | int | None = _COMPUTE_MODES[0]) -> Tensor:
    """p-norm distances between all pairs of rows.

    (..., n, d) and (..., m, d) give (..., n, m). `compute_mode` says whether Euclidean distances may be computed by a
    matrix product, which is quicker and less exact.
    """
    mode = _COMPUTE_MODES.index(compute_mode) if isinstance(compute_mode, str) else compute_mode or 0
    for name, x in (("X1", x1), ("X2", x2)):
        if x._array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x._array.ndim}D")
        if x._array.dtype.kind not in "fV":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.type_name}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    a, b = promote(x1, x2)
    x, y = a._array.shape, b._array.shape
    if x[-1] != y[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x[-1]} X2: {y[-1]}")
    common_shape(x[:-2], y[:-2])
    # By a product of matrices, less exact and much quicker; torch's choice, with torch's limit, so that numbers agree.
    if p == 2 and x[-1] and (mode == 1 or mode == 0 and (x[-2] > 25 or y[-2] > 25)):
        return apply(norms.euclidean_distances, (a, b))
    return apply(norms.distances_of, (a, b), {"order": p})


@public()
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix."""
    if input._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._array.ndim}")
    if input._array.dtype.kind in "biu":
        input = input.long()
    return apply(ops.trace, (input,))

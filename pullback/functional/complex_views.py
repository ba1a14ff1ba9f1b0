"""Complex numbers as pairs of real ones: view_as_real, view_as_complex; resolve_conj and resolve_neg.

`real`, `imag` and `conj` are in `elementary.py`, `complex` in `pairwise.py`. Conjugation happens at once here; torch
marks a view and conjugates later, which shows only in `is_conj()`.
"""

from __future__ import annotations

from ..core.tape import apply
from ..core.tensor import Tensor
from ..ops import casting as ops
from .operands import as_tensor
from .registry import public


@public()
def resolve_conj(input: Tensor) -> Tensor:
    """Itself: nothing is conjugated later here."""
    return input if isinstance(input, Tensor) else as_tensor(input)


@public()
def resolve_neg(input: Tensor) -> Tensor:
    """Itself: nothing is negated later here."""
    return input if isinstance(input, Tensor) else as_tensor(input)


@public(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """A view of complex numbers as pairs of real ones."""
    if input._array.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return apply(ops.view_as_real, (input,))


@public(method=False, autocast="full")
def view_as_complex(input: Tensor) -> Tensor:
    """A view of pairs of real numbers (the last dim) as complex ones."""
    array = input._array
    if array.dtype.name not in ("float64", "float32"):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{input.dtype.type_name}. Convert it first, as in x.float()."
        )
    if array.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if array.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if array.size and array.strides[-1] != array.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    pair = 2 * array.itemsize
    if array.size and any(n > 1 and step % pair for n, step in zip(array.shape[:-1], array.strides, strict=False)):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return apply(ops.view_as_complex, (input,))

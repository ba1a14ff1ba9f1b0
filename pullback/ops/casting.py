"""Changing how elements are stored: casts, copies, real and complex parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..core.op import Op, linear, op
from ..kernels.like import copy, empty
from ..kernels.order import beside, copied_in, with_steps_of
from ..kernels.order import converted as in_its_order
from ..kernels.thresholds import CAST_BY_BITS
from .layouts import COPIED_INTO, ELEMENTWISE, LEADING, SAME
from .samples import Draw, Sample, arrays

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array


def ready_for(dtype: np.dtype, x: Array) -> Array:
    """Prepare an array so that NumPy's cast to a dtype gives torch's numbers: complex numbers become their real parts.

    Half precision is made of what single precision has left, and where there is no infinity numbers stop at the largest.
    """
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    if dtype.kind == "V" and dtype.name == "float8_e4m3fn":
        return np.clip(x.astype(np.float32), -448, 448)
    return in_its_order(x, np.float32) if dtype.char == "e" and x.dtype.char == "d" else x


def _cast(x: Array, dtype: np.dtype) -> Array:
    x = ready_for(dtype, x)
    if x.size >= CAST_BY_BITS and (x.dtype.char, dtype.char) in (("e", "f"), ("f", "e")) and x.flags.c_contiguous:
        from ..kernels.half import converted

        return converted(x)
    return in_its_order(x, dtype)


def _copied(target: Array, x: Array) -> Array:
    return beside(x, target) if type(x) is type(target) is np.ndarray and x.ndim > 1 else copy(x)


# The tape's edge casts cotangents back, so the pullback of a cast is the identity.
cast: Op = linear("ToCopyBackward0", _cast, x=lambda g: g, batch=SAME, title="to", aten="_to_copy")
clone: Op = linear("CloneBackward0", copy, x=lambda g: g, batch=SAME)
clone_in: Op = linear(
    "CloneBackward0", lambda x, order: copied_in(x, order), x=lambda g: g, samples=arrays((2, 3), order=(1, 0))
)
clone_contiguous: Op = linear("CloneBackward0", lambda x: copy(x, "C"), x=lambda g: g, batch=SAME)
# Torch shows the copy's target, which has no gradient, as the first of two inputs.
copied: Op = linear(
    "torch::autograd::CopyBackwards",
    _copied,
    target=None,
    x=lambda g: g,
    batch=ELEMENTWISE,
    hidden_inputs=(),
    aten="copy_",
    samples=arrays((2, 3), (2, 3)),
)


def copy_over(x: Array, source: Array) -> None:
    """Write `source` (broadcast, cast) over x."""
    try:
        np.copyto(x, ready_for(x.dtype, source), casting="unsafe")
    except (RuntimeWarning, FloatingPointError):
        pass  # all is written: somebody made errors of warnings


def _copy_into(x: Array, source: Array) -> Array:
    out = empty(x.shape, x)
    copy_over(out, source)
    return out


# The transpose of an operation that does not look at its input.
nothing: Op = linear("ZeroBackward0", np.zeros_like, inputs=("x",), x=lambda g: nothing(g), batch=SAME)
copy_into: Op = linear(
    "torch::autograd::CopyBackwards",
    _copy_into,
    x=lambda g: nothing(g),
    source=lambda g: g,
    batch=COPIED_INTO,
    aten="copy_",
)

# Real and imaginary parts. These are linear over the real numbers only.


def _as_real(x: Array) -> Array:
    return x[..., None].view(x.real.dtype)


def _as_complex(x: Array) -> Array:
    kind = np.dtype(np.complex64 if x.dtype.itemsize == 4 else np.complex128)
    if x.strides[-1] != x.dtype.itemsize:  # only cotangents: the function checks what users pass
        x = np.ascontiguousarray(x)
    return x.view(kind)[..., 0]


def _complex(draw: Draw) -> list[Sample]:
    return [((draw(2, 3) + 1j * draw(2, 3),), {})]


view_as_real: Op = op(
    "ViewAsRealBackward0",
    _as_real,
    kind="real_linear",
    view=True,
    x=lambda g: complex_pairs(g),
    batch=LEADING,
    samples=_complex,
)
view_as_complex: Op = op(
    "ViewAsComplexBackward0",
    _as_complex,
    kind="real_linear",
    view=True,
    x=lambda g: real_pairs(g),
    batch=LEADING,
    samples=arrays((3, 2)),
)
# The same for cotangents, which need not be views.
complex_pairs: Op = op(
    "ViewAsComplexBackward0",
    _as_complex,
    kind="real_linear",
    x=lambda g: real_pairs(g),
    batch=LEADING,
    samples=arrays((3, 2)),
)
real_pairs: Op = op(
    "ViewAsRealBackward0", _as_real, kind="real_linear", x=lambda g: complex_pairs(g), batch=LEADING, samples=_complex
)
real: Op = op(
    "SelectBackward0", lambda x: x.real, kind="real_linear", view=True, x=lambda g: g, batch=SAME, aten="select.int"
)
imag: Op = op(
    "SelectBackward0",
    lambda x: x.imag,
    kind="real_linear",
    view=True,
    x=lambda g: g * 1j,
    batch=SAME,
    samples=_complex,
    aten="select.int",
)


def _conj(x: Array) -> Array:
    if type(x) is not np.ndarray or x.flags.c_contiguous:
        return np.conj(x)
    out = with_steps_of(x)  # torch's is a view
    return np.conj(out, out)


conj: Op = op("ConjBackward0", _conj, kind="real_linear", x=lambda g: np.conj(g), batch=SAME, aten="_conj")

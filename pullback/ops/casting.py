"""Changing how elements are stored: casts, copies, real and complex parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.op import linear, op


def _cast(x: Any, dtype: Any) -> Any:
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype)


# The tape's edge casts cotangents back, so the pullback of a cast is the identity.
cast = linear("ToCopyBackward0", _cast, x=lambda g: g)
clone = linear("CloneBackward0", lambda x: np.array(x, order="K"), x=lambda g: g)
clone_contiguous = linear("CloneBackward0", lambda x: np.array(x, order="C"), x=lambda g: g)
copied = linear("CopyBackwards", lambda x: np.array(x), x=lambda g: g)


def _copy_into(x: Any, source: Any) -> Any:
    out = np.empty(x.shape, x.dtype)
    np.copyto(out, source.real if source.dtype.kind == "c" and x.dtype.kind not in "cb" else source, casting="unsafe")
    return out


copy_into = linear("CopyBackwards", _copy_into, x=lambda g: g * 0, source=lambda g: g)
real = op("ViewAsRealBackward0", lambda x: x.real, kind="real_linear", view=True, x=lambda g: g)
imag = op("ViewAsRealBackward0", lambda x: x.imag, kind="real_linear", view=True, x=lambda g: g * 1j)
conj = op("ConjBackward0", np.conj, kind="real_linear", x=lambda g: np.conj(g))
view_as_real = op(
    "ViewAsRealBackward0",
    lambda x: x[..., None].view(x.real.dtype) if x.ndim and x.flags.c_contiguous else _pairs(x),
    kind="real_linear",
    view=True,
    x=lambda g: view_as_complex(g),
)


def _pairs(x: Any) -> Any:
    return np.lib.stride_tricks.as_strided(x.real, (*x.shape, 2), (*x.strides, x.real.dtype.itemsize))


def _as_complex(x: Any) -> Any:
    complex_type = np.dtype(np.complex64 if x.dtype.itemsize == 4 else np.complex128)
    if x.flags.c_contiguous:
        return x.view(complex_type)[..., 0]
    return np.lib.stride_tricks.as_strided(
        np.ndarray((), complex_type, x, 0), x.shape[:-1], x.strides[:-1]
    ) if x.strides[-1] == x.dtype.itemsize and x.base is None else (x[..., 0] + 1j * x[..., 1]).astype(complex_type)


view_as_complex = op(
    "ViewAsComplexBackward0", _as_complex, kind="real_linear", view=True, x=lambda g: view_as_real(g)
)

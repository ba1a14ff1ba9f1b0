"""torch.fft: discrete Fourier transforms in one or several dims, for real and complex inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .core.basics.dtypes import as_dtype, default_dtype
from .core.basics.dtypes import dtype as dtype_type
from .core.basics.on_demand import names_on_demand
from .core.op import Op
from .core.tape import apply, wrap
from .core.tensor import Tensor
from .functional.gate import NUMPY
from .functional.operands import as_tensor, wrap_dim
from .functional.out_argument import write_out
from .functional.registry import public_in
from .ops import fft as ops
from .ops.casting import cast, conj

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


# --- arguments ---


def _operand(input: Any, function: str, real: bool = False, complex_: bool = False) -> Tensor:
    """Integers become the default dtype; reals become complex where a spectrum is expected."""
    x = as_tensor(input, "input", f"fft_{function}")
    kind = x._array.dtype.kind
    if real and kind == "c":
        what = "real-valued" if function == "rfftn" else "real"  # torch's words differ
        raise RuntimeError(f"{function} expects a {what} input tensor, but got {x.dtype.type_name}")
    if kind in "fV" and x._array.dtype.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {x.dtype.type_name}. Convert first, as in x.float().")
    if kind in "biu":
        x = cast(x, dtype=default_dtype()._numpy)
    if complex_ and x._array.dtype.kind != "c":
        x = cast(x, dtype=np.result_type(x._array.dtype, np.complex64))
    return x


def _scale(norm: str | None, sizes: tuple, inverse: bool) -> float:
    """Return the factor that `norm` asks the unscaled transform to be multiplied by."""
    count = math.prod(sizes)
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}". Use "backward", "ortho" or "forward".')
    if norm == "ortho":
        return 1 / math.sqrt(count) if count else 1.0
    scaled = inverse if norm in (None, "backward") else not inverse
    return 1 / count if scaled and count else 1.0


def _axes(x: Tensor, s: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes to transform and their sizes in the signal."""
    shape, ndim = x._array.shape, x._array.ndim
    s = (s,) if isinstance(s, int) else s
    dim = (dim,) if isinstance(dim, int) else dim
    if dim is not None:
        axes = tuple(wrap_dim(d, ndim, scalar_ok=False) for d in dim)
        if len(set(axes)) != len(axes):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(axes):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        axes = tuple(range(ndim - len(s), ndim))
    else:
        axes = tuple(range(ndim))
    sizes = tuple(shape[axis] if s is None or s[i] == -1 else int(s[i]) for i, axis in enumerate(axes))
    for size in sizes:
        if size < 1:
            raise RuntimeError(f"Invalid number of data points ({size}) specified")
    return axes, sizes


def _resized(x: Tensor, axes: tuple, sizes: tuple) -> Tensor:
    if tuple(x._array.shape[axis] for axis in axes) == sizes:
        return x
    return apply(ops.resize, (x,), {"axes": axes, "sizes": sizes})


def _conjugated(x: Tensor) -> Tensor:
    return apply(conj, (x,))


def _complex_transform(
    x: Tensor, axes: tuple, sizes: tuple, norm: str | None, inverse: bool, op: Op = ops.transform
) -> Tensor:
    params = {"axes": axes, "scale": _scale(norm, sizes, inverse), "forward": not inverse}
    return apply(op, (_resized(x, axes, sizes),), params)


def _real_transform(x: Tensor, axes: tuple, sizes: tuple, norm: str | None, inverse: bool, function: str) -> Tensor:
    if not axes:
        raise RuntimeError(f"{function} must transform at least one axis")
    params = {"axes": axes, "scale": _scale(norm, sizes, inverse)}
    result = apply(ops.real_transform, (_resized(x, axes, sizes),), params)
    return _conjugated(result) if inverse else result


def _real_inverse(x: Tensor, s: Any, dim: Any, norm: str | None, inverse: bool, function: str) -> Tensor:
    """From half a spectrum to a real signal; the last size is the signal's, about twice the spectrum's."""
    shape = list(x._array.shape)
    given = None if s is None else (s,) if isinstance(s, int) else tuple(s)
    if dim is not None and not isinstance(dim, int) and not len(dim) or dim is None and not shape:
        raise RuntimeError(f"{function} must transform at least one axis")
    last = wrap_dim((dim if isinstance(dim, int) else dim[-1]) if dim is not None else -1, len(shape), scalar_ok=False)
    size = 2 * (shape[last] - 1) if given is None or given[-1] == -1 else int(given[-1])
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")
    axes, sizes = _axes(x, None if given is None else (*given[:-1], size), dim)
    if given is None:
        sizes = (*sizes[:-1], size)
    x = _resized(x, axes, (*sizes[:-1], size // 2 + 1))
    if not inverse:
        x = _conjugated(x)
    return apply(ops.real_inverse, (x,), {"axes": axes, "size": size, "scale": _scale(norm, sizes, inverse)})


# --- six transforms, each along one dim, over several, and over the last two ---

_SENTENCES = {
    "f": "Discrete Fourier transform {}.",
    "r": "Discrete Fourier transform of a real signal {}, the last of which keeps the non-negative frequencies.",
    "h": "Real Fourier transform {} of a signal that is Hermitian in time.",
}


def _transformed(name: str, input: Any, s: Any, dim: Any, norm: str | None) -> Tensor:
    """Return the transform of this name of a signal."""
    inverse, kind = name[0] == "i", name.removeprefix("i")[0]
    if kind == "f":
        x = _operand(input, name)
        op = ops.transform_of_real if name == "fft" and x._array.dtype.kind != "c" else ops.transform
        return _complex_transform(x, *_axes(x, s, dim), norm, inverse, op)
    if (kind == "r") is not inverse:
        x = _operand(input, name, real=True)
        return _real_transform(x, *_axes(x, s, dim), norm, inverse, name)
    return _real_inverse(_operand(input, name, complex_=True), s, dim, norm, inverse, name)


def _named(function: Callable[..., Tensor], name: str, where: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Inverse of `{name[1:]}`." if name[0] == "i" else _SENTENCES[name[0]].format(where)
    return public_in("torch.fft", out="cast", autocast="full", spellings=NUMPY)(function)


def _along_one(name: str) -> Callable[..., Tensor]:
    def transform(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        if n is not None and n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        return _transformed(name, input, n, dim, norm)

    return _named(transform, name, "along a dim")


def _over_some(name: str) -> Callable[..., Tensor]:
    def transform(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
        return _transformed(name, input, s, dim, norm)

    return _named(transform, name, "over dims (all if none are given)")


def _over_two(name: str) -> Callable[..., Tensor]:
    def transform(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
        return _transformed(name.replace("2", "n"), input, s, dim, norm)

    return _named(transform, name, "over the last two dims")


fft: Callable[..., Tensor] = _along_one("fft")
ifft: Callable[..., Tensor] = _along_one("ifft")
rfft: Callable[..., Tensor] = _along_one("rfft")
irfft: Callable[..., Tensor] = _along_one("irfft")
hfft: Callable[..., Tensor] = _along_one("hfft")
ihfft: Callable[..., Tensor] = _along_one("ihfft")
fftn: Callable[..., Tensor] = _over_some("fftn")
ifftn: Callable[..., Tensor] = _over_some("ifftn")
rfftn: Callable[..., Tensor] = _over_some("rfftn")
irfftn: Callable[..., Tensor] = _over_some("irfftn")
hfftn: Callable[..., Tensor] = _over_some("hfftn")
ihfftn: Callable[..., Tensor] = _over_some("ihfftn")
fft2: Callable[..., Tensor] = _over_two("fft2")
ifft2: Callable[..., Tensor] = _over_two("ifft2")
rfft2: Callable[..., Tensor] = _over_two("rfft2")
irfft2: Callable[..., Tensor] = _over_two("irfft2")
hfft2: Callable[..., Tensor] = _over_two("hfft2")
ihfft2: Callable[..., Tensor] = _over_two("ihfft2")

# --- frequencies and their order ---


def _shifted(input: Tensor, dim: Any, sign: int) -> Tensor:
    shape = input._array.shape
    dims = range(len(shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    axes = tuple(wrap_dim(d, len(shape)) for d in dims)
    shifts = tuple(shape[axis] // 2 if sign > 0 else (shape[axis] + 1) // 2 for axis in axes)
    return input.roll(shifts, axes)


@public_in("torch.fft")
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Move the zero frequency to the middle."""
    return _shifted(input, dim, 1)


@public_in("torch.fft")
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Undo `fftshift`."""
    return _shifted(input, dim, -1)


def _frequencies(
    name: str, numbers: np.ndarray, n: int, d: float, dtype: Any, requires_grad: bool, out: Tensor | None
) -> Tensor:
    wanted = default_dtype() if dtype is None else as_dtype(dtype)
    if out is not None and dtype is None:
        wanted = out.dtype
    if not (wanted.is_floating_point or wanted.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype, got {wanted!r}")
    values = numbers.astype(wanted._numpy) * np.asarray(1.0 / (n * d)).astype(wanted._numpy)
    if out is not None:
        write_out(name, out, wrap(values))
        return out
    result = wrap(values)
    return result.requires_grad_() if requires_grad else result


@public_in("torch.fft")
def fftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: dtype_type | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies of `fft`'s results, for samples d apart."""
    numbers = np.concatenate((np.arange((n + 1) // 2), np.arange(-(n // 2), 0)))
    return _frequencies("fftfreq", numbers, n, d, dtype, requires_grad, out)


@public_in("torch.fft")
def rfftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: dtype_type | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies of `rfft`'s results, for samples d apart."""
    return _frequencies("rfftfreq", np.arange(n // 2 + 1), n, d, dtype, requires_grad, out)


names_on_demand(__name__)

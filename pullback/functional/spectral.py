"""Short-time Fourier transforms: windows cut from a signal, transformed one by one, and the way back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.basics.notices import warn_user
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..ops import fft as ops
from ..ops.casting import view_as_real
from ..ops.rearranging import concatenate
from .registry import public


def _padded(x: Tensor, before: int, after: int, mode: str) -> Tensor:
    """The last dim continued at both ends."""
    size = x._array.shape[-1]
    if mode == "reflect":
        if max(before, after) >= size:
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension 2 of input {list(x._array.shape)}"
            )
        ends = x[..., 1 : before + 1].flip(-1), x[..., size - 1 - after : size - 1].flip(-1)
    elif mode == "circular":
        ends = x[..., size - before :], x[..., :after]
    elif mode == "replicate":
        ends = x[..., :1].expand(*x._array.shape[:-1], before), x[..., -1:].expand(*x._array.shape[:-1], after)
    elif mode == "constant":
        longer = apply(ops.resize, (x,), {"axes": (x._array.ndim - 1,), "sizes": (size + before + after,)})
        return longer.roll(before, -1)
    else:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return apply(concatenate, (ends[0], x, ends[1]), {"axis": x._array.ndim - 1})


def _window(window: Tensor | None, win_length: int, n_fft: int, dtype: Any, call: str) -> Tensor:
    """The window (ones if none is given), centred in n_fft elements."""
    if window is None:
        window = wrap(np.ones(win_length, dtype))
    elif window._array.shape != (win_length,):
        raise RuntimeError(
            f"{call} : expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(window._array.shape)}"
        )
    if win_length < n_fft:
        left = (n_fft - win_length) // 2
        window = apply(ops.resize, (window,), {"axes": (0,), "sizes": (n_fft,)}).roll(left, 0)
    return window


def _lengths(n_fft: int, hop_length: int | None, win_length: int | None) -> tuple[int, int]:
    return n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length


@public(autocast="full", passed="", passed_by_method="")
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """Fourier transforms of overlapping windows of a signal, as (frequency, window).

    Windows of `n_fft` samples begin every `hop_length` (a quarter of that, unless given) and are weighted by
    `window`, of `win_length` samples, ones unless given. `center` puts window t around sample t * hop_length, with
    the ends padded as `pad_mode` says. `onesided` leaves out the frequencies that mirror others, as it does for real
    signals unless told otherwise; `normalized` divides by sqrt(n_fft). Pass `return_complex=True`: False, which puts
    real and imaginary parts into a last dim, is out of use.
    """
    hop, width = _lengths(n_fft, hop_length, win_length)
    call = f"stft(n_fft={n_fft}, hop_length={hop}, win_length={width})"
    complex_input = "c" in (input._array.dtype.kind, "f" if window is None else window._array.dtype.kind)
    if return_complex is None and not complex_input:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false.")
    _check_stft(input, n_fft, hop, width, call)
    if window is None:
        warn_user(
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral "
            "leakage. Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce "
            "spectral leakage.",
        )
    x = input.unsqueeze(0) if input._array.ndim == 1 else input
    if center:
        x = _padded(x, n_fft // 2, n_fft // 2, pad_mode)
    elif align_to_window:
        left = (n_fft - width) // 2
        x = _padded(x, left, n_fft - width - left, "constant")
    if not 0 < n_fft <= x._array.shape[-1]:
        raise RuntimeError(f"{call} : expected 0 < n_fft < {x._array.shape[-1]}, but got n_fft={n_fft}")
    if onesided and complex_input:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    frames = apply(ops.frames, (x,), {"size": n_fft, "step": hop})
    if window is not None or width < n_fft:
        frames = frames * _window(window, width, n_fft, x._array.real.dtype, call)
    result = _spectrum(frames, normalized, not complex_input if onesided is None else onesided).transpose(-1, -2)
    result = result.squeeze(0) if input._array.ndim == 1 else result
    return result if return_complex or return_complex is None else _as_pairs(result)


def _check_stft(x: Tensor, n_fft: int, hop: int, width: int, call: str) -> None:
    if x._array.dtype.kind not in "fcV":
        raise RuntimeError(
            f"{call} : expected a tensor of floating point or complex values, but got {x.dtype.type_name}"
        )
    if x._array.ndim not in (1, 2):
        raise RuntimeError(f"{call} : expected a 1D or 2D tensor, but got {x._array.ndim}D")
    if hop <= 0:
        raise RuntimeError(f"{call} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft, but got win_length={width}")


def _spectrum(frames: Tensor, normalized: bool, onesided: bool) -> Tensor:
    axes = (frames._array.ndim - 1,)
    scale = 1 / math.sqrt(frames._array.shape[-1]) if normalized else 1.0
    if onesided:
        return apply(ops.real_transform, (frames,), {"axes": axes, "scale": scale})
    return apply(ops.transform, (frames,), {"axes": axes, "scale": scale, "forward": True})


def _as_pairs(x: Tensor) -> Tensor:
    warn_user(
        "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors "
        "for all inputs, and return_complex=False will raise an error.",
    )
    return apply(view_as_real, (x,))


@public(passed_by_method="")
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal whose `stft` is closest to the input: windows transformed back, added up, divided by their weights.

    The arguments are those of `stft`; `length` is that of the signal, which the windows do not tell exactly.
    """
    hop, width = _lengths(n_fft, hop_length, win_length)
    call = f"istft(n_fft={n_fft}, hop_length={hop}, win_length={width})"
    _check_istft(input, n_fft, hop, width, call)
    half = not return_complex and input._array.shape[-2] != n_fft if onesided is None else onesided
    _check_frequencies(input, n_fft, half, return_complex, window, call)
    if window is None:
        warn_user(
            "A window was not provided. A rectangular window will be applied. Please provide the same window used by stft "
            "to make the inversion lossless, or window=torch.ones(win_length) to have a rectangular one in silence.",
        )
    x = input.unsqueeze(0) if input._array.ndim == 2 else input
    weights = _window(window, width, n_fft, x._array.real.dtype, call)
    frames = _signals(x.transpose(-1, -2), n_fft, half, return_complex, normalized) * weights
    count = frames._array.shape[-2]
    size = n_fft + hop * (count - 1)
    signal = _overlapped(frames, size, hop)
    envelope = _overlapped((weights * weights).expand(1, count, n_fft), size, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else size - n_fft // 2 if center else size
    signal, envelope = signal[:, start:end], envelope[:, start:end]
    if envelope._array.size and np.abs(envelope._array).min() <= 1e-11:
        raise RuntimeError(f"{call} window overlap add min: 1. The window must not leave gaps between frames.")
    result = signal / envelope
    if length is not None and length > result._array.shape[-1]:
        warn_user(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the "
            "tail. Please check your center and hop_length settings.",
        )
        result = apply(ops.resize, (result,), {"axes": (1,), "sizes": (length,)})
    return result.squeeze(0) if input._array.ndim == 2 else result


def _check_istft(x: Tensor, n_fft: int, hop: int, width: int, call: str) -> None:
    if x._array.dtype.kind != "c":
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if x._array.size == 0:
        raise RuntimeError(f"{call} : input tensor cannot be empty.")
    if x._array.ndim not in (2, 3):
        raise RuntimeError(f"{call} : expected a tensor with 2 or 3 dimensions, but got {x._array.ndim}")
    if not 0 < hop <= width:
        raise RuntimeError(f"{call} : expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft")


def _check_frequencies(
    x: Tensor, n_fft: int, half: bool, return_complex: bool, window: Tensor | None, call: str
) -> None:
    have = x._array.shape[-2]
    wanted = n_fft // 2 + 1 if half else n_fft
    if have != wanted:
        size = "n_fft / 2 + 1 when onesided=True" if half else "n_fft when onesided=False"
        raise RuntimeError(
            f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to match {size}, "
            f"but got {have}"
        )
    if return_complex and half:
        raise RuntimeError("cannot have onesided output if window or input is complex: pass onesided=False")
    if not return_complex and window is not None and window._array.dtype.kind == "c":
        raise RuntimeError("Complex windows are incompatible with return_complex=False")


def _signals(x: Tensor, n_fft: int, half: bool, return_complex: bool, normalized: bool) -> Tensor:
    axes = (x._array.ndim - 1,)
    scale = 1 / math.sqrt(n_fft) if normalized else 1 / n_fft
    if return_complex:
        return apply(ops.transform, (x,), {"axes": axes, "scale": scale, "forward": False})
    if not half:
        x = x[..., : n_fft // 2 + 1]
    return apply(ops.real_inverse, (x,), {"axes": axes, "size": n_fft, "scale": scale})


def _overlapped(frames: Tensor, size: int, hop: int) -> Tensor:
    return apply(ops.overlap_add, (frames,), {"length": size, "step": hop})

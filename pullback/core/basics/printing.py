"""The text of tensors, character for character as torch 2.13 prints them, and the options that steer it.

Everything here works on NumPy arrays and names of dtypes, so it sits below ``Tensor``: ``tensor_text`` writes what
``repr`` of a tensor shows, ``array_text`` only the numbers between its parentheses. Large arrays are first cut down
to the corner elements that will be seen; no other element is ever read. What does not live here: "Parameter
containing:", the names of gradient functions, ``format(tensor, spec)``, and the fetching of arrays from a device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


class PrintOptions:
    """How tensors are printed. ``sci_mode=None`` means: decide for each tensor from its values."""

    __slots__ = ("edgeitems", "linewidth", "precision", "sci_mode", "threshold")

    def __init__(self) -> None:
        self.precision: int = 4
        self.threshold: float = 1000
        self.edgeitems: int = 3
        self.linewidth: int = 80
        self.sci_mode: bool | None = None


options: PrintOptions = PrintOptions()
PRINT_OPTS = options  # torch's name


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed; arguments left out keep their value, except ``sci_mode``.

    ``precision``: digits after the point. ``threshold``: tensors with more elements are shown with "...".
    ``edgeitems``: elements kept at both ends of a shortened dimension. ``linewidth``: characters in a line.
    ``profile``: "default", "short" or "full" (other names do nothing), applied before the arguments beside it.
    ``sci_mode``: True or False forces the notation. As in torch, each call that does not say ``sci_mode`` hands the
    choice back to the values.
    """
    changes = dict(PROFILES.get(profile or "", {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes.update((name, value) for name, value in given.items() if value is not None)
    for name, value in changes.items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, float | bool | None]:
    """A copy of the current options, in the form ``set_printoptions`` takes them."""
    names = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")
    return {name: getattr(options, name) for name in names}


@contextmanager
def printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> Iterator[None]:
    """``set_printoptions`` for the length of a ``with`` block."""
    before: dict[str, Any] = get_printoptions()
    set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode)
    try:
        yield
    finally:
        set_printoptions(**before)


def tensor_text(
    array: np.ndarray,
    dtype_name: str,
    *,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    tangent: str | None = None,
    device: str = "cpu",
    default_dtype_name: str = "float32",
    prefix: str = "tensor(",
) -> str:
    """Return the text that ``repr`` shows for a tensor.

    ``dtype_name`` and ``default_dtype_name`` are bare ("bfloat16"), ``tangent`` is ``f"{tangent}"`` of a dual
    tensor's tangent, and ``prefix`` opens the text (a subclass ``Foo`` passes "Foo("). Of an array on the "meta"
    device only the shape is read.
    """
    suffixes = []
    if device != "cpu":
        suffixes.append(f"device='{device}'")
    if device == "meta":
        body = "..."
        size_shown, dtype_shown = True, dtype_name != default_dtype_name
    elif array.size == 0:
        # Brackets without numbers tell neither the shape nor the dtype, so even int64 and bool are named here.
        body = "[]"
        size_shown, dtype_shown = array.ndim != 1, dtype_name != default_dtype_name
    else:
        body = array_text(array, dtype_name, len(prefix))
        size_shown, dtype_shown = not options.edgeitems, not _told_by_numbers(dtype_name, default_dtype_name)
    if size_shown:
        suffixes.append(f"size={tuple(array.shape)}")
    if dtype_shown:
        suffixes.append(f"dtype=torch.{dtype_name}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return _with_suffixes(prefix + body, suffixes, len(prefix)) + ")"


def parts_text(parts: dict[str, Any], suffixes: Sequence[str], fresh_line: bool) -> str:
    """A tensor that is made of several (a sparse one): each on lines of its own, then the suffixes."""
    indent, lines = len("tensor("), []
    for name, part in parts.items():
        prefix = f"{name}=tensor("
        size = "" if part.numel() else f", size={tuple(part.shape)}"
        lines.append(prefix + _tensor_str(part, indent + len(prefix)) + size + ")")
    text = "tensor(" + (",\n" + " " * indent).join(lines)
    return _with_suffixes(text, suffixes, indent, fresh_line) + ")"


def dtype_suffix(dtype: Any) -> list[str]:
    """Return `dtype=...` as a list of one suffix where the numbers do not show the dtype; an empty list where they do."""
    from .dtypes import default_dtype

    return [] if _told_by_numbers(dtype._name, default_dtype()._name) else [f"dtype=torch.{dtype._name}"]


def _tensor_str(self: Any, indent: int) -> str:
    """The bracketed numbers of a tensor, by torch's name."""
    return array_text(self.detach().numpy(), self.dtype._name, indent)


def array_text(array: np.ndarray, dtype_name: str, indent: int = 0) -> str:
    """The bracketed numbers of ``array``, as they stand after ``indent`` characters of a first line."""
    if array.size == 0:
        return "[]"
    elided = [False] * array.ndim
    if array.size > options.threshold and array.ndim:
        if not options.edgeitems:
            return "[...]"
        array, elided = _corners(array)
    texts, width = _element_texts(array, dtype_name)
    if array.ndim == 0:
        return texts[0]
    return _nested(texts, array.shape, elided, indent, width + 2)


def _told_by_numbers(dtype_name: str, default_dtype_name: str) -> bool:
    """Return True if the numbers show the dtype: the default ones of each kind need no suffix."""
    default_complex = "complex128" if default_dtype_name == "float64" else "complex64"
    return dtype_name in (default_dtype_name, default_complex, "int64", "bool")


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int, fresh_line: bool = False) -> str:
    """Append ``suffixes``, each on a fresh line when the current one has no room for it."""
    # The last line counts two characters more than it has: torch breaks lines by that rule, so it is kept exactly.
    used = options.linewidth if fresh_line else len(text) - text.rfind("\n") + 1
    pieces = [text]
    for suffix in suffixes:
        if used + len(suffix) + 2 > options.linewidth:
            pieces.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            pieces.append(", " + suffix)
            used += len(suffix) + 2
    return "".join(pieces)


def _corners(array: np.ndarray) -> tuple[np.ndarray, list[bool]]:
    """The elements that a shortened print shows, and which dimensions lost their middle."""
    edge = options.edgeitems
    elided = [size > 2 * edge for size in array.shape]
    kept = []
    for size, cut in zip(array.shape, elided):
        positions = range(size)
        kept.append([*positions[:edge], *positions[-edge:]] if cut else list(positions))
    return array[np.ix_(*kept)], elided


def _nested(texts: list[str], shape: tuple[int, ...], elided: list[bool], indent: int, pitch: int) -> str:
    """Brackets, commas and line breaks around the flat ``texts`` of an array of ``shape``.

    ``pitch`` is the room one element takes in a line, its comma and space included.
    """
    if len(shape) == 1:
        items = _marked(texts, elided[0], " ...")
        per_line = max(1, int((options.linewidth - indent) // pitch))
        lines = [", ".join(items[start : start + per_line]) for start in range(0, len(items), per_line)]
        separator = ",\n" + " " * (indent + 1)
        return "[" + separator.join(lines) + "]"
    step = math.prod(shape[1:])
    rows = [
        _nested(texts[start : start + step], shape[1:], elided[1:], indent + 1, pitch)
        for start in range(0, len(texts), step)
    ]
    separator = "," + "\n" * (len(shape) - 1) + " " * (indent + 1)
    return "[" + separator.join(_marked(rows, elided[0], "...")) + "]"


def _marked(items: list[str], elided: bool, marker: str) -> list[str]:
    """``items`` with ``marker`` where the middle was left out; both ends are equally long."""
    if not elided:
        return items
    middle = len(items) // 2
    return [*items[:middle], marker, *items[middle:]]


def _element_texts(array: np.ndarray, dtype_name: str) -> tuple[list[str], int]:
    """The texts of all elements in row-major order, and the width that lines reserve for one."""
    if dtype_name.startswith("complex"):
        real_texts, real_width = _float_texts(array.real)
        imaginary_texts, imaginary_width = _float_texts(array.imag)
        texts = [_complex_text(real, imaginary) for real, imaginary in zip(real_texts, imaginary_texts)]
        return texts, real_width + imaginary_width + 1
    if dtype_name.startswith(("float", "bfloat")):
        return _float_texts(array)
    # The longest text is that of an extreme: the most negative or the largest integer, False rather than True.
    width = max(len(str(array.min())), len(str(array.max())))
    return [str(value).rjust(width) for value in array.ravel().tolist()], width


def _complex_text(real: str, imaginary: str) -> str:
    imaginary = imaginary.lstrip()
    sign = "" if imaginary[0] in "+-" else "+"
    return f"{real}{sign}{imaginary}j"


def _float_texts(array: np.ndarray) -> tuple[list[str], int]:
    """The right-aligned texts of real numbers, all in the one notation that suits them together."""
    # float64 holds every narrower type exactly, and NumPy's isfinite and ceil do not know all of those.
    values = array.astype(np.float64, copy=False).ravel()
    convert, width = _float_notation(values[np.isfinite(values) & (values != 0)])
    return [convert(value).rjust(width) for value in values.tolist()], width


def _float_notation(values: np.ndarray) -> tuple[Callable[[float], str], int]:
    """How to write floats and the width of the longest, decided by the ``values`` that are finite and not zero."""
    if values.size == 0:
        # Zeros, infinities and nans alone line up by themselves, and no option turns them into 0.0000e+00.
        return _integral_text, 1
    magnitudes = np.abs(values)
    smallest, largest = float(magnitudes.min()), float(magnitudes.max())
    integral = bool((values == np.ceil(values)).all())
    scientific = options.sci_mode
    if scientific is None:
        scientific = largest / smallest > 1000.0 or largest > 1.0e8 or (not integral and smallest < 1.0e-4)
    convert: Callable[[float], str]
    if scientific:
        convert = f"{{:.{options.precision}e}}".format
    elif integral:
        convert = _integral_text
    else:
        convert = f"{{:.{options.precision}f}}".format
    return convert, max(len(convert(value)) for value in _longest_candidates(values))


def _longest_candidates(values: np.ndarray) -> list[float]:
    """A few of ``values`` among which the longest text is found in every notation.

    Among numbers of one sign, text grows with the magnitude, or (third digit of a negative exponent) against it.
    """
    candidates = []
    for same_sign in (values[values > 0], values[values < 0]):
        if same_sign.size:
            candidates += [float(same_sign.min()), float(same_sign.max())]
    return candidates


def _integral_text(value: float) -> str:
    """A float without fraction, as ``3.``; infinities and nans have no point to show."""
    text = f"{value:.0f}"
    return text + "." if math.isfinite(value) else text

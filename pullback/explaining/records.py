"""The records that an explanation consists of: numbers and names.

Nothing here refers to the graph, so an explanation can be kept, printed and written long after the graph is gone. They
are filled in by `collect.py` and read by everything that shows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

VALUES_SHOWN: int = 6  # up to this many elements are shown one by one


@dataclass(slots=True)
class Flow:
    """Statistics of one cotangent."""

    shape: tuple[int, ...]
    dtype: str
    size: int
    norm: float
    low: float
    high: float
    zeros: int
    nans: int
    infinities: int
    values: list[Any] | None  # all of them, where they are few

    @property
    def finite(self) -> bool:
        return not self.nans and not self.infinities

    @property
    def all_zero(self) -> bool:
        return self.zeros == self.size

    @property
    def root_mean_square(self) -> float:
        return self.norm / max(self.size, 1) ** 0.5

    def short(self) -> str:
        """The values themselves where they are few, the norm where they are many."""
        if self.values is not None:
            return number_list(self.values, self.shape)
        if not self.finite:
            return "NaN" if self.nans else "Inf"
        return f"‖g‖ = {number(self.norm)}"

    def long(self) -> str:
        """Norm, range and anything remarkable, in one line."""
        parts = [f"norm {number(self.norm)}", f"range {number(self.low)} … {number(self.high)}"]
        if self.size > 1 and self.zeros >= 0.005 * self.size and self.zeros:
            parts.append(f"{100 * self.zeros / self.size:.0f} % zero")
        if self.nans:
            parts.append(f"{self.nans} NaN")
        if self.infinities:
            parts.append(f"{self.infinities} Inf")
        return ", ".join(parts)


@dataclass(slots=True)
class Saved:
    """A value an operation kept for its rule."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(slots=True)
class Arrow:
    """A cotangent on its way from an operation to one of its inputs."""

    input: str  # the input's name in the rule: `a`, `x`, `weight`
    target: str  # key of the operation or leaf it goes to
    rule: str
    flow: Flow | None  # None where the rule gave nothing


@dataclass(slots=True)
class Line:
    """A line of the user's program."""

    file: str
    number: int
    code: str

    def place(self) -> str:
        return f"{self.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{self.number}"


@dataclass(slots=True)
class Operation:
    """One step of the backward pass."""

    key: str
    number: int  # its turn in the backward pass
    node: str  # `MulBackward0`
    title: str  # `mul`
    variable: str | None  # the name of its result in the user's program
    outputs: list[tuple[tuple[int, ...], str]]  # shape and dtype of each
    incoming: list[Flow | None]
    arrows: list[Arrow]
    constants: list[str]  # inputs that take no gradient
    saved: list[Saved]
    line: Line | None = None
    module: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.outputs[0][0]

    @property
    def bytes(self) -> int:
        return sum(saved.bytes for saved in self.saved)


@dataclass(slots=True)
class Leaf:
    """A tensor that gradients are collected for."""

    key: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    total: np.ndarray | None  # what `.grad` would get; None when nothing arrives
    flow: Flow | None
    rows: np.ndarray | None = None  # row k: what loss element (or group) k sends at weight 1
    gram: np.ndarray | None = None  # products of the rows, from which the norm of any weighting follows
    shares: list[float] = field(default_factory=list)  # norm of each contribution
    residual: float = 0.0  # how far the contributions are from the total
    module: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Root:
    """Where the pass starts."""

    key: str
    name: str
    target: str
    shape: tuple[int, ...]
    dtype: str
    seed: np.ndarray
    origin: str  # 'given', 'implicit' or 'assumed'
    flow: Flow
    value: str = ""  # the loss itself, in short


@dataclass(slots=True)
class Elements:
    """How the loss was divided: into its elements, or into groups of them."""

    labels: list[str] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)  # in groups: the factor 1
    grouped: bool = False
    note: str = ""


@dataclass(slots=True)
class Warning_:
    """Something that is probably wrong, and where."""

    kind: str  # 'dead relu', 'nan', ...
    text: str
    key: str | None = None  # the operation or leaf it is about
    severity: str = "warning"  # or 'note'


# --- numbers ---------------------------------------------------------------------------------------------------------


def plain(array: Any) -> np.ndarray:
    """An array NumPy can compute with: half precisions become float32."""
    array = np.asarray(array)
    if array.dtype.kind == "V" or array.dtype == np.float16:
        return array.astype(np.float32)
    return array


def measure(array: Any) -> Flow:
    """The statistics of an array."""
    dtype = str(np.asarray(array).dtype)
    array = plain(array)
    with np.errstate(all="ignore"):
        nans = int(np.isnan(array).sum())
        infinities = int(np.isinf(array).sum())
        size = np.abs(array) if array.dtype.kind == "c" else array
        usable = size if not nans else size[~np.isnan(size)]
        low, high = (float(usable.min()), float(usable.max())) if usable.size else (0.0, 0.0)
        norm = _norm(array)
    values = array.reshape(-1).tolist() if array.size <= VALUES_SHOWN else None
    if values is not None and array.dtype == np.float32:
        values = [float(str(v)) for v in array.reshape(-1)]  # 0.1, not 0.10000000149
    zeros = int(array.size - np.count_nonzero(array))
    return Flow(array.shape, dtype, array.size, norm, low, high, zeros, nans, infinities, values)


def _norm(array: np.ndarray) -> float:
    """The norm in float64, block by block so that large arrays are not copied whole."""
    flat = array.reshape(-1)
    total = 0.0
    for start in range(0, flat.size, 1 << 20):
        block = np.abs(flat[start : start + (1 << 20)]).astype(np.float64)
        total += float(np.dot(block, block))
    return float(np.sqrt(total))


def number(value: Any) -> str:
    """A number in at most four significant digits."""
    if isinstance(value, complex):
        sign = "−" if value.imag < 0 else "+"
        return f"{number(value.real)}{sign}{number(abs(value.imag))}i"
    text = f"{float(value):.4g}"
    return text.replace("nan", "NaN").replace("inf", "Inf").replace("-", "−")


def number_list(values: list[Any], shape: tuple[int, ...]) -> str:
    if shape == ():
        return number(values[0])
    inside = ", ".join(number(value) for value in values)
    if len(shape) <= 1:
        return f"[{inside}]"
    return f"[{inside}] {shape_text(shape)}"


def shape_text(shape: tuple[int, ...]) -> str:
    return (
        "scalar"
        if shape == ()
        else " × ".join(map(str, shape))
        if len(shape) > 1
        else f"{shape[0]} element" + "s" * (shape[0] != 1)
    )


def bytes_text(count: int) -> str:
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"

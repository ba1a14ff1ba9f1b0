"""Anomaly mode: find where a gradient goes wrong, and which line of the program made that operation.

While it is on, every node remembers the stack of its forward call, every result is checked for NaN (and Inf), and
memory shared with NumPy is fingerprinted, so that a write nobody could count is found at backward.
"""

from __future__ import annotations

import sys
import traceback
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.notices import PACKAGE, warn_user
from ..core.grad_mode import ModeSwitch
from ..core.mode import current_mode, set_mode
from ..core.node import Node
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..transforms.arrays.batched import all_values

if TYPE_CHECKING:
    from ..core.basics.types import Array, Cotangent, Gradient, Operands, Shape
    from ..core.engine import Sweep


class Anomaly:
    """Settings of anomaly mode."""

    __slots__ = ("check_nan",)

    def __init__(self, check_nan: bool) -> None:
        self.check_nan: bool = check_nan


class set_detect_anomaly(ModeSwitch):
    """Switch anomaly mode on or off: takes effect at once, and as a context manager undoes itself."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.settings: Any = Anomaly(bool(check_nan)) if mode else None
        self._previous = current_mode()
        set_mode(self._previous.replace(anomaly=self.settings))

    def _changes(self) -> dict[str, Any]:
        return {"anomaly": self.settings}

    def __enter__(self) -> None:
        set_mode(current_mode().replace(anomaly=self.settings))


class detect_anomaly(ModeSwitch):
    """Make a backward pass that produces NaN or Inf stop and show the forward line responsible."""

    def __init__(self, check_nan: bool = True) -> None:
        self.settings: Anomaly = Anomaly(bool(check_nan))
        warn_user(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
        )

    def _changes(self) -> dict[str, Any]:
        return {"anomaly": self.settings}


def is_anomaly_enabled() -> bool:
    """True if anomaly mode is on."""
    return current_mode().anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """True if anomaly mode, when it is on, checks for NaN."""
    anomaly = current_mode().anomaly
    return True if anomaly is None else anomaly.check_nan


# --- the lines of the program ---


def user_stack() -> list[str]:
    """The stack of the running program as text, without frames of this package."""
    return traceback.format_list(
        [frame for frame in traceback.extract_stack() if not frame.filename.startswith(PACKAGE)]
    )


def user_line() -> str | None:
    """`file:line` of the innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def note_forward(node: Node) -> None:
    """Remember where an operation was called, what its saved values were, and the node whose rule called it."""
    if node.notes is None:
        node.notes = {}
    node.notes["stack"] = user_stack()
    node.notes["fingerprints"] = fingerprints(node)
    if running_node() is not None:
        node.notes["parent"] = running_node()


def check_forward(name: str, inputs: Operands, results: tuple[Array, ...], anomaly: Anomaly) -> None:
    """Name the operation of the forward pass that made the first NaN or Inf."""
    if not anomaly.check_nan or running_node() is not None:  # what a backward pass computes is checked there
        return
    for result in results:
        bad = first_bad(result._array)
        if bad is None or any(isinstance(v, Tensor) and first_bad(v._array) is not None for v in inputs):
            continue
        index, value = bad
        warn_user(
            f"The forward pass of {name} made {value} at index {index} from finite inputs, at {user_line()}.",
            RuntimeWarning,
        )


def first_bad(array: Array) -> tuple[Shape, float] | None:
    """Index (among all examples, in a batch) and value of the first NaN or Inf, None if all is finite."""
    array = all_values(array)
    if array.dtype.kind not in "fc":
        return None
    finite = np.isfinite(array)
    if finite.all():
        return None
    index = tuple(int(i) for i in np.argwhere(~finite)[0])
    return index, array[index]


# --- the backward pass ---

_running_nodes: list[Node] = []


def running_node() -> Node | None:
    """The node whose rules are running, None outside a backward pass."""
    return _running_nodes[-1] if _running_nodes else None


def watched(sweep: Sweep, node: Node, cotangent: Cotangent) -> list[Gradient]:
    """Run a node's rules; report where it was recorded if they fail or give NaN."""
    _running_nodes.append(node)
    try:
        check_fingerprints(node)
        results = sweep.call_rules(node, cotangent)
    except Exception:
        report(node)
        raise
    finally:
        _running_nodes.pop()
    if sweep.anomaly.check_nan:
        check_gradients(node, results, cotangent)
    return results


def report(node: Node | None) -> None:
    """Warn with the forward stack of a node (and of the nodes whose backward recorded it)."""
    what = "Error detected in {}."
    while node is not None:
        notes = node.notes or {}
        text = what.format(node.name())
        if "stack" in notes:
            text += " Traceback of forward call that caused the error:\n" + "".join(notes["stack"])
        else:
            text += " No forward pass information available. Enable detect anomaly during forward pass for more information."
        try:
            warn_user(text)
        except UserWarning:  # warnings are errors: the error that is being reported must not be lost to this one
            print(text, file=sys.stderr)
        node = notes.get("parent")
        what = "Previous calculation was induced by {}."


def check_gradients(node: Node, results: list[Gradient], cotangent: Cotangent) -> None:
    """Complain about NaN, and about Inf made of finite cotangents, in what a node sends on."""
    for position, gradient in enumerate(results):
        if gradient is None:
            continue
        array = gradient._array if isinstance(gradient, Tensor) else gradient
        bad = first_bad(array)
        if bad is None:
            continue
        index, value = bad
        if np.isnan(value):
            report(node)
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {position}th output. The first is at index "
                f"{index}. A common cause is a branch of where() that is not taken: make its input safe before the "
                "operation."
            )
        if _all_finite(cotangent):
            report(node)
            raise RuntimeError(
                f"Function '{node.name()}' returned inf values in its {position}th output ({value} at index {index}) "
                "from finite cotangents. The derivative is unbounded there (sqrt or log at 0, division by 0): keep "
                "the input away from that point."
            )


def _all_finite(cotangent: Cotangent) -> bool:
    parts = cotangent if isinstance(cotangent, (tuple, list)) else (cotangent,)
    return all(part is None or first_bad(part._array if isinstance(part, Tensor) else part) is None for part in parts)


# --- writes that no version counter sees ---


def fingerprints(node: Node) -> dict[int, int]:
    """Checksums of saved inputs and outputs, to find writes through NumPy."""
    import zlib

    marks = {}
    for position, value in enumerate(node.saved):
        array = value._array if isinstance(value, Tensor) else value
        if isinstance(array, np.ndarray):
            marks[position] = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
    return marks


def _was_written(node: Node, position: int) -> bool:
    """True if a version counter saw a write to a saved value, about which another message complains."""
    value, code = node.saved[position], node.plan.saves[position]
    if isinstance(value, Tensor):
        storage = value._storage
    else:
        storage = None if node.output_storages is None or type(code) is not int else node.output_storages.get(-1 - code)
    return storage is not None and storage.written >= node.order


def check_fingerprints(node: Node) -> None:
    """Complain about saved values that were changed through memory nobody watches."""
    notes = node.notes or {}
    if not notes.get("fingerprints") or not node.saved:
        return
    now = fingerprints(node)
    for position, mark in notes["fingerprints"].items():
        if now.get(position) != mark and not _was_written(node, position):
            value = node.saved[position]
            value = value if isinstance(value, Tensor) else wrap(value)
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[torch.{value.dtype.type_name}Tensor {list(value.shape)}] was changed through memory it shares with "
                f"NumPy (from_numpy, numpy(), DLPack or .data) after {node.name()} saved it. Change a copy instead: "
                "tensor.clone()."
            )

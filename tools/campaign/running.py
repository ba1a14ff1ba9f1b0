"""Runs programs on torch and on pullback side by side, and says where the two first differ."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, TextIO

import numpy as np
import torch

import pullback

PRELUDE = Path(__file__).with_name("prelude.py").read_text()
_PRELUDE = compile(PRELUDE, "prelude.py", "exec")

# Relative to the largest element; of the types that a program meets the coarsest counts.
TOLERANCES = {
    "torch.bfloat16": 5e-2, "torch.float16": 1e-2, "torch.float32": 2e-4, "torch.complex64": 2e-4, "torch.complex32": 1e-2,
}  # fmt: skip
FINEST = 1e-7


@dataclass
class Difference:
    """What of a program differs: of which kind, at which line, and both answers."""

    kind: str
    line: str
    text: str
    size: float = 1.0
    """How far apart values are, relative to their largest; 1 where that has no meaning."""


class Different(Exception):
    """Raised by a comparison: (kind, text, size)."""


@lru_cache(50_000)
def compiled(line: str) -> CodeType:
    return compile(line, "<program>", "exec")


@lru_cache(50_000)
def names_in(line: str) -> tuple[str, ...]:
    """The variables of programs are a letter and a number."""
    return tuple(dict.fromkeys(re.findall(r"\b[a-z]\d+\b", line)))


def namespace(library: Any, nudge: float = 0.0) -> dict[str, Any]:
    """What a program sees before its first line, the library's own state reset."""
    library.manual_seed(0)
    library.set_grad_enabled(True)
    library.set_default_dtype(library.float32)
    names = {"T": library, "NUDGE": nudge, "__name__": "program"}
    exec(_PRELUDE, names)
    return names


def run_line(line: str, names: dict[str, Any]) -> Exception | None:
    """The exception that a line raised in this library."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compiled(line), names)
    except Exception as error:
        return error.with_traceback(None)
    return None


class Pair:
    """A program on its way in both libraries."""

    def __init__(self, *, strides: str = "results", nudge: float = 0.0, journal: TextIO | None = None) -> None:
        self.strides = strides
        self.torch, self.ours = namespace(torch, nudge), namespace(pullback, nudge)
        self.lines: list[str] = []
        self.journal = journal
        self.tolerance = FINEST
        self.versions_at_first: dict[str, int] = {}
        self.pass_has_failed = False

    def run(self, line: str) -> tuple[Exception | None, Difference | None]:
        """(what both raised, what differs) after one more line."""
        self.lines.append(line)
        if re.search(r"int\d|bool|long\(\)", line):
            self.tolerance = max(self.tolerance, TOLERANCES["torch.float32"])
        if self.journal is not None:
            self.journal.write(json.dumps(line) + "\n")
            self.journal.flush()
        self.versions_at_first.pop(line.partition(" = ")[0], None)
        theirs, ours = run_line(line, self.torch), run_line(line, self.ours)
        if theirs is not None or ours is not None:
            for library in (torch, pullback):
                library.manual_seed(0)  # how much was drawn before an error does not matter
            # Torch's gradients are then those of half a pass; pullback's are as they were (docs/differences.md).
            self.pass_has_failed = self.pass_has_failed or "backward(" in line
            return theirs, _of_errors(line, theirs, ours)
        return None, self.compare(line, names_in(line))

    def replay(self, lines: list[str]) -> Difference | None:
        """The first difference of a whole program."""
        for line in lines:
            difference = self.run(line)[1]
            if difference is not None:
                return difference
        return self.at_the_end()

    def compare(self, line: str, names: Any) -> Difference | None:
        """What of these variables differs."""
        for name in names:
            try:
                self.compare_values(self.torch.get(name), self.ours.get(name), name)
            except Different as found:
                kind, text, size = found.args
                return Difference(kind, line, text, size)
        return None

    def at_the_end(self) -> Difference | None:
        """What differs of all that the program has made, gradients included."""
        names = [name for name in self.torch if re.fullmatch(r"[a-z]\d+", name)]
        return self.compare("at the end", names) or self.compare_gradients(names)

    def compare_gradients(self, names: list[str]) -> Difference | None:
        # Of a second derivative it depends on how rules are written which share passes through a tensor in between.
        leaves_only = any("create_graph" in line for line in self.lines)
        for name in names:
            theirs, ours = self.torch[name], self.ours.get(name)
            if isinstance(theirs, torch.Tensor) and keeps_gradient(theirs, leaves_only) and not self.pass_has_failed:
                try:
                    self.compare_values(theirs.grad, ours.grad, f"{name}.grad", gradient=True)
                except Different as found:
                    return Difference("gradient " + found.args[0], "at the end", *found.args[1:])
        return None

    def compare_values(self, theirs: Any, ours: Any, what: str, gradient: bool = False) -> None:
        if isinstance(theirs, torch.Tensor) and isinstance(ours, pullback.Tensor):
            self.compare_tensors(theirs, ours, what, gradient)
        elif isinstance(theirs, (tuple, list)) and isinstance(ours, (tuple, list)) and len(theirs) == len(ours):
            for i, (one, other) in enumerate(zip(theirs, ours)):
                self.compare_values(one, other, f"{what}[{i}]", gradient)
        elif isinstance(theirs, torch.nn.Module) and isinstance(ours, pullback.nn.Module):
            self.compare_modules(theirs, ours, what)
        elif theirs is None or ours is None or isinstance(theirs, torch.Tensor) or isinstance(ours, pullback.Tensor):
            if theirs is not ours:
                raise Different("type", f"{what}: torch {type(theirs).__name__}, pullback {type(ours).__name__}", 1.0)
        elif isinstance(theirs, (bool, int, float, complex, np.ndarray)):
            self.compare_arrays(np.asarray(theirs), np.asarray(ours), what)

    def compare_modules(self, theirs: Any, ours: Any, what: str) -> None:
        mine = ours.state_dict()
        for name, value in theirs.state_dict().items():
            self.compare_values(value, mine[name], f"{what}.{name}", gradient=True)
        for (name, one), (_, other) in zip(theirs.named_parameters(), ours.named_parameters()):
            if self.pass_has_failed:
                break
            self.compare_values(one.grad, other.grad, f"{what}.{name}.grad", gradient=True)

    def compare_tensors(self, theirs: Any, ours: Any, what: str, gradient: bool) -> None:
        self.tolerance = max(self.tolerance, TOLERANCES.get(str(theirs.dtype), 0.0))
        if not theirs.is_floating_point() and not theirs.is_complex():
            self.tolerance = max(self.tolerance, TOLERANCES["torch.float32"])  # what integers become
        gradient = gradient or what[0] == "g"
        for fact in (
            ["shape", "dtype", "layout"] if gradient else ["shape", "dtype", "layout", "requires_grad", "is_leaf"]
        ):
            try:
                one = getattr(theirs, fact)
            except RuntimeError:  # an in-place write has broken a view, and torch says so when it is looked at
                continue
            if str(one) != str(getattr(ours, fact)):
                raise Different(
                    fact, f"{what}.{fact} of {theirs.dtype}: torch {one}, pullback {getattr(ours, fact)}", 1.0
                )
        if theirs.layout is not torch.strided:
            return
        if not gradient:
            self.compare_writes(theirs._version - ours._version, what)
        if self.compares_strides(what) and theirs.numel() and steps(theirs) != steps(ours):
            raise Different("strides", f"{what}.stride(): torch {theirs.stride()}, pullback {ours.stride()}", 1.0)
        try:
            wanted = array(theirs, torch)
        except RuntimeError:  # a batched tensor that has left its vmap, which torch lets happen
            return
        self.compare_arrays(wanted, array(ours, pullback), what)

    def compares_strides(self, what: str) -> bool:
        """Of gradients, and of what transforms give, only where all strides are compared."""
        return self.strides == "all" or self.strides == "results" and what[0] == "v" and not what.endswith("grad")

    def compare_writes(self, more: int, what: str) -> None:
        """Have as many writes been counted since both first saw this? Before, torch also counts how a result was filled."""
        at_first = self.versions_at_first.setdefault(what, more)
        if more != at_first:
            raise Different("version", f"{what}._version: torch has counted {more - at_first} more than pullback", 1.0)

    def compare_arrays(self, theirs: np.ndarray, ours: np.ndarray, what: str) -> None:
        text = f"{what}: torch {theirs.ravel()[:6]}, pullback {ours.ravel()[:6]}"
        if theirs.shape != ours.shape:
            raise Different("shape", text, 1.0)
        finite = np.isfinite(theirs) & np.isfinite(ours)
        if (~np.isfinite(theirs) & np.isfinite(ours)).any() and (finite | ~np.isfinite(theirs)).all():
            text = f"torch's alone are not finite: {text}"
        if theirs.dtype.kind == "f" and not np.array_equal(theirs[~finite], ours[~finite], equal_nan=True):
            raise Different("finiteness", text, 1.0)
        if theirs.dtype.kind == "c" and (np.isfinite(theirs) != np.isfinite(ours)).any():
            raise Different("finiteness", text, 1.0)
        theirs, ours = theirs[finite], ours[finite]
        if not theirs.size:
            return
        if theirs.dtype.kind not in "fc":
            if not (theirs == ours).all():
                raise Different("value", text, 1.0)
            return
        with np.errstate(all="ignore"):
            scale = max(np.abs(theirs).max(), np.abs(ours).max())
            distance = np.abs(theirs - ours).max()
        if not distance <= self.tolerance * (scale + 0.05):
            raise Different("value", text, float(distance / scale) if np.isfinite(scale) else 1.0)


def keeps_gradient(tensor: Any, leaves_only: bool) -> bool:
    try:
        return tensor.is_leaf or tensor.retains_grad and not leaves_only
    except RuntimeError:
        return False


def steps(tensor: Any) -> tuple[int, ...]:
    """Strides, without those of dims that have one element, where no step is ever taken."""
    return tuple(step for step, size in zip(tensor.stride(), tensor.shape) if size > 1)


def array(tensor: Any, library: Any) -> np.ndarray:
    """The elements, of short floating point types as long ones."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype.is_floating_point:
        tensor = tensor.to(library.float64)
    return tensor.numpy(force=True)


def _of_errors(line: str, theirs: Exception | None, ours: Exception | None) -> Difference | None:
    """What differs where at least one library raised: an exception may be of a kind that is caught like torch's."""
    if ours is None:
        return Difference("accepted", line, f"torch {type(theirs).__name__}: {str(theirs)[:160]}")
    if theirs is None:
        return Difference("refused", line, f"pullback {type(ours).__name__}: {str(ours)[:300]}")
    if type(theirs).__name__ not in [kind.__name__ for kind in type(ours).__mro__]:
        text = f"torch {type(theirs).__name__}: {str(theirs)[:120]}, pullback {type(ours).__name__}: {str(ours)[:120]}"
        return Difference("exception", line, text)
    return None


def replay(lines: list[str], **options: Any) -> Difference | None:
    """The first difference of a program."""
    return Pair(**options).replay(lines)

"""Makes a program minimal that shows a difference, and a script of it that runs on either library."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import torch

from .running import PRELUDE, Difference, names_in, namespace, run_line

Test = Callable[[list[str]], Difference | None]
"""What differs in a program, of the kind that is looked for."""


def shrink(lines: list[str], test: Test, seconds: float = 10.0, *, run: bool = True) -> list[str]:
    """The shortest program found in this time, by leaving lines out and, where it may run here, by making them simpler."""
    until = time.monotonic() + seconds
    changed = True
    while changed and time.monotonic() < until:
        changed = False
        for simpler in (without_lines, with_arguments, with_leaves, with_plain_leaves) if run else (without_lines,):
            while (found := first(simpler(lines), test, until)) is not None:
                lines, changed = found, True
    return lines


def first(candidates: Iterator[list[str]], test: Test, until: float) -> list[str] | None:
    """The first of these programs that still differs, while there is time."""
    for candidate in candidates:
        if time.monotonic() > until:
            return None
        if test(candidate) is not None:
            return candidate
    return None


def without_lines(lines: list[str]) -> Iterator[list[str]]:
    """Programs without some lines: first large parts, then single ones, from the end."""
    size = len(lines) // 2
    while size:
        for start in range(len(lines) - size, -1, -size):
            yield lines[:start] + lines[start + size :]
        size //= 2


def with_arguments(lines: list[str]) -> Iterator[list[str]]:
    """Programs in which something that was computed is what it was computed of."""
    for i, line in enumerate(lines):
        name, _, expression = line.partition(" = ")
        if re.fullmatch(r"[a-z]\d+", name):
            for argument in names_in(expression):
                yield lines[:i] + [re.sub(rf"\b{name}\b", argument, later) for later in lines[i + 1 :]]


def with_leaves(lines: list[str]) -> Iterator[list[str]]:
    """Programs in which what was computed is a tensor of random numbers of the same shape."""
    names = namespace(torch)
    for i, line in enumerate(lines):
        run_line(line, names)
        name = line.partition(" = ")[0]
        value = names.get(name)
        if (
            isinstance(value, torch.Tensor)
            and re.fullmatch(r"[a-z]\d+", name)
            and not line.startswith(f"{name} = leaf(")
        ):
            dtype = str(value.dtype).removeprefix("torch.")
            leaf = f"{name} = leaf(1, {tuple(value.shape)}, dtype={dtype!r}, requires_grad={value.requires_grad})"
            yield [*lines[:i], leaf, *lines[i + 1 :]]


def with_plain_leaves(lines: list[str]) -> Iterator[list[str]]:
    """Programs in which a tensor of random numbers lacks one of its properties, or has fewer elements."""
    for i, line in enumerate(lines):
        if " = leaf(" not in line:
            continue
        for pattern, instead in SIMPLER:
            plain = re.sub(pattern, instead, line, count=1)
            if plain != line:
                yield [*lines[:i], plain, *lines[i + 1 :]]


SIMPLER = [
    (r", dtype='\w+'", ""), (r", kind='\w+'", ""), (r", layout='\w+'", ""), (r", requires_grad=(Tru|Fals)e", ""),
    (r"leaf\(\d{2,}, ", "leaf(1, "), (r"\((\d+), (\d+), ", r"(\2, "), (r"\b[4-9]\b", "2"), (r"\b3(,|\))", r"2\1"),
]  # fmt: skip

SHOW = """
for name, value in sorted(globals().copy().items()):
    if len(name) > 1 and name[1:].isdigit():
        print(name, "=", value)
        if isinstance(value, T.Tensor):
            print("   ", value.dtype, tuple(value.shape), value.stride(), "version", value._version)
            if value.is_leaf and value.grad is not None:
                print("    gradient", value.grad)
"""


def script(lines: list[str], difference: Difference) -> str:
    """The program as a script: `python it.py torch`, `python it.py pullback`."""
    names, parts = namespace(torch), []
    for line in lines:
        raised = (
            run_line(line, names) is not None or difference.kind in ("refused", "accepted") and line == difference.line
        )
        if raised:
            inner = line.replace("\n", "\n    ")
            line = f"try:\n    {inner}\nexcept Exception as error:\n    T.manual_seed(0)\n    print(type(error).__name__, error)"
        parts.append(line)
    head = "\n".join(f"# {part}" for part in f"{difference.kind}: {difference.line}\n{difference.text}".splitlines())
    return "\n".join([head, PRELUDE, "T.manual_seed(0)", *parts, SHOW])


def signature(lines: list[str], difference: Difference) -> str:
    """What differences have in common that are counted as one."""
    about = (
        difference.line
        if difference.line != "at the end"
        else " / ".join(line for line in lines if "leaf(" not in line)
    )
    words = difference.text.partition(": ")[0] if difference.kind in ("accepted", "refused", "exception") else ""
    return re.sub(r"-?\d+(\.\d+)?", "#", f"{difference.kind} {about[:150]} {words}")

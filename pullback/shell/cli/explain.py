"""`pullback explain`: run a program written for torch and write a page about each of its backward calls.

The program runs as under `pullback run`, slower while calls are being watched: every operation then remembers its line
and its module. A page that cannot be made is reported and never stops the program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from . import counted

USAGE: str = """\
usage: pullback explain [--calls N] [--only LIST] [-o DIR] SCRIPT [ARGS...]
       pullback explain [options] -m MODULE [ARGS...]
       pullback explain [options] -c CODE [ARGS...]

Runs the program and writes a page for each of its first calls of backward(): DIR/backward-001.html and so on.

  --calls N         explain the first N calls (default 3)
  --only LIST       explain these calls instead, such as 1,10 or 5-8
  -o, --output DIR  where the pages go (default: explained)"""


class Options:
    """The options given on the command line."""

    def __init__(self) -> None:
        self.calls: set[int] = {1, 2, 3}
        self.directory: str = "explained"
        self.program: list[str] = []


def parse(arguments: list[str]) -> Options:
    """Read our own options; everything from the program on is the program's. Raises ValueError with a message."""
    options = Options()
    rest = list(arguments)
    while rest and rest[0] in ("--calls", "--only", "-o", "--output"):
        if len(rest) < 2:
            raise ValueError(f"{rest[0]} needs a value")
        name, value, rest = rest[0], rest[1], rest[2:]
        if name == "--calls":
            if not value.isdigit() or int(value) < 1:
                raise ValueError(f"--calls needs a positive number, not {value!r}")
            options.calls = set(range(1, int(value) + 1))
        elif name == "--only":
            options.calls = _numbers(value)
        else:
            options.directory = value
    if not rest:
        raise ValueError("no program given")
    if rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
        raise ValueError(f"unknown option {rest[0]!r}")
    options.program = rest
    return options


def _numbers(text: str) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or int(first) < 1:
            raise ValueError(f"--only needs numbers and ranges such as 1,10 or 5-8, not {text!r}")
        found |= set(range(int(first), int(last or first) + 1))
    return found


class Watcher:
    """Counts backward calls and writes a page for those asked for."""

    def __init__(self, options: Options) -> None:
        self.options: Options = options
        self.count: int = 0
        self.pages: list[tuple[str, str]] = []  # file name and summary
        self.recording: Any = None

    def start(self) -> None:
        from importlib import import_module

        from ...explaining import record

        seams = import_module("pullback.core.seams")
        autograd = import_module("pullback.autograd")

        self.recording = record()
        self.recording.__enter__()
        for module, name in ((seams, "backward_from"), (autograd, "backward")):
            setattr(module, name, self._watched(getattr(module, name)))

    def _watched(self, backward: Callable) -> Callable:
        def watched(tensors: Any, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
            self.count += 1
            if self.count in self.options.calls:
                self.explain(tensors, kwargs.get("grad_tensors", gradient))
            if self.recording is not None and self.count >= max(self.options.calls):
                self.recording.__exit__(None, None, None)
                self.recording = None
            backward(tensors, gradient, *args, **kwargs)

        return watched

    def explain(self, tensors: Any, gradient: Any) -> None:
        from ...explaining import explain
        from ...explaining.html import summary

        name = f"backward-{self.count:03}.html"
        try:
            explanation = explain(tensors, gradient, title=f"Backward call {self.count}")
            os.makedirs(self.options.directory, exist_ok=True)
            explanation.to_html(os.path.join(self.options.directory, name))
        except Exception as error:  # the program goes on as it would without being explained
            print(f"pullback explain: call {self.count} could not be explained: {error}", file=sys.stderr)
            return
        self.pages.append((name, summary(explanation)))

    def finish(self) -> None:
        """Say what was written."""
        if not self.pages:
            made = f"the program made {counted(self.count, 'backward call')}"
            print(f"pullback explain: no page written; {made}.", file=sys.stderr)
            return
        for name, text in self.pages:
            print(f"pullback explain: {os.path.join(self.options.directory, name)}  ({text})", file=sys.stderr)


def main(arguments: list[str]) -> int:
    """Run the program the arguments name, explaining its backward calls; its exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    try:
        options = parse(arguments)
    except ValueError as error:
        print(f"pullback explain: {error}\n\n{USAGE}", file=sys.stderr)
        return 2
    options.directory = os.path.abspath(options.directory)  # the program may change the directory
    from . import run

    watcher = Watcher(options)
    watcher.start()
    try:
        return run.main(options.program)
    finally:
        watcher.finish()

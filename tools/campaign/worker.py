"""One process of a campaign: runs programs, shrinks what differs, and writes records for the parent to read.

It keeps the program that is running in a journal, line by line, so that the parent knows what a process died of.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import itertools
import json
import signal
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import torch

import pullback

from .judging import verdict
from .running import Difference, Pair, replay
from .scenarios import run_random_program
from .shrinking import script, shrink, signature

SECONDS_FOR_A_PROGRAM = 60
SECONDS_TO_SHRINK = 10
SHRUNK = 2
"""How many programs are shrunk that differ in the same line."""


class TookTooLong(BaseException):
    """Raised by the alarm: no program catches it."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TookTooLong in the body after some time, if it then runs Python."""

    def ring(*_: Any) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Worker:
    """Runs programs and counts what became of them."""

    def __init__(self, records: TextIO, journal: TextIO | None, strides: str) -> None:
        self.records, self.journal, self.strides = records, journal, strides
        self.counts: collections.Counter[str] = collections.Counter()
        self.seen: collections.Counter[str] = collections.Counter()

    def run(self, place: int, lines: list[str] | None = None) -> None:
        """Run one program: that of a seed or, at this place of a list, of these lines."""
        if self.journal is not None:
            self.journal.seek(0)
            self.journal.truncate()
            self.journal.write(f"{place}\n")
        pair = Pair(strides=self.strides, journal=self.journal)
        try:
            with at_most(SECONDS_FOR_A_PROGRAM):
                difference = run_random_program(place, pair) if lines is None else pair.replay(lines)
        except TookTooLong:
            difference = Difference("hang", pair.lines[-1], f"longer than {SECONDS_FOR_A_PROGRAM} seconds")
        self.counts["programs"] += 1
        self.counts["lines"] += len(pair.lines)
        if difference is not None:
            self.judge(place, list(pair.lines), difference)

    def judge(self, place: int, lines: list[str], difference: Difference) -> None:
        """Count a difference for what it is, and report it with the smallest program, if it is one."""
        reason = None if difference.kind == "hang" else verdict(lines, difference, self.strides)
        if reason is not None:
            self.counts[reason] += 1
            return
        self.counts["differences"] += 1
        at_first = signature([], difference)
        self.seen[at_first] += 1
        if self.seen[at_first] <= SHRUNK and difference.kind != "hang":
            lines, difference = self.smallest(lines, difference)
        text = script(lines, difference) if difference.kind != "hang" else ""
        facts = {
            "kind": difference.kind,
            "line": difference.line,
            "text": difference.text,
            "seed": place,
            "program": lines,
        }
        self.record(**facts, signature=signature(lines, difference), script=text)

    def smallest(self, lines: list[str], difference: Difference) -> tuple[list[str], Difference]:
        """A minimal program that differs in the same way, and what differs in it."""

        def test(candidate: list[str]) -> Difference | None:
            found = replay(candidate, strides=self.strides)
            alike = (
                found is not None and found.kind == difference.kind and verdict(candidate, found, self.strides) is None
            )
            return found if alike else None

        try:
            with at_most(3 * SECONDS_TO_SHRINK):
                lines = shrink(lines, test, SECONDS_TO_SHRINK)
                return lines, test(lines) or difference
        except TookTooLong:
            return lines, difference

    def record(self, **facts: Any) -> None:
        self.records.write(json.dumps(facts) + "\n")
        self.records.flush()

    def work(self, places: Iterable[int], programs: list[list[str]] | None, until: float) -> None:
        """Run the programs of these seeds, or at these places of a list, until the time is up."""
        for place in places:
            if time.time() > until:
                break
            try:
                self.run(place, None if programs is None else programs[place])
            except Exception:  # of the campaign's own: it goes on, and the summary says so
                text = traceback.format_exc()[-1500:]
                self.record(
                    kind="campaign", line="", text=text, seed=place, program=[], signature=text[-100:], script=""
                )
            if self.counts["programs"] % 50 == 0:
                self.record(counts=self.counts)
        self.record(counts=self.counts, done=True)


def main() -> None:
    """Command line, for the parent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", default="0")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--until", type=float, required=True)
    parser.add_argument("--programs", type=Path, help="JSON: programs as lists of lines, in place of random ones")
    parser.add_argument("--strides", choices=("none", "results", "all"), default="results")
    options = parser.parse_args()
    faulthandler.enable()
    torch.set_num_threads(1)
    pullback.set_num_threads(1)
    programs: Any = None
    places: Iterable[int] = itertools.count(options.start, options.step)
    if options.programs is not None:
        programs = json.loads(options.programs.read_text())
        places = range(options.start, len(programs), options.step)
    with (
        open(options.folder / f"{options.name}.records", "a") as records,
        open(options.folder / f"{options.name}.journal", "w") as journal,
    ):
        Worker(records, journal, options.strides).work(places, programs, options.until)


if __name__ == "__main__":
    main()

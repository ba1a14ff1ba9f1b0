"""Starts the processes of a campaign, starts them again when they die or hang, and gathers what they found."""

from __future__ import annotations

import collections
import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECONDS_OF_SILENCE = 120
"""A process that has not begun a line for so long hangs where no alarm reaches it."""

SECONDS_TO_START = 60
SECONDS_TO_SHRINK = 60


@dataclass
class Campaign:
    """Where it writes, what its processes are told, and what they have found."""

    folder: Path
    seed: int = 0
    processes: int = 2
    strides: str = "results"
    programs: Path | None = None
    silence: float = SECONDS_OF_SILENCE
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The first difference of each signature; how many there were is its `times`."""

    deaths: list[Death] = field(default_factory=list)

    def command(self, name: str, start: int, step: int, until: float, programs: Path | None) -> list[str]:
        words = [sys.executable, "-m", "tools.campaign.worker", str(self.folder), "--name", name, "--start", str(start)]
        words += ["--step", str(step), "--until", str(until), "--strides", self.strides]
        return words + (["--programs", str(programs)] if programs else [])

    def add(self, difference: dict[str, Any]) -> None:
        """Count a difference; a new one is printed with its script's name."""
        known = self.found.get(difference["signature"])
        if known is not None:
            known["times"] += 1
            return
        self.found[difference["signature"]] = {**difference, "times": 1}
        path = self.folder / f"difference_{len(self.found)}.py"
        path.write_text(difference["script"] or "\n".join(difference["program"]))
        print(
            f"\n{difference['kind']}: {difference['line']}\n  {difference['text'][:400]}\n  seed {difference['seed']}, {path}",
            flush=True,
        )
        print("    " + "\n".join(difference["program"]).replace("\n", "\n    "), flush=True)

    def run(self, seconds: float) -> None:
        """Run until the time is up or, of a list of programs, until all have run."""
        until = time.time() + seconds
        children = [Child(self, index, until) for index in range(self.processes)]
        try:
            while any(child.running for child in children):
                time.sleep(0.2)
                for child in children:
                    child.look()
        finally:
            for child in children:
                child.stop()
        for child in children:
            self.counts.update(child.total())
        for death in self.deaths:
            death.report(self)

    def summary(self) -> str:
        """What the campaign has run and found, as a table in Markdown."""
        rows = [f"| {what} | {count} |" for what, count in self.counts.most_common()]
        lines = ["| what | times |", "|---|---|", *rows, "", f"{len(self.found)} kinds of differences", ""]
        for number, one in enumerate(self.found.values(), 1):
            lines += [
                f"{number}. {one['kind']}, {one['times']} times, seed {one['seed']}: `{one['line']}`",
                f"   {one['text'][:300]}",
                "",
            ]
        return "\n".join(lines)


class Child:
    """One process, and those that take its place when it dies."""

    def __init__(self, campaign: Campaign, index: int, until: float) -> None:
        self.campaign, self.index, self.until = campaign, index, until
        self.step = campaign.processes
        self.next = campaign.seed * 10**7 * (campaign.programs is None) + index
        self.lives: list[collections.Counter[str]] = []
        self.running = True
        self.begin()

    def begin(self) -> None:
        self.name = f"{self.index}_{len(self.lives)}"
        self.lives.append(collections.Counter())
        self.read = 0
        self.began = time.time()
        self.errors = self.path("errors").open("w")
        campaign = self.campaign
        command = campaign.command(self.name, self.next, self.step, self.until, campaign.programs)
        self.process = subprocess.Popen(command, stdout=self.errors, stderr=self.errors)

    def path(self, ending: str) -> Path:
        return self.campaign.folder / f"{self.name}.{ending}"

    def look(self) -> None:
        """Read what is new; note a death or a hang, and start the next process."""
        if not self.running:
            return
        ended = self.process.poll() is not None
        self.read_records()
        if not self.running:
            self.stop()
        elif ended:
            self.died("crash", f"exit status {self.process.returncode}: {self.path('errors').read_text()[:1500]}")
        elif time.time() - self.last_sign() > self.campaign.silence:
            self.process.kill()
            self.process.wait()
            self.died("hang", f"no new line for {self.campaign.silence:.0f} seconds")

    def last_sign(self) -> float:
        """When the process last began a line; while it shrinks, its records stand still, for less than the limit."""
        signs = [self.began + SECONDS_TO_START]
        signs += [path.stat().st_mtime for path in (self.path("journal"), self.path("records")) if path.exists()]
        return max(signs)

    def read_records(self) -> None:
        if not self.path("records").exists():
            return
        with self.path("records").open() as records:
            records.seek(self.read)
            while (line := records.readline()).endswith("\n"):
                self.read = records.tell()
                record = json.loads(line)
                if "counts" in record:
                    self.lives[-1] = collections.Counter(record["counts"])
                    self.running = "done" not in record
                else:
                    self.campaign.add(record)

    def died(self, kind: str, text: str) -> None:
        """Keep the program that was running for the report, and go on behind it."""
        journal = self.path("journal")
        lines = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
        if len(lines) < 2:
            raise SystemExit(f"a process of the campaign does not start: {text}")
        place, *program = lines
        if crashed_in_torch(text):
            self.campaign.counts["torch's own crash"] += 1
        else:
            self.campaign.deaths.append(Death(kind, text, place, program))
        self.next = place + self.step
        self.errors.close()
        self.running = time.time() < self.until
        if self.running:
            self.begin()

    def total(self) -> collections.Counter[str]:
        return sum(self.lives, collections.Counter())

    def stop(self) -> None:
        """End the process, which may have ended by itself."""
        try:
            self.process.wait(timeout=1 if self.running else 10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()


def crashed_in_torch(text: str) -> bool:
    """Whether the innermost Python frame of a process that died was one of torch's files."""
    return re.search(r'most recent call first\):\s+File "[^"]*/torch/', text) is not None


@dataclass
class Death:
    """What a process died of: the program that was the last in its journal."""

    kind: str
    text: str
    place: int
    program: list[str]

    def report(self, campaign: Campaign) -> None:
        """Make the program as small as it still kills a process, each tried in one of its own, and report it."""
        from .shrinking import shrink

        limit = 30.0 if self.kind == "crash" else campaign.silence
        path = campaign.folder / "death.json"

        def test(candidate: list[str]) -> Any:
            path.write_text(json.dumps([candidate]))
            command = campaign.command("death", 0, 1, time.time() + limit, path)
            try:
                done = subprocess.run(command, capture_output=True, timeout=limit)
            except subprocess.TimeoutExpired:
                return True if self.kind == "hang" else None
            return True if done.returncode and self.kind == "crash" else None

        lines = shrink(self.program, test, SECONDS_TO_SHRINK, run=False)
        campaign.counts["differences"] += 1
        facts = {"kind": self.kind, "line": lines[-1], "text": self.text, "seed": self.place, "program": lines}
        campaign.add({**facts, "signature": f"{self.kind} {lines[-1]}", "script": ""})

"""Kill a process again and again while it saves checkpoints, and see that every file it leaves loads whole.

`python -m tools.kill_saves --times 1000` prints what it found and exits with 1 if a file was damaged. The saver is a
forked child that writes one generation of a checkpoint after another over the same files; it is killed (SIGKILL) at
a moment drawn at random. What is left must be one generation, all of it, and none older than the one before.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pullback as torch
from pullback.serialization import safetensors


def checkpoint(generation: int) -> dict[str, Any]:
    """A training state in which every number says which generation it belongs to."""
    weights = {f"layer{i}": torch.full((200, 100), float(generation)) for i in range(4)}
    return {"model": weights, "steps": [generation] * 10, "epoch": generation}


def generation_of(state: dict[str, Any]) -> int:
    """The generation of a checkpoint; an error if it is not one and the same everywhere."""
    generation = state["epoch"]
    whole = all(bool((values == generation).all()) for values in state["model"].values())
    if not whole or state["steps"] != [generation] * 10 or len(state["model"]) != 4:
        raise AssertionError(f"parts of several generations in one file: {generation}, {state['steps']}")
    return generation


def save(folder: Path, generation: int) -> None:
    """Write one generation over the last."""
    state = checkpoint(generation)
    torch.save(state, folder / "state.pt")
    safetensors.save_file(state["model"], folder / "weights.safetensors")


def save_forever(folder: Path, generation: int) -> None:
    """What the child does until it is killed."""
    while True:
        generation += 1
        save(folder, generation)


def killed_saver(folder: Path, generation: int, moment: float) -> None:
    """Fork a saver and kill it after so many seconds."""
    child = os.fork()
    if child == 0:
        try:
            save_forever(folder, generation)
        finally:
            os._exit(1)  # a saver never ends by itself
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status):
        raise AssertionError("the saver failed before it was killed")


def kill_saves(folder: Path, times: int, seed: int = 0) -> dict[str, int]:
    """Kill `times` savers; how many saves they completed, and how many kills left an unfinished temporary file."""
    moments = random.Random(seed)
    save(folder, 1)  # also imports all there is to import
    start = time.perf_counter()
    save(folder, 2)
    longest = 4 * (time.perf_counter() - start)
    newest, interrupted = 2, 0
    for _ in range(times):
        killed_saver(folder, newest, moments.uniform(0, longest))
        found = generation_of(torch.load(folder / "state.pt"))
        if found < newest:
            raise AssertionError(f"generation {found} is older than {newest}, which was complete before")
        newest = found
        weights = safetensors.load_file(folder / "weights.safetensors")
        if not all(bool((values == weights["layer0"][0, 0]).all()) for values in weights.values()):
            raise AssertionError("parts of several generations in the safetensors file")
        unfinished = [path for path in folder.iterdir() if path.name not in ("state.pt", "weights.safetensors")]
        interrupted += bool(unfinished)
        for path in unfinished:
            path.unlink()
    return {"kills": times, "saves": newest, "interrupted": interrupted}


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = kill_saves(Path(folder), options.times, options.seed)
        except Exception as error:
            print(f"damaged: {error}")
            return 1
    print(
        f"{found['kills']} kills, {found['interrupted']} of them in the middle of a save; every file loaded whole "
        f"({found['saves']} generations)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

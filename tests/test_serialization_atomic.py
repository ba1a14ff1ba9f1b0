"""Saving in one step: a process killed at any moment leaves the old checkpoint or the new one, never a mixture."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest
from serialization_stubs import install

from pullback.serialization import load, safetensors

KILLS = int(os.environ.get("PULLBACK_KILLS", "25"))  # how often the test kills; results do not depend on it

WRITER = """
import sys, numpy as np
sys.path[:0] = [{tests!r}, {root!r}]
from serialization_stubs import install, tensor
from pullback.serialization import save, safetensors
install()
path, generation = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
while True:
    generation += 1
    values = {{"a": tensor(np.full(200_000, generation)), "b": tensor([generation])}}
    save({{**values, "n": generation}}, path + ".pt")
    safetensors.save_file(values, path + ".safetensors")
"""


def check(path):
    """The generation in a checkpoint, which must be the same everywhere in it."""
    checkpoint = load(path)
    generation = int(checkpoint["b"].array[0])
    assert (checkpoint["a"].array == generation).all() and checkpoint.get("n", generation) == generation
    return generation


@pytest.mark.skipif(os.name == "nt", reason="kills with SIGKILL")
def test_kill_while_saving(tmp_path, monkeypatch):
    install(monkeypatch.setattr)
    tests = pathlib.Path(__file__).parent
    code = WRITER.format(tests=str(tests), root=str(tests.parent))
    path = str(tmp_path / "checkpoint")
    source = random.Random(0)
    generations = [0]
    for _ in range(KILLS):
        child = subprocess.Popen([sys.executable, "-c", code, path, str(generations[-1])], stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        time.sleep(source.uniform(0.0, 0.06))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        if os.path.exists(path + ".pt"):
            generation = check(path + ".pt")
            assert generation >= generations[-1]
            generations.append(generation)
        if os.path.exists(path + ".safetensors"):
            check(path + ".safetensors")
        for left in tmp_path.glob(".*.tmp"):
            left.unlink()
    assert generations[-1] > 0


def test_failing_disk_leaves_the_old_file(tmp_path, monkeypatch):
    """Every system call of a save fails once."""
    install(monkeypatch.setattr)
    path = tmp_path / "f.safetensors"
    import numpy as np

    safetensors.save_file({"a": np.zeros(3)}, path)
    for name in ("fsync", "replace", "chmod", "open"):
        with monkeypatch.context() as patch:
            def fail(*arguments, **options):
                raise OSError("disk full")

            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="disk full"):
                safetensors.save_file({"a": np.ones(3)}, path)
        assert (load(path)["a"].array == 0).all() and os.listdir(tmp_path) == ["f.safetensors"]

"""Saving in one step: a process killed at any moment leaves the old checkpoint or the new one, never a mixture."""

import os
import pathlib
import subprocess
import sys

import pytest
from serialization_stubs import install

from pullback.serialization import load, safetensors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks savers and kills them")
def test_kill_while_saving(tmp_path):
    """The tool with a few kills in a process of its own, which has no threads to fork; it does the same with 1000."""
    root = pathlib.Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tools.kill_saves", "--times", "20"], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith("20 kills"), done.stdout + done.stderr


def test_kill_tool_sees_a_mixture():
    from tools.kill_saves import checkpoint, generation_of

    state = checkpoint(3)
    assert generation_of(state) == 3
    state["model"]["layer2"][7, 7] = 2
    with pytest.raises(AssertionError, match="several generations"):
        generation_of(state)


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

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


@pytest.mark.skipif(os.name == "nt", reason="needs locks of files")
def test_what_killed_savers_left_is_removed_by_the_next_save(tmp_path):
    """Of a saver that is gone, and only some time after its last write; never that of one at work."""
    import fcntl
    import time

    import pullback

    def temporary(name, age):
        path = tmp_path / name
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
        return path

    dead = temporary(".pullback-0123456789abcdef.tmp", 3600)
    fresh = temporary(".pullback-1123456789abcdef.tmp", 1)
    alive = temporary(".pullback-2123456789abcdef.tmp", 3600)
    others = temporary("mine.tmp", 3600)
    os.symlink(others, tmp_path / ".pullback-link.tmp")
    with open(alive, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        pullback.save([1], tmp_path / "x.pt")
        assert not dead.exists() and fresh.exists() and alive.exists() and others.exists()
    pullback.save([1], tmp_path / "x.pt")
    assert not alive.exists() and sorted(os.listdir(tmp_path))[1:] == [".pullback-link.tmp", "mine.tmp", "x.pt"]


@pytest.mark.skipif(os.name == "nt", reason="needs locks of files")
def test_a_saver_at_work_holds_its_file(tmp_path):
    import fcntl

    from pullback.serialization.atomic import replace_file

    def write(file):
        (temporary,) = tmp_path.iterdir()
        with open(temporary, "rb") as other, pytest.raises(OSError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    replace_file(tmp_path / "x", write)


@pytest.mark.skipif(os.name == "nt", reason="needs devices and pipes")
@pytest.mark.parametrize("kind", ["zero", "pipe", "directory", "socket", "huge", "huge safetensors"])
def test_what_is_no_checkpoint_is_refused_at_once(kind, tmp_path):
    import socket
    import time

    import pullback

    path = tmp_path / ("x.safetensors" if "safetensors" in kind else "x.pt")
    if kind == "zero":
        path = "/dev/zero"
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "socket":
        server = socket.socket(socket.AF_UNIX)
        server.bind(os.path.relpath(path))
        server.close()
    else:
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    start = time.process_time()
    for options in ({}, {"weights_only": False}, *([{"mmap": True}] if "huge" not in kind else [])):
        with pytest.raises((OSError, pullback.serialization.CheckpointError, __import__("pickle").UnpicklingError)):
            pullback.load(path, **options)
    assert time.process_time() - start < 5

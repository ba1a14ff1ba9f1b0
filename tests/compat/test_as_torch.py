"""`pullback as-torch`: plain Python and pip take Pullback for torch, and a real torch is never touched."""

import subprocess
import sys
from pathlib import Path

import pytest

from pullback.shell.cli import as_torch
from tools.environments import with_numpy

ROOT = Path(__file__).parents[2]

PROGRAM = """
import torch.nn as nn
import torch, functorch
from importlib.metadata import version
from importlib.util import find_spec
x = torch.tensor([2.0, 3.0], requires_grad=True)
(x * x).backward(gradient=torch.tensor([1.0, 0.5]))
print(x.grad.tolist(), torch.__version__, version("torch"), nn.Linear.__module__)
print(callable(functorch.vmap), find_spec("torch") is not None)
"""


class Environment:
    """A virtual environment with NumPy and Pullback in it, and nothing else."""

    def __init__(self, folder: Path) -> None:
        python, self.packages = with_numpy(folder)
        self.python = str(python)
        (self.packages / "pullback.pth").write_text(str(ROOT))
        info = self.packages / "pullback-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pullback\nVersion: 0.1.0\nRequires-Dist: numpy\n")

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.python, *arguments], capture_output=True, text=True, timeout=120, cwd="/", env={})

    def command(self, action: str) -> subprocess.CompletedProcess:
        return self.run("-m", "pullback", "as-torch", action)

    def pip(self, *arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    pytest.importorskip("pip")
    return Environment(tmp_path_factory.mktemp("environment"))


def test_plain_python_and_pip_take_it_for_torch(environment):
    assert "No torch is installed" in environment.command("status").stdout
    done = environment.command("install")
    assert done.returncode == 0 and "now means Pullback" in done.stdout, done.stderr
    ran = environment.run("-c", PROGRAM)
    assert ran.stdout == "[4.0, 3.0] 2.13.0 2.13.0 torch.nn.modules.linear\nTrue True\n", ran.stderr
    assert "`import torch` means Pullback" in environment.command("status").stdout
    assert environment.command("install").returncode == 0  # again: the same
    listed = environment.pip("list", "--format=freeze").stdout
    assert "torch==2.13.0+pullback" in listed
    assert environment.pip("check").returncode == 0
    gone = environment.pip("uninstall", "-y", "torch")
    assert gone.returncode == 0, gone.stderr
    assert not [each.name for each in environment.packages.iterdir() if "torch" in each.name]
    assert "No module named 'torch'" in environment.run("-c", "import torch").stderr


def test_it_removes_what_it_has_installed(environment):
    assert environment.command("install").returncode == 0
    assert "Removed" in environment.command("uninstall").stdout
    assert not [each.name for each in environment.packages.iterdir() if "torch" in each.name]
    assert "Nothing to remove" in environment.command("uninstall").stdout


def test_a_real_torch_is_left_alone(environment):
    real = environment.packages / "torch"
    real.mkdir()
    (real / "__init__.py").write_text("x = 1\n")
    try:
        refused = environment.command("install")  # a folder that pip does not know
        assert refused.returncode == 1 and "of no distribution that pip knows" in refused.stderr
        info = environment.packages / "torch-2.15.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.15.0\n")
        (info / "INSTALLER").write_text("pip\n")
        for action in ("install", "uninstall"):
            refused = environment.command(action)
            assert (
                refused.returncode == 1 and "torch 2.15.0" in refused.stderr and "pip uninstall torch" in refused.stderr
            )
        assert "is a real one" in environment.command("status").stdout
        assert (real / "__init__.py").read_text() == "x = 1\n" and (info / "INSTALLER").exists()
    finally:
        import shutil

        shutil.rmtree(real)
        shutil.rmtree(info)


def test_an_interrupted_installation_leaves_nothing(tmp_path, monkeypatch):
    rename, calls = as_torch.os.rename, []

    def stop(source, target):
        calls.append(target)
        if len(calls) == 3:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(as_torch.os, "rename", stop)
    with pytest.raises(KeyboardInterrupt):
        as_torch._write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_record_lists_every_file_with_its_checksum(tmp_path):
    import csv

    as_torch._write(tmp_path)
    rows = list(csv.reader((tmp_path / as_torch._INFO / "RECORD").read_text().splitlines()))
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {row[0] for row in rows} == files
    for name, checksum, size in rows[:-1]:
        text = (tmp_path / name).read_text()
        assert as_torch._checksum(text) == checksum and int(size) == len(text)


def test_what_is_not_understood(capsys):
    assert as_torch.main(["--help"]) == 0 and "status" in capsys.readouterr().out
    assert as_torch.main([]) == as_torch.main(["instal"]) == 2 and "usage:" in capsys.readouterr().err

"""Packages written for torch run on Pullback: programs that use them print what they print under torch.

A package that is not installed is skipped; `make third-party` installs them all, pinned, without their dependencies.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("compare", HERE.parents[1] / "examples" / "compare.py")
compare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare)

PROGRAMS = sorted(path.stem.removeprefix("use_") for path in (HERE / "programs").glob("use_*.py"))
PULLBACK = [sys.executable, "-m", "pullback", "run"]


def need(*packages):
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed (make third-party)")


def run(launcher, *arguments):
    return subprocess.run([*launcher, *arguments], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("package", PROGRAMS)
def test_the_package_does_what_it_does_under_torch(package):
    need(package)
    path = str(HERE / "programs" / f"use_{package}.py")
    ours = run(PULLBACK, path)
    assert ours.returncode == 0, ours.stderr[-3000:]
    assert ours.stdout.strip()
    if importlib.util.find_spec("torch") is None:
        pytest.skip("runs; torch is not installed to compare with")
    theirs = run([sys.executable], path)
    assert theirs.returncode == 0, theirs.stderr[-3000:]
    assert compare.agree(ours.stdout, theirs.stdout), f"pullback:\n{ours.stdout}\ntorch:\n{theirs.stdout}"


# The tests that packages ship in their wheels; left out is what needs a GPU, several processes or the network.
SUITES = {
    "einops": ("tests.", "test_ops test_packing test_layers test_other test_examples test_parsing test_einsum", ""),
    "opt_einsum": ("tests.", "test_backends test_sharing", "torch"),
    "entmax": ("", "test_losses test_mask test_root_finding test_topk", ""),
    "skorch": (
        "tests.",
        "test_toy test_setter test_dataset test_classifier test_regressor test_helper test_scoring test_history test_utils",
        "not cuda",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("package", SUITES)
def test_the_package_passes_its_own_tests(package, tmp_path, monkeypatch):
    need(package, *(["sklearn", "flaky"] if package == "skorch" else []))
    monkeypatch.setenv("EINOPS_TEST_BACKENDS", "numpy,torch")
    folder, modules, chosen = SUITES[package]
    monkeypatch.chdir(tmp_path)
    tests = [f"{package}.{folder}{module}" for module in modules.split()]
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-k", chosen, "--pyargs", *tests]
    done = run([*PULLBACK, "-m", "pytest"], *options)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize("order", ["einops first", "pullback first"])
def test_einops_without_the_alias(order):
    need("einops")
    imports = ["import einops", "import pullback"]
    program = "\n".join(
        [
            *(imports if order == "einops first" else reversed(imports)),
            "import sys",
            "x = pullback.randn(2, 3, 4, requires_grad=True)",
            "y = einops.rearrange(x, 'a b c -> (a b) c').sum() + einops.reduce(x, 'a b c -> b', 'max').sum()",
            "y = y + einops.repeat(x, 'a b c -> a b c d', d=2).sum() + einops.einsum(x, x, 'a b c, a b c -> ')",
            "y.backward()",
            "assert x.grad is not None and 'torch' not in sys.modules",
        ]
    )
    done = run([sys.executable], "-c", program)
    assert done.returncode == 0, done.stderr

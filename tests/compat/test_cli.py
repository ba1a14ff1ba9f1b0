"""The command line: run, check, info, and what is said to a mistyped command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import fake_package
import pytest

from pullback.shell.cli.check import report

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_package.make(tmp_path_factory.mktemp("fake"))


def pullback(
    *arguments: str | Path, package: Path, cwd: Path | None = None, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    return fake_package.python("-m", "pullback", *map(str, arguments), path=package, cwd=cwd, stdin=stdin)


# ---------------------------------------------------------------------------------------------------- pullback run

# What a program can see of how it was started.
REPORT = """
import sys, os
print(sys.argv[1:], type(sys.argv).__mro__[-2].__name__, __name__, sys.modules["__main__"].__dict__ is globals())
print(os.path.basename(sys.argv[0]), os.path.basename(str(globals().get("__file__"))), __spec__ and __spec__.name)
print(os.path.realpath(sys.path[0]), os.getcwd(), sys.path.count(sys.path[0]), __package__)
"""


@pytest.mark.parametrize("form", ["script", "folder", "zip", "-m", "-m package", "-c", "-"])
def test_run_looks_like_python(form: str, package: Path, tmp_path: Path) -> None:
    """The same program, started by python and by pullback run, prints the same."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "program.py").write_text(REPORT)
    (tmp_path / "inner" / "__main__.py").write_text(REPORT)
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as archive:
        archive.writestr("__main__.py", REPORT)
    start = {
        "script": ["inner/program.py"], "folder": ["inner"], "zip": ["program.zip"], "-m": ["-m", "inner.program"],
        "-m package": ["-m", "inner"], "-c": ["-c", REPORT], "-": ["-"],
    }[form]  # fmt: skip
    stdin = REPORT if form == "-" else None
    arguments = [*start, "--flag", "-x", "a b"]
    expected = fake_package.python(*arguments, path=package, cwd=tmp_path, stdin=stdin)
    got = pullback("run", *arguments, package=package, cwd=tmp_path, stdin=stdin)
    assert expected.returncode == 0 and expected.stdout.count("\n") == 3, expected.stderr
    assert (got.stdout, got.stderr, got.returncode) == (expected.stdout, "", 0)


FAILURES = {
    "exception": "def f():\n    raise ValueError('deep')\n\nf()",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise RuntimeError('late') from error",
    "syntax": "x = 1\nif x\n    pass",
    "exit status": "import sys\nsys.exit(7)",
    "exit message": "raise SystemExit('stopped because')",
    "exit nothing": "raise SystemExit",
    "own excepthook": "import sys\nsys.excepthook = lambda k, e, t: print('hook', k.__name__, e)\n1 / 0",
    "interrupt": "import signal\nsignal.raise_signal(signal.SIGINT)",
    "failing import": "import no_such_module_anywhere",
    "atexit": "import atexit\natexit.register(print, 'closed')\nraise ValueError",
    "assertion": "assert 1 == 2, 'unequal'",
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("form", ["script", "-m", "-c"])
def test_run_fails_like_python(name: str, form: str, package: Path, tmp_path: Path) -> None:
    """Same traceback, same exit status: none of our frames, none of runpy's that python would not show."""
    code = FAILURES[name]
    (tmp_path / "program.py").write_text(code)
    arguments = {"script": ["program.py"], "-m": ["-m", "program"], "-c": ["-c", code]}[form]
    expected = fake_package.python(*arguments, path=package, cwd=tmp_path)
    got = pullback("run", *arguments, package=package, cwd=tmp_path)
    assert got.returncode == expected.returncode and (got.returncode == 0) == (name == "exit nothing")
    assert got.stdout == expected.stdout
    assert _shown(got.stderr, form) == _shown(expected.stderr.replace("<frozen runpy>", "runpy"), form)
    if name == "interrupt":
        assert got.returncode == -signal.SIGINT


def _shown(traceback: str, form: str) -> list[str]:
    """What must agree: every line, but python shows its runpy frames for -m, and from 3.13 on the source of -c."""
    lines = [line for line in traceback.splitlines() if 'File "runpy"' not in line]
    return [line for line in lines if not line.startswith("    ")] if form == "-c" else lines


def test_run_aliases_torch_and_hides_the_alias_from_tracebacks(package: Path, tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("import torch, torch.nn.functional as F\nprint(torch.__version__, F.relu(-1))")
    result = pullback("run", "good.py", package=package, cwd=tmp_path)
    assert (result.stdout, result.stderr) == ("2.13.0 0\n", "")
    for statement in ("import torch.nope", "from torch import nope", "import torch; torch.nope"):
        (tmp_path / "bad.py").write_text(statement + "\n")
        result = pullback("run", "bad.py", package=package, cwd=tmp_path)
        assert result.returncode == 1
        files = [line.split('"')[1] for line in result.stderr.splitlines() if line.startswith("  File ")]
        assert files == [str(tmp_path / "bad.py")], result.stderr
        assert "Pullback does not have torch.nope" in result.stderr


def test_processes_started_by_the_program_have_the_alias_too(package: Path, tmp_path: Path) -> None:
    (tmp_path / "spawns.py").write_text(
        "import multiprocessing as m, sys, torch\n"
        "def work(x):\n    import torch.linalg\n    return torch.relu(x), torch.__version__, sys.argv[1:]\n"
        "if __name__ == '__main__':\n"
        "    with m.get_context('spawn').Pool(1) as pool: print(pool.map(work, [-1]))\n"
        "    import pickle; print(type(pickle.loads(pickle.dumps(sys.argv))), isinstance(sys.argv, list))\n"
    )
    result = pullback("run", "spawns.py", "flag", package=package, cwd=tmp_path)
    assert result.stdout == "[(0, '2.13.0', ['flag'])]\n<class 'list'> True\n", result.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "phrase"),
    [
        (["missing.py"], 2, "pullback: can't open file"),
        (["-m", "missing"], 1, "No module named missing"),
        (["-m"], 2, "-m needs an argument"),
        (["-c"], 2, "-c needs an argument"),
        (["-z", "x.py"], 2, "unknown option '-z'"),
        ([], 2, "usage: pullback run"),
    ],
)
def test_run_mistakes(arguments: list[str], status: int, phrase: str, package: Path, tmp_path: Path) -> None:
    result = pullback("run", *arguments, package=package, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (status, "") and phrase in result.stderr
    assert "Traceback" not in result.stderr


# -------------------------------------------------------------------------------------------------- pullback check

SCANNED = """\
import torch as t
import torch.nn as nn, os
import torch.nn.functional
from torch import Tensor, float32 as f, relu as nope
from torch.utils.data import DataLoader, Missing
try:
    from torch.only import thing
except ImportError:
    torch = None
L = t.linalg
def g(x: Tensor, tensor) -> t.Tensor:
    L.norm(x); L.cholesky(x)
    torch.nn.functional.relu(x).reluu
    t.tensor(1).anything.goes
    nn.Liner(3); t.nn.Liner
    f.itemsize.whatever
    Tensor.backward; Tensor.backwards
    os.path.torch
    return t.relu.__name__
"""
UNSUPPORTED = {
    "torch.utils.data.Missing": ["a.py:5"],
    "torch.only.thing": ["a.py:7"],
    "torch.linalg.cholesky": ["a.py:12"],
    "torch.nn.Liner": ["a.py:15", "a.py:15"],
    "torch.Tensor.backwards": ["a.py:17"],
}
SUPPORTED = [
    "torch.Tensor", "torch.Tensor.backward", "torch.float32", "torch.linalg", "torch.linalg.norm", "torch.nn",
    "torch.nn.functional", "torch.nn.functional.relu", "torch.relu", "torch.tensor", "torch.utils.data.DataLoader",
]  # fmt: skip


def test_check_finds_names_and_places(package: Path, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SCANNED)
    result = pullback("check", "a.py", "--json", package=package, cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    findings = json.loads(result.stdout)
    assert {item["name"]: item["places"] for item in findings["unsupported"]} == UNSUPPORTED
    assert findings["supported"] == SUPPORTED
    assert findings["names"] == len(SUPPORTED) + len(UNSUPPORTED)
    assert findings["percent"] == 68.7  # 11 of 16, rounded down
    nearest = {item["name"]: item["nearest"] for item in findings["unsupported"]}
    assert nearest["torch.nn.Liner"] == "torch.nn.Linear"
    assert nearest["torch.Tensor.backwards"] == "torch.Tensor.backward"
    assert nearest["torch.only.thing"] is None

    text = pullback("check", "a.py", package=package, cwd=tmp_path).stdout
    assert text.startswith("68.7 % of the torch names in 1 file are supported (11 of 16 names")
    assert "torch.nn.Liner  (nearest: torch.nn.Linear)\n    a.py:15\n" in text


def test_check_does_not_count_what_is_only_refused(package: Path, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch.onnx\ntorch.onnx.known()\ntorch.onnx.export()\n")
    findings = json.loads(pullback("check", "a.py", "--json", package=package, cwd=tmp_path).stdout)
    assert findings["supported"] == ["torch.onnx", "torch.onnx.known"]
    assert [(item["name"], item["refused"]) for item in findings["unsupported"]] == [("torch.onnx.export", True)]
    assert "says what to do" in pullback("check", "a.py", package=package, cwd=tmp_path).stdout


def test_check_walks_projects_and_notebooks(package: Path, tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["import torch.in_markdown"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip list\n", "import torch\n", "torch.relu?"]},
        {"cell_type": "code", "source": "%%bash\nimport torch.in_bash"},
        {"cell_type": "code", "source": "%%time\nif 1:\n    %cd ..\n    y = torch.relo(1)"},
        {"cell_type": "code", "source": "def ("},
    ]  # fmt: skip
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "n.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    (tmp_path / "old.py").write_text("print 'python 2'\n")
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nimport torch\nx = torch.relu, '\xe9'\n")
    (tmp_path / "notes.txt").write_text("import torch.in_text")
    for skipped in (".venv", "__pycache__"):
        (tmp_path / skipped).mkdir()
        (tmp_path / skipped / "x.py").write_text("import torch.skipped")
    findings = json.loads(pullback("check", ".", "--json", package=package, cwd=tmp_path).stdout)
    assert findings["supported"] == ["torch.relu"] and findings["files"] == 3
    place = str(Path(".") / "sub" / "n.ipynb")
    assert [(item["name"], item["places"]) for item in findings["unsupported"]] == [
        ("torch.relo", [f"./{place}:cell4:4"])
    ]
    assert [item["place"] for item in findings["unreadable"]] == ["./old.py:1", f"./{place}:cell5:1"]


METHODS = """
import torch
from torch import nn, ones
import torch.nn.functional as F

x = torch.randn(3, requires_grad=True)
(x * 2).relu()[0].missing_a()  # chains, arithmetic and indices
F.relu(-x).T.missing_b()
layer = nn.Linear(3, 3)
layer.missing_c()
nn.Parameter(x).missing_d()

def function(a: torch.Tensor, unknown):
    a = a.exp()
    for _ in range(3):
        a = a + ones(3)
    unknown.missing_e()
    return [a.missing_f() for _ in range(2)]

array = torch.ones(3)
array = array.numpy()
array.whatever()
for item in x:
    item.whatever()
a, b = x.max(0)
a.whatever()
if hasattr(x, "maybe"):
    x.maybe()
x.own = print
x.own()
class Mine(torch.Tensor):
    def more(self): ...
Mine(3).more()
model = nn.Sequential(nn.Linear(3, 3))
model.head()
x.sum().item().hex()
x.indices()  # of sparse tensors
def shadow(x):
    x.whatever()
def rebinds():
    global layer
    layer = object()
try:
    y = torch.ones(3)
except OSError as y:
    y.whatever()
with open("f") as z, open("g") as torch_like:
    z.whatever()
lambda x: x.whatever()
[x.whatever() for x in range(3)]
def twice(x=torch.ones(1)):
    x.whatever()
"""


def test_check_looks_at_methods_where_the_receiver_is_known(tmp_path: Path) -> None:
    (tmp_path / "methods.py").write_text(METHODS.replace("layer = object()", "pass").replace("global layer", "pass"))
    assert sorted(item["name"].removeprefix("torch.") for item in report([str(tmp_path)])["unsupported"]) == [
        *(f"Tensor.missing_{letter}" for letter in "abdf"), "nn.Linear.missing_c",
    ]  # fmt: skip
    (tmp_path / "methods.py").write_text(METHODS)
    names = [item["name"] for item in report([str(tmp_path)])["unsupported"]]
    assert "torch.nn.Linear.missing_c" not in names  # since another function binds the name to something else


@pytest.mark.parametrize("folder", ["examples", "tests/third_party/programs", "tests/compat/programs"])
def test_check_raises_no_false_alarm_about_methods(folder: str) -> None:
    findings = report([str(Path(__file__).parents[2] / folder)])
    of_receivers = [n for n in findings["supported"] if n.startswith("torch.Tensor.")]
    assert not [item for item in findings["unsupported"] if item["name"].startswith(("torch.Tensor.", "torch.nn."))]
    assert of_receivers or folder != "examples"


def test_check_exit_status(package: Path, tmp_path: Path) -> None:
    def status(code: str, path: str = "x.py") -> int:
        (tmp_path / "x.py").write_text(code)
        return pullback("check", path, package=package, cwd=tmp_path).returncode

    assert status("import torch.nn as nn\nnn.Linear") == 0
    assert status("print('no torch here')") == 0
    assert status("import torch\ntorch.nope") == 1
    assert status("import (") == 1
    assert status("", "missing.py") == 2


def test_check_does_not_run_or_import_the_program(package: Path, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import torch, helper\nopen('ran', 'w')\n")
    (tmp_path / "helper.py").write_text("open('imported', 'w')\n")
    pullback("check", ".", package=package, cwd=tmp_path)
    assert not (tmp_path / "ran").exists() and not (tmp_path / "imported").exists()


PACKAGES = """\
import os, torch, neighbour
import torchvision.transforms as T
from torchaudio import load
import no_such_package.part
try:
    import optional_package
except ImportError:
    pass
def later():
    import another_package
"""


def test_check_says_what_to_install_and_whether_it_will_run(package: Path, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PACKAGES)
    (tmp_path / "neighbour.py").write_text("import torch\ntorch.relu\n")
    result = pullback("check", "a.py", package=package, cwd=tmp_path)
    assert result.returncode == 1
    assert "torchaudio  (cannot run here: it loads compiled operators)\n    a.py:3\n" in result.stdout
    assert "no_such_package  (pip install no_such_package)" in result.stdout
    assert "optional" not in result.stdout and "another" not in result.stdout and "neighbour" not in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("will not run as it is, because no_such_package, torchaudio") and "imported" in last
    good = pullback("check", "neighbour.py", package=package, cwd=tmp_path)
    assert good.returncode == 0 and good.stdout.splitlines()[-1] == "will run"


def test_run_says_how_to_install_what_is_written_for_torch(package: Path, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torchmetrics_\n")
    assert "pip" not in pullback("run", "a.py", package=package, cwd=tmp_path).stderr
    (tmp_path / "a.py").write_text("raise ModuleNotFoundError('No module named', name='torchmetrics.text')\n")
    assert "pip install --no-deps torchmetrics" in pullback("run", "a.py", package=package, cwd=tmp_path).stderr


# --------------------------------------------------------------------------------------------------- pullback info


def test_info() -> None:
    import numpy

    facts = json.loads(pullback("info", "--json", package=ROOT).stdout)
    assert facts["pullback"] == "0.1.0" and facts["torch interface"] == "2.13.0"
    assert facts["numpy"] == numpy.__version__ and facts["devices"] == ["cpu"]
    assert facts["threads"]["cores"] >= 1 and facts["threads"]["pullback"] >= 1
    text = pullback("info", package=ROOT).stdout
    for name in facts:
        assert any(line.startswith(name) for line in text.splitlines()), name
    assert ("scipy           -" in text) == (facts["extras"]["scipy"] is None)


# ------------------------------------------------------------------------------------------------------ everything


@pytest.mark.parametrize(
    ("arguments", "status", "phrase"),
    [
        ([], 0, "usage: pullback"),
        (["--help"], 0, "without running it"),
        (["--version"], 0, "pullback 0.1.0"),
        (["rum"], 2, "Did you mean `pullback run`?"),
        (["chek", "."], 2, "Did you mean `pullback check`?"),
        (["script.py"], 2, "`pullback run script.py`"),
        (["zzz"], 2, "unknown command 'zzz'.\n\nusage: pullback"),
        (["run", "--help"], 0, "-m MODULE"),
        (["check", "--help"], 0, "--json"),
        (["info", "--help"], 0, "--json"),
    ],
)
def test_help_and_suggestions(arguments: list[str], status: int, phrase: str, package: Path) -> None:
    result = pullback(*arguments, package=package)
    assert result.returncode == status
    assert phrase in (result.stderr if status else result.stdout)


def test_a_reader_who_leaves_early_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import torch\n" + "".join(f"torch.{'x' * 2000}{n}\n" for n in range(50)))
    command = [sys.executable, "-m", "pullback", "check", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


def test_run_imports_no_argument_parser(package: Path) -> None:
    result = pullback("run", "-c", "import sys; print({'argparse', 'difflib'} & set(sys.modules))", package=package)
    assert result.stdout == "set()\n", result.stderr


@pytest.mark.skipif(not (ROOT / "pullback" / "__init__.py").exists(), reason="the core package is not there")
@pytest.mark.parametrize(
    ("example", "lines"),
    [
        ("founding_1_scalar.py", ["Gradient of x with scalar loss: 12.0"]),
        (
            "founding_2_no_gradient.py",
            [
                "RuntimeError: grad can be implicitly created only for scalar outputs",
                "Gradient of x without explicit gradient: x.grad is None.",
            ],
        ),
        ("founding_3_gradient.py", ["Gradient of x with explicit gradient: tensor([4., 3.])"]),
    ],
)
def test_founding_examples_run_unchanged(example: str, lines: list[str]) -> None:
    result = fake_package.python("-m", "pullback", "run", str(ROOT / "examples" / example), path=ROOT)
    assert result.returncode == 0, result.stderr
    printed = result.stdout.splitlines()
    assert len(printed) == len(lines)
    for got, expected in zip(printed, lines, strict=True):
        assert got.startswith(expected)


@pytest.mark.skipif(os.name == "nt", reason="needs devices and pipes")
@pytest.mark.parametrize("command", ["run", "check"])
def test_programs_that_have_no_end(command: str, package: Path, tmp_path: Path) -> None:
    (tmp_path / "huge.py").touch()
    os.truncate(tmp_path / "huge.py", 1 << 40)
    for path in ("/dev/zero", "huge.py"):
        result = pullback(command, path, package=package, cwd=tmp_path)
        assert result.returncode == 2 and "File too large for a program" in result.stderr
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", "echo 'print(1)' > pipe"], cwd=tmp_path):
        result = pullback(command, "pipe", package=package, cwd=tmp_path)  # as in: pullback run <(echo 'print(1)')
        assert result.returncode == 0 and (command != "run" or result.stdout == "1\n")


@pytest.mark.skipif(os.name == "nt", reason="needs pipes")
def test_check_passes_over_what_is_no_file(package: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    os.symlink(tmp_path / "nowhere", tmp_path / "dead.py")
    os.symlink("/dev/zero", tmp_path / "zero.py")
    (tmp_path / "good.py").write_text("import torch")
    assert "in 1 file" in pullback("check", ".", package=package, cwd=tmp_path).stdout

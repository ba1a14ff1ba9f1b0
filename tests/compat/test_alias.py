"""`import torch` answered by Pullback: every way of importing, what is missing, and how it is undone."""

from __future__ import annotations

import textwrap
from pathlib import Path

import fake_package
import pytest

from pullback.torch_version import TorchVersion

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_package.make(tmp_path_factory.mktemp("fake"))


def run_aliased(code: str, package: Path) -> str:
    """The output of code that starts with the alias installed; fails if the code fails."""
    program = "from pullback.shell.torch_names.alias import install_as_torch, uninstall_as_torch\ninstall_as_torch()\n"
    result = fake_package.python("-c", program + textwrap.dedent(code), path=package)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


IMPORTS = {
    "module": "import torch; assert torch.relu is pullback.relu",
    "renamed": "import torch as t; assert t.tensor is pullback.tensor",
    "submodule": "import torch.nn; assert torch.nn is pullback.nn",
    "submodule renamed": "import torch.nn as nn; assert nn is pullback.nn",
    "deep": "import torch.nn.functional as F; assert F is pullback.nn.functional",
    "from": "from torch import nn, Tensor; assert nn is pullback.nn and Tensor is pullback.Tensor",
    "from deep": "from torch.utils.data import DataLoader as D; assert D is pullback.utils.data.DataLoader",
    "from module": "from torch.nn import functional as F; assert F is pullback.nn.functional",
    "loaded on demand": "import torch; assert torch.linalg.norm(-2) == 2; assert torch.linalg is pullback.linalg",
    "from on demand": "from torch import linalg; assert linalg is pullback.linalg",
    "import on demand": "import torch.linalg; assert torch.linalg is pullback.linalg",
    "not loaded before": "import torch.utils.data; import torch; assert torch.utils is pullback.utils",
    "import_module": "import importlib as i; assert i.import_module('torch.nn.functional') is pullback.nn.functional",
    "star": "from torch import *; assert relu is pullback.relu and nn is pullback.nn and 'linalg' not in globals()",
    "sys.modules": "import sys, torch.nn.functional; assert sys.modules['torch.nn'] is pullback.nn",
    "own name kept": "import torch.nn; assert pullback.nn.__name__ == pullback.nn.__spec__.name == 'pullback.nn'",
    "torch named": "import torch; assert torch.__name__ == torch.__spec__.name == 'torch' and type(torch) is type(sys)",
    "file": "import torch; assert torch.__file__ == pullback.__file__",
    "versions": "import torch; assert torch.__version__ == '2.13.0' and pullback.__version__ == '0.1.0'",
    "version module": "import torch; assert torch.version.__version__ == '2.13.0' and torch.version.cuda is None",
    "version import": "from torch.version import __version__ as v, cuda; assert v == '2.13.0'",
    "version class": "import torch; assert type(torch.__version__) is torch.torch_version.TorchVersion",
    "dir": "import torch; assert {'relu', 'nn', '__version__'} <= set(dir(torch)) and 'relu' in vars(torch)",
    "computed each time": "import torch; assert torch.clock + 1 == torch.clock",
    "patched": "import torch; torch.relu = 7; assert torch.relu == 7",
    "hasattr": "import torch as t; assert hasattr(t, 'relu') and not hasattr(t, 'reluu') and not hasattr(t.nn, 'X')",
    "reload": "import importlib, torch; importlib.reload(torch); importlib.reload(torch.nn); assert torch.relu(3) == 3",
    "spec": "assert f('torch').name == 'torch' and f('torch.nn') and f('torch.utils')",
    "spec imported": "import torch; assert f('torch') is torch.__spec__",
    "no spec": "assert f('torch.only_in_torch') is None is f('torch.nn.nope')",
    "function is no module": "assert f('torch.tensor') is None",
    "metadata": "assert m.version('torch') == '2.13.0' == m.metadata('torch')['Version']",
    "other metadata": "assert m.version('pytest') != '2.13.0'",
    "all metadata": "assert 'torch' in [d.metadata['Name'] for d in m.distributions()]",
    "installed twice": "install_as_torch(); import torch; install_as_torch(); assert torch.relu is pullback.relu",
    "pickle": "import pickle, torch; t = pickle.loads(pickle.dumps(torch.tensor(3))); assert t == torch.tensor(3)",
    "pickled by torch": (
        "import pickle; f = pickle.loads(b'ctorch.nn.functional\\nrelu\\n.'); assert f is pullback.nn.functional.relu"
    ),
    "mocked": (
        "import torch, unittest.mock as u\n"
        "with u.patch('torch.relu', return_value=9): assert torch.relu(1) == 9\n"
        "assert torch.relu(1) == 1"
    ),
}  # fmt: skip


def test_every_way_of_importing(package: Path) -> None:
    """One process for each would take ten times as long: the alias is removed and installed again in between."""
    lines = ["import sys, pullback, traceback", "failed = []"]
    # What the snippets may use besides what they import; f is find_spec, m is importlib.metadata.
    given = "pullback=pullback, install_as_torch=install_as_torch, sys=sys, f=find_spec, m=metadata"
    lines += ["from importlib.util import find_spec", "from importlib import metadata"]
    for name, code in IMPORTS.items():
        lines += [
            "before = set(sys.modules)",
            "install_as_torch()",
            f"try: exec({code!r}, dict({given}))",
            f"except BaseException: failed.append({name!r} + chr(10) + traceback.format_exc())",
            "uninstall_as_torch()",
            "assert not [m for m in sys.modules if m.split('.')[0] == 'torch']",
            "for m in set(sys.modules) - before:",
            "    if m.startswith('pullback.'):",
            "        parent, _, child = m.rpartition('.')",
            "        del sys.modules[m]; vars(sys.modules.get(parent, sys)).pop(child, None)",
        ]
    lines.append("print(*failed, sep=chr(10))")
    assert run_aliased("\n".join(lines), package) == ""


MISSING = [
    # program, error type, phrase torch uses, help
    ("import torch; torch.reluu", "AttributeError", "module 'torch' has no attribute 'reluu'", "is torch.relu."),
    ("import torch; torch.nn.softmax", "AttributeError", "module 'torch.nn' has no attribute 'softmax'",
     "is torch.nn.functional.softmax."),
    ("import torch.nn.functional as F; F.soft_max", "AttributeError",
     "module 'torch.nn.functional' has no attribute 'soft_max'", "is torch.nn.functional.softmax."),
    ("import torch; torch.linalg.Tensor", "AttributeError", "has no attribute 'Tensor'", "is torch.Tensor."),
    ("import torch; torch.linalg.nom", "AttributeError", "module 'torch.linalg' has no attribute 'nom'",
     "is torch.linalg.norm."),
    ("import torch; torch.zzzz", "AttributeError", "has no attribute 'zzzz'", "does not have torch.zzzz. docs"),
    ("from torch import reluu", "ImportError", "cannot import name 'reluu' from 'torch'", "is torch.relu."),
    ("from torch.nn import Liner", "ImportError", "cannot import name 'Liner' from 'torch.nn'", "is torch.nn.Linear."),
    ("from torch.nn.functional import soft_max", "ImportError",
     "cannot import name 'soft_max' from 'torch.nn.functional'", "is torch.nn.functional.softmax."),
    ("import torch.utils.dat", "ModuleNotFoundError", "No module named 'torch.utils.dat'", "is torch.utils.data."),
    ("import torch.lynalg.x", "ModuleNotFoundError", "No module named 'torch.lynalg'", "docs/coverage.md"),
    ("import torch.only_in_torch", "ModuleNotFoundError", "No module named 'torch.only_in_torch'", "docs/coverage.md"),
    ("import torch.tensor", "ModuleNotFoundError", "No module named 'torch.tensor'", "docs/coverage.md"),
]  # fmt: skip


def test_what_is_missing_is_named_with_the_nearest_supported_name(package: Path) -> None:
    program = f"""
    import sys
    for code in {[row[0] for row in MISSING]!r}:
        try:
            exec(code, {{}})
        except Exception as error:
            print(type(error).__name__, error)
        else:
            print("no error")
    import torch
    assert torch.tensor(3).value == 3  # `import torch.tensor` must not have replaced the function
    """
    lines = run_aliased(program, package).splitlines()
    assert len(lines) == len(MISSING)
    for (code, kind, phrase, help_text), line in zip(MISSING, lines, strict=True):
        assert line.startswith(f"{kind} ") and phrase in line and help_text in line, f"{code}: {line}"
        assert line.count("docs/coverage.md") == 1 and "Pullback does not have torch." in line


def test_a_mistake_inside_a_module_loaded_on_demand_is_not_called_missing(package: Path) -> None:
    output = run_aliased(
        """
        import torch
        try: torch.broken
        except AttributeError as error: print(error)
        """,
        package,
    )
    assert output == "module 'math' has no attribute 'no_such_function'"


def test_uninstall_gives_the_name_back(package: Path) -> None:
    output = run_aliased(
        """
        import importlib.metadata, sys, pullback, torch, torch.nn.functional
        uninstall_as_torch()
        uninstall_as_torch()
        assert '__getattr__' not in vars(pullback.nn.functional)
        try: pullback.nn.functional.soft_max
        except AttributeError as error: print(error)
        try: import torch
        except SystemExit as error: print(error)
        """,
        package,
    )
    assert output.splitlines() == [
        "module 'pullback.nn.functional' has no attribute 'soft_max'",
        "the installed torch was imported",
    ]


def test_a_torch_that_is_already_imported_is_refused(package: Path) -> None:
    program = """
import sys, types
sys.modules["torch"] = types.ModuleType("torch")
from pullback.shell.torch_names.alias import install_as_torch
try: install_as_torch()
except RuntimeError as error: print(error)
assert type(sys.meta_path[0]).__name__ != "TorchFinder"
"""
    result = fake_package.python("-c", program, path=package)
    assert "before the first `import torch`" in result.stdout, result.stderr


def test_access_through_the_alias_costs_what_a_plain_module_costs(package: Path) -> None:
    """Attributes sit in the module's own dict: no Python code runs when they are read."""
    output = run_aliased(
        """
        import sys, torch
        torch.linalg
        calls = []
        sys.setprofile(lambda frame, event, argument: calls.append(frame.f_code.co_name) if event == "call" else None)
        torch.relu, torch.nn.functional, torch.linalg, torch.__version__, torch.Tensor
        sys.setprofile(None)
        print(calls)
        """,
        package,
    )
    assert output == "[]"


@pytest.mark.parametrize(
    ("left", "order", "right"),
    [
        ("2.13.0", ">", "2.4"), ("2.13.0", ">=", "2.13"), ("2.13.0", "==", "2.13.0+cpu"), ("2.13.0", "<", "2.14.0a0"),
        ("2.13.0", ">", "2.13.0rc1"), ("2.13.0", ">", (2, 4)), ("2.13.0", "<", (3,)), ("2.13.0", ">=", (2, 13, 0)),
        ("2.13.0", "!=", "2.13.1"), ("2.13.0", "!=", "main"), ("2.13.0", ">", "1.13.1"), ("2.13.0", "<=", "2.13.0"),
    ],
)  # fmt: skip
def test_version_order(left: str, order: str, right: object) -> None:
    assert eval(f"left {order} right", {"left": TorchVersion(left), "right": right})


def test_version_is_a_string() -> None:
    version = TorchVersion("2.13.0")
    assert version.split(".") == ["2", "13", "0"] and hash(version) == hash("2.13.0") and f"{version}" == "2.13.0"
    with pytest.raises(ValueError, match="not a version"):
        _ = version < "main"


@pytest.mark.skipif(not (ROOT / "pullback" / "__init__.py").exists(), reason="the core package is not there")
def test_the_real_package_answers_to_torch() -> None:
    program = """
from pullback.shell.torch_names.alias import install_as_torch
install_as_torch()
import io, torch, pullback, torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
assert F is pullback.nn.functional is torch.nn.functional and nn is pullback.nn
assert torch.tensor is pullback.tensor and torch.Tensor is pullback.Tensor
assert torch.ops is not pullback.ops and torch.ops.aten.mul.default(3, 2) == 6  # means other things in the two
assert DataLoader.__module__ == "torch.utils.data.dataloader"
assert torch.__version__ == "2.13.0" and torch.__version__ > "2.4"
x = torch.tensor([2.0, 3.0], requires_grad=True)
(x * x).backward(gradient=torch.tensor([1.0, 0.5]))
torch.save(nn.Linear(2, 3), buffer := io.BytesIO())  # its class names a module that nobody has imported
buffer.seek(0)
assert torch.load(buffer, weights_only=False).weight.shape == (3, 2)
print(x.grad)
"""
    result = fake_package.python("-c", program, path=ROOT)
    assert result.stdout == "tensor([4., 3.])\n", result.stderr


def test_classes_say_they_are_torchs_while_the_alias_is_there() -> None:
    program = """
import pickle
from pullback.shell.torch_names.alias import install_as_torch, uninstall_as_torch
install_as_torch()
import torch
from torch.distributions import ExpTransform
from torch.optim.lr_scheduler import StepLR
layer = torch.nn.Linear(2, 2)
basic = torch.Tensor, torch.Size, torch.dtype, torch.device, torch.Generator
for kind in (*basic, type(layer), torch.nn.Parameter, torch.optim.SGD, StepLR, ExpTransform):
    print(kind.__module__, kind.__qualname__)
    assert pickle.loads(pickle.dumps(kind)) is kind
assert torch.equal(pickle.loads(pickle.dumps(layer)).weight, layer.weight)
uninstall_as_torch()
assert type(layer).__module__ == "pullback.nn.modules.linear" and torch.Generator.__module__ == "pullback.random"
assert StepLR.__module__ == "pullback.optim._schedules"
"""
    result = fake_package.python("-c", program, path=ROOT)
    assert result.stdout.split("\n") == [
        "torch Tensor", "torch Size", "torch dtype", "torch device", "torch Generator",
        "torch.nn.modules.linear Linear", "torch.nn.parameter Parameter", "torch.optim.sgd SGD",
        "torch.optim.lr_scheduler StepLR", "torch.distributions.transforms ExpTransform", "",
    ], result.stderr  # fmt: skip


MENTIONED = {
    "class": "from torch.distributed.fsdp import FSDP; assert not isinstance(3, FSDP)",
    "member": "from torch.distributed.fsdp import Strategy; assert Strategy.FULL is not None",
    "module": "import torch.ao.quantization as q; assert q.QuantStub",
    "attribute": "import torch; assert torch.export.Program",
    "annotation": "import torch; from typing import Optional as O\ndef f(n: O[torch.SymInt] = None) -> 'int': return 1",
    "subclass": "from torch.onnx.symbolic import Helper\nclass Mine(Helper):\n    pass",
    "has no items": "import torch\ntry: 3 in torch.export.Program\nexcept TypeError: pass\nelse: raise AssertionError",
    "generic": "from torch.distributed.tensor import DTensor; assert DTensor[int] is DTensor",
    "question": "from torch.distributed import rpc; assert rpc.is_available() is False",
    "no spec": "import importlib.util as u; assert u.find_spec('torch.distributed.pipelining') is None",
    "function stays missing": "import torch; assert not hasattr(torch.cuda, 'graph_pool_of_mine')",
    "private stays missing": "import torch; from torch.export import Program; assert not hasattr(Program, '_version')",
    "not everything": "import torch; assert not hasattr(torch, 'Nothing') and not hasattr(torch.nn, 'Nothing')",
}
USED = {
    "class": (
        "from torch.distributed.fsdp import FSDP; FSDP(3)",
        "does not have torch.distributed.fsdp.FSDP. Programs run",
    ),
    "function": (
        "import torch; torch.export.export(3)",
        "does not have torch.export.export. Programs are not captured",
    ),
    "subclass": ("from torch.ao.nn import Stub\nclass Mine(Stub):\n    pass\nMine()", "does not have torch.ao.nn.Stub"),
}


def test_what_is_missing_can_be_mentioned_but_not_used():
    program = ["import pullback", "pullback.install_as_torch()"]
    for code in MENTIONED.values():
        program.append(f"exec({code!r}, {{}})")
    for code, message in USED.values():
        program += ["try:", f"    exec({code!r}, {{}})", "except NotImplementedError as error:"]
        program += [f"    assert {message!r} in str(error), error", "else:", f"    raise AssertionError({code!r})"]
    result = fake_package.python("-c", "\n".join(program), path=ROOT)
    assert result.returncode == 0, result.stderr

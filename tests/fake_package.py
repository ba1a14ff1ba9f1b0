"""A tiny package called pullback: the real alias and command line around a core of a few names.

The alias and the commands are tested on it, so those tests are fast and do not depend on what the core supports.
`python()` runs code with it in a fresh process, next to a booby-trapped torch that must never be imported.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "pullback"
REAL_FILES = ["shell/torch_names", "torch_version.py", "shell/cli", "version.py", "__main__.py"]

FAKE_FILES = {
    "__init__.py": """
        __path__.append(__path__[0] + "/shell/stand_ins")
        from .core.tensor import Tensor, tensor
        from . import nn
        from .version import __version__
        def relu(x): return max(x, 0)
        float32 = object()
        def __getattr__(name):
            if name in ("linalg", "broken", "cuda"):
                import importlib
                return importlib.import_module("pullback." + name)
            if name == "clock":
                import itertools
                return next(ticks)
            raise AttributeError(f"module 'pullback' has no attribute {name!r}")
        import itertools
        ticks = itertools.count()
    """,
    "core/tensor.py": """
        class Tensor:
            def __init__(self, value): self.value = value
            def backward(self): return self.value
            def __eq__(self, other): return self.value == other.value
        def tensor(value): return Tensor(value)
    """,
    "nn/__init__.py": "from . import functional\nclass Module: pass\nclass Linear(Module): pass",
    "nn/functional.py": "def softmax(x): return x\ndef relu(x): return max(x, 0)",
    "linalg.py": "def norm(x): return abs(x)",
    "optim.py": "import an_optional_package_that_is_absent",
    "broken.py": "import math\nmath.no_such_function",
    "cuda.py": "def device_count(): return 0\ndef is_available(): return False",
    "onnx.py": "from typing import NoReturn\ndef export(*args) -> NoReturn: raise NotImplementedError\ndef known(): return False",
    "utils/__init__.py": "",
    "utils/data.py": "class DataLoader: pass",
}


def _write(path: Path, text: str) -> None:
    import textwrap

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))


def make(root: Path) -> Path:
    """Write the package, and the torch that must not be touched, under `root`; returns the folder for PYTHONPATH."""
    for name, text in FAKE_FILES.items():
        _write(root / "pullback" / name, text)
    for name in REAL_FILES:
        (root / "pullback" / name).parent.mkdir(parents=True, exist_ok=True)
        if (SOURCE / name).is_dir():
            shutil.copytree(SOURCE / name, root / "pullback" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(SOURCE / name, root / "pullback" / name)
    _write(root / "torch" / "__init__.py", "raise SystemExit('the installed torch was imported')")
    _write(root / "torch" / "only_in_torch.py", "")
    return root


def python(
    *arguments: str, path: Path, cwd: Path | None = None, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run this Python with `path` in front of its module search path."""
    environment = {**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd or path, env=environment, input=stdin, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip

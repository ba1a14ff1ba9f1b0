"""What type checkers make of the installed package: every public name of every module has a type of its own.

`python -m tools.type_claims` installs a wheel in an empty environment, lets mypy and pyright reveal the type of each name
in each module's `__all__`, and checks that programs with mistakes are told so, and correct ones are not.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.environments import with_numpy

ROOT = Path(__file__).parents[1]

MODULES = """
amp array_api autograd autograd.forward_ad autograd.functional autograd.graph distributed distributions
distributions.constraints distributions.kl distributions.transforms explaining fft func fx implicit library linalg masked multi
multiprocessing nn nn.functional nn.init nn.modules nn.utils nn.utils.parametrize nn.utils.rnn optim optim.lr_scheduler
optim.swa_utils optimize overrides profiler quasirandom random serialization signal.windows sparse special testing
utils.checkpoint utils.data
""".split()
# These lie in the folder of stand-ins: type checkers reach them as attributes of the package.
ATTRIBUTES = ["cuda", "cuda.amp"]

# Each line that ends with `# wrong` is to be refused by both checkers, no other line by any.
PROGRAM = """
import pullback as torch
from pullback import Tensor, nn, optim
from pullback.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, 2 * width)
        self.second = nn.Linear(2 * width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor, gain: float = 1.0) -> Tensor:
        return x + self.scale * self.second(F.gelu(self.first(x))) * gain


class Memory(nn.LSTM):
    pass


def train(model: Block, x: Tensor) -> float:
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    loss = model(x, gain=2.0).square().mean()
    optimizer.zero_grad()
    loss.backward(gradient=torch.ones(()))
    optimizer.step()
    return float(loss)


def mistakes(model: Block, x: Tensor) -> None:
    nn.Linear("a", 2)  # wrong
    model(x, gain="2")  # wrong
    model(x).not_there()  # wrong
    optim.Adam(model.parameters(), lr=[1])  # wrong
    F.linear(x, [1])  # wrong
    nn.Linaer(1, 2)  # wrong
    torch.distributions.Normall(0, 1)  # wrong
    optim.Adamm(model.parameters())  # wrong
    torch.linalg.inverse(x)  # wrong
    torch.utils.data.Loader([x])  # wrong


def loaded_when_asked_for(x: Tensor) -> None:
    optim.lr_scheduler.StepLR(optim.SGD([x]), 3)
    torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x))
    torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)
    torch.autograd.functional.jacobian(torch.sin, x)
    torch.func.rearrange(x, "a b -> b a")
    nn.utils.parametrizations.weight_norm(nn.Linear(1, 2))
    nn.utils.rnn.pad_sequence([x])
    nn.grad.conv2d_input((1, 1, 4, 4), x, x)
    torch.multi.scalarization.Constant
    torch.cuda.amp.autocast()
"""


def environment(folder: Path) -> Path:
    """The Python of an empty environment with the wheel and NumPy in it."""
    python, packages = with_numpy(folder)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--target", str(packages), str(ROOT)], check=True)
    return python


def revealing() -> tuple[str, list[str]]:
    """A program that reveals the type of each public name, and the names line by line."""
    names = []
    for module in [*MODULES, *ATTRIBUTES]:
        listed = importlib.import_module(f"pullback.{module}").__all__
        names += [f"pullback.{module}.{name}" for name in listed if name not in ("annotations", "Any")]
    imports = [f"import pullback.{module}" for module in MODULES]
    return "\n".join([*imports, *[f"reveal_type({name})" for name in names]]) + "\n", [""] * len(imports) + names


def mypy_says(python: Path, file: Path) -> list[tuple[int, str, str]]:
    """(line, "error" or "note", text) of each message."""
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--python-executable",
        str(python),
        "--config-file=",
        str(file),
    ]
    output = subprocess.run(command, capture_output=True, text=True, cwd=file.parent).stdout
    found = re.findall(rf"^{file.name}:(\d+): (error|note): (.*)$", output, re.MULTILINE)
    return [(int(line), kind, text) for line, kind, text in found]


def pyright_says(python: Path, file: Path) -> list[tuple[int, str, str]]:
    """The same of pyright."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", str(python), str(file)]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, cwd=file.parent).stdout)
    kinds = {"error": "error", "information": "note", "warning": "error"}
    return [
        (each["range"]["start"]["line"] + 1, kinds[each["severity"]], each["message"])
        for each in report["generalDiagnostics"]
    ]


def main() -> int:
    complaints: list[str] = []
    with tempfile.TemporaryDirectory(prefix="pullback_types_") as folder:
        python = environment(Path(folder) / "environment")
        text, names = revealing()
        revealed, program = Path(folder) / "revealed.py", Path(folder) / "program.py"
        revealed.write_text(text)
        program.write_text(PROGRAM)
        wrong = {number for number, line in enumerate(PROGRAM.split("\n"), 1) if line.endswith("# wrong")}
        for checker, says in (("mypy", mypy_says), ("pyright", pyright_says)):
            answers = {line: text for line, kind, text in says(python, revealed) if kind == "note"}
            for number, name in enumerate(names, 1):
                if name and re.search(r'is "(Any|Unknown)"$', answers.get(number, 'is "Unknown"')):
                    complaints.append(f"{checker} does not know the type of {name}")
            refused = {line for line, kind, _ in says(python, program) if kind == "error"}
            lines = PROGRAM.split("\n")
            complaints += [f"{checker} accepts: {lines[number - 1].strip()}" for number in sorted(wrong - refused)]
            complaints += [f"{checker} refuses: {lines[number - 1].strip()}" for number in sorted(refused - wrong)]
    print("\n".join(complaints) or f"mypy and pyright know the types of {len([*filter(None, names)])} public names")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

"""Programs ask classes for their type hints (`typing.get_type_hints`): every name in an annotation can be looked up."""

import ast
import importlib
import inspect
import runpy
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import pullback
from pullback import distributions, nn, optim
from pullback.utils import data

CLASSES = sorted(
    {
        value
        for module in (nn, optim, optim.lr_scheduler, data, distributions)
        for value in vars(module).values()
        if inspect.isclass(value) and not issubclass(value, pullback.Tensor)
    },
    key=lambda kind: (kind.__module__, kind.__qualname__),
)


@pytest.mark.parametrize("kind", [CLASSES[start : start + 40] for start in range(0, len(CLASSES), 40)])
def test_type_hints_can_be_had(kind):
    for each in kind:
        typing.get_type_hints(each)


UNDER_THE_ALIAS = """
import inspect, sys, typing, torch
from torch import distributions, nn, optim
from torch.utils import data

for module in (torch, nn, optim, optim.lr_scheduler, data, distributions):
    for kind in [kind for kind in vars(module).values() if inspect.isclass(kind)]:
        typing.get_type_hints(kind)

class Model(nn.Module):
    config: dict

assert typing.get_type_hints(Model)["config"] is dict
assert sys.modules[nn.Linear.__module__].Linear is nn.Linear
assert "class Linear" in inspect.getsource(nn.Linear)
print("done")
"""


def test_type_hints_and_source_can_be_had_under_the_alias():
    command = [sys.executable, "-m", "pullback", "run", "-c", UNDER_THE_ALIAS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize(
    "program", sorted((Path(__file__).parents[1] / "user_programs").glob("*.py")), ids=lambda p: p.stem
)
def test_annotated_programs_run(program):
    """`make types` checks that mypy and pyright find nothing in them; this, that the types tell the truth."""
    runpy.run_path(str(program))


@pytest.mark.parametrize("name", ["nn.modules", "distributions", "distributions.transforms"])
def test_what_is_handed_on_by_a_star_is_listed_too(name):
    """Type checkers read `__all__` only where it is spelled out."""
    module = importlib.import_module(f"pullback.{name}")
    tree = ast.parse(inspect.getsource(module))
    handed_on = [
        importlib.import_module(
            f".{node.module}", module.__package__ if name.endswith("transforms") else module.__name__
        )
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    ]
    assert handed_on
    assert {name for each in handed_on for name in each.__all__} <= set(module.__all__)


def test_names_of_nn_are_those_of_its_layers_and_its_own():
    assert set(nn.modules.__all__) < set(nn.__all__) and len(nn.__all__) == len(set(nn.__all__))

"""Public functions are announced with all that is known of them, and calls are taken in one place (`functional/gate.py`)."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest

import pullback
from pullback.functional import gate, registry
from pullback.functional.late import late_modules

PACKAGE = Path(pullback.__path__[0])


def parsed() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text())


def functions_around(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node, with the name of the function it stands in."""
    for node in ast.iter_child_nodes(tree):
        name = node.name if isinstance(node, ast.FunctionDef) else inside
        yield name, node
        yield from functions_around(node, name)


def test_functions_are_given_other_code_in_one_place():
    found = {
        (path, function)
        for path, tree in parsed()
        for function, node in functions_around(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == "__code__"
    }
    assert found == {("functional/gate.py", "call_instead"), ("functional/gate.py", "run_at_once")}


def test_members_of_tensor_are_put_there_in_one_place():
    """By `methods.set_members`; what the class itself says of its subclasses is `core/tensor.py`."""

    def writes_to_tensor(node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return isinstance(node.value, ast.Name) and node.value.id == "Tensor"
        called = (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr")
        )
        return called and isinstance(node.args[0], ast.Name) and node.args[0].id == "Tensor"

    found = {path for path, tree in parsed() for node in ast.walk(tree) if writes_to_tensor(node)}
    assert found == {"functional/methods.py"}


def test_every_public_function_is_announced():
    for family in late_modules():
        registry.load(family)
    modules = [vars(module) for module in (pullback.nn.functional, pullback.linalg, pullback.fft, pullback.special)]
    named = [{name: table[name] for name in table["__all__"]} for table in modules]
    for table in (registry.FUNCTIONS, registry.METHODS, *named):
        assert {name for name, f in table.items() if isinstance(f, FunctionType) and f not in gate.FACTS} == set()
    methods = [vars(pullback.Tensor)[name] for name in (*registry.METHODS, *registry.IN_PLACE) if name[:2] != "__"]
    own = [each for each in methods if isinstance(each, FunctionType) and each.__module__ != "pullback.core.tensor"]
    assert {each.__name__ for each in own if each not in gate.FACTS} == set()


def test_names_are_objects_of_their_own():
    methods = [f for name, f in vars(pullback.Tensor).items() if isinstance(f, FunctionType) and f in gate.FACTS]
    assert {gate.FACTS[method].home for method in methods} == {"torch.Tensor"}
    assert pullback.absolute is not pullback.abs and pullback.absolute.__name__ == "absolute"
    assert gate.FACTS[pullback.Tensor.abs].torch_name == "torch.Tensor.abs"
    assert gate.FACTS[pullback.nn.functional.gelu].torch_name == "torch._C._nn.gelu"
    assert gate.FACTS[pullback.linalg.det].torch_name == "torch._C._linalg.linalg_det"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"out": "sane"}, "out of f is 'sane'.*'same'"),
        ({"autocast": "half"}, "autocast of f is 'half'.*'full'"),
        ({"asks": "all"}, "asks of f is 'all'.*'modes'"),
        ({"out": "same", "direct": True}, "f cannot be direct"),
        ({"autocast": "full", "direct": True}, "f cannot be direct"),
        ({"outs": "same"}, "outs"),
    ],
)
def test_wrong_facts_are_refused(wrong, message):
    for announce in (registry.public, lambda **facts: registry.public_in("torch.sparse", **facts)):
        before = set(gate.FACTS)
        with pytest.raises(TypeError, match=message):

            @announce(**wrong)
            def f(input):
                return input

        assert set(gate.FACTS) == before and "f" not in registry.FUNCTIONS


SWITCHED = """
import types
import pullback as torch
from pullback.functional import gate

held = {name: getattr(torch, name) for name in ("add", "cat", "exp", "einsum")}
codes = {f: f.__code__ for f in gate.FACTS}
operators = {name: vars(torch.Tensor)[name] for name in ("__add__", "__getitem__", "shape")}

class Length(torch.Tensor):
    pass

changed = {f for f, code in codes.items() if f.__code__ is not code}
assert changed and all(gate.FACTS[f].made_by is None for f in changed)  # gates look at a flag
assert len(changed) < 450 and len(changed) < len(codes) / 2, (len(changed), len(codes))
assert all(getattr(torch, name) is function for name, function in held.items())
length = torch.ones(2).as_subclass(Length)
for function in (*held.values(), torch.special.i1, torch.nn.functional.relu, torch.linalg.vector_norm, torch.Tensor.flatten):
    given = [length] if function is held["cat"] else "i->i" if function is held["einsum"] else length
    further = (length,) if function in (held["add"], held["einsum"]) else ()
    assert type(function(given, *further)) is Length, function
assert all(vars(torch.Tensor)[name] is member for name, member in operators.items())
"""


def test_functions_that_are_switched_stay_the_same_objects():
    """In a process of its own. Families that are loaded later ask too."""
    done = subprocess.run([sys.executable, "-c", SWITCHED], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


FOREIGN = """
import pullback as torch

class Foreign:
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function.__name__

x = Foreign()
for _ in range(2):  # the first call finds out, the second asks at once
    assert {call} == "{name}", {call}
"""


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("torch.exp(x)", "exp"),
        ("torch.cat([x, x])", "cat"),
        ("torch.arcsin(x)", "arcsin"),
        ("torch.sum(x, axis=0)", "sum"),
        ("torch.ones(2).add(x)", "add"),
        ("torch.nn.functional.mse_loss(x, x)", "mse_loss"),
        ("torch.linalg.det(x)", "linalg_det"),
    ],
)
def test_foreign_objects_are_asked_by_name(call, name):
    """In a process of its own: from the first such object on, all functions ask."""
    text = FOREIGN.format(call=call, name=name)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]

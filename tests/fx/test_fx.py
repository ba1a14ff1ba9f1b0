"""Graphs are torch's: the same nodes, names and source for the same programs, the same numbers and errors."""

from __future__ import annotations

import contextlib
import inspect
import io
import math
import operator
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import pullback
from pullback import fx
from tests.fx import snippets

torch = pytest.importorskip("torch")


def load(library: Any) -> dict[str, Any]:
    """The names in `programs.py`, with `torch` as the given library."""
    source = (Path(__file__).parent / "programs.py").read_text()
    source = re.sub(r"^(import torch.*|from torch import nn)$", "", source, flags=re.MULTILINE)
    names = {"torch": library, "nn": library.nn, "F": library.nn.functional, "__name__": "programs"}
    exec(compile(source, "programs.py", "exec"), names)
    return names


PROGRAMS = {library: load(library) for library in (torch, pullback)}
NAMES = [name for name, *_ in PROGRAMS[torch]["CASES"]]


@cache
def traced(library: Any, name: str) -> tuple[Any, Any, tuple[Any, ...]]:
    subject, make = next(row[1:] for row in PROGRAMS[library]["CASES"] if row[0] == name)
    return subject, library.fx.symbolic_trace(subject, PROGRAMS[library]["CONCRETE"].get(name)), make()


def written(gm: Any) -> dict[str, Any]:
    lines = [(n.name, n.op, str(n.args), str(n.kwargs), str(n.users), n.format_node()) for n in gm.graph.nodes]
    texts = {
        "code": gm.code,
        "graph": str(gm.graph),
        "module": str(gm),
        "readable": gm.print_readable(print_output=False),
    }
    return {**texts, "nodes": lines, "state": list(gm.state_dict())}


def numbers(value: Any) -> list[Any]:
    """What is in a result: numbers and the values of tensors."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [number for part in value for number in numbers(part)]
    return [value.detach().tolist() if hasattr(value, "detach") else str(value)]


@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_written_as_torch_writes_it(name: str) -> None:
    want, got = (written(traced(library, name)[1]) for library in (torch, pullback))
    for key in want:
        assert got[key] == want[key], key


RUNNABLE = [name for name in NAMES if name not in ("branch_on_concrete", "random_numbers")]


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_graph_computes_what_the_program_does(name: str) -> None:
    subject, gm, args = traced(pullback, name)
    assert str(numbers(gm(*args))) == str(numbers(subject(*args)))
    _, theirs, their_args = traced(torch, name)
    assert close(numbers(gm(*args)), numbers(theirs(*their_args)))


def close(got: list[Any], want: list[Any]) -> bool:
    import numpy as np

    for mine, theirs in zip(got, want, strict=True):
        if isinstance(theirs, str):
            assert mine == theirs
        else:
            np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs), rtol=1e-4, atol=1e-5)
    return True


MODULES = ["Linear", "Parameters", "Nested", "Sequential", "Shared", "Convolutions", "Attention", "ForwardDefaults"]


@pytest.mark.parametrize("name", MODULES)
def test_gradients_through_a_graph_are_those_of_the_module_and_of_torch(name: str) -> None:
    found = {}
    for library in (torch, pullback):
        subject, gm, args = traced(library, name)
        for key, run in (("module", subject), ("graph", gm)):
            x = args[0].clone().requires_grad_()
            out = run(x)
            gm.zero_grad()
            sum(part.pow(2).sum() for part in (out if isinstance(out, tuple) else (out,))).backward()
            found[library, key] = [x.grad.tolist(), *[p.grad.tolist() for p in gm.parameters() if p.grad is not None]]
    assert found[pullback, "graph"] == found[pullback, "module"]
    assert len(found[torch, "graph"]) == len(found[pullback, "graph"])
    assert close(found[pullback, "graph"], found[torch, "graph"])


def test_training_a_graph_is_training_the_module() -> None:
    losses = {}
    for key in ("module", "graph", "torch"):
        library = torch if key == "torch" else pullback
        model = snippets.mlp(library)
        if key != "module":
            model = library.fx.symbolic_trace(model)
        optimizer = library.optim.Adam(model.parameters(), lr=0.05)
        x = library.linspace(-1, 1, 12).reshape(4, 3)
        losses[key] = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = (model(x) - x[:, :2]).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses[key].append(loss.item())
    assert losses["graph"] == losses["module"]
    assert losses["graph"] == pytest.approx(losses["torch"], rel=1e-4)
    assert losses["graph"][-1] < losses["graph"][0] * 0.7


@pytest.mark.parametrize("snippet", snippets.SNIPPETS, ids=lambda each: each.__name__)
def test_graphs_can_be_changed_as_in_torch(snippet: Any) -> None:
    want, got = (re.sub(r"0x[0-9a-f]+", "", str(snippet(library))) for library in (torch, pullback))
    assert got == want


# Functions that torch writes with the help of others, or keeps in another place.
OTHERWISE = "lobpcg pca_lowrank svd_lowrank grouped_mm upsample upsample_nearest upsample_bilinear meshgrid".split()


def test_functions_are_handed_over_under_torchs_names_with_torchs_arguments() -> None:
    """In a process of its own: other tests load functions that belong to no family."""
    here = Path(__file__)
    paths = [str(here.parents[2]), str(here.parents[1]), str(here.parent)]
    code = f"import sys; sys.path[:0] = {paths}; import {here.stem} as tests; tests.compare_how_functions_are_handed_over()"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


def compare_how_functions_are_handed_over() -> None:
    from pullback.overrides import public_functions

    found: dict[Any, list[str]] = {}
    for name, function in public_functions():
        if isinstance(function, FunctionType) and not name.startswith("torch.Tensor.") and "segment" not in name:
            found.setdefault(function, []).append(name)
    single = {names[0]: function for function, names in found.items() if len({*names}) == 1}
    # Settings would hold for the tests that come after.
    single = {name: function for name, function in single.items() if not re.search(r"\.(set_|use_|manual_|seed)", name)}

    def calls(library: Any) -> dict[str, str]:
        lines = {}

        def program(*arguments: Any) -> Any:
            proxies = [arguments[number] for number in range(5)]
            for name, function in single.items():
                count = [each.default is each.empty and each.kind in (0, 1) for each in parameters[function]].count(
                    True
                )
                with contextlib.suppress(Exception):
                    called = operator.attrgetter(name.removeprefix("torch."))(library)
                    node = called(*proxies[: count or 1]).node
                    lines[name] = re.sub("%(getitem_.)", r"\1", node.format_node().partition("= ")[2].partition(" ")[2])
                    lines[name] += re.sub(r"_\d+$", "", node.name)
            return proxies[0]

        library.fx.symbolic_trace(program)
        return lines

    parameters = {function: list(inspect.signature(function).parameters.values()) for function in single.values()}
    want, got = calls(torch), calls(pullback)
    assert len(want) > 500
    differing = [name for name in want if want[name] != got.get(name) and name.rpartition(".")[2] not in OTHERWISE]
    assert not differing, [(want[name], got.get(name)) for name in differing]


def test_a_table_of_nodes() -> None:
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        fx.symbolic_trace(lambda x: (x + 1).relu()).graph.print_tabular()
    assert stream.getvalue().split("\n") == [
        "opcode         name    target                   args     kwargs",
        "-------------  ------  -----------------------  -------  --------",
        "placeholder    x       x                        ()       {}",
        "call_function  add     <built-in function add>  (x, 1)   {}",
        "call_method    relu    relu                     (add,)   {}",
        "output         output  output                   (relu,)  {}",
        "",
    ]


def test_a_graph_keeps_what_is_left_alone_in_a_pickle() -> None:
    import pickle

    gm = fx.symbolic_trace(lambda x: (math.sqrt(x), x + 1))
    again = pickle.loads(pickle.dumps(gm))
    assert 'wrap("math_sqrt")' in gm.code and gm.code == again.code
    assert again(4.0) == gm(4.0) == (2.0, 5.0)


def test_new_nodes_go_where_they_were_last_told_to() -> None:
    graph = fx.symbolic_trace(lambda x: x + 1).graph
    graph.inserting_before(graph.output_node())
    graph.call_function(pullback.relu, (next(iter(graph.nodes)),))
    assert [node.name for node in graph.nodes] == ["x", "add", "relu", "output"]


def test_lines_of_the_program_are_kept_on_request() -> None:
    class Recording(fx.Tracer):
        record_stack_traces = True

    gm = fx.GraphModule({}, Recording().trace(lambda x: x.exp() + 1))
    add = gm.graph.find_nodes(op="call_function", target=operator.add)[0]
    assert "x.exp() + 1" in add.stack_trace and "pullback/fx" not in add.stack_trace
    assert re.search(r"# File: .*test_fx.py:\d+ in <lambda>, code: .*x.exp\(\) \+ 1", gm.print_readable(False))


def test_an_error_in_a_graph_shows_its_source() -> None:
    import traceback

    gm = fx.symbolic_trace(lambda x: x @ x)
    with pytest.raises(RuntimeError) as error:
        gm(pullback.ones(2, 3))
    assert "matmul = x @ x" in "".join(traceback.format_exception(error.value))
    with pytest.raises(RuntimeError, match="While executing %matmul"):
        fx.Interpreter(gm).run(pullback.ones(2, 3))


AT_ONCE_AGAIN = """
import pullback
import pullback.nn.functional as F

def state():
    Tensor = pullback.Tensor
    return Tensor.__add__, Tensor.shape, Tensor.relu.__code__, pullback.reshape.__code__, F.relu.__code__

inner = lambda x: len(pullback.fx.symbolic_trace(lambda y: y * 2).graph.nodes) + F.relu(x)
pullback.fx.symbolic_trace(inner)  # loads what there is
before = state()
assert [n.name for n in pullback.fx.symbolic_trace(inner).graph.nodes] == ["x", "relu", "add", "output"]
assert state() == before
try:
    pullback.fx.symbolic_trace(lambda x: 1 if x else 2)
except pullback.fx.proxy.TraceError:
    pass
assert state() == before
pullback.fx.symbolic_trace(lambda x: [x, type("Named", (pullback.Tensor,), {})][0])
assert state()[3] is not before[3]  # a subclass needs it for good
"""


def test_functions_run_at_once_again_after_a_trace() -> None:
    subprocess.run([sys.executable, "-c", AT_ONCE_AGAIN], check=True)


def test_modules_are_as_before_after_a_trace_that_failed() -> None:
    module = snippets.mlp(pullback)
    call, look_up = pullback.nn.Module.__call__, pullback.nn.Module.__getattr__
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: module(x) if x else x)
    assert (pullback.nn.Module.__call__, pullback.nn.Module.__getattr__) == (call, look_up)
    assert math.sqrt.__name__ == "sqrt" and not hasattr(math.sqrt, "__wrapped__")
    assert module.first.weight is dict(module.named_parameters())["first.weight"]


def test_the_library_can_do_without() -> None:
    """`import pullback` does not load it; its names are found lazily."""
    code = "import sys, pullback; assert 'pullback.fx' not in sys.modules; pullback.fx.Graph()"
    subprocess.run([sys.executable, "-c", code], check=True)
